package load

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// pulse is when a token last came from the server on any request of a phase, on the
// clock of that phase.
type pulse struct {
	clock func() time.Duration
	token atomic.Int64
	hung  atomic.Bool // a request was ended since
}

// patience is how many idle limits a request waits for a token of the server, on
// any stream. A long prefill is no stall, whether the server sends pings meanwhile
// or nothing; a server that never generates anything is one. It is asked for so
// much patience once: until it gives a token again, the next request waits one limit.
const patience = 10

// stalled is why a request was ended on which nothing moved.
type stalled string

func (s stalled) Error() string { return string(s) }

// idleWatch ends a request on which nothing moves. Once its answer has begun, that
// is when its own stream is silent for the limit. Before, the request may only
// stand in the server's queue, which under a thousand requests at once takes
// minutes and is what the benchmark measures, or the server may be reading a very
// long prompt; so it is ended only when no token has come on any stream of the run
// for ten limits.
//
// What moves a stream is a whole line, a comment too; bytes that never end a line
// do not. A token costs two stores here: the timer is not touched, but looks again
// when it fires.
type idleWatch struct {
	limit time.Duration // 0 watches nothing
	run   *pulse
	end   func(why stalled)

	since time.Duration // it is watched
	begun atomic.Bool
	last  atomic.Int64 // own latest line

	mu    sync.Mutex
	timer *time.Timer
}

func (w *idleWatch) start() {
	if w.limit <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = w.run.clock()
	w.timer = time.AfterFunc(w.limit, w.expired)
}

func (w *idleWatch) expired() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, wait := w.run.clock(), patience*w.limit
	if w.run.hung.Load() {
		wait = w.limit
	}
	barren := wait - (now - max(w.since, time.Duration(w.run.token.Load())))
	silent := barren
	if w.begun.Load() {
		silent = w.limit - (now - time.Duration(w.last.Load()))
	}
	if left := min(silent, barren, w.limit); left > 0 {
		w.timer.Reset(left)
		return
	}
	w.run.hung.Store(true)
	if silent < barren {
		w.end(stalled(fmt.Sprintf("nothing came for %v", w.limit)))
	} else {
		w.end(stalled(fmt.Sprintf("no token came from the server for %v", wait)))
	}
}

// moved tells that a line of the answer came.
func (w *idleWatch) moved(now time.Duration) {
	if w.limit <= 0 {
		return
	}
	w.last.Store(int64(now))
	if !w.begun.Load() {
		w.begun.Store(true)
	}
}

// token tells that a chunk with a token came.
func (w *idleWatch) token(now time.Duration) {
	if w.limit <= 0 {
		return
	}
	w.run.token.Store(int64(now))
	if w.run.hung.Load() {
		w.run.hung.Store(false)
	}
}

func (w *idleWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}
