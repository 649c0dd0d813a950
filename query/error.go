package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a query that cannot be answered as written: a mistake of grammar,
// an unknown field, a comparison that has no meaning.
type SyntaxError struct {
	Query string   // the whole text
	Off   int      // byte offset in Query of what is wrong
	Msg   string   // what is wrong, one line
	Near  []string // names that may have been meant, best first
}

// Error gives the message, the nearest names, and the line with a caret under the
// place.
func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString(e.Msg)
	if len(e.Near) > 0 {
		b.WriteString("; nearest: " + strings.Join(e.Near, ", "))
	}
	off := min(max(e.Off, 0), len(e.Query))
	start := strings.LastIndexByte(e.Query[:off], '\n') + 1
	line, _, _ := strings.Cut(e.Query[start:], "\n")
	// A tab stays a tab, so that the caret stands right at any tab width.
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Query[start:off])
	if !utf8.ValidString(line) {
		line = strings.ToValidUTF8(line, "?")
	}
	fmt.Fprintf(&b, "\n  %s\n  %s^", line, pad)
	return b.String()
}

// IsUsage reports whether the error lies in the query's text rather than in
// reading the history.
func IsUsage(err error) bool {
	var e *SyntaxError
	return errors.As(err, &e)
}

func syntaxError(query string, off int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Query: query, Off: off, Msg: fmt.Sprintf(format, args...)}
}
