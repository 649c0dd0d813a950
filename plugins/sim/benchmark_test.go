package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/sim"
)

// At a scale of ten the ruler is asked ten times faster and its moments grow
// tenfold; what never came stays so.
func TestBenchmarkScalesTime(t *testing.T) {
	const s = time.Second
	measured := core.Sample{Due: 0, Sent: s, First: 2 * s, Last: 3 * s, End: 4 * s, Chunks: []time.Duration{2 * s, 3 * s}, OutputTokens: 2}
	failed := core.Sample{Index: 1, Due: s, Sent: s, First: core.NoTime, Last: core.NoTime, End: s, Outcome: core.OutcomeFailed}
	var asked core.BenchmarkRequest
	engine := sim.WithRuler(func(_ context.Context, req core.BenchmarkRequest, sink core.Sink) error {
		asked = req
		batch := []core.Sample{measured, failed}
		if err := sink.Samples(batch); err != nil {
			return err
		}
		if batch[0].Sent != s || batch[0].Chunks[0] != 2*s {
			t.Error("the ruler's own samples were changed")
		}
		return nil
	})
	req := core.BenchmarkRequest{
		Config:         core.Config{Knobs: core.Knobs{"time_scale": core.Number(10)}},
		Load:           core.Load{RequestRate: core.Number(2), Concurrency: core.Number(4), DurationS: core.Number(60), NumPrompts: core.Number(7), Burstiness: core.Number(1)},
		RequestTimeout: 10 * time.Minute, IdleTimeout: 5 * s,
	}
	var got collector
	if err := engine.Benchmark(context.Background(), req, &got); err != nil {
		t.Fatal(err)
	}
	wantAsked := req
	wantAsked.Load.RequestRate, wantAsked.Load.DurationS = core.Number(20), core.Number(6)
	wantAsked.RequestTimeout = time.Minute
	wantAsked.IdleTimeout = s // not half a second: this machine may be busy
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Error(diff)
	}
	want := []core.Sample{
		{Due: 0, Sent: 10 * s, First: 20 * s, Last: 30 * s, End: 40 * s, Chunks: []time.Duration{20 * s, 30 * s}, OutputTokens: 2},
		{Index: 1, Due: 10 * s, Sent: 10 * s, First: core.NoTime, Last: core.NoTime, End: 10 * s, Outcome: core.OutcomeFailed},
	}
	if diff := cmp.Diff(want, got.samples); diff != "" {
		t.Error(diff)
	}

	req.Load.RequestRate, req.Load.DurationS = core.Unlimited(), core.Missing()
	if err := engine.Benchmark(context.Background(), req, &got); err != nil {
		t.Fatal(err)
	}
	if !asked.Load.RequestRate.IsUnlimited() || !asked.Load.DurationS.IsMissing() {
		t.Errorf("%+v", asked.Load)
	}
	req.Config.Knobs = nil
	got.samples = nil
	if err := engine.Benchmark(context.Background(), req, &got); err != nil || got.samples[0].Sent != s {
		t.Errorf("without a scale: %v, %+v", err, got.samples)
	}
	req.Config.Knobs = core.Knobs{"time_scale": core.String("fast")}
	if err := engine.Benchmark(context.Background(), req, &got); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// The whole way: two runs of one seed give the same counts, and the simulated
// figures are those of the scheduler, not of this machine.
func TestBenchmarkEndToEnd(t *testing.T) {
	_, ready, c := launched(t, core.Knobs{"time_scale": core.Number(20)})
	run := func() collector {
		t.Helper()
		var got collector
		req := closedLoop(ready.BaseURL, c, 24, 8, 200, 100)
		req.Workload.IgnoreEOS = core.Bool(false)
		req.Warmup = 2
		if err := newEngine().Benchmark(context.Background(), req, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	counts := func(c collector) map[int][2]int {
		m := map[int][2]int{}
		for _, s := range c.samples {
			m[s.Index] = [2]int{s.InputTokens, s.OutputTokens}
		}
		return m
	}
	first, second := run(), run()
	if len(first.samples) != 24 || first.outcomes()[core.OutcomeOK] != 24 {
		t.Fatal(first.outcomes())
	}
	if diff := cmp.Diff(counts(first), counts(second)); diff != "" {
		t.Error(diff)
	}
	// Batch 1 takes 7.3 ms, eight streams and their prompts about 9. A figure that
	// was not scaled back would be below 1 ms.
	if mean := mean(first.samples, tpot); mean < 7*time.Millisecond {
		t.Errorf("TPOT %v", mean)
	}
}
