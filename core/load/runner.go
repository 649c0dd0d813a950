package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// ahead is how many requests are built before they are due.
const ahead = 256

// Run measures one trial: warm-up requests that are thrown away, then the load,
// whose samples go to the sink in batches in the order in which requests ended.
//
// The load ends after Load.NumPrompts requests or Load.DurationS seconds,
// whichever comes first; requests in flight at the limit of time are incomplete.
// Failed requests are samples, not an error, however many they are. An error means
// that there was no measurement: a request that makes no sense, a data file that
// cannot be read, a sink that failed. When ctx is cancelled Run ends the requests
// in flight, hands on what it has and returns ctx.Err(). It leaves no goroutine
// and no connection behind. The sink is called from one goroutine at a time.
func Run(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	p, err := planOf(req.Load, req.Warmup)
	if err != nil {
		return err
	}
	prompts, err := NewPrompts(req.Workload, req.Load, req.DataPath)
	if err != nil {
		return err
	}
	ask, err := newAsker(req, prompts)
	if err != nil {
		return err
	}
	c, err := newClient(req, ask.endpoint)
	if err != nil {
		return err
	}
	defer c.close()
	if prompts.Distinct >= 0 && (p.count < 0 || p.count > prompts.Distinct) {
		sink.Progress(core.Progress{Phase: "prepare", Message: fmt.Sprintf(
			"the data set has %d prompts; requests beyond them repeat and may be answered from a prefix cache", prompts.Distinct)})
	}
	if err := warmUp(ctx, p, c, asker{ask.endpoint, ask.fixed, warmupPrompts(prompts, seedOf(req.Load))}, sink); err != nil {
		return err
	}
	return measure(ctx, p, c, ask, req.Load, sink)
}

// warmUp sends requests whose prompts are never measured and throws their samples
// away. A server that fails all of them will fail the measured ones too, where it
// is recorded; here it is only told.
func warmUp(ctx context.Context, p plan, c *client, ask asker, sink core.Sink) error {
	if p.warmup == 0 {
		return nil
	}
	sink.Progress(core.Progress{Phase: "warm-up", Total: p.warmup})
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	var mu sync.Mutex
	failed, reason := 0, ""
	sent := 0
	p = plan{limit: p.limit, count: p.warmup}
	if p.limit == 0 {
		// An open loop has no limit; its warm-up need not be a burst.
		p.limit = min(p.count, 16)
	}
	drive(ctx, course{
		plan: p, arrivals: Schedule(core.Load{}, p.count), clock: clock,
		next: func(context.Context) (job, bool) {
			sent++
			return ask.job(sent - 1), true
		},
		send: func(ctx context.Context, j job, due time.Duration) core.Sample { return c.send(ctx, j, due, clock) },
		done: func(s core.Sample) {
			if s.Outcome == core.OutcomeFailed {
				mu.Lock()
				failed, reason = failed+1, s.Error
				mu.Unlock()
			}
		},
	})
	end := core.Progress{Phase: "warm-up", Done: p.count, Total: p.count}
	if failed > 0 {
		end.Message = fmt.Sprintf("%d of %d warm-up requests failed: %s", failed, p.count, reason)
	}
	sink.Progress(end)
	return ctx.Err()
}

// measure runs the load and hands on its samples.
func measure(ctx context.Context, p plan, c *client, ask asker, l core.Load, sink core.Sink) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var helpers sync.WaitGroup
	jobs := prepare(run, p, ask, &helpers)

	out := newOutbox(sink, max(0, p.count))
	var sinkErr error
	helpers.Go(func() {
		if sinkErr = out.deliver(); sinkErr != nil {
			cancel(sinkErr)
		}
	})

	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	window := run
	if p.window > 0 {
		var stop context.CancelFunc
		window, stop = context.WithTimeoutCause(run, p.window, errWindow)
		defer stop()
	}
	drive(window, course{
		plan: p, arrivals: Schedule(l, p.count), clock: clock,
		next: func(ctx context.Context) (job, bool) {
			select {
			case j, ok := <-jobs:
				return j, ok
			case <-ctx.Done():
				return job{}, false
			}
		},
		send: func(ctx context.Context, j job, due time.Duration) core.Sample { return c.send(ctx, j, due, clock) },
		done: out.put,
	})
	out.close()
	cancel(nil) // ends the builder of an endless load
	helpers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return sinkErr
}

// prepare builds requests ahead of their moment: the first of them before it
// returns, the others in a goroutine that is done when all are taken or ctx ends.
func prepare(ctx context.Context, p plan, ask asker, helpers *sync.WaitGroup) <-chan job {
	jobs := make(chan job, ahead)
	i := 0
	put := func() bool {
		if p.count >= 0 && i >= p.count {
			return false
		}
		select {
		case jobs <- ask.job(i):
		case <-ctx.Done():
			return false
		}
		i++
		return true
	}
	for i < ahead {
		if ctx.Err() != nil || !put() {
			close(jobs)
			return jobs
		}
	}
	helpers.Go(func() {
		defer close(jobs)
		for put() {
		}
	})
	return jobs
}
