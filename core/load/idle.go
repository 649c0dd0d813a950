package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// pulse is when anything last came from the server on any request.
type pulse struct {
	start time.Time
	last  atomic.Int64 // nanoseconds after start
}

func newPulse() *pulse { return &pulse{start: time.Now()} }

func (p *pulse) beat() { p.last.Store(int64(time.Since(p.start))) }

func (p *pulse) silence() time.Duration { return time.Since(p.start) - time.Duration(p.last.Load()) }

// idleWatch ends a request on which nothing moves. Once its answer has begun, that
// is when its own stream is silent for the limit. Before, the request may only
// stand in the server's queue, which under a thousand requests at once takes
// minutes and is what the benchmark measures; so it is ended only when no stream
// of the whole run has moved for the limit.
type idleWatch struct {
	limit time.Duration // 0 watches nothing
	run   *pulse
	end   func()

	mu    sync.Mutex
	begun bool
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
	if left := w.limit - w.run.silence(); !w.begun && left > 0 {
		w.timer.Reset(left)
		return
	}
	w.end()
}

// moved tells that bytes of the answer came.
func (w *idleWatch) moved() {
	if w.limit <= 0 {
		return
	}
	w.run.beat()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
	w.timer.Reset(w.limit)
}

func (w *idleWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}
