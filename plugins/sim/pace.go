package sim

import (
	"context"
	"sync"
	"time"
)

// lateLimit is how far real time may run ahead of the schedule before the
// schedule is moved. A process that was stopped for a while must not answer with
// a burst that no engine could produce.
const lateLimit = time.Second

// status is what /metrics shows of the engine.
type status struct {
	counters
	Running, Waiting int
	BlocksUsed       int
	Virtual          time.Duration // simulated time of the schedule
	MaxLate          time.Duration // real; how late the latest step was delivered
	Moved            int           // times the schedule was moved
}

// engine runs a scheduler against the clock: virtual time is real time since the
// origin, times the scale. Steps end at absolute moments, so an overslept one
// makes the next sleep shorter and nothing drifts; steps shorter than the timer
// can resolve come in groups, never early.
type engine struct {
	sched *scheduler
	scale float64
	wake  chan struct{}
	sleep func(context.Context, time.Time) // sleepUntil, but for tests

	mu      sync.Mutex
	origin  time.Time
	arrived []*sequence
	gone    []*sequence
	frozen  bool
	reset   bool
	status  status
}

func newEngine(m *machine, scale float64) *engine {
	return &engine{sched: newScheduler(m), scale: scale, wake: make(chan struct{}, 1), sleep: sleepUntil, origin: time.Now()}
}

// submit hands over a sequence that has just arrived.
func (e *engine) submit(s *sequence) {
	e.mu.Lock()
	s.ready = e.virtual(time.Now()) + frontendDelay
	e.arrived = append(e.arrived, s)
	e.mu.Unlock()
	e.nudge()
}

// drop gives a sequence up.
func (e *engine) drop(s *sequence) {
	e.mu.Lock()
	e.gone = append(e.gone, s)
	e.mu.Unlock()
	e.nudge()
}

// freeze makes no further step, for ever.
func (e *engine) freeze() {
	e.mu.Lock()
	e.frozen = true
	e.mu.Unlock()
}

// resetCache forgets all cached prefixes before the next step.
func (e *engine) resetCache() {
	e.mu.Lock()
	e.reset = true
	e.mu.Unlock()
	e.nudge()
}

func (e *engine) snapshot() status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// virtual and real map the two clocks onto each other; e.mu is held.
func (e *engine) virtual(t time.Time) time.Duration {
	return time.Duration(float64(t.Sub(e.origin)) * e.scale)
}

func (e *engine) real(v time.Duration) time.Time {
	return e.origin.Add(time.Duration(float64(v) / e.scale))
}

// run makes steps until the context ends.
func (e *engine) run(ctx context.Context) {
	var now time.Duration
	for ctx.Err() == nil {
		if e.collect() {
			<-ctx.Done()
			return
		}
		at, busy := e.sched.next(now)
		if !busy {
			select {
			case <-e.wake:
			case <-ctx.Done():
			}
			continue
		}
		if at > now {
			// Idle until then: the next step begins when the request is ready.
			e.waitUntil(ctx, at)
			now = at
			continue
		}
		duration, out := e.sched.step(now)
		now += duration
		e.publish(now)
		e.waitUntil(ctx, now)
		if ctx.Err() != nil {
			return
		}
		for _, d := range out {
			if d.seq.sink != nil {
				d.seq.sink.push(event{d.tokens, d.seq.cached, d.last})
			}
		}
	}
}

// collect takes in what arrived and what was given up since the last step.
func (e *engine) collect() (frozen bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.arrived {
		e.sched.submit(s)
	}
	for _, s := range e.gone {
		e.sched.drop(s)
	}
	if e.reset {
		e.sched.cache.trim(0)
		e.reset = false
	}
	if len(e.arrived)+len(e.gone) > 0 {
		e.arrived, e.gone = nil, nil
		e.count()
	}
	return e.frozen
}

// publish notes the state for /metrics.
func (e *engine) publish(now time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Virtual = now
	e.count()
}

func (e *engine) count() {
	e.status.counters = e.sched.count
	e.status.Running, e.status.Waiting = len(e.sched.running), len(e.sched.waiting)
	e.status.BlocksUsed = e.sched.used
}

// waitUntil sleeps until a virtual moment and notes how late that became.
func (e *engine) waitUntil(ctx context.Context, v time.Duration) {
	e.mu.Lock()
	due := e.real(v)
	e.mu.Unlock()
	e.sleep(ctx, due)
	late := time.Since(due)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.MaxLate = max(e.status.MaxLate, late)
	if late > lateLimit {
		e.status.Moved++
		e.origin = e.origin.Add(late)
	}
}

// sleepUntil waits for a moment: with a timer while it is far, so that a
// cancelled context is seen, then with the finest sleep of the system.
func sleepUntil(ctx context.Context, due time.Time) {
	const near = 2 * time.Millisecond
	if left := time.Until(due); left > near {
		timer := time.NewTimer(left - near/2)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	for left := time.Until(due); left > 0; left = time.Until(due) {
		shortSleep(left)
	}
}
