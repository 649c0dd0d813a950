package load

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode"

	"github.com/pkoukk/tiktoken-go"

	"github.com/sweepbook/sweepbook/core"
)

// Tokenizer counts tokens as a model's own tokenizer.json does: byte-level BPE
// with one or more pre-tokenizer patterns, the form of the GPT, Llama 3, Qwen and
// DeepSeek families. It is safe for several goroutines.
//
// What is said of a text is what the reference encoder says, or an error: a file
// with anything in it that this code cannot follow exactly is refused by
// LoadTokenizer, with the part named.
type Tokenizer struct {
	nfc    *composer // nil where the file normalizes nothing
	raw    added     // added tokens found in the text as it is
	normal added     // added tokens found in the normalized text
	splits []splitter
	drops  bool // text that the last pattern does not match is dropped
	bpe    *tiktoken.Tiktoken
	ids    []int // token id by rank
	before []int // special tokens that the file puts around a text
	after  []int
}

// maxTokenizerFile bounds what is read; the largest files in use have 35 MB.
const maxTokenizerFile = 256 << 20

// LoadTokenizer reads a tokenizer.json. It is an error that wraps core.ErrInvalid
// and names the field when the file asks for what cannot be followed exactly:
// another model than byte-level BPE, a normalizer other than NFC, an unknown
// pre-tokenizer, merges that do not make the vocabulary.
func LoadTokenizer(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxTokenizerFile+1))
	if err != nil {
		return nil, fmt.Errorf("read tokenizer %s: %w", filepath.Base(path), err)
	}
	if len(data) > maxTokenizerFile {
		return nil, fmt.Errorf("tokenizer %s: %w: longer than %d MiB", filepath.Base(path), core.ErrInvalid, maxTokenizerFile>>20)
	}
	t, err := parseTokenizer(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w: %w", filepath.Base(path), core.ErrInvalid, err)
	}
	return t, nil
}

// Encode gives the token ids of a text, with the special tokens that the file's
// post-processor puts around one (Llama 3's begin of text), as the reference
// encoder does by default. Bytes that are not UTF-8 count as U+FFFD, which is
// what a JSON request carries for them.
func (t *Tokenizer) Encode(text string) ([]int, error) {
	ids := append([]int(nil), t.before...)
	for _, p := range t.raw.cut(toValid(text)) {
		if p.id >= 0 {
			ids = append(ids, p.id)
			continue
		}
		part := p.text
		if t.nfc != nil {
			part = t.nfc.normalize(part)
		}
		for _, q := range t.normal.cut(part) {
			if q.id >= 0 {
				ids = append(ids, q.id)
				continue
			}
			var err error
			if ids, err = t.ordinary(ids, q.text, t.splits); err != nil {
				return nil, err
			}
		}
	}
	return append(ids, t.after...), nil
}

// Count is the number of tokens that Encode gives.
func (t *Tokenizer) Count(text string) (int, error) {
	ids, err := t.Encode(text)
	return len(ids), err
}

// ordinary adds the ids of a text without added tokens. Every splitter but the
// last, which is the BPE's own, cuts it into parts that are encoded by themselves.
func (t *Tokenizer) ordinary(ids []int, text string, splits []splitter) ([]int, error) {
	if len(splits) > 0 {
		for _, part := range splits[0].cut(text) {
			var err error
			if ids, err = t.ordinary(ids, part, splits[1:]); err != nil {
				return nil, err
			}
		}
		return ids, nil
	}
	if n := longestRun(text); n > maxRun {
		return nil, fmt.Errorf("count tokens: %w: %d letters, signs or blanks in one run, more than %d", core.ErrInvalid, n, maxRun)
	}
	for _, rank := range t.bpe.EncodeOrdinary(text) {
		ids = append(ids, t.ids[rank])
	}
	return ids, nil
}

// maxRun bounds what is merged as one piece, because merging takes the square of
// its length: a fifth of a second at this length.
const maxRun = 20_000

// longestRun is the length in bytes of the longest run of characters of one kind,
// which no pattern in use cuts.
func longestRun(text string) int {
	longest, start, of := 0, 0, -1
	for i, r := range text {
		if k := kind(r); k != of {
			longest, start, of = max(longest, i-start), i, k
		}
	}
	return max(longest, len(text)-start)
}

func kind(r rune) int {
	switch {
	case r == ' ' || unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return 1
	case unicode.IsNumber(r):
		return 2
	}
	return 3
}
