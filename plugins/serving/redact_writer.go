package serving

import (
	"bytes"
	"io"
	"sync"
)

// RedactingWriter redacts a stream. Lines go through whole, so that a secret that
// was split over two writes is found; Flush or Close lets the last, unended line
// out. It is safe for concurrent use.
type RedactingWriter struct {
	mu      sync.Mutex
	w       io.Writer
	r       *Redactor
	pending []byte
}

// longestLine is how much of an unended line is kept back. A longer one is let
// out in parts that overlap by more than any secret that is looked for.
const longestLine = 64 << 10

// overlap is kept back of such a part beside the longest known form.
const overlap = 4 << 10

// Writer returns a writer that passes on what is written without secrets.
func (r *Redactor) Writer(w io.Writer) *RedactingWriter { return &RedactingWriter{w: w, r: r} }

// Write implements io.Writer. It reports every byte as written that it took.
func (w *RedactingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, p...)
	// A progress bar ends its states with \r: no secret goes across one.
	if end := bytes.LastIndexAny(w.pending, "\n\r") + 1; end > 0 {
		if err := w.let(end); err != nil {
			return len(p), err
		}
	}
	keep := overlap + w.r.max
	for len(w.pending) > longestLine+keep {
		if err := w.let(w.cut(len(w.pending) - keep)); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// cut finds a place at or before at where no secret is cut: between words where
// there are some, and before what stands across that place.
func (w *RedactingWriter) cut(at int) int {
	if i := bytes.LastIndexAny(w.pending[:at], " \t,"); i > at/2 {
		at = i + 1
	}
	from := max(0, at-overlap-w.r.max)
	for _, span := range w.r.spans(string(w.pending[from:min(len(w.pending), at+overlap+w.r.max)])) {
		if from+span[0] < at && at < from+span[1] {
			at = from + span[0]
		}
	}
	return max(at, 1)
}

// let writes out the beginning of what is pending.
func (w *RedactingWriter) let(end int) error {
	text := w.r.String(string(w.pending[:end]))
	w.pending = append(w.pending[:0], w.pending[end:]...)
	_, err := io.WriteString(w.w, text)
	return err
}

// Quiet writes out an unended line after a pause, as of a progress bar, but for an
// end with which a known value may have begun.
func (w *RedactingWriter) Quiet() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := len(w.pending) - w.r.begun(string(w.pending)); end > 0 {
		return w.let(end)
	}
	return nil
}

// Flush writes out an unended line.
func (w *RedactingWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return nil
	}
	return w.let(len(w.pending))
}

// Close flushes and closes the underlying writer where that can be closed.
func (w *RedactingWriter) Close() error {
	err := w.Flush()
	if c, ok := w.w.(io.Closer); ok {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}
	return err
}
