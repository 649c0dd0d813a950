package query

import (
	"slices"
	"strings"
)

// Verbs lists the words with which a query may begin.
func Verbs() []string { return slices.Clone(verbNames) }

// Words lists the words that may follow in a query beside the names of fields: those
// of clauses, of conditions and of functions, each function with its bracket.
func Words() []string {
	words := slices.Concat(clauseWords, []string{"and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith",
		"true", "false", "unlimited", "setup", "config", "noise", "asc", "desc"})
	for _, f := range functions {
		words = append(words, f.name+"(")
	}
	return words
}

// Parameters lists the names that stand behind a $ in a saved query, outside of quoted
// text, each once and in order.
func Parameters(text string) []string {
	var names []string
	fillParameters(text, func(name string) string {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return ""
	})
	return names
}

// Fill puts values into a saved query, as Parameters finds their names. A value is
// inserted as it is given, so that it must be a literal of the language.
func Fill(text string, value func(name string) string) string { return fillParameters(text, value) }

func fillParameters(text string, value func(name string) string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '"', '\'', '`':
			n := max(quotedLength(text[i:]), 1)
			b.WriteString(text[i : i+n])
			i += n
		case '$':
			end := i + 1
			for end < len(text) && (text[end] == '_' || isDigit(rune(text[end])) || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
				end++
			}
			if end == i+1 {
				b.WriteByte(c)
			} else {
				b.WriteString(value(text[i+1 : end]))
			}
			i = end
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}
