package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxEvent bounds one server-sent event. Engines send a few hundred bytes a
// token; logprobs or a final chunk with everything may reach a megabyte.
const maxEvent = 4 << 20

// errEventTooLong: one event of a stream is longer than any engine sends.
var errEventTooLong = fmt.Errorf("server-sent event is longer than %d MiB", maxEvent>>20)

// event is one server-sent event. data is valid until the next call of next.
type event struct {
	name string // of the event: field, "" when none
	data []byte
	at   time.Duration // when the bytes that complete it came
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
// The clock is read once for each read that brought bytes, before they are
// looked at, so that the ruler's own work is not in the moments; the client's
// clock tells when the bytes came in (see wire). Chunks that came together have
// one moment.
//
// Note: a lone CR as line end, which the standard allows, is not one here. No
// engine writes it, and waiting for the LF that may follow would delay moments.
type events struct {
	in    io.Reader
	clock func() time.Duration
	moved func(now time.Duration) // called once for each read that brought a whole line that is not blank; may be nil
	whole func(data []byte) bool  // whether data needs no further line

	buffer  []byte // read and not yet used: buffer[from:to]
	from    int
	to      int
	scanned int // of these bytes, known to hold no line end
	now     time.Duration
	told    bool  // moved knows of the last read
	err     error // of in, once it is met

	long  []byte // data of several lines
	name  string
	begun bool // a line has been read
}

// newEvents reads from in through buffer, which grows when a line is longer.
func newEvents(in io.Reader, buffer []byte, clock func() time.Duration) *events {
	return &events{in: in, buffer: buffer, clock: clock, whole: whole}
}

// next gives the next event that has data. At the end of the stream it is io.EOF,
// and data that no blank line has ended is given before, as it may be an error
// that the server could still write.
func (e *events) next() (event, error) {
	var data []byte
	pending, lines := false, 0
	give := func() (event, error) {
		name := e.name
		e.name = ""
		return event{name, bytes.TrimSpace(data), e.now}, nil
	}
	for {
		line, err := e.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && pending {
				return give()
			}
			return event{}, err
		}
		if len(line) == 0 {
			if pending {
				return give()
			}
			e.name = ""
			continue
		}
		if e.moved != nil && !e.told {
			e.told = true
			e.moved(e.now)
		}
		field, value, _ := bytes.Cut(line, colon)
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			pending = true
			// The one line of an event is used where it lies. A second one, or any
			// other line after it, may move it, so it is then copied.
			if lines++; lines == 1 && e.whole(value) {
				data = value
				return give()
			}
			if lines == 1 {
				e.long = e.long[:0]
			} else {
				e.long = append(e.long, '\n')
			}
			if e.long = append(e.long, value...); len(e.long) > maxEvent {
				return event{}, errEventTooLong
			}
			if data = e.long; lines > 1 && e.whole(data) {
				return give()
			}
		}
	}
}

var colon = []byte(":")

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

// readLine gives one line without its end, valid until the next call. A last line
// without an end counts.
func (e *events) readLine() ([]byte, error) {
	for {
		if i := bytes.IndexByte(e.buffer[e.from+e.scanned:e.to], '\n'); i >= 0 {
			line := e.buffer[e.from : e.from+e.scanned+i]
			e.from += len(line) + 1
			e.scanned = 0
			return e.ended(line), nil
		}
		e.scanned = e.to - e.from
		if e.scanned > maxEvent {
			return nil, errEventTooLong
		}
		if e.err == nil {
			e.fill()
			continue
		}
		if !errors.Is(e.err, io.EOF) || e.from == e.to {
			return nil, e.err
		}
		line := e.buffer[e.from:e.to]
		e.from, e.scanned = e.to, 0
		return e.ended(line), nil
	}
}

func (e *events) ended(line []byte) []byte {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// fill reads once, making room first.
func (e *events) fill() {
	if e.from == e.to {
		e.from, e.to = 0, 0
	} else if e.to == len(e.buffer) {
		if e.from > 0 {
			copy(e.buffer, e.buffer[e.from:e.to])
			e.from, e.to = 0, e.to-e.from
		} else {
			e.buffer = append(e.buffer, make([]byte, max(512, len(e.buffer)))...)
		}
	}
	var n int
	n, e.err = e.in.Read(e.buffer[e.to:])
	e.to += n
	e.now, e.told = e.clock(), false
}
