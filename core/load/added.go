package load

import (
	"fmt"
	"slices"
	"strings"
)

// added finds the added tokens of a vocabulary in a text: at each place the
// longest that begins there, from left to right.
type added struct {
	first  [256][]int // indexes into tokens by first byte, longest first
	tokens []addedToken
}

// piece is a text, or an added token where id ≥ 0.
type piece struct {
	text string
	id   int
}

// added sorts the file's added tokens into those that are looked for in the text
// as it is and those that are looked for in the normalized one.
func (f *tokenizerFile) added(t *Tokenizer) error {
	for _, a := range f.AddedTokens {
		switch {
		case a.Content == "":
			continue
		case a.SingleWord || a.LStrip || a.RStrip:
			return fmt.Errorf("added_tokens: %q: single_word, lstrip and rstrip are not followed", a.Content)
		case a.ID < 0:
			return fmt.Errorf("added_tokens: %q: id %d", a.Content, a.ID)
		}
		if id, ok := f.Model.Vocab[a.Content]; ok && id != a.ID {
			return fmt.Errorf("added_tokens: %q has id %d, in the vocabulary %d", a.Content, a.ID, id)
		}
		if !a.Normalized {
			t.raw.add(a)
			continue
		}
		if t.nfc != nil {
			a.Content = t.nfc.normalize(a.Content)
		}
		t.normal.add(a)
	}
	return nil
}

func (a *added) add(t addedToken) {
	i := len(a.tokens)
	a.tokens = append(a.tokens, t)
	list := append(a.first[t.Content[0]], i)
	slices.SortStableFunc(list, func(x, y int) int { return len(a.tokens[y].Content) - len(a.tokens[x].Content) })
	a.first[t.Content[0]] = list
}

// cut gives the texts and added tokens of a text in order.
func (a *added) cut(text string) (pieces []piece) {
	at := 0
	for i := 0; i < len(text) && len(a.tokens) > 0; {
		found := -1
		for _, candidate := range a.first[text[i]] {
			if strings.HasPrefix(text[i:], a.tokens[candidate].Content) {
				found = candidate
				break
			}
		}
		if found < 0 {
			i++
			continue
		}
		if i > at {
			pieces = append(pieces, piece{text[at:i], -1})
		}
		pieces = append(pieces, piece{id: a.tokens[found].ID})
		i += len(a.tokens[found].Content)
		at = i
	}
	if at < len(text) {
		pieces = append(pieces, piece{text[at:], -1})
	}
	return pieces
}

// toValid replaces bytes that are not UTF-8, one by one, as encoding/json does.
func toValid(text string) string {
	for _, r := range text {
		if r == '\ufffd' {
			return string([]rune(text))
		}
	}
	return text
}
