package load_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestRunClosedLoop(t *testing.T) {
	f := serve(t, nil)
	f.pause = time.Millisecond
	req := request(f.URL, random(12, 5, "", nil), closed(4, 40))
	req.Warmup = 6
	s := run(t, req)
	if len(s.samples) != 40 || f.most.Load() != 4 {
		t.Errorf("%d samples with %d in flight, want 40 with 4", len(s.samples), f.most.Load())
	}
	for i, a := range s.samples {
		if a.Index != i || a.Outcome != core.OutcomeOK || a.OutputTokens != 5 || a.InputTokens != 12 || a.RequestedOutput != 5 || len(a.Chunks) != 5 || a.CachedTokens != -1 {
			t.Fatalf("sample %+v", a)
		}
		if a.Due != a.Sent || a.Sent < 0 || a.First < a.Sent+time.Millisecond || a.Last < a.Sent+5*time.Millisecond || a.Last < a.First || a.End < a.Last {
			t.Fatalf("moments of %+v", a)
		}
	}
	got := load.Figures(s.samples)
	check(t, got, map[string]float64{"completed": 40, "failed": 0, "output_tokens": 200, "peak_concurrency": 4, "mean_queue_ms": 0})

	all := f.requests()
	if len(all) != 46 {
		t.Fatalf("the server was asked %d times, want 46", len(all))
	}
	seen := map[string]bool{}
	for _, q := range all {
		if q.Path != "/v1/chat/completions" || q.Model != "m" || !q.Stream || !q.StreamOptions["include_usage"] || q.MaxTokens != 5 ||
			q.IgnoreEOS != nil || q.Temperature != nil || q.Prompt != nil {
			t.Fatalf("asked %+v", q)
		}
		seen[fmt.Sprint(q.Messages)] = true
	}
	if len(seen) != 46 {
		t.Errorf("%d different prompts of 46: a warm-up prompt was measured, or prompts repeat", len(seen))
	}
	last := s.progress[len(s.progress)-1]
	if last != (core.Progress{Phase: "measure", Done: 40, Total: 40}) || s.progress[0].Phase != "warm-up" {
		t.Errorf("progress from %+v to %+v", s.progress[0], last)
	}
}

func TestRunParameters(t *testing.T) {
	f := serve(t, nil)
	w := random(6, 3, "completions", core.Knobs{"temperature": core.Number(0)})
	w.IgnoreEOS = core.Bool(true)
	run(t, request(f.URL+"/v1/", w, closed(1, 1)))
	q := f.requests()[0]
	ids, _ := q.Prompt.([]any)
	if q.Path != "/v1/completions" || len(ids) != 6 || q.Messages != nil || q.IgnoreEOS == nil || !*q.IgnoreEOS || q.Temperature == nil || *q.Temperature != 0 {
		t.Errorf("asked %+v", q)
	}
	run(t, request(f.URL, core.Workload{Dataset: "builtin", Endpoint: "completions", IgnoreEOS: core.Bool(false)}, closed(1, 1)))
	q = f.requests()[0]
	if text, ok := q.Prompt.(string); !ok || text == "" || q.IgnoreEOS != nil {
		t.Errorf("asked %+v", q)
	}
}

func TestRunSameSeedSamePrompts(t *testing.T) {
	f := serve(t, nil)
	texts := func(seed float64) []string {
		l := closed(1, 8)
		l.Seed = core.Number(seed)
		run(t, request(f.URL, core.Workload{Dataset: "builtin", OutputLen: core.Number(4)}, l))
		var found []string
		for _, q := range f.requests() {
			found = append(found, fmt.Sprint(q.Messages))
		}
		return found
	}
	a := texts(1)
	if !slices.Equal(a, texts(1)) || slices.Equal(a, texts(2)) {
		t.Error("prompts do not follow the seed")
	}
}

func TestRunOpenLoop(t *testing.T) {
	f := serve(t, nil)
	f.pause = 20 * time.Millisecond
	l := core.Load{RequestRate: core.Number(200), NumPrompts: core.Number(40), Seed: core.Number(2)}
	s := run(t, request(f.URL, random(4, 2, "", nil), l))
	want := slices.Collect(load.Schedule(l, 40))
	for i, a := range s.samples {
		if a.Due != want[i] {
			t.Fatalf("sample %d due %v, want %v", i, a.Due, want[i])
		}
		if a.Sent < a.Due || a.Sent > a.Due+500*time.Millisecond {
			t.Errorf("sample %d due %v, sent %v", i, a.Due, a.Sent)
		}
	}
	if f.most.Load() < 3 {
		t.Errorf("%d in flight: the open loop waited for answers", f.most.Load())
	}
}

func TestRunWindow(t *testing.T) {
	t.Parallel()
	f := serve(t, nil)
	l := core.Load{Concurrency: core.Number(3), DurationS: core.Number(0.6)}
	start := time.Now()
	s := run(t, request(f.URL, random(4, 1, "", nil), l))
	if took := time.Since(start); took > 5*time.Second || len(s.samples) < 6 {
		t.Errorf("%d samples in %v", len(s.samples), took)
	}
	f = serve(t, func(w http.ResponseWriter, r *http.Request, q asked) {
		write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s = run(t, request(f.URL, random(4, 2, "", nil), l))
	if len(s.samples) != 3 {
		t.Fatalf("%d samples", len(s.samples))
	}
	for _, a := range s.samples {
		if a.Outcome != core.OutcomeIncomplete || a.Error != "" || a.First == core.NoTime || a.End < 600*time.Millisecond {
			t.Errorf("sample %+v", a)
		}
	}
}

func TestRunCancel(t *testing.T) {
	for _, warm := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		var arrived atomic.Int64
		var cancelled atomic.Value
		f := serve(t, func(_ http.ResponseWriter, r *http.Request, _ asked) {
			if arrived.Add(1) == 2 {
				cancelled.Store(time.Now())
				cancel()
			}
			<-r.Context().Done()
		})
		req := request(f.URL, random(4, 2, "", nil), closed(2, 1000))
		req.Warmup = warm
		var s sink
		err := load.Run(ctx, req, &s)
		if took := time.Since(cancelled.Load().(time.Time)); !errors.Is(err, context.Canceled) || took > 2*time.Second {
			t.Errorf("warm-up %d: %v after %v", warm, err, took)
		}
		if want := 2 - warm; len(s.samples) != want {
			t.Errorf("warm-up %d: %d samples of what was in flight, want %d", warm, len(s.samples), want)
		}
		for _, a := range s.samples {
			if a.Outcome != core.OutcomeIncomplete {
				t.Errorf("warm-up %d: %+v", warm, a)
			}
		}
	}
}

func TestRunSinkFails(t *testing.T) {
	f := serve(t, nil)
	full := errors.New("disk is full")
	s := sink{fail: full}
	err := load.Run(t.Context(), request(f.URL, random(4, 2, "", nil), core.Load{Concurrency: core.Number(2), DurationS: core.Number(60)}), &s)
	if !errors.Is(err, full) || s.batches != 1 {
		t.Errorf("%v after %d batches", err, s.batches)
	}
}

// TestRunSlowSink: a sink that takes its time does not hold back the load.
func TestRunSlowSink(t *testing.T) {
	t.Parallel()
	f := serve(t, nil)
	s := sink{each: func() { time.Sleep(300 * time.Millisecond) }}
	if err := load.Run(t.Context(), request(f.URL, random(4, 1, "", nil), closed(8, 600)), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.samples) != 600 {
		t.Errorf("%d samples", len(s.samples))
	}
	if busy := load.Figures(s.samples)["mean_concurrency"]; busy < 2 {
		t.Errorf("mean concurrency %.2f: the load waited for the sink", busy)
	}
}

func TestRunRefuses(t *testing.T) {
	good := random(4, 2, "", nil)
	for name, req := range map[string]core.BenchmarkRequest{
		"no address":    request("", good, closed(1, 1)),
		"no scheme":     request("127.0.0.1:1", good, closed(1, 1)),
		"no end":        request("http://127.0.0.1:1", good, core.Load{Concurrency: core.Number(1)}),
		"no workload":   request("http://127.0.0.1:1", core.Workload{}, closed(1, 1)),
		"absent prompt": request("http://127.0.0.1:1", core.Workload{Dataset: "custom"}, closed(1, 1)),
	} {
		var s sink
		if err := load.Run(t.Context(), req, &s); !errors.Is(err, core.ErrInvalid) || len(s.samples) > 0 {
			t.Errorf("%s: %v, %d samples", name, err, len(s.samples))
		}
	}
}

// TestHeldOpen: a server that does not close the body after [DONE] holds neither
// the sample nor the run.
func TestHeldOpen(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, r *http.Request, _ asked) {
		good(w, 2, 0)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	start := time.Now()
	a := run(t, request(f.URL, random(4, 2, "", nil), closed(1, 1))).samples[0]
	if a.Outcome != core.OutcomeOK || time.Since(start) > 2*time.Second {
		t.Errorf("%+v after %v", a, time.Since(start))
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int64
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.handle))
	f.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	f.Start()
	t.Cleanup(f.Close)
	run(t, request(f.URL, random(4, 2, "", nil), closed(16, 400)))
	if n := opened.Load(); n > 32 {
		t.Errorf("%d connections for 16 in flight", n)
	}
}

func TestProxyIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	f := serve(t, nil)
	if a := run(t, request(f.URL, random(4, 2, "", nil), closed(1, 1))).samples[0]; a.Outcome != core.OutcomeOK {
		t.Errorf("%+v", a)
	}
}

func TestRepeatsAreTold(t *testing.T) {
	f := serve(t, nil)
	s := run(t, request(f.URL, core.Workload{Dataset: "builtin", OutputLen: core.Number(1)}, closed(4, 41)))
	if p := s.progress[0]; p.Phase != "prepare" || !strings.Contains(p.Message, "40 prompts") {
		t.Errorf("progress %+v", p)
	}
	if n := f.requests()[0].MaxTokens; n != 1 {
		t.Errorf("asked for %d tokens", n)
	}
}

// TestNoGoroutineIsLeft runs the ways in which a benchmark ends and counts.
func TestNoGoroutineIsLeft(t *testing.T) {
	f := serve(t, nil)
	stuck := serve(t, func(_ http.ResponseWriter, r *http.Request, _ asked) { <-r.Context().Done() })
	before := runtime.NumGoroutine()
	for range 3 {
		var s sink
		_ = load.Run(t.Context(), request(f.URL, random(4, 2, "", nil), closed(8, 300)), &s)
		_ = load.Run(t.Context(), request(f.URL, random(4, 2, "", nil), core.Load{Concurrency: core.Number(4), DurationS: core.Number(0.05)}), &s)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_ = load.Run(ctx, request(stuck.URL, random(4, 2, "", nil), closed(8, 2000)), &s)
		cancel()
		s.fail = errors.New("no")
		_ = load.Run(t.Context(), request(f.URL, random(4, 2, "", nil), closed(8, 300)), &s)
	}
	// The servers' own goroutines end a moment after the connections are closed.
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}
