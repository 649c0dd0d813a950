package load

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pkoukk/tiktoken-go"
)

// tokenizerFile is what a tokenizer.json says. Parts whose form depends on their
// type stay raw until the type is known.
type tokenizerFile struct {
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         bpeModel        `json:"model"`
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func parseTokenizer(data []byte) (*Tokenizer, error) {
	var f tokenizerFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if !absent(f.Truncation) {
		return nil, errors.New("truncation: the file cuts texts, a server does not")
	}
	if !absent(f.Padding) {
		return nil, errors.New("padding: the file pads texts, a server does not")
	}
	t := &Tokenizer{}
	nfc, err := f.normalizer(f.Normalizer)
	if err != nil {
		return nil, err
	}
	if nfc {
		if t.nfc, err = newComposer(); err != nil {
			return nil, err
		}
	}
	pattern, err := f.patterns(t)
	if err != nil {
		return nil, err
	}
	ranks, ids, err := f.Model.ranks()
	if err != nil {
		return nil, err
	}
	t.ids = ids
	bpe, err := tiktoken.NewCoreBPE(ranks, nil, pattern)
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: pattern %q: %w", pattern, err)
	}
	t.bpe = tiktoken.NewTiktoken(bpe, &tiktoken.Encoding{Name: "tokenizer.json", PatStr: pattern, MergeableRanks: ranks}, nil)
	if err := f.added(t); err != nil {
		return nil, err
	}
	t.before, t.after, err = around(f.PostProcessor)
	return t, err
}

// normalizer reports whether the file normalizes to NFC, the one normalizer of
// these families.
func (f *tokenizerFile) normalizer(raw json.RawMessage) (nfc bool, err error) {
	if absent(raw) {
		return false, nil
	}
	var n struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return false, fmt.Errorf("normalizer: %w", err)
	}
	switch n.Type {
	case "NFC":
		return true, nil
	case "Sequence":
		for _, one := range n.Normalizers {
			does, err := f.normalizer(one)
			if err != nil {
				return false, err
			}
			nfc = nfc || does
		}
		return nfc, nil
	}
	return false, fmt.Errorf("normalizer: type %q is not known; known: NFC", n.Type)
}

// preTokenizer is one of the file's pre-tokenizers, with the fields of all types.
type preTokenizer struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	Pattern        struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	PreTokenizers []preTokenizer `json:"pretokenizers"`
}

// gptPattern is what a ByteLevel pre-tokenizer that uses its own pattern splits by.
const gptPattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// patterns reads the pre-tokenizer: any number of splits and a ByteLevel after
// them. The last pattern goes to the BPE, the others become splitters.
func (f *tokenizerFile) patterns(t *Tokenizer) (last string, err error) {
	if absent(f.PreTokenizer) {
		return "", errors.New("pre_tokenizer: there is none; byte-level BPE needs ByteLevel")
	}
	var p preTokenizer
	if err := json.Unmarshal(f.PreTokenizer, &p); err != nil {
		return "", fmt.Errorf("pre_tokenizer: %w", err)
	}
	list := []preTokenizer{p}
	if p.Type == "Sequence" {
		list = p.PreTokenizers
	}
	if len(list) == 0 || list[len(list)-1].Type != "ByteLevel" {
		return "", fmt.Errorf("pre_tokenizer: type %q does not end with ByteLevel", p.Type)
	}
	var patterns []string
	for i, one := range list {
		final := i == len(list)-1
		switch {
		case one.Type == "ByteLevel" && final:
			if one.AddPrefixSpace {
				return "", errors.New("pre_tokenizer: ByteLevel: add_prefix_space is not followed")
			}
			if one.UseRegex == nil || *one.UseRegex {
				patterns = append(patterns, gptPattern)
			}
		case one.Type == "Split" && !final:
			if one.Pattern.Regex == nil {
				return "", errors.New("pre_tokenizer: Split: only a Regex pattern is followed")
			}
			isolated := one.Behavior == "Isolated" && !one.Invert
			t.drops = one.Behavior == "Removed" && one.Invert
			if !isolated && !t.drops {
				return "", fmt.Errorf("pre_tokenizer: Split: behavior %q with invert %t is not followed", one.Behavior, one.Invert)
			}
			if t.drops && i != len(list)-2 {
				return "", errors.New("pre_tokenizer: Split: what a pattern before the last drops is not followed")
			}
			patterns = append(patterns, *one.Pattern.Regex)
		default:
			return "", fmt.Errorf("pre_tokenizer: type %q is not known here; known: Split, then ByteLevel", one.Type)
		}
	}
	if len(patterns) == 0 {
		return "", errors.New("pre_tokenizer: no pattern splits the text")
	}
	for _, pattern := range patterns {
		if err := checkPattern(pattern); err != nil {
			return "", fmt.Errorf("pre_tokenizer: pattern %q: %w", pattern, err)
		}
	}
	last = patterns[len(patterns)-1]
	if !t.drops {
		// The encoder passes over text that its pattern does not match, where the
		// reference keeps the text between two matches as one piece.
		last += `|(?:(?!` + last + `)[\s\S])+`
	}
	for _, pattern := range patterns[:len(patterns)-1] {
		s, err := newSplitter(pattern)
		if err != nil {
			return "", fmt.Errorf("pre_tokenizer: pattern %q: %w", pattern, err)
		}
		t.splits = append(t.splits, s)
	}
	return last, nil
}

// around reads which special tokens the post-processor puts before and after one
// text.
func around(raw json.RawMessage) (before, after []int, err error) {
	if absent(raw) {
		return nil, nil, nil
	}
	var p struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		Single     []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct {
				ID string `json:"id"`
			} `json:"Sequence"`
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, nil, fmt.Errorf("post_processor: %w", err)
	}
	switch p.Type {
	case "ByteLevel": // changes offsets only
		return nil, nil, nil
	case "Sequence":
		for _, one := range p.Processors {
			b, a, err := around(one)
			if err != nil {
				return nil, nil, err
			}
			before, after = append(b, before...), append(after, a...)
		}
		return before, after, nil
	case "TemplateProcessing":
		texts := 0
		for _, piece := range p.Single {
			switch {
			case piece.Sequence != nil && piece.Sequence.ID == "A":
				texts++
			case piece.SpecialToken != nil && len(p.SpecialTokens[piece.SpecialToken.ID].IDs) > 0:
				ids := p.SpecialTokens[piece.SpecialToken.ID].IDs
				if texts == 0 {
					before = append(before, ids...)
				} else {
					after = append(after, ids...)
				}
			default:
				return nil, nil, errors.New("post_processor: TemplateProcessing: a part of its template is not known")
			}
		}
		if texts != 1 {
			return nil, nil, errors.New("post_processor: TemplateProcessing: the template does not hold the text once")
		}
		return before, after, nil
	}
	return nil, nil, fmt.Errorf("post_processor: type %q is not known; known: ByteLevel, TemplateProcessing", p.Type)
}
