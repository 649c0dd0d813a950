package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one server-sent event. Engines send a few hundred bytes a
// token; logprobs or a final chunk with everything may reach a megabyte.
const maxEvent = 8 << 20

// errEventTooLong: one event of a stream is longer than any engine sends.
var errEventTooLong = fmt.Errorf("server-sent event is longer than %d MiB", maxEvent>>20)

// event is one server-sent event. data is valid until the next call of next.
type event struct {
	name string // of the event: field, "" when none
	data []byte
}

// events reads server-sent events (WHATWG HTML, 9.2) as engines really write
// them. Comments, blank lines, unknown fields and a byte order mark are passed
// over, lines end in LF or CRLF, several data lines make one event.
//
// One thing is more eager than the standard: data that is already a whole JSON
// object or [DONE] is given at once, not at the blank line after it. The moment
// of a chunk is then the moment of its own line, and servers that leave the blank
// line out are understood.
//
// Note: a lone CR as line end, which the standard allows, is not one here. No
// engine writes it, and waiting for the LF that may follow would delay moments.
type events struct {
	in    *bufio.Reader
	line  []byte
	data  []byte
	name  string
	begun bool // a line has been read
	given bool // data and name were handed out
}

func newEvents(in *bufio.Reader) *events { return &events{in: in} }

// next gives the next event that has data. At the end of the stream it is io.EOF,
// and data that no blank line has ended is given before, as it may be an error
// that the server could still write.
func (e *events) next() (event, error) {
	if e.given {
		e.data, e.name, e.given = e.data[:0], "", false
	}
	pending := false
	for {
		line, err := e.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && pending {
				return e.give(), nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if pending {
				return e.give(), nil
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if pending {
				e.data = append(e.data, '\n')
			}
			pending = true
			if e.data = append(e.data, value...); len(e.data) > maxEvent {
				return event{}, errEventTooLong
			}
			if whole(e.data) {
				return e.give(), nil
			}
		}
	}
}

func (e *events) give() event {
	e.given = true
	return event{e.name, bytes.TrimSpace(e.data)}
}

// whole reports whether data needs no further line: it is [DONE], or begins with
// a brace whose partner is its last byte. Whether that is JSON is for the reader
// of the event to say; this runs for every token and only counts.
func whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '{' || data[len(data)-1] != '}' {
		return string(data) == "[DONE]"
	}
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i == len(data)-1
			}
		}
	}
	return false
}

// readLine gives one line without its end. A last line without an end counts.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		if len(e.line)+len(part) > maxEvent {
			return nil, errEventTooLong
		}
		line := part
		if len(e.line) > 0 || err != nil {
			e.line = append(e.line, part...)
			line = e.line
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}
