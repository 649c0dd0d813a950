package ingest

import "strings"

// shellWords splits a command line as a shell would, up to the first operator
// (pipe, redirection, ;, &) or comment. JSON that stands unquoted after a blank
// or "=" is kept whole with its quotes, because documents show it so.
func shellWords(s string) []string {
	var (
		words []string
		word  strings.Builder
		open  bool // a word has begun, if only by an empty pair of quotes
	)
	flush := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			flush()
		case c == '\'' || c == '"':
			open = true
			i = quoted(s, i, &word)
		case c == '\\' && i+1 < len(s):
			open = true
			i++
			word.WriteByte(s[i])
		case (c == '{' || c == '[') && (word.Len() == 0 || strings.HasSuffix(word.String(), "=")):
			open = true
			n := jsonLen(s[i:])
			word.WriteString(s[i : i+n])
			i += n - 1
		case c == '#' && !open, c == '|', c == ';', c == '<', c == '>', c == '&':
			if c == '>' && isDigits(word.String()) {
				word.Reset() // "2>" names a stream, not a word
				open = false
			}
			flush()
			return words
		default:
			open = true
			word.WriteByte(c)
		}
	}
	flush()
	return words
}

// quoted appends the text between the quote at s[i] and its partner, and gives
// the partner's place; an unclosed quote ends with the line.
func quoted(s string, i int, out *strings.Builder) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i
		case quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
		}
		out.WriteByte(s[i])
	}
	return len(s)
}

// jsonLen is the length of the bracketed text at the start of s; 1 where the
// brackets do not close.
func jsonLen(s string) int {
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 1
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// flag is one option of a command as written.
type flag struct {
	name  string // without leading dashes, as spelled
	value string
	bare  bool // no value was given
}

// parseFlags reads --name=value, --name value and bare --name; several numbers
// after one name are one value. What belongs to no option is in rest.
func parseFlags(words []string) (flags []flag, rest []string) {
	for i := 0; i < len(words); i++ {
		word := asciiDashes(words[i])
		if !isFlag(word) {
			rest = append(rest, words[i])
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f := flag{name: name, value: value, bare: !given}
		if !given && i+1 < len(words) && !isFlag(asciiDashes(words[i+1])) && takesValue(name, words[i+1]) {
			i++
			f.value, f.bare = words[i], false
			for i+1 < len(words) && isNumber(words[i]) && isNumber(words[i+1]) {
				i++
				f.value += " " + words[i]
			}
		}
		flags = append(flags, f)
	}
	return flags, rest
}

// asciiDashes undoes what text processors make of a double dash.
func asciiDashes(word string) string {
	for _, dash := range []string{"—", "–"} {
		if rest, ok := strings.CutPrefix(word, dash); ok {
			return "--" + strings.TrimLeft(rest, "-")
		}
	}
	return word
}

// isFlag: a dash and then a letter; "-1" is a value.
func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	return len(name) < len(word) && name != "" && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

// takesValue keeps a switch from taking the model's name that follows it.
func takesValue(name, next string) bool {
	switch next {
	case "true", "false", "True", "False":
		return true
	}
	name = strings.ReplaceAll(name, "_", "-")
	for _, prefix := range []string{"enable-", "disable-", "no-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	switch name {
	case "trust-remote-code", "enforce-eager", "async-scheduling", "ignore-eos", "save-result", "save-detailed", "skip-tokenizer-init":
		return false
	}
	return true
}

func isNumber(s string) bool {
	_, ok := parseNumber(s)
	return ok
}
