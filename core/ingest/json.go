package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The bounds of one JSON document. A file of any number of documents is read in
// the memory of the largest that these allow.
const (
	maxDepth    = 64        // of nested brackets
	maxDocument = 128 << 20 // bytes of what is kept: sixteen million chunk moments
	maxText     = 16 << 10  // bytes kept of one string; the rest is passed over
	maxNumber   = 400       // characters of one number
	maxKey      = 1 << 10   // bytes of one key
	maxGaps     = 4_000_000 // gaps between chunks; of the requests after them only sums
)

// object is a JSON object with its keys in the order of the file. Values are nil,
// bool, float64 (NaN and ±Inf included), string, []float64, []any or *object. Of
// a key that stands twice the last value counts, as in Python.
type object struct {
	line int // where it begins
	keys []string
	vals map[string]any
}

func (o *object) has(key string) bool { _, ok := o.vals[key]; return ok }

func (o *object) text(key string) string {
	s, _ := o.vals[key].(string)
	return s
}

// sub gives an object inside, an empty one where there is none.
func (o *object) sub(key string) *object {
	if s, ok := o.vals[key].(*object); ok {
		return s
	}
	return &object{}
}

func (o *object) set(key string, v any) {
	if o.vals == nil {
		o.vals = map[string]any{}
	}
	if _, twice := o.vals[key]; !twice {
		o.keys = append(o.keys, key)
	}
	o.vals[key] = v
}

// jsonReader reads documents one by one from what Python writes: NaN and Infinity
// are numbers, documents may follow each other, and the elements of a list at the
// top are documents of their own.
type jsonReader struct {
	r    *bufio.Reader
	line int
	// drop names keys whose values no record needs; they are passed over unread.
	drop   func(key string) bool
	inList bool
	bol    bool // the next byte begins a line
	kept   int
	full   bool
	most   int  // gaps between chunks that are kept of one document
	gaps   int  // that may yet be kept
	inGaps bool // within the lists of gaps
	block  int  // line of a printed block that stands among the documents; 0 for none
}

// jsonError is what is wrong with one document; reading can go on after it.
type jsonError struct {
	line    int // where the document begins
	message string
	cut     bool // the text ends inside the document
}

func (e *jsonError) Error() string { return e.message }

func newJSONReader(r *bufio.Reader, drop func(string) bool) *jsonReader {
	return &jsonReader{r: r, line: 1, bol: true, drop: drop, most: maxGaps}
}

// next gives the next document: an *object, or another value that is no record.
// It gives io.EOF after the last, and a *jsonError for one that is broken, after
// which the text goes on at the next line that begins an object.
func (j *jsonReader) next() (any, int, error) {
	for {
		c, err := j.skipSpace()
		if err != nil {
			return nil, j.line, err
		}
		switch {
		case c == ',':
			j.readByte()
			continue
		case c == '[' && !j.inList:
			j.readByte()
			j.inList = true
			continue
		case c == ']' && j.inList:
			j.readByte()
			j.inList = false
			continue
		}
		line := j.line
		j.kept, j.full, j.gaps = 0, false, j.most
		v, err := j.value(1, true)
		if err == nil && j.full {
			err = j.fail("record: holds more than %d MiB; save it without its per-request arrays", maxDocument>>20)
			return nil, line, at(err, line)
		}
		if err != nil {
			return nil, line, j.recover(at(err, line))
		}
		if o, ok := v.(*object); ok {
			o.line = line
		}
		return v, line, nil
	}
}

// at says in which line the broken document begins; other errors stay.
func at(err error, line int) error {
	var broken *jsonError
	switch {
	case errors.As(err, &broken):
		broken.line = line
	case errors.Is(err, io.EOF):
		return &jsonError{line: line, cut: true, message: "record cut off: the file ends inside it; what stands before it is kept"}
	}
	return err
}

// recover passes over the rest of a broken document.
func (j *jsonReader) recover(err error) error {
	var broken *jsonError
	if !errors.As(err, &broken) || broken.cut {
		return err
	}
	for {
		if next, _ := j.r.Peek(1); j.bol && len(next) == 1 && next[0] == '{' {
			return err
		}
		part, rerr := j.r.ReadSlice('\n')
		if j.block == 0 && bytes.Contains(part, []byte("Serving Benchmark Result")) {
			j.block = j.line
		}
		switch j.bol = rerr == nil; {
		case j.bol:
			j.line++
		case !errors.Is(rerr, bufio.ErrBufferFull):
			return err // the end comes with the next call
		}
	}
}

func (j *jsonReader) fail(format string, args ...any) error {
	return &jsonError{message: fmt.Sprintf(format, args...)}
}

func (j *jsonReader) readByte() (byte, error) {
	c, err := j.r.ReadByte()
	if err == nil {
		if j.bol = c == '\n'; j.bol {
			j.line++
		}
	}
	return c, err
}

// skipSpace gives the next byte that is no blank, without consuming it.
func (j *jsonReader) skipSpace() (byte, error) {
	for {
		next, err := j.r.Peek(1)
		if len(next) == 0 {
			return 0, err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			j.readByte()
			continue
		case 0xef: // a byte order mark between concatenated files
			if mark, _ := j.r.Peek(3); len(mark) == 3 && mark[1] == 0xbb && mark[2] == 0xbf {
				j.r.Discard(3)
				continue
			}
		}
		return next[0], nil
	}
}

// keep counts what a document holds. Above the bound the rest is read and not kept.
func (j *jsonReader) keep(n int) bool {
	j.kept += n
	j.full = j.full || j.kept > maxDocument
	return !j.full
}
