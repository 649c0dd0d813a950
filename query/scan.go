package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sweepbook/sweepbook/core"
)

// A query longer or deeper than this is refused before the recursive parser of
// expressions sees it.
const (
	maxQueryBytes = 64 << 10
	maxDepth      = 100
)

type tokenKind uint8

const (
	wordToken tokenKind = iota + 1
	numberToken
	textToken
	symbolToken
)

// token is one piece of a query. The tokens split clauses and refuse signs; the
// expressions between them are parsed by expr-lang from the same bytes.
type token struct {
	kind  tokenKind
	text  string
	off   int // byte offset
	depth int // brackets around it; a bracket itself has the depth outside
}

func (t token) end() int { return t.off + len(t.text) }

// scan cuts a query into tokens and refuses what the language does not have, as
// far as one token shows it.
func scan(query string) ([]token, error) {
	s := scanner{query: query}
	if len(query) > maxQueryBytes {
		return nil, syntaxError(query, maxQueryBytes, "query longer than %d bytes", maxQueryBytes)
	}
	for off, r := range query {
		if r == utf8.RuneError && !strings.HasPrefix(query[off:], "\uFFFD") {
			return nil, syntaxError(query, off, "byte that is no UTF-8")
		}
	}
	for s.pos < len(query) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if n := len(s.open); n > 0 {
		return nil, syntaxError(query, s.open[n-1].off, "%s is never closed", s.open[n-1].text)
	}
	return s.tokens, nil
}

type scanner struct {
	query  string
	pos    int
	tokens []token
	open   []token
}

func (s *scanner) emit(kind tokenKind, end int) {
	s.tokens = append(s.tokens, token{kind, s.query[s.pos:end], s.pos, len(s.open)})
	s.pos = end
}

func (s *scanner) next() error {
	rest := s.query[s.pos:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsSpace(r):
		s.pos += size
	case r == '"' || r == '\'' || r == '`':
		n := quotedLength(rest)
		if n == 0 {
			return syntaxError(s.query, s.pos, "text is not closed")
		}
		s.emit(textToken, s.pos+n)
	case isDigit(r) || (r == '.' && len(rest) > 1 && isDigit(rune(rest[1]))):
		return s.number()
	case isWordRune(r):
		return s.word()
	case strings.ContainsRune("([", r) || r == '{' && s.afterWeights():
		s.emit(symbolToken, s.pos+1)
		s.open = append(s.open, s.tokens[len(s.tokens)-1])
		if len(s.open) > maxDepth {
			return syntaxError(s.query, s.pos-1, "more than %d brackets inside one another", maxDepth)
		}
	case strings.ContainsRune(")]", r) || r == '}' && len(s.open) > 0 && s.open[len(s.open)-1].text == "{":
		if err := s.close(byte(r)); err != nil {
			return err
		}
	default:
		return s.symbol()
	}
	return nil
}

func (s *scanner) close(b byte) error {
	n := len(s.open)
	if n == 0 {
		return syntaxError(s.query, s.pos, "%c closes nothing", b)
	}
	if want := map[string]byte{"(": ')', "[": ']', "{": '}'}[s.open[n-1].text]; b != want {
		return syntaxError(s.query, s.pos, "%c where %c should close the bracket", b, want)
	}
	s.open = s.open[:n-1]
	s.emit(symbolToken, s.pos+1)
	return nil
}

// afterWeights reports whether a brace may open here: it has a meaning only behind
// the word weights.
func (s *scanner) afterWeights() bool {
	n := len(s.tokens)
	return n > 0 && s.tokens[n-1].text == "weights" && s.tokens[n-1].depth == 0 && (n == 1 || s.tokens[n-2].text != ".")
}

// quotedLength is the length of the quoted text at the start of s, 0 when it is
// not closed.
func quotedLength(s string) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote && quote == '`' && i+1 < len(s) && s[i+1] == quote:
			i++ // a doubled back quote stands for one
		case s[i] == quote:
			return i + 1
		case quote == '`':
		case s[i] == '\\':
			i++
		case s[i] == '\n':
			return 0
		}
	}
	return 0
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isWordRune(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || isDigit(r) }

// number scans digits with a fraction, an exponent or a base prefix. A unit behind
// it is refused, since every field has one base unit.
func (s *scanner) number() error {
	end := s.pos
	run := func(set string) {
		for end < len(s.query) && strings.IndexByte(set, s.query[end]) >= 0 {
			end++
		}
	}
	digits := "0123456789_"
	if p := s.query[s.pos:]; len(p) > 1 && p[0] == '0' && strings.IndexByte("xXoObB", p[1]) >= 0 {
		end += 2
		digits += "abcdefABCDEF"
	}
	run(digits)
	if strings.HasPrefix(s.query[end:], "..") {
		return syntaxError(s.query, end, "ranges are not in the language: use >= and <=")
	}
	if end < len(s.query) && s.query[end] == '.' {
		end++
		run(digits)
	}
	if end < len(s.query) && (s.query[end] == 'e' || s.query[end] == 'E') {
		mark := end
		end++
		if end < len(s.query) && strings.IndexByte("+-", s.query[end]) >= 0 {
			end++
		}
		if digitsFrom := end; end < len(s.query) {
			run("0123456789_")
			if end == digitsFrom {
				end = mark
			}
		}
	}
	unit := end
	for unit < len(s.query) {
		r, size := utf8.DecodeRuneInString(s.query[unit:])
		if !isWordRune(r) {
			break
		}
		unit += size
	}
	if unit > end {
		return syntaxError(s.query, s.pos, "%s: a number has no unit of its own%s",
			s.query[s.pos:unit], unitOf(s.tokens))
	}
	s.emit(numberToken, end)
	return nil
}

// unitOf says in which unit the field of the comparison just scanned is given.
func unitOf(tokens []token) string {
	for i := len(tokens) - 1; i >= 0 && i >= len(tokens)-3; i-- {
		if f, ok := core.LookupField(tokens[i].text); ok && tokens[i].kind == wordToken {
			if f.Unit == "" {
				return "; " + f.Name + " has no unit"
			}
			return "; " + f.Name + " is in " + f.Unit
		}
		if f, ok := core.LookupRequestField(tokens[i].text); ok && tokens[i].kind == wordToken {
			return "; " + f.Name + " is in " + f.Unit
		}
	}
	return "; write it in the base unit of its field"
}

func (s *scanner) word() error {
	end := s.pos
	for end < len(s.query) {
		r, size := utf8.DecodeRuneInString(s.query[end:])
		if !isWordRune(r) {
			break
		}
		end += size
	}
	word := s.query[s.pos:end]
	if n := len(s.tokens); n == 0 || s.tokens[n-1].text != "." {
		switch {
		case word == "let" || word == "if" || word == "else":
			return syntaxError(s.query, s.pos, "%s is not in the language: choose trials with where, or a value with c ? a : b", word)
		case strings.HasPrefix(word, "$"):
			return syntaxError(s.query, s.pos, "%s is not in the language", word)
		}
	}
	s.emit(wordToken, end)
	return nil
}

// refused are signs that expr-lang knows and this language does not, longest
// first, with what to write instead.
var refused = [...]struct{ sign, instead string }{
	{"//", "comments are not in the language"},
	{"/*", "comments are not in the language"},
	{"..", "ranges are not in the language: use >= and <="},
	{"?.", "?. is not in the language: a missing field is missing anyway"},
	{"::", ":: is not in the language"},
	{"<>", "<> is not in the language: use !="},
	{"#", "# is not in the language"},
	{"^", "^ is not in the language: use **"},
	{";", "; is not in the language"},
	{"{", "{ is not in the language"},
	{"}", "} is not in the language"},
}

func (s *scanner) symbol() error {
	rest := s.query[s.pos:]
	for _, sign := range []string{"||", "&&", "==", "!=", "<=", ">=", "**", "??"} {
		if strings.HasPrefix(rest, sign) {
			s.emit(symbolToken, s.pos+2)
			return nil
		}
	}
	for _, r := range refused {
		if strings.HasPrefix(rest, r.sign) {
			return syntaxError(s.query, s.pos, "%s", r.instead)
		}
	}
	switch r, _ := utf8.DecodeRuneInString(rest); {
	case r == '|':
		return syntaxError(s.query, s.pos, "pipes are not in the language: write or for a choice")
	case r == '=':
		return syntaxError(s.query, s.pos, "= is not in the language: use ==")
	case strings.ContainsRune("+-*/%<>!?:,.", r):
		s.emit(symbolToken, s.pos+1)
		return nil
	default:
		return syntaxError(s.query, s.pos, "unexpected character %q", r)
	}
}
