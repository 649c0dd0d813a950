package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is how much of one line is kept. No row, command or heading comes
// near; what is longer is the payload of a log.
const maxLine = 64 << 10

// line is one line made plain, or one redrawn piece of it.
type line struct {
	no  int    // 1-based line number in the file
	raw string // without escape codes and control characters
	// text is raw without quote marks, line numbers, log prefixes and blanks around.
	text     string
	prefixed bool // a log prefix was cut off
}

// lineReader splits text into lines. A carriage return that ends no line redraws
// it: each piece is then a line with the same number, since a progress bar that
// never ends its line is followed by the first line of the result.
type lineReader struct {
	r   *bufio.Reader
	no  int // line ends seen
	buf []byte
}

// next gives the next line; io.EOF after the last.
func (l *lineReader) next() (line, error) {
	for {
		end, err := l.piece()
		if err != nil && (!errors.Is(err, io.EOF) || len(l.buf) == 0) {
			return line{}, err
		}
		no := l.no + 1
		if end == '\n' {
			l.no++
		}
		raw := plain(l.buf)
		if end == '\r' && strings.TrimSpace(raw) == "" {
			continue
		}
		text, prefixed := cutPrefixes(raw)
		return line{no: no, raw: raw, text: text, prefixed: prefixed}, nil
	}
}

// piece fills buf up to the next line end or carriage return, and gives which it
// was; 0 at the end of the text.
func (l *lineReader) piece() (byte, error) {
	l.buf = l.buf[:0]
	for {
		if _, err := l.r.Peek(1); err != nil {
			return 0, err
		}
		chunk, _ := l.r.Peek(l.r.Buffered())
		i := bytes.IndexAny(chunk, "\r\n")
		n := i
		if i < 0 {
			n = len(chunk)
		}
		l.buf = append(l.buf, chunk[:min(n, maxLine-len(l.buf))]...)
		if i < 0 {
			l.r.Discard(n)
			continue
		}
		end := chunk[i]
		l.r.Discard(n + 1)
		if end == '\r' {
			if next, err := l.r.Peek(1); err == nil && next[0] == '\n' {
				l.r.Discard(1)
				end = '\n'
			}
		}
		return end, nil
	}
}

// plain removes terminal escape codes and control characters, makes every blank
// a space or tab, and repairs broken UTF-8.
func plain(b []byte) string {
	if isPlain(b) {
		return strings.TrimRight(string(b), " \t")
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		if b[i] == 0x1b {
			i += escapeLen(b[i:])
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		i += size
		switch {
		case r == '\t':
			out.WriteByte('\t')
		case r == 0xfeff || r == 0x200b: // byte order mark or zero width space in the middle
		case unicode.Is(unicode.Zs, r):
			out.WriteByte(' ')
		case unicode.IsControl(r):
		default:
			out.WriteRune(r)
		}
	}
	return strings.TrimRight(out.String(), " \t")
}

// isPlain: printable ASCII and tabs, as nearly every line is.
func isPlain(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

// escapeLen is the length of the escape code at the start of b: CSI, OSC or a
// two-byte code.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return len(b)
	case ']':
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
		}
		return len(b)
	case '(', ')':
		return min(3, len(b))
	}
	return 2
}
