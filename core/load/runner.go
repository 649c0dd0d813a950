package load

import (
	"context"
	"fmt"
	"iter"
	"net"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Ruler is what a measurement can use beside its request. The zero Ruler is what
// Run measures with.
type Ruler struct {
	// Tokenizer counts prompts before they are sent. Without one it is read from a
	// local checkpoint's tokenizer.json where there is one, and vLLM is asked.
	Tokenizer *Tokenizer
	// AskServer counts by the server's /tokenize where there is no tokenizer.
	AskServer bool
}

// Run measures one trial with the zero Ruler.
func Run(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	return Ruler{}.Run(ctx, req, sink)
}

// Run measures one trial: warm-up requests that are thrown away, then the load,
// whose samples go to the sink in batches in the order in which requests ended,
// then one summary (see self.summary; prompt_counter and prompt_length_counter say
// what counted the prompts).
//
// The load ends after Load.NumPrompts requests or Load.DurationS seconds,
// whichever comes first; requests in flight at the limit of time are incomplete.
// Failed requests are samples, not an error, however many they are. An error means
// that there was no measurement: a request that makes no sense, a data file that
// cannot be read, a sink that failed. When ctx is cancelled Run ends the requests
// in flight, hands on what it has and returns ctx.Err(). It leaves no goroutine
// and no connection behind. The sink is called from one goroutine at a time.
func (r Ruler) Run(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	p, err := r.plan(req)
	if err != nil {
		return err
	}
	counter, note := r.counter(ctx, req)
	defer counter.done()
	if note != "" {
		sink.Progress(core.Progress{Phase: "prepare", Message: "prompts are counted by " + counter.Name + ": " + note})
	}
	prompts, err := PromptsCountedBy(counter, req.Workload, req.Load, req.DataPath)
	if err != nil {
		return err
	}
	arrivals, err := p.schedule(req.Load, prompts)
	if err != nil {
		return err
	}
	ask, err := newAsker(req, prompts)
	if err != nil {
		return err
	}
	ask.count = p.count
	connections := &lobby{dialer: net.Dialer{KeepAlive: 30 * time.Second}, began: time.Now()}
	defer connections.close()
	transport := newTransport(connections)
	defer transport.CloseIdleConnections()
	c, err := newClient(req, ask.endpoint, transport, connections)
	if err != nil {
		return err
	}
	if prompts.Distinct >= 0 && (p.count < 0 || p.count > prompts.Distinct) {
		sink.Progress(core.Progress{Phase: "prepare", Message: fmt.Sprintf(
			"the data set has %d prompts; requests beyond them repeat and may be answered from a prefix cache", prompts.Distinct)})
	}
	warm := ask
	warm.prompts, warm.count = warmupPrompts(prompts, seedOf(req.Load)), -1
	if err := warmUp(ctx, p, c, warm, sink); err != nil {
		return err
	}
	// Warm-up leaves its connections behind.
	if missing := p.burst() - min(p.warmup, p.limit); missing > 0 {
		connections.fill(ctx, c.host, missing)
	}
	return measure(ctx, p, c, ask, arrivals, sink)
}

// plan resolves the limits of the load.
func (r Ruler) plan(req core.BenchmarkRequest) (plan, error) {
	p, err := planOf(req.Load, req.Warmup)
	if err != nil {
		return plan{}, err
	}
	if p.ramp, err = rampOf(req.Workload, req.Load); err != nil {
		return plan{}, err
	}
	if p.speed, err = positive(req.Workload.Params, speedParam); err != nil {
		return plan{}, err
	}
	p.scheduled = p.scheduled || req.Workload.Dataset == traceSet
	if p.count < 0 && req.Workload.Dataset == traceSet {
		return p, nil // it ends with the trace
	}
	return p, p.ends()
}

// warmUp sends requests whose prompts are never measured and throws their samples
// away. A server that fails all of them will fail the measured ones too, where it
// is recorded; here it is only told.
func warmUp(ctx context.Context, p plan, c *client, ask asker, sink core.Sink) error {
	if p.warmup == 0 {
		return nil
	}
	sink.Progress(core.Progress{Phase: "warm-up", Total: p.warmup})
	c.start()
	var mu sync.Mutex
	failed, reason := 0, ""
	sent := 0
	p = plan{limit: p.limit, count: p.warmup, turns: 1}
	if p.limit == 0 {
		// An open loop has no limit; its warm-up need not be a burst.
		p.limit = min(p.count, 16)
	}
	drive(ctx, course{
		plan: p, arrivals: Schedule(core.Load{}, p.count), clock: c.clock,
		next: func(context.Context) (job, bool) {
			sent++
			return ask.job(sent - 1), true
		},
		serve: func(ctx context.Context, j job, due, _ time.Duration) {
			if s := c.send(ctx, j, due, &answer{}); s.Outcome == core.OutcomeFailed {
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
func measure(ctx context.Context, p plan, c *client, ask asker, arrivals iter.Seq[time.Duration], sink core.Sink) error {
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

	// Whoever watches server and machine begins here, before the clock does.
	sink.Progress(core.Progress{Phase: "measure", Total: max(0, p.count)})
	c.start()
	window := run
	if p.window > 0 {
		var stop context.CancelFunc
		window, stop = context.WithTimeoutCause(run, p.window, errWindow)
		defer stop()
	}
	inputs := &inputs{}
	serving := conversation{client: c, ask: ask, done: func(s core.Sample) {
		inputs.see(&s)
		if err := out.put(s); err != nil {
			cancel(err)
		}
	}, inputs: inputs}
	drive(window, course{
		plan: p, arrivals: arrivals, clock: c.clock,
		next: func(ctx context.Context) (job, bool) {
			select {
			case j, ok := <-jobs:
				return j, ok
			case <-ctx.Done():
				return job{}, false
			}
		},
		serve: serving.serve,
		done:  serving.done,
	})
	extra := c.self.summary()
	out.close()
	cause := context.Cause(run)
	cancel(nil) // ends the builder of an endless load
	helpers.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sinkErr != nil:
		return sinkErr
	case cause != nil:
		return cause
	}
	inputs.summary(extra, ask.prompts)
	sink.Summary(extra)
	return nil
}

const (
	// How much is built before it is due: so many requests, of so many bytes.
	aheadJobs  = 256
	aheadBytes = 8 << 20
)

// prepare builds requests ahead of their moment: the first of them before it
// returns, the others in a goroutine that is done when all are taken or ctx ends.
func prepare(ctx context.Context, p plan, ask asker, helpers *sync.WaitGroup) <-chan job {
	first, n := ask.job(0), p.starts()
	room := max(1, min(aheadJobs, aheadBytes/max(1, len(first.body))))
	jobs := make(chan job, room)
	i := 0
	put := func() bool {
		if n >= 0 && i >= n {
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
	for i < room {
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
