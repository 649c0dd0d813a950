package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// outliveReaders has this process go on where who reads what it says goes away, as
// head does, until stop is called. Without a handler the first line that nobody reads
// would end it.
func outliveReaders() (stop func()) {
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	return func() { signal.Stop(gone) }
}

// unread passes on what is written, and takes it all the same where that fails: whoever
// writes is not to end because nobody reads it. lost is told the first failure that is
// another than that.
type unread struct {
	w    io.Writer
	lost func(error)
	once sync.Once
}

func (u *unread) Write(p []byte) (int, error) {
	if _, err := u.w.Write(p); err != nil && !errors.Is(err, syscall.EPIPE) {
		u.once.Do(func() { u.lost(err) })
	}
	return len(p), nil
}

// outlet is stderr, which what is drawn there may take over for a while: what others
// say meanwhile goes through its hands.
type outlet struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	w := o.w
	o.mu.Unlock()
	return w.Write(p)
}

// divert hands what is written to another writer, and returns the one before.
func (o *outlet) divert(to io.Writer) io.Writer {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.w
	o.w = to
	return before
}

// byLine hands over whole lines of what is written.
type byLine struct {
	mu   sync.Mutex
	rest []byte
	take func(line string)
}

func (b *byLine) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.rest = append(b.rest, p...)
	var lines []string
	for {
		line, after, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			break
		}
		lines, b.rest = append(lines, string(line)), after
	}
	b.mu.Unlock()
	for _, line := range lines {
		b.take(line)
	}
	return len(p), nil
}
