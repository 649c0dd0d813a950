package enginetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Recorder is a core.Sink that keeps everything.
type Recorder struct {
	mu      sync.Mutex
	All     []core.Sample
	Batches int
	Steps   []core.Progress
	Figures map[string]core.Value
	// Refuse, when set, is returned by Samples.
	Refuse error
}

// Samples implements core.Sink.
func (r *Recorder) Samples(batch []core.Sample) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Batches++
	r.All = append(r.All, batch...)
	return r.Refuse
}

// Progress implements core.Sink.
func (r *Recorder) Progress(p core.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Steps = append(r.Steps, p)
}

// Summary implements core.Sink.
func (r *Recorder) Summary(figures map[string]core.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Figures = figures
}

func (s *suite) benchmarkRequest(baseURL, model string, requests int) core.BenchmarkRequest {
	return core.BenchmarkRequest{
		BaseURL: baseURL, Model: model, Config: s.req.Config,
		Workload: core.Workload{Dataset: "random", InputLen: core.Number(16), OutputLen: core.Number(8), IgnoreEOS: core.Bool(true), Turns: core.Number(1)},
		Load:     core.Load{Concurrency: core.Number(2), RequestRate: core.Unlimited(), NumPrompts: core.Number(float64(requests)), Seed: core.Number(1)},
	}
}

func (s *suite) checkBenchmark(t *testing.T) {
	const requests = 6
	server := NewServer(t, s.req.Config.Model)
	server.Delay = 100 * time.Microsecond
	var got Recorder
	err := s.engine.Benchmark(t.Context(), s.benchmarkRequest(server.URL, server.Model, requests), &got)
	if errors.Is(err, core.ErrUnimplemented) {
		if s.opt.MustBenchmark {
			t.Fatal("the engine was said to measure by itself, but Benchmark is not implemented")
		}
		if len(got.All) > 0 || server.Requests.Load() > 0 {
			t.Error("a Benchmark that leaves the measurement to the host must not send requests or samples first")
		}
		return
	}
	if err != nil {
		t.Fatalf("Benchmark of a healthy server failed: %v", err)
	}
	if len(got.All) != requests {
		t.Errorf("%d requests were asked for, %d samples came: every request is one sample, failed ones too", requests, len(got.All))
	}
	if sent := server.Requests.Load(); sent < requests {
		t.Errorf("%d samples came, but the server saw %d requests", len(got.All), sent)
	}
	seen := map[int]bool{}
	for _, x := range got.All {
		if seen[x.Index] {
			t.Errorf("sample %d came twice", x.Index)
		}
		seen[x.Index] = true
		if x.Outcome != core.OutcomeOK {
			t.Errorf("sample %d of a healthy server is %s (%s)", x.Index, x.Outcome, x.Error)
			continue
		}
		if x.Sent < 0 || x.First < x.Sent || x.Last < x.First || x.End < x.Last {
			t.Errorf("sample %d: the moments must come in the order sent %v, first %v, last %v, end %v", x.Index, x.Sent, x.First, x.Last, x.End)
		}
		if x.OutputTokens == 0 || x.OutputTokens < -1 {
			t.Errorf("sample %d is ok with %d output tokens: an answer without a token counts as failed, an unknown count is -1", x.Index, x.OutputTokens)
		}
	}
	refused := errors.New("refused by the test")
	err = s.engine.Benchmark(t.Context(), s.benchmarkRequest(server.URL, server.Model, requests), &Recorder{Refuse: refused})
	if !errors.Is(err, refused) {
		t.Errorf("a sink's error must end the benchmark and come back from it, it gave: %v", err)
	}
}

func (s *suite) checkCancelled(t *testing.T) {
	server := NewServer(t, s.req.Config.Model)
	server.Hang.Store(true)
	plan := s.plan(t, s.req)
	plan.Ready.BaseURL = deadURL(t)
	calls := []struct {
		name   string
		before bool // the context has ended before the call
		must   bool // the call cannot succeed
		call   func(context.Context) error
	}{
		{"Info", true, false, func(ctx context.Context) error { _, err := s.engine.Info(ctx); return err }},
		{"Probe", true, false, func(ctx context.Context) error { _, err := s.engine.Probe(ctx, s.opt.Origin); return err }},
		{"Plan", true, false, func(ctx context.Context) error { _, err := s.engine.Plan(ctx, s.req); return err }},
		{"Diagnose", true, false, func(ctx context.Context) error { _, err := s.engine.Diagnose(ctx, core.DiagnoseRequest{}); return err }},
		{"Stop", true, false, func(ctx context.Context) error {
			return s.engine.Stop(ctx, core.StopRequest{BaseURL: server.URL, Grace: time.Minute})
		}},
		{"Launch", false, true, func(ctx context.Context) error {
			_, err := s.engine.Launch(ctx, core.LaunchRequest{Plan: plan}, func(core.Progress) {})
			return err
		}},
		{"Benchmark", false, true, func(ctx context.Context) error {
			return s.engine.Benchmark(ctx, s.benchmarkRequest(server.URL, server.Model, 4), &Recorder{})
		}},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.before {
				cancel()
			} else {
				time.AfterFunc(30*time.Millisecond, cancel)
			}
			done := make(chan error, 1)
			go func() { done <- c.call(ctx) }()
			select {
			case err := <-done:
				if err == nil && c.must {
					t.Errorf("%s reports success although its context ended before it could", c.name)
				}
			case <-time.After(s.opt.Prompt):
				t.Errorf("%s has not returned %v after its context ended: the host waits for it", c.name, s.opt.Prompt)
			}
		})
	}
}
