package load

import "unicode/utf8"

// scan walks over JSON without building values. It accepts what encoding/json
// accepts.
type scan struct {
	data []byte
	at   int
}

// maxDepth bounds nesting, as in encoding/json.
const maxDepth = 10000

func (s *scan) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scan) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scan) take(c byte) bool {
	if s.peek() != c || s.at >= len(s.data) {
		return false
	}
	s.at++
	return true
}

// object walks over an object and calls field with each key, without its quotes,
// at the value; field must pass over the value.
func (s *scan) object(field func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	s.space()
	if s.take('}') {
		return true
	}
	for {
		from := s.at
		if !s.str() {
			return false
		}
		key := s.data[from+1 : s.at-1]
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		if !field(key) {
			return false
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

// array walks over a list and calls element at each value, which it must pass
// over. Another value than a list is passed over.
func (s *scan) array(element func() bool) bool {
	if s.peek() != '[' {
		return s.value(0)
	}
	s.at++
	s.space()
	if s.take(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

// value passes over any value.
func (s *scan) value(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{':
		return s.object(func([]byte) bool { return s.value(depth + 1) })
	case '[':
		return s.array(func() bool { return s.value(depth + 1) })
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scan) literal(word string) bool {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// str passes over a string.
func (s *scan) str() bool {
	if !s.take('"') {
		return false
	}
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ':
			return false
		case c != '\\':
			s.at++
		default:
			if !s.escape() {
				return false
			}
		}
	}
	return false
}

func (s *scan) escape() bool {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return true
	case 'u':
		for range 4 {
			s.at++
			if c := s.peek(); (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
		s.at++
		return true
	}
	return false
}

func (s *scan) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scan) digits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

// unescape gives the text of the inside of a JSON string. Texts of several
// strings may stand behind each other, so that a character that was escaped in
// halves is whole again.
func unescape(inside []byte) string {
	out := make([]byte, 0, len(inside))
	for i := 0; i < len(inside); i++ {
		if inside[i] != '\\' || i+1 >= len(inside) {
			out = append(out, inside[i])
			continue
		}
		i++
		switch c := inside[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := unit(inside[i:])
			if !ok {
				continue
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 && i+2 < len(inside) && inside[i+1] == '\\' {
				if low, ok := unit(inside[i+2:]); ok && low >= 0xDC00 && low < 0xE000 {
					r = (r-0xD800)<<10 + low - 0xDC00 + 0x10000
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// unit reads u and four hexadecimal digits.
func unit(b []byte) (r rune, ok bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	for _, c := range b[1:5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
