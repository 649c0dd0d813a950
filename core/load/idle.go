package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// pulse is when anything last came from the server on any request of a phase, on
// the clock of that phase.
type pulse struct {
	clock func() time.Duration
	line  atomic.Int64 // latest line of any kind
	token atomic.Int64 // latest chunk that carries a token
}

// pingPatience is how many idle limits a server may go without a token anywhere
// while it says that it is alive. A long prefill under pings is no stall; a server
// that pings for ever and generates nothing is one.
const pingPatience = 10

// idleWatch ends a request on which nothing moves. Once its answer has begun, that
// is when its own stream is silent for the limit. Before, the request may only
// stand in the server's queue, which under a thousand requests at once takes
// minutes and is what the benchmark measures; so it is ended only when no stream
// of the whole run has moved for the limit.
//
// What moves a stream is a whole line, a comment too; bytes that never end a line
// do not. A token costs two stores here: the timer is not touched, but looks again
// when it fires.
type idleWatch struct {
	limit time.Duration // 0 watches nothing
	run   *pulse
	end   func()

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
	w.timer = time.AfterFunc(w.limit, w.expired)
}

func (w *idleWatch) expired() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.run.clock()
	silent := now - time.Duration(w.run.line.Load())
	if w.begun.Load() {
		silent = now - time.Duration(w.last.Load())
	}
	barren := now - time.Duration(w.run.token.Load())
	if left := min(w.limit-silent, pingPatience*w.limit-barren); left > 0 {
		w.timer.Reset(left)
		return
	}
	w.end()
}

// moved tells that a line of the answer came.
func (w *idleWatch) moved(now time.Duration) {
	if w.limit <= 0 {
		return
	}
	w.last.Store(int64(now))
	w.run.line.Store(int64(now))
	if !w.begun.Load() {
		w.begun.Store(true)
	}
}

// token tells that a chunk with a token came.
func (w *idleWatch) token(now time.Duration) {
	if w.limit > 0 {
		w.run.token.Store(int64(now))
	}
}

func (w *idleWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}
