package ingest

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deep is the depth of a request within a report: {benchmarks: [{requests:
// {successful: [{…}]}}]}.
const deep = 6

func (j *jsonReader) value(depth int, keep bool) (any, error) {
	c, err := j.skipSpace()
	if err != nil {
		return nil, err
	}
	switch c {
	case '{', '[':
		if depth > maxDepth {
			return nil, j.fail("record: nested deeper than %d levels", maxDepth)
		}
		j.readByte()
		if c == '{' {
			return j.object(depth, keep)
		}
		return j.list(depth, keep)
	case '"':
		j.readByte()
		return j.string(keep, maxText)
	}
	return j.word()
}

func (j *jsonReader) object(depth int, keep bool) (any, error) {
	o := &object{line: j.line}
	for first := true; ; first = false {
		c, err := j.skipSpace()
		if err != nil {
			return nil, err
		}
		switch {
		case c == '}':
			j.readByte()
			return o, nil
		case c == ',' && !first:
			j.readByte()
			if c, err = j.skipSpace(); err != nil {
				return nil, err
			}
			if c == '}' {
				continue // Python programs leave a comma before the end
			}
		case !first:
			return nil, j.fail("record: line %d: want , or } after a value, got %q", j.line, c)
		}
		if c != '"' {
			return nil, j.fail("record: line %d: want a key in quotes, got %q", j.line, c)
		}
		j.readByte()
		key, err := j.string(true, maxKey)
		if err != nil {
			return nil, err
		}
		if c, err = j.skipSpace(); err != nil {
			return nil, err
		}
		if c != ':' {
			return nil, j.fail("record: line %d: want : after the key %q, got %q", j.line, clip(key, 40), c)
		}
		j.readByte()
		wanted := keep && (depth != 1 || j.drop == nil || !j.drop(key)) && (depth < deep || !guidellmTexts(key))
		j.inGaps = j.inGaps || depth == 1 && key == "itls"
		v, err := j.value(depth+1, wanted)
		if err != nil {
			return nil, err
		}
		if depth == 1 {
			j.inGaps = false
		}
		if v == nil && depth >= deep {
			continue // a request has dozens of keys that say nothing
		}
		if wanted && j.keep(len(key)+48) {
			o.set(key, v)
		}
	}
}

// list reads a list; one of numbers only becomes []float64, with NaN for null. A list
// of gaps beyond those that are kept becomes their sum.
func (j *jsonReader) list(depth int, keep bool) (any, error) {
	var numbers []float64
	var mixed []any
	sum, summed := 0.0, j.inGaps && depth == 3 && j.gaps <= 0
	for first := true; ; first = false {
		c, err := j.skipSpace()
		if err != nil {
			return nil, err
		}
		switch {
		case c == ']':
			j.readByte()
			switch {
			case summed:
				return sum, nil
			case mixed != nil:
				return mixed, nil
			case j.inGaps:
				j.gaps -= len(numbers)
			}
			return numbers, nil
		case c == ',' && !first:
			j.readByte()
			if c, err = j.skipSpace(); err != nil {
				return nil, err
			}
			if c == ']' {
				continue
			}
		case !first:
			return nil, j.fail("record: line %d: want , or ] after a value, got %q", j.line, c)
		}
		// Most of a result's file are lists of numbers, which are not worth a value each.
		f, plain := j.plainNumber()
		var v any
		if !plain {
			if v, err = j.value(depth+1, keep); err != nil {
				return nil, err
			}
			f, plain = v.(float64)
		} else if mixed != nil {
			v = f
		}
		switch {
		case !keep:
			continue
		case summed && plain:
			sum += f
			continue
		case summed:
			sum = math.NaN()
			continue
		}
		if plain && mixed == nil {
			if j.keep(8) {
				numbers = append(numbers, f)
			}
			continue
		}
		if mixed == nil {
			if !j.keep(24 * len(numbers)) {
				continue
			}
			mixed = make([]any, 0, len(numbers)+1)
			for _, f := range numbers {
				mixed = append(mixed, f)
			}
			numbers = nil
		}
		if j.keep(24) {
			mixed = append(mixed, v)
		}
	}
}

// plainNumber reads a decimal number of usual length where one comes next. What it
// leaves unread is for word.
func (j *jsonReader) plainNumber() (f float64, ok bool) {
	next, _ := j.r.Peek(32)
	n := 0
	for n < len(next) && (next[n] >= '0' && next[n] <= '9' || strings.IndexByte("+-.eE", next[n]) >= 0) {
		n++
	}
	if n == 0 || n == len(next) || isWordByte(next[n]) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(next[:n]), 64)
	if err != nil {
		return 0, false
	}
	j.r.Discard(n)
	j.bol = false
	return f, true
}

// string reads the rest of a string and keeps at most limit bytes of it.
func (j *jsonReader) string(keep bool, limit int) (string, error) {
	var out strings.Builder
	put := func(r rune) {
		if keep && out.Len() < limit {
			out.WriteRune(r)
		}
	}
	for {
		c, err := j.readByte()
		if err != nil {
			return "", err
		}
		switch {
		case c == '"':
			j.keep(out.Len())
			return strings.ToValidUTF8(out.String(), "\ufffd"), nil
		case c == '\\':
			r, err := j.escape()
			if err != nil {
				return "", err
			}
			put(r)
		case c < ' ' && c != '\t':
			// A line end inside a string means that its end is missing.
			if c == '\n' {
				return "", j.fail("record cut off in line %d: a text without its closing quote", j.line-1)
			}
		case keep && out.Len() < limit:
			out.WriteByte(c)
		}
	}
}

func (j *jsonReader) escape() (rune, error) {
	c, err := j.readByte()
	if err != nil {
		return 0, err
	}
	switch c {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', nil // one line is enough of any text that is kept
	case 'u':
		r, err := j.hex4()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		if next, _ := j.r.Peek(2); len(next) == 2 && next[0] == '\\' && next[1] == 'u' {
			j.r.Discard(2)
			low, err := j.hex4()
			return utf16.DecodeRune(r, low), err
		}
		return utf8.RuneError, nil
	}
	return rune(c), nil
}

func (j *jsonReader) hex4() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := j.readByte()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 32)
	if err != nil {
		return 0, j.fail("record: line %d: %q is no code point", j.line, digits[:])
	}
	return rune(n), nil
}

// word reads a number or a bare word of JSON or Python. What is too large for a
// float64 is no number; it is not infinite.
func (j *jsonReader) word() (any, error) {
	var word []byte
	for {
		c, err := j.r.ReadByte()
		if err != nil && (!errors.Is(err, io.EOF) || len(word) == 0) {
			return nil, err
		}
		if err != nil || !isWordByte(c) {
			if err == nil {
				j.r.UnreadByte()
			}
			break
		}
		j.bol = false
		if word = append(word, c); len(word) > maxNumber {
			return nil, j.fail("record: line %d: a number of more than %d characters", j.line, maxNumber)
		}
	}
	switch string(word) {
	case "null", "None":
		return nil, nil
	case "true", "True":
		return true, nil
	case "false", "False":
		return false, nil
	case "NaN", "nan", "-NaN":
		return math.NaN(), nil
	case "Infinity", "inf", "+Infinity":
		return math.Inf(1), nil
	case "-Infinity", "-inf":
		return math.Inf(-1), nil
	case "":
		c, err := j.readByte()
		if err != nil {
			return nil, err
		}
		return nil, j.fail("record: line %d: want a value, got %q", j.line, c)
	}
	if strings.ContainsAny(string(word), "xX_pP") {
		return nil, j.fail("record: line %d: %q is no number", j.line, clip(string(word), 40))
	}
	f, err := strconv.ParseFloat(string(word), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.NaN(), nil
	case err != nil:
		return nil, j.fail("record: line %d: %q is no number", j.line, clip(string(word), 40))
	}
	return f, nil
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-' || c == '_'
}
