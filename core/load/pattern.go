package load

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// checkPattern refuses a pattern with a construct that pattern engines read
// differently, or that has not been compared with the reference: possessive
// quantifiers, look-behind, back references, \w, classes within classes.
func checkPattern(pattern string) error {
	class, quantifier := false, false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		was := quantifier
		quantifier = false
		switch c := pattern[i]; {
		case c == '\\':
			m := escape.FindString(rest)
			if m == "" {
				return fmt.Errorf("it uses %.3q, which is not known to mean the same here", rest)
			}
			i += len(m) - 1
		case class && c == ']':
			class = false
		case class && (c == '[' || strings.HasPrefix(rest, "&&")):
			return errors.New("it holds a class within a class")
		case class:
		case c == '[':
			class = true
			if strings.HasPrefix(rest, "[^") {
				i++
			}
		case c == '(':
			if m := group.FindString(rest); m != "" {
				i += len(m) - 1
			} else if strings.HasPrefix(rest, "(?") {
				return fmt.Errorf("it uses %.4q, which is not known to mean the same here", rest)
			}
		case c == '+' && was:
			return errors.New("it uses a possessive quantifier")
		case c == '?' || c == '*' || c == '+':
			quantifier = true
		case c == '{':
			m := times.FindString(rest)
			if m == "" {
				return errors.New("it holds a brace that is no repetition")
			}
			i += len(m) - 1
			quantifier = true
		case c == '$' || c == '^':
			return errors.New("it uses an anchor")
		}
	}
	return nil
}

var (
	escape = regexp.MustCompile(`^\\(?:[rnsStd!"#$%&'*+,\-./:;<=>?@\[\]\\^_|{}()]|[pP]\{[A-Z][a-z]?\})`)
	group  = regexp.MustCompile(`^\(\?(?::|i:|!)`)
	times  = regexp.MustCompile(`^\{\d+(?:,\d*)?\}`)
)

// splitter cuts a text at the matches of a pattern, each match and each text
// between two being a part.
type splitter struct{ re *regexp.Regexp }

// newSplitter compiles a pattern of a split before the last. It must not use \s,
// \S or \d, which are ASCII only in this engine, nor look-ahead.
func newSplitter(pattern string) (splitter, error) {
	if strings.Contains(pattern, `\s`) || strings.Contains(pattern, `\S`) || strings.Contains(pattern, `\d`) || strings.Contains(pattern, "(?") {
		return splitter{}, errors.New("only the last pattern may use blanks, digits or groups")
	}
	re, err := regexp.Compile(pattern)
	return splitter{re}, err
}

func (s splitter) cut(text string) (parts []string) {
	at := 0
	for _, m := range s.re.FindAllStringIndex(text, -1) {
		if m[0] > at {
			parts = append(parts, text[at:m[0]])
		}
		if m[1] > m[0] {
			parts = append(parts, text[m[0]:m[1]])
		}
		at = m[1]
	}
	if at < len(text) {
		parts = append(parts, text[at:])
	}
	return parts
}
