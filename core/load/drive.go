package load

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// course is everything that drive needs to start requests at the right moments.
type course struct {
	plan     plan
	arrivals iter.Seq[time.Duration]
	clock    func() time.Duration // since the start of the measured window
	next     func(ctx context.Context) (job, bool)
	// serve asks a job, and the later turns of its conversation, and hands on the
	// samples. ready is when it could have been sent.
	serve func(ctx context.Context, j job, due, ready time.Duration)
	done  func(core.Sample)
}

// drive starts requests until the schedule or ctx ends and returns when all that
// it started have ended.
//
// Open loop (a finite rate, or a trace): a request is due by the schedule whatever
// became of the others, and is sent then or, when the limit of requests in flight
// is reached, as soon as one ends; its Due stays what the schedule said, so that a
// server that falls behind cannot hide it. Closed loop (a limit and no rate): the
// next request is due when a slot is free, so due is sent; slots may open one by
// one. With neither, all are due at 0. A conversation holds its slot for all its
// turns.
//
// When the measured window ends, requests of an open loop that were due within it
// and still waited for a slot become incomplete samples that were never sent.
func drive(ctx context.Context, c course) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	free, stop := c.slots()
	defer stop()
	started := 0
	for due := range c.arrivals {
		if !c.started(ctx, due, free, &inFlight) {
			c.unsent(ctx, started)
			return
		}
		started++
	}
}

// slots gives a channel that holds a moment for each free slot: the one from which
// on it was free. It is nil without a limit.
func (c course) slots() (free chan time.Duration, stop func()) {
	if c.plan.limit == 0 {
		return nil, func() {}
	}
	free = make(chan time.Duration, c.plan.limit)
	if c.plan.ramp.Opening == 0 {
		for range c.plan.limit {
			free <- 0
		}
		return free, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var opener sync.WaitGroup
	opener.Go(func() {
		for i := range c.plan.limit {
			at := time.Duration(float64(c.plan.ramp.Opening) * float64(i) / float64(c.plan.limit))
			if !waitUntil(ctx, c.clock, at) {
				return
			}
			free <- at
		}
	})
	return free, func() { cancel(); opener.Wait() }
}

// started waits for the moment and for a slot and starts the next request. It is
// false when ctx ended before, or there is no next request.
func (c course) started(ctx context.Context, due time.Duration, free chan time.Duration, inFlight *sync.WaitGroup) bool {
	j, ok := c.next(ctx)
	if !ok || !waitUntil(ctx, c.clock, due) {
		return false
	}
	ready := due
	if free != nil {
		select {
		case since := <-free:
			ready = max(ready, since)
		case <-ctx.Done():
			return false
		}
		// Both may have been ready; after its end nothing may start.
		if ctx.Err() != nil {
			return false
		}
	}
	if c.plan.closed() {
		due = core.NoTime
	}
	inFlight.Go(func() {
		c.serve(ctx, j, due, ready)
		if free != nil {
			free <- c.clock()
		}
	})
	return true
}

// unsent reports the requests that were due before the window ended, from
// position i on. The arrivals are walked again, which is cheap and exact as they
// are a pure function.
func (c course) unsent(ctx context.Context, i int) {
	if !c.plan.scheduled || !errors.Is(context.Cause(ctx), errWindow) {
		return
	}
	position := 0
	for due := range c.arrivals {
		if due >= c.plan.window {
			return
		}
		if position >= i {
			s := never(position*c.plan.turns, due)
			s.Outcome = core.OutcomeIncomplete
			c.done(s)
		}
		position++
	}
}

// never is the sample of a request that was not sent.
func never(index int, due time.Duration) core.Sample {
	return core.Sample{
		Index: index, Due: due, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1,
	}
}

// waitUntil sleeps until the clock reads at, and reports whether ctx still holds.
func waitUntil(ctx context.Context, clock func() time.Duration, at time.Duration) bool {
	wait := at - clock()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
