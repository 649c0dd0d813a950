package load

import "unicode"

// EstimateTokens guesses how many tokens a text has, without a vocabulary: what
// the length filters of a conversation set need. The usual vocabularies hold most
// English words of up to nine letters whole, two digits or punctuation marks a
// token, about three letters of other alphabets, and one ideograph. Against a real
// tokenizer single texts may be a quarter off; a sample records the server's count.
func EstimateTokens(text string) int {
	tokens, run, of := 0, 0, 0
	end := func() {
		if run > 0 {
			tokens += (run + of - 1) / of
		}
		run = 0
	}
	for _, r := range text {
		per := lettersPerToken(r)
		if per != of {
			end()
			of = per
		}
		if per > 0 {
			run++
		}
	}
	end()
	return tokens
}

// lettersPerToken gives how many characters of this kind share a token; 0 for a
// space, which goes with the word that follows it.
func lettersPerToken(r rune) int {
	switch {
	case r == '\n':
		return 4
	case unicode.IsSpace(r):
		return 0
	case r < 128 && unicode.IsLetter(r):
		return 9
	case unicode.IsDigit(r):
		return 2
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 1
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return 3
	case r < 128:
		return 2
	}
	return 1
}
