package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// boundedFile is a log file that keeps its head and its end. It reads in the
// order of time at every moment, so that people and engines can follow it:
// where a ring would wrap, the older half of the tail is cut out in place, which
// needs no room on a disk that has none.
type boundedFile struct {
	f       *os.File
	limits  LogLimits
	size    int64 // of the file
	headEnd int64 // where the notice stands once something was cut out
	leftOut int64 // bytes cut out
	// stream is a terminal, a pipe or a device: it cannot be cut and has no bounds.
	stream bool
}

// noticeFormat has a fixed width, so that its figure can be rewritten in place.
const noticeFormat = "\n[sweepbook: %20d bytes of this log left out here]\n"

var noticeLen = int64(len(fmt.Sprintf(noticeFormat, 0)))

const (
	alignment = 4 << 10 // how far a cut may move to fall between lines
	minTail   = 4 << 10 // leaves room for the notice and one piece in a cut
)

func newBoundedFile(path string, limits LogLimits) (*boundedFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", errors.Join(err, f.Close()))
	}
	limits.Tail = max(limits.Tail, minTail)
	return &boundedFile{f: f, limits: limits, stream: !info.Mode().IsRegular()}, nil
}

// Write appends, cutting where the file would outgrow its limits.
func (b *boundedFile) Write(data []byte) (int, error) {
	if b.stream {
		return b.f.Write(data)
	}
	written := 0
	piece := int(min(b.limits.Tail/4, 64<<10)) // less than one cut makes room for
	for len(data) > 0 {
		n := min(piece, len(data))
		if b.size+int64(n) > b.bound() {
			if err := b.cut(); err != nil {
				return written, err
			}
		}
		m, err := b.f.WriteAt(data[:n], b.size)
		b.size += int64(m)
		written += m
		if err != nil {
			return written, err
		}
		data = data[n:]
	}
	return written, nil
}

func (b *boundedFile) bound() int64 {
	if b.leftOut == 0 {
		return b.limits.Head + b.limits.Tail
	}
	return b.headEnd + noticeLen + b.limits.Tail
}

// cut leaves out what stands between the head and the last half tail, and moves
// that half down behind the notice. Pieces are a quarter of the tail at most, so
// the half begins at least a quarter behind the head and the notice fits before
// it: the copy never overtakes what it reads.
func (b *boundedFile) cut() error {
	headEnd, from := b.headEnd, b.headEnd+noticeLen
	if b.leftOut == 0 {
		headEnd = b.limits.Head
		window := b.read(max(0, headEnd-alignment), headEnd)
		if i := bytes.LastIndexByte(window, '\n'); i >= 0 {
			headEnd -= int64(len(window) - i - 1)
		}
		from = headEnd
	}
	start := b.size - b.limits.Tail/2
	window := b.read(start, start+min(alignment, b.limits.Tail/8))
	start += int64(bytes.IndexByte(window, '\n') + 1)

	leftOut := b.leftOut + start - from
	if _, err := b.f.WriteAt(fmt.Appendf(nil, noticeFormat, leftOut), headEnd); err != nil {
		return err
	}
	to := headEnd + noticeLen
	b.headEnd, b.leftOut = headEnd, leftOut
	buf := make([]byte, 256<<10)
	for start < b.size {
		n, err := b.f.ReadAt(buf[:min(int64(len(buf)), b.size-start)], start)
		if n == 0 {
			return err
		}
		if _, err := b.f.WriteAt(buf[:n], to); err != nil {
			return err
		}
		start, to = start+int64(n), to+int64(n)
	}
	b.size = to
	return b.f.Truncate(to)
}

// read returns what it can of file[from:to]; a failure only costs the alignment.
func (b *boundedFile) read(from, to int64) []byte {
	buf := make([]byte, to-from)
	n, _ := b.f.ReadAt(buf, from)
	return buf[:n]
}
