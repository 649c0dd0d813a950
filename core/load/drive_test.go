package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// rehearsal drives a load against a server of fixed service time on a false clock.
type rehearsal struct {
	mu      sync.Mutex
	samples []core.Sample
	lags    []time.Duration // from when a request could be sent until it was
	now     int
	most    int
}

func (r *rehearsal) run(ctx context.Context, t *testing.T, l core.Load, service func(i int) time.Duration) {
	t.Helper()
	p, err := planOf(l, 0)
	if err != nil {
		t.Fatal(err)
	}
	start, i := time.Now(), 0
	clock := func() time.Duration { return time.Since(start) }
	if p.window > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, p.window, errWindow)
		defer stop()
	}
	done := func(s core.Sample) {
		r.mu.Lock()
		r.samples = append(r.samples, s)
		r.mu.Unlock()
	}
	drive(ctx, course{
		plan: p, arrivals: Schedule(l, p.count), clock: clock,
		next: func(context.Context) (job, bool) { i++; return job{index: i - 1}, p.count < 0 || i <= p.count },
		serve: func(ctx context.Context, j job, due, ready time.Duration) {
			s := core.Sample{Index: j.index, Due: due, Sent: clock(), First: core.NoTime, Last: core.NoTime}
			if due == core.NoTime {
				s.Due = s.Sent
			}
			r.mu.Lock()
			r.lags = append(r.lags, s.Sent-ready)
			r.now++
			r.most = max(r.most, r.now)
			r.mu.Unlock()
			select {
			case <-time.After(service(j.index)):
			case <-ctx.Done():
				s.Outcome = core.OutcomeIncomplete
			}
			s.End = clock()
			r.mu.Lock()
			r.now--
			r.mu.Unlock()
			done(s)
		},
		done: done,
	})
	slices.SortFunc(r.samples, func(a, b core.Sample) int { return a.Index - b.Index })
	// On a false clock nothing is late: waiting for a slot or a moment is no lag.
	for _, lag := range r.lags {
		if lag != 0 {
			t.Errorf("lag %v", lag)
		}
	}
}

func (r *rehearsal) moments(of func(core.Sample) time.Duration) []time.Duration {
	var ds []time.Duration
	for _, s := range r.samples {
		ds = append(ds, of(s))
	}
	return ds
}

func due(s core.Sample) time.Duration  { return s.Due }
func sent(s core.Sample) time.Duration { return s.Sent }

func every(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func second(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		// Service times of 1, 2, 3, 1, 2, 3 s on two slots.
		r.run(t.Context(), t, core.Load{Concurrency: core.Number(2), NumPrompts: core.Number(6)},
			func(i int) time.Duration { return second(float64(i%3 + 1)) })
		want := []time.Duration{0, 0, second(1), second(2), second(3), second(4)}
		if diff := cmp.Diff(want, r.moments(sent)); diff != "" {
			t.Errorf("sent: %s", diff)
		}
		if diff := cmp.Diff(want, r.moments(due)); diff != "" {
			t.Errorf("in a closed loop due is sent: %s", diff)
		}
		if r.most != 2 {
			t.Errorf("%d in flight, want 2", r.most)
		}
	})
}

func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		r.run(t.Context(), t, core.Load{RequestRate: core.Unlimited(), NumPrompts: core.Number(50)}, every(second(1)))
		if r.most != 50 || len(r.samples) != 50 || r.samples[49].Due != 0 || r.samples[49].Sent != 0 {
			t.Errorf("%d in flight of %d, the last due %v", r.most, len(r.samples), r.samples[49].Due)
		}
	})
}

// TestOpenLoop: a server that takes ten times as long as the gap between requests
// does not move their due or sent moments.
func TestOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		l := core.Load{RequestRate: core.Number(10), NumPrompts: core.Number(100), Seed: core.Number(5)}
		r.run(t.Context(), t, l, every(second(1)))
		want := slices.Collect(Schedule(l, 100))
		if diff := cmp.Diff(want, r.moments(due)); diff != "" {
			t.Errorf("due: %s", diff)
		}
		if diff := cmp.Diff(want, r.moments(sent)); diff != "" {
			t.Errorf("sent: %s", diff)
		}
	})
}

// TestOpenLoopWithLimit: what waits for a slot stays due when the schedule said.
func TestOpenLoopWithLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		l := core.Load{RequestRate: core.Number(2), Burstiness: core.Unlimited(), Concurrency: core.Number(1), NumPrompts: core.Number(4)}
		r.run(t.Context(), t, l, every(second(2)))
		if diff := cmp.Diff([]time.Duration{second(0.5), second(1), second(1.5), second(2)}, r.moments(due)); diff != "" {
			t.Errorf("due: %s", diff)
		}
		if diff := cmp.Diff([]time.Duration{second(0.5), second(2.5), second(4.5), second(6.5)}, r.moments(sent)); diff != "" {
			t.Errorf("sent: %s", diff)
		}
		f := Figures(r.samples)
		if f["max_queue_ms"] != 4500 || f["min_queue_ms"] != 0 || f["peak_concurrency"] != 1 {
			t.Errorf("queue %v…%v ms, peak concurrency %v", f["min_queue_ms"], f["max_queue_ms"], f["peak_concurrency"])
		}
	})
}

func TestWindowClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		r.run(t.Context(), t, core.Load{Concurrency: core.Number(3), DurationS: core.Number(2.5)}, every(second(1)))
		f := Figures(r.samples)
		if f["completed"] != 6 || f["incomplete"] != 3 || f["requested"] != 9 {
			t.Errorf("completed %v, incomplete %v of %v; want 6, 3 of 9", f["completed"], f["incomplete"], f["requested"])
		}
		if f["duration_s"] != 2 {
			t.Errorf("duration %v s, want 2: to the last answer", f["duration_s"])
		}
	})
}

// TestWindowOpenLoop: requests that were due in the window and never got a slot
// are told, so that an overloaded server cannot hide its backlog.
func TestWindowOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		l := core.Load{RequestRate: core.Number(4), Burstiness: core.Unlimited(), Concurrency: core.Number(1), DurationS: core.Number(2)}
		r.run(t.Context(), t, l, every(second(0.7)))
		// Due at 0.25, 0.5 … 1.75; sent at 0.25, 0.95 and 1.65.
		unsent := 0
		for _, s := range r.samples {
			if s.Sent == core.NoTime {
				unsent++
			}
		}
		f := Figures(r.samples)
		if len(r.samples) != 7 || unsent != 4 || f["completed"] != 2 || f["incomplete"] != 5 {
			t.Errorf("%d samples, %d never sent, completed %v, incomplete %v; want 7, 4, 2, 5", len(r.samples), unsent, f["completed"], f["incomplete"])
		}
		for i, s := range r.samples {
			if s.Index != i || s.Due != second(0.25*float64(i+1)) {
				t.Errorf("sample %d: index %d, due %v", i, s.Index, s.Due)
			}
		}
	})
}

func TestCountWithinWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rehearsal
		r.run(t.Context(), t, core.Load{Concurrency: core.Number(2), NumPrompts: core.Number(4), DurationS: core.Number(100)}, every(second(1)))
		if f := Figures(r.samples); f["completed"] != 4 || f["incomplete"] != 0 || f["duration_s"] != 2 {
			t.Errorf("completed %v, incomplete %v in %v s", f["completed"], f["incomplete"], f["duration_s"])
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	for name, l := range map[string]core.Load{
		"for a slot":   {Concurrency: core.Number(1), NumPrompts: core.Number(5)},
		"for a moment": {RequestRate: core.Number(0.001), NumPrompts: core.Number(5)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), second(3))
				defer cancel()
				start := time.Now()
				var r rehearsal
				r.run(ctx, t, l, every(time.Hour))
				if took := time.Since(start); took != second(3) {
					t.Errorf("ended after %v", took)
				}
				for _, s := range r.samples {
					if s.Outcome != core.OutcomeIncomplete {
						t.Errorf("sample %+v", s)
					}
				}
			})
		})
	}
}

func TestPlanErrors(t *testing.T) {
	for name, l := range map[string]core.Load{
		"no end":               {Concurrency: core.Number(4)},
		"endless at once":      {DurationS: core.Number(5)},
		"half a request":       {Concurrency: core.Number(0.5), NumPrompts: core.Number(1)},
		"concurrency 0":        {Concurrency: core.Number(0), NumPrompts: core.Number(1)},
		"negative count":       {NumPrompts: core.Number(-3)},
		"rate 0":               {RequestRate: core.Number(0), NumPrompts: core.Number(1)},
		"negative burstiness":  {RequestRate: core.Number(1), Burstiness: core.Number(-1), NumPrompts: core.Number(1)},
		"duration 0":           {DurationS: core.Number(0), Concurrency: core.Number(1)},
		"duration of an age":   {DurationS: core.Number(1e12), Concurrency: core.Number(1)},
		"concurrency in words": {Concurrency: core.String("many"), NumPrompts: core.Number(1)},
	} {
		if _, err := (Ruler{}).plan(core.BenchmarkRequest{Load: l}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
