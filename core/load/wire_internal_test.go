package load

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// talk opens a wire to a server that does what it is told.
func talk(t *testing.T, server func(net.Conn)) (*lobby, *wire) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			server(conn)
		}
	}()
	l := &lobby{began: time.Now()}
	conn, err := l.dialWire(context.Background(), "tcp", listener.Addr().String(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return l, conn.(*wire)
}

// TestLateRead: bytes are dated by when they came, however late they are read,
// and the wait is counted. What ends a connection is dated by the clock.
func TestLateRead(t *testing.T) {
	const late = 300 * time.Millisecond
	wrote := make(chan time.Time, 1)
	l, w := talk(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 16))
		// The kernel begins to date a moment after it is first asked to.
		time.Sleep(50 * time.Millisecond)
		wrote <- time.Now()
		_, _ = conn.Write([]byte("token"))
	})
	if w.stamps == nil {
		t.Skip("the kernel does not date what comes in on a connection")
	}
	if _, err := w.Write([]byte("request")); err != nil {
		t.Fatal(err)
	}
	at := (<-wrote).Sub(l.began)
	time.Sleep(late)
	into := make([]byte, 16)
	if n, err := w.Read(into); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if off := time.Duration(w.read.Load()) - at; off < -time.Millisecond || off > late/2 {
		t.Errorf("dated %v after it was written", off)
	}
	if wait, ok := l.delays.quantile(0.99); !ok || wait < late/2 {
		t.Errorf("waited %v, known %v", wait, ok)
	}
	if n, err := w.Read(into); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatal(n, err)
	}
	if ended := time.Duration(w.read.Load()); ended < at+late {
		t.Errorf("the end is dated %v, %v after the write", ended, ended-at)
	}
}

// TestRequestDate: only the first write of a request is dated, and an answer is
// never dated before it, whatever the kernel says.
func TestRequestDate(t *testing.T) {
	l, w := talk(t, func(conn net.Conn) {
		_, _ = io.Copy(conn, conn)
	})
	if _, err := w.Write([]byte("of a handshake")); err != nil {
		t.Fatal(err)
	}
	if w.written.Load() != 0 {
		t.Error("a write that begins no request is dated")
	}
	before := time.Since(l.began)
	w.writes.Store(true)
	for range 2 {
		if _, err := w.Write([]byte("part of a request")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	sent := time.Duration(w.written.Load())
	if sent < before || sent > before+20*time.Millisecond && sent > time.Since(l.began)-20*time.Millisecond {
		t.Errorf("sent %v, asked at %v", sent, before)
	}
	w.written.Store(int64(time.Hour)) // later than any answer
	if _, err := w.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if w.stamps != nil && w.read.Load() < int64(time.Hour) {
		t.Errorf("an answer is dated %v, before its request", time.Duration(w.read.Load()))
	}
}

// TestDelaySteps: each wait lies below the limit of its step and not below that
// of the step before.
func TestDelaySteps(t *testing.T) {
	for wait := time.Duration(0); wait < time.Minute; wait += 1 + wait/7 {
		step := delayStep(wait)
		if wait >= delayLimit(step) {
			t.Fatalf("%v is in step %d, which ends at %v", wait, step, delayLimit(step))
		}
		if step > 0 && wait < delayLimit(step-1) {
			t.Fatalf("%v is in step %d, but step %d ends at %v", wait, step, step-1, delayLimit(step-1))
		}
	}
	if got := delayStep(1<<63 - 1); got != 127 {
		t.Errorf("the longest wait is in step %d", got)
	}
}
