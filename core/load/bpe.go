package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// bpeModel is the model of a tokenizer.json.
type bpeModel struct {
	Type         string         `json:"type"`
	Dropout      *float64       `json:"dropout"`
	Prefix       *string        `json:"continuing_subword_prefix"`
	Suffix       *string        `json:"end_of_word_suffix"`
	ByteFallback bool           `json:"byte_fallback"`
	IgnoreMerges bool           `json:"ignore_merges"`
	Vocab        map[string]int `json:"vocab"`
	Merges       []mergeRule    `json:"merges"`
}

// mergeRule is a pair of tokens that are merged, written as ["a","b"] or "a b".
type mergeRule [2]string

func (m *mergeRule) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var pair []string
		if err := json.Unmarshal(data, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("model: merges: %d tokens in a merge, want 2", len(pair))
		}
		*m = mergeRule{pair[0], pair[1]}
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	left, right, ok := strings.Cut(text, " ")
	if !ok || strings.Contains(right, " ") {
		return fmt.Errorf("model: merges: %q is not two tokens", text)
	}
	*m = mergeRule{left, right}
	return nil
}

// ranks turns the merges into a rank for each token, bytes first, and gives the
// token id by rank.
//
// The encoder merges the neighbours whose joined text has the lowest rank; the
// reference merges the pair that stands first in the list. The two are the same
// when the pairs of each token stand together in the list and the bytes of the
// token, under the merges before it, come to one of them. That is checked for
// each token. One whose bytes come to more than two parts is never merged by
// either, and only whole pieces become it where the file says ignore_merges, as
// the encoder does by itself; without ignore_merges it is left out.
func (m *bpeModel) ranks() (ranks map[string]int, ids []int, err error) {
	switch {
	case m.Type != "" && m.Type != "BPE":
		return nil, nil, fmt.Errorf("model: type %q is not known; known: BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, nil, errors.New("model: dropout: the same text has several encodings")
	case m.Prefix != nil && *m.Prefix != "", m.Suffix != nil && *m.Suffix != "":
		return nil, nil, errors.New("model: marks at the ends of words are not byte-level BPE")
	case m.ByteFallback:
		return nil, nil, errors.New("model: byte_fallback is not byte-level BPE")
	case len(m.Vocab) > math.MaxInt32:
		return nil, nil, errors.New("model: vocab: too long")
	}
	alphabet := byteAlphabet()
	ranks = make(map[string]int, len(m.Vocab))
	ids = make([]int, 0, len(m.Vocab))
	for b, r := range alphabet.runes {
		id, ok := m.Vocab[string(r)]
		if !ok {
			return nil, nil, fmt.Errorf("model: vocab: byte 0x%02x is missing; it is not byte-level BPE", b)
		}
		ranks[string([]byte{byte(b)})] = len(ids)
		ids = append(ids, id)
	}
	pairs := make(map[[2]string]struct{}, 4)
	done := make(map[string]struct{}, len(m.Vocab))
	var current string
	finish := func() error {
		if current == "" {
			return nil
		}
		id, ok := m.Vocab[alphabet.encode(current)]
		if !ok {
			return fmt.Errorf("model: merges: %q is not in the vocabulary", current)
		}
		left, right, two := halves(current, ranks)
		_, listed := pairs[[2]string{left, right}]
		if two && !listed && m.IgnoreMerges {
			return fmt.Errorf("model: merges: the pair %q %q is missing, under ignore_merges", left, right)
		}
		if listed || m.IgnoreMerges {
			ranks[current] = len(ids)
			ids = append(ids, id)
		}
		done[current] = struct{}{}
		clear(pairs)
		return nil
	}
	for _, rule := range m.Merges {
		left, okL := alphabet.decode(rule[0])
		right, okR := alphabet.decode(rule[1])
		if !okL || !okR {
			return nil, nil, fmt.Errorf("model: merges: %q is not written in the byte-level alphabet", rule[0]+" "+rule[1])
		}
		joined := left + right
		if joined != current {
			if err := finish(); err != nil {
				return nil, nil, err
			}
			if _, again := done[joined]; again {
				return nil, nil, fmt.Errorf("model: merges: the merges of %q do not stand together", joined)
			}
			current = joined
		}
		pairs[[2]string{left, right}] = struct{}{}
	}
	if err := finish(); err != nil {
		return nil, nil, err
	}
	if m.IgnoreMerges {
		ids, err = m.whole(ranks, ids, alphabet)
	}
	return ranks, ids, err
}

// whole adds the vocabulary entries that no merge makes, which under
// ignore_merges a piece can still be as a whole.
func (m *bpeModel) whole(ranks map[string]int, ids []int, alphabet alphabet) ([]int, error) {
	for _, token := range slices.Sorted(maps.Keys(m.Vocab)) {
		text, ok := alphabet.decode(token)
		if !ok {
			continue // holds a character that byte-level text never has
		}
		if _, made := ranks[text]; made {
			continue
		}
		if _, _, two := halves(text, ranks); two {
			return nil, fmt.Errorf("model: vocab: %q is made by no merge, under ignore_merges", token)
		}
		ranks[text] = len(ids)
		ids = append(ids, m.Vocab[token])
	}
	return ids, nil
}

// halves merges the bytes of a token by the ranks so far and gives the two parts
// that remain; ok is false when other than two remain.
func halves(token string, ranks map[string]int) (left, right string, ok bool) {
	if len(token) == 2 {
		return token[:1], token[1:], true
	}
	ends := make([]int, len(token)+1) // starts of the parts, and the end
	for i := range ends {
		ends[i] = i
	}
	for len(ends) > 3 {
		best, at := math.MaxInt, -1
		for i := 0; i+2 < len(ends); i++ {
			if rank, ok := ranks[token[ends[i]:ends[i+2]]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return "", "", false
		}
		ends = append(ends[:at+1], ends[at+2:]...)
	}
	return token[:ends[1]], token[ends[1]:], true
}

// alphabet is the one-to-one map of bytes to printable characters in which
// byte-level vocabularies are written.
type alphabet struct {
	runes [256]rune
	bytes map[rune]byte
}

// byteAlphabet: printable Latin-1 stands for itself, the other bytes for the
// characters from U+0100 on, in order.
func byteAlphabet() alphabet {
	a := alphabet{bytes: make(map[rune]byte, 256)}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if (r < '!' || r > '~') && (r < '¡' || r > '¬') && (r < '®' || r > 'ÿ') {
			r = next
			next++
		}
		a.runes[b] = r
		a.bytes[r] = byte(b)
	}
	return a
}

func (a alphabet) decode(token string) (text string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := a.bytes[r]
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}

func (a alphabet) encode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(a.runes[text[i]])
	}
	return b.String()
}
