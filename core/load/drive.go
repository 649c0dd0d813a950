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
	send     func(ctx context.Context, j job, due time.Duration) core.Sample
	done     func(core.Sample)
}

// drive starts requests until the schedule or ctx ends and returns when all that
// it started have ended.
//
// Open loop (a finite rate): a request is due by the schedule whatever became of
// the others, and is sent then or, when the limit of requests in flight is
// reached, as soon as one ends; its Due stays what the schedule said, so that a
// server that falls behind cannot hide it. Closed loop (a limit and no rate): the
// next request is due when a slot is free, so due is sent. With neither, all are
// due at 0.
//
// When the measured window ends, requests of an open loop that were due within it
// and still waited for a slot become incomplete samples that were never sent.
func drive(ctx context.Context, c course) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	var slots chan struct{}
	if c.plan.limit > 0 {
		slots = make(chan struct{}, c.plan.limit)
	}
	started := 0
	for due := range c.arrivals {
		if !c.started(ctx, due, slots, &inFlight) {
			c.unsent(ctx, started)
			return
		}
		started++
	}
}

// started waits for the moment and for a slot and starts the next request. It is
// false when ctx ended before, or there is no next request.
func (c course) started(ctx context.Context, due time.Duration, slots chan struct{}, inFlight *sync.WaitGroup) bool {
	j, ok := c.next(ctx)
	if !ok || !waitUntil(ctx, c.clock, due) {
		return false
	}
	if slots != nil {
		select {
		case slots <- struct{}{}:
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
		s := c.send(ctx, j, due)
		if slots != nil {
			<-slots
		}
		c.done(s)
	})
	return true
}

// unsent reports the requests that were due before the window ended, from
// position i on. The arrivals are walked again, which is cheap and exact as they
// are a pure function.
func (c course) unsent(ctx context.Context, i int) {
	if c.plan.rate == 0 || !errors.Is(context.Cause(ctx), errWindow) {
		return
	}
	position := 0
	for due := range c.arrivals {
		if due >= c.plan.window {
			return
		}
		if position >= i {
			c.done(core.Sample{
				Index: position, Due: due, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
				InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeIncomplete,
			})
		}
		position++
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
