package load

import (
	"context"
	"math/bits"
	"net"
	"sync/atomic"
	"time"
)

// wire is a connection that knows when its bytes moved, on a clock that its lobby
// began.
//
// A read is dated by the kernel's word of when the bytes came in, where it gives
// one (see stamps), else by the moment of the read. The difference is how long
// they waited for this process: on a busy machine that is milliseconds in which a
// reader that asks the clock would say that the server was slow.
//
// Note: bytes of several packets that wait together carry one date, that of the
// last. A client that reads too late still blurs gaps, so the waits are counted
// (client_read_lag_p99_ms).
type wire struct {
	net.Conn
	stamps *stamps
	began  time.Time
	ahead  bool // opened before it was needed
	delays *delays

	// Moments since began. Reads and writes happen in goroutines of net/http's
	// choice.
	read    atomic.Int64 // the last bytes came in
	seen    atomic.Int64 // the last read returned
	written atomic.Int64
	writes  atomic.Bool // the next write begins a request
}

func (l *lobby) wire(conn net.Conn, ahead bool) *wire {
	return &wire{Conn: conn, stamps: newStamps(conn), began: l.began, ahead: ahead, delays: &l.delays}
}

// Read dates what it reads. An error and the end are dated by the clock.
func (w *wire) Read(p []byte) (n int, err error) {
	var at time.Time
	if w.stamps != nil {
		n, at, err = w.stamps.read(p)
	} else {
		n, err = w.Conn.Read(p)
	}
	now := time.Now()
	moment := now.Sub(w.began)
	w.seen.Store(int64(moment))
	if n > 0 && !at.IsZero() {
		// Both are of the wall clock, which may be set while bytes wait: what comes
		// out may lie neither ahead of now nor before what was known already.
		wait := max(0, now.Round(0).Sub(at))
		known := time.Duration(max(w.read.Load(), w.written.Load()))
		w.delays.add(min(wait, moment-known))
		moment = max(moment-wait, known)
	}
	w.read.Store(int64(moment))
	return n, err
}

// Write dates the first write of a request, just before it.
func (w *wire) Write(p []byte) (int, error) {
	if w.writes.CompareAndSwap(true, false) {
		w.written.Store(int64(time.Since(w.began)))
	}
	return w.Conn.Write(p)
}

// silence is how long after the request was written the last read returned.
func (w *wire) silence() time.Duration { return time.Duration(w.seen.Load() - w.written.Load()) }

// delays counts how long bytes waited in the kernel until they were read, in four
// steps for each doubling of the wait.
type delays struct{ counts [128]atomic.Int64 }

// finest is the width of the first steps: step 0 is four of them.
const finest = 250 * time.Nanosecond

func (d *delays) add(wait time.Duration) { d.counts[delayStep(wait)].Add(1) }

// delayStep is the step that holds a wait.
func delayStep(wait time.Duration) int {
	n := uint64(max(0, wait) / finest)
	if n < 4 {
		return 0
	}
	doubling := bits.Len64(n) - 3
	return min(1+doubling*4+int(n>>doubling&3), len(delays{}.counts)-1)
}

// delayLimit is the upper bound of a step.
func delayLimit(step int) time.Duration {
	if step == 0 {
		return 4 * finest
	}
	doubling, quarter := (step-1)/4, (step-1)%4
	return finest * time.Duration(5+quarter) << doubling
}

// reset forgets what was counted.
func (d *delays) reset() {
	for i := range d.counts {
		d.counts[i].Store(0)
	}
}

// quantile gives the upper bound of the step in which a quantile lies.
func (d *delays) quantile(q float64) (wait time.Duration, ok bool) {
	total := int64(0)
	for i := range d.counts {
		total += d.counts[i].Load()
	}
	seen := int64(0)
	for i := range d.counts {
		seen += d.counts[i].Load()
		if total > 0 && float64(seen) >= q*float64(total) {
			return delayLimit(i), true
		}
	}
	return 0, false
}

// dialWire opens a connection.
func (l *lobby) dialWire(ctx context.Context, network, address string, ahead bool) (net.Conn, error) {
	conn, err := l.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return l.wire(conn, ahead), nil
}
