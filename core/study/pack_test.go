package study_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// crowd is the fake engine, which counts how many measurements are in progress at
// once and lets each wait for as many as are expected.
type crowd struct {
	fake
	now, most *atomic.Int32
	expected  int32
}

func (c crowd) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
	}
	if _, candidate := req.Config.Knobs["speed"]; candidate {
		for deadline := time.Now().Add(2 * time.Second); c.most.Load() < c.expected && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	return c.fake.Benchmark(ctx, req, sink)
}

// quiet is a server that takes a moment to end.
type quiet struct {
	process
	ended *atomic.Int32
}

func (q *quiet) Stop(context.Context, time.Duration) error {
	time.Sleep(5 * time.Millisecond)
	q.ended.Add(1)
	return nil
}

// packed is a runner of a study with a crowd of so many.
func packed(t *testing.T, text string, expected int32) (b *bench, c crowd, ended *atomic.Int32, lanes map[int]int) {
	t.Helper()
	b = benchOf(t, text)
	c = crowd{now: &atomic.Int32{}, most: &atomic.Int32{}, expected: expected}
	ended, lanes = &atomic.Int32{}, map[int]int{}
	b.Open = func(context.Context, string) (*study.Session, error) {
		return &study.Session{Engine: c, Close: func(context.Context) error { return nil }}, nil
	}
	var mu sync.Mutex
	b.Start = func(context.Context, study.ProcessSpec) (study.Process, error) {
		mu.Lock()
		defer mu.Unlock()
		b.ran++
		return &quiet{process{done: make(chan struct{})}, ended}, nil
	}
	b.Events = func(e study.Event) {
		if e.Kind == study.EventTrial {
			lanes[e.Lane]++
		}
	}
	return b, c, ended, lanes
}

const eight = "stages: [{name: one, try: [{speed: 1}, {speed: 2}, {speed: 3}, {speed: 4}, {speed: 9}, {speed: 6}, {speed: 7}, {speed: 9, extra: 0}]}]\n"

func TestParallel(t *testing.T) {
	for name, text := range map[string]string{
		"staged": eight,
		"grid":   "search: {strategy: grid, matrix: {speed: [1, 2, 3, 4, 9, 6, 7, 8]}}\n",
		"list":   "search: {strategy: list, configs: [{speed: 1}, {speed: 2}, {speed: 9}, {speed: 4}, {speed: 5}, {speed: 6}, {speed: 7}, {speed: 8}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			b, c, ended, lanes := packed(t, "run: {parallel: 3}\n"+small+text, 3)
			res, err := b.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if res.Winner.Knobs["speed"] != core.Number(9) || res.Ran != 9 || len(b.m.trials) != 9 {
				t.Errorf("winner %v of %d trials, %d recorded", res.Winner.Knobs, res.Ran, len(b.m.trials))
			}
			if most := c.most.Load(); most != 3 {
				t.Errorf("%d at once, want 3", most)
			}
			if int(ended.Load()) != b.ran {
				t.Errorf("%d servers, %d ended", b.ran, ended.Load())
			}
			if lanes[0] != 1 || lanes[1] == 0 || lanes[2] == 0 || lanes[3] == 0 || len(lanes) != 4 {
				t.Errorf("trials by lane: %v; the baseline is measured alone", lanes)
			}
			again, err := b.Run(t.Context())
			if err != nil || again.Ran != 0 || again.Winner.Hash() != res.Winner.Hash() {
				t.Errorf("again: %d trials, winner %v, %v", again.Ran, again.Winner.Knobs, err)
			}
		})
	}
}

// A configuration that stands in a stage twice is measured once.
func TestParallelMeasuresEqualOnesOnce(t *testing.T) {
	b, _, _, _ := packed(t, "run: {parallel: 4}\n"+small+"stages: [{name: one, try: [{speed: 5}, {name: twin, speed: 5}, {speed: 6}, {engine: sim}]}]\n", 2)
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.statuses(), 3; strings.Count(got, "=ok") != want || res.Ran != want || len(b.m.trials) != want {
		t.Errorf("%d trials: %s", res.Ran, got)
	}
}

// A budget of trials counts those in progress.
func TestParallelKeepsItsBudget(t *testing.T) {
	b, _, _, _ := packed(t, "run: {parallel: 3, budget: {trials: 6}}\n"+small+eight, 3)
	res, err := b.Run(t.Context())
	if !errors.Is(err, study.ErrBudget) || res.Ran != 6 {
		t.Errorf("%d trials, %v; want 6 and the budget", res.Ran, err)
	}
}

// What would meet every launch ends all lanes, and what they were measuring is kept.
func TestParallelEndsTogether(t *testing.T) {
	b, _, ended, _ := packed(t, "run: {parallel: 3}\n"+small+eight, 3)
	start := b.Start
	b.Start = func(ctx context.Context, spec study.ProcessSpec) (study.Process, error) {
		if strings.Contains(spec.Process.Argv[1], "speed=4") {
			return nil, errors.New("no such program")
		}
		return start(ctx, spec)
	}
	res, err := b.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Fatalf("error %v", err)
	}
	// A server that another lane was starting meanwhile measures nothing any more.
	if int(ended.Load()) != b.ran || b.ran < res.Ran || res.Ran < 4 || b.ran > 6 {
		t.Errorf("%d servers, %d ended, %d trials measured: %s", b.ran, ended.Load(), res.Ran, b.statuses())
	}
	for _, trial := range b.m.trials {
		if trial.Status != core.StatusOK && trial.Status != core.StatusPlanned {
			t.Errorf("trial %s is left %s", trial.Option, trial.Status)
		}
	}
}

// Each launch has a port that no other has while it lasts.
func TestParallelPorts(t *testing.T) {
	b, c, _, _ := packed(t, "run: {parallel: 8}\n"+small+eight, 8)
	var mu sync.Mutex
	var ports []int
	b.Open = func(context.Context, string) (*study.Session, error) {
		return &study.Session{Engine: planned{c, func(port int) {
			mu.Lock()
			defer mu.Unlock()
			ports = append(ports, port)
		}}, Close: func(context.Context) error { return nil }}, nil
	}
	b.Unprepared = true // what is only looked at is planned for no port in particular
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports[1:])
	if distinct := slices.Compact(slices.Clone(ports[1:])); len(ports) != 9 || len(distinct) != 8 {
		t.Errorf("ports %v", ports)
	}
}

// planned tells for which port a launch is planned.
type planned struct {
	crowd
	port func(int)
}

func (p planned) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	p.port(req.Port)
	return p.crowd.Plan(ctx, req)
}

func TestParallelIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"run: {parallel: 2, repeats: 3}\nsearch: {race: true}\n":                   "a race puts each candidate",
		"run: {parallel: 2}\nsearch: {strategy: model, matrix: {speed: [1, 2]}}\n": "the strategy model needs",
		"run: {parallel: 9}\n": "at most 8",
		"run: {parallel: 0}\n": "parallel",
	} {
		_, err := read(t, strings.Replace(small, "study: s\n", "study: s\n"+text, 1))
		var at *study.FileError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) || at.Line == 0 {
			t.Errorf("%q: %v, want %q at a line", text, err, want)
		}
	}
	_, err := read(t, strings.Replace(small, "sim: {}", "sim: {url: 'http://127.0.0.1:1'}", 1)+"run: {parallel: 2}\n")
	if err == nil || !strings.Contains(err.Error(), "engines.sim.url") {
		t.Errorf("a running server: %v", err)
	}
}

// Two launches cannot be given GPUs of their own by a file that names them.
func TestParallelGivesTheGPUsItself(t *testing.T) {
	const env = "env: {CUDA_VISIBLE_DEVICES: '1'}"
	for text, line := range map[string]int{
		strings.Replace(small, "{engine: sim}", "{engine: sim, "+env+"}", 1):                               8,
		small + "stages:\n - {name: one, try: [{speed: 1}]}\n - name: two\n   try:\n    - {" + env + "}\n": 13,
		small + "search:\n  strategy: list\n  configs:\n   - {speed: 1}\n   - {" + env + "}\n":             13,
	} {
		if _, err := read(t, text); err != nil {
			t.Errorf("one launch at a time: %v", err)
		}
		_, err := read(t, "run: {parallel: 2}\n"+text)
		var at *study.FileError
		if !errors.As(err, &at) || at.Line != line || !strings.Contains(err.Error(), "CUDA_VISIBLE_DEVICES") {
			t.Errorf("%v, want line %d of\n%s", err, line, text)
		}
	}
}

// A port that another run holds is passed over, and ours are held while they are used.
func TestPortsAreHeld(t *testing.T) {
	b, _, _, _ := packed(t, small+"stages: [{name: one, try: [{speed: 1}, {speed: 2}]}]\n", 1)
	held, first, taken := map[int]bool{}, 0, 0
	b.HoldPort = func(port int) (func(), bool) {
		if first == 0 {
			first = port
		}
		if port == first || held[port] {
			return nil, false
		}
		held[port] = true
		taken++
		return func() { delete(held, port) }, true
	}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if taken != 3 || len(held) != 0 {
		t.Errorf("%d ports were held for 3 launches, %d still are", taken, len(held))
	}
}
