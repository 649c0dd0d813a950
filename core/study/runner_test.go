package study_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/core/study"
)

// memory is a history in memory, with the store's rule that an ended trial stays
// as it ended.
type memory struct {
	mu     sync.Mutex
	trials []*core.Trial
}

func (m *memory) find(id core.ID) int {
	return slices.IndexFunc(m.trials, func(t *core.Trial) bool { return t.ID == id })
}

func (m *memory) Trials(context.Context, string) ([]*core.Trial, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*core.Trial
	for _, t := range m.trials {
		c := *t
		out = append(out, &c)
	}
	return out, nil
}

func (m *memory) SaveTrial(_ context.Context, t *core.Trial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := *t
	if i := m.find(t.ID); i >= 0 {
		if !m.trials[i].Status.Open() {
			return fmt.Errorf("trial %s: %w", t.ID, core.ErrConflict)
		}
		m.trials[i] = &c
		return nil
	}
	m.trials = append(m.trials, &c)
	return nil
}

func (m *memory) FinishTrial(ctx context.Context, t *core.Trial, _ []core.Sample) error {
	t.Derive()
	return m.SaveTrial(ctx, t)
}

// highest is a judge whose objective is the highest output_tps.
type highest struct{ m *memory }

func (h highest) Check(context.Context, string) error          { return nil }
func (h highest) CheckCondition(context.Context, string) error { return nil }
func (h highest) Best(_ context.Context, _ string, among []core.ID) ([]core.ID, error) {
	var best []core.ID
	top := 0.0
	for _, t := range h.m.trials {
		v := t.Figures["output_tps"]
		switch {
		case !slices.Contains(among, t.ID) || t.Status != core.StatusOK || v < top:
		case v > top:
			best, top = []core.ID{t.ID}, v
		default:
			best = append(best, t.ID)
		}
	}
	return best, nil
}

// Rank goes by the median of each configuration's repeats.
func (h highest) Rank(_ context.Context, _ string, among []core.ID) (study.Ranking, error) {
	r := study.Ranking{Figures: map[core.ID]float64{}}
	values, first := map[string][]float64{}, map[string]core.ID{}
	for _, t := range h.m.trials {
		if slices.Contains(among, t.ID) && t.Status == core.StatusOK {
			key := t.Setup.Config.Hash() + t.Load.Hash()
			if values[key] == nil {
				first[key] = t.ID
			}
			r.Figures[t.ID] = t.Figures["output_tps"]
			values[key] = append(values[key], t.Figures["output_tps"])
		}
	}
	for key, xs := range values {
		median, _ := stats.Median(xs)
		r.Rows = append(r.Rows, study.Ranked{Trial: first[key], Value: median})
	}
	slices.SortFunc(r.Rows, func(a, b study.Ranked) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(h.m.find(a.Trial), h.m.find(b.Trial)))
	})
	return r, nil
}

func (h highest) Holds(_ context.Context, condition string, id core.ID) (bool, error) {
	t := h.m.trials[h.m.find(id)]
	return condition == t.Setup.Config.Engine, nil
}

// fake is an engine whose speed is its knob "speed" in tokens per 100 ms; the
// knob "fail" names the class with which it does not start, "hang" loads for ever.
type fake struct{ core.Engine }

func (fake) Info(context.Context) (core.EngineInfo, error) {
	return core.EngineInfo{Name: "sim"}, nil
}

func (fake) Plan(_ context.Context, req core.PlanRequest) (core.Plan, error) {
	if v, ok := req.Config.Knobs["bad"]; ok {
		return core.Plan{}, fmt.Errorf("knob bad=%s: %w", v, core.ErrInvalid)
	}
	return core.Plan{Processes: []core.Process{{Name: "server", Argv: []string{"fake", req.Config.Knobs.String()}}}}, nil
}

func (fake) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	if strings.Contains(req.Plan.Processes[0].Argv[1], "hang=") {
		progress(core.Progress{Phase: "load"})
		<-ctx.Done()
		return core.Ready{}, ctx.Err()
	}
	if _, class, ok := strings.Cut(req.Plan.Processes[0].Argv[1], "fail="); ok {
		return core.Ready{}, &core.LaunchError{Class: core.FailureClass(strings.Fields(class)[0]), Line: "as asked"}
	}
	return core.Ready{BaseURL: "http://x", Model: "m", Version: "1.0"}, nil
}

func (fake) Benchmark(_ context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	speed := int(req.Config.Knobs["speed"].Num)
	var batch []core.Sample
	for i := range 2 {
		batch = append(batch, core.Sample{Index: i, First: 10 * time.Millisecond, Last: 100 * time.Millisecond, End: 100 * time.Millisecond,
			Chunks:      []time.Duration{10 * time.Millisecond, 100 * time.Millisecond},
			InputTokens: 8, CachedTokens: -1, OutputTokens: 2 + speed, RequestedOutput: 4})
	}
	return sink.Samples(batch)
}

func (fake) Stop(context.Context, core.StopRequest) error { return nil }
func (fake) Diagnose(context.Context, core.DiagnoseRequest) (core.Diagnosis, error) {
	return core.Diagnosis{Class: core.UnknownFailure}, nil
}

// process is a server that runs until it is stopped.
type process struct {
	done    chan struct{}
	stopped *int
}

func (p *process) PID() int              { return 1 }
func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) ExitCode() int         { return -1 }
func (p *process) LogTail(int) string    { return "" }
func (p *process) Stop(context.Context, time.Duration) error {
	*p.stopped++
	return nil
}

type bench struct {
	*study.Runner
	m                          *memory
	opened, closed, ended, ran int
	events                     []string
}

func newBench(t *testing.T, stages string) *bench {
	t.Helper()
	f, err := read(t, small+stages)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{m: &memory{}}
	b.Runner = &study.Runner{
		File: f, Store: b.m, Judge: highest{b.m}, WorkDir: t.TempDir(), Now: time.Now, Stopping: make(chan struct{}),
		Open: func(context.Context, string) (*study.Session, error) {
			b.opened++
			return &study.Session{Engine: fake{}, Close: func(context.Context) error { b.closed++; return nil }}, nil
		},
		Start: func(context.Context, study.ProcessSpec) (study.Process, error) {
			b.ran++
			return &process{make(chan struct{}), &b.ended}, nil
		},
		Events: func(e study.Event) { b.events = append(b.events, e.Text) },
	}
	return b
}

func (b *bench) statuses() string {
	var out []string
	for _, t := range b.m.trials {
		out = append(out, fmt.Sprintf("%s/%s=%s", t.Stage, t.Option, t.Status))
	}
	return strings.Join(out, " ")
}

const threeStages = `stages:
  - {name: one, try: [{speed: 5}, {speed: 9}, {name: broken, speed: 99, fail: oom_kv}]}
  - {name: two, when: other, try: [{speed: 100}]}
  - {name: three, try: [{speed: 9}, {extra_knob: 1}]}
verify: {configs: [baseline, winner], workloads: all}
`

func TestStagedSearch(t *testing.T) {
	b := newBench(t, threeStages)
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Winner.Knobs.String(); got != "speed=9" {
		t.Errorf("winner %q, want speed=9: a later tie must not replace it", got)
	}
	want := "baseline/baseline=ok one/speed=5=ok one/speed=9=ok one/broken=failed three/extra_knob=1 speed=9=ok"
	got := b.statuses()
	got = strings.Replace(got, "three/extra_knob=1=ok", "three/extra_knob=1 speed=9=ok", 1)
	if got != want {
		t.Errorf("trials:\n got %s\nwant %s", got, want)
	}
	if b.opened != b.closed || b.ran != b.ended {
		t.Errorf("opened %d engines, closed %d; started %d servers, ended %d", b.opened, b.closed, b.ran, b.ended)
	}
	for _, trial := range b.m.trials {
		if trial.Option == "broken" && (trial.Failure != core.OOMKV || trial.FailureText != "as asked") {
			t.Errorf("failed launch: %s %q", trial.Failure, trial.FailureText)
		}
		if trial.Status == core.StatusOK && trial.Setup.EngineVersion != "1.0" {
			t.Errorf("trial %s/%s does not know its engine's version", trial.Stage, trial.Option)
		}
	}
}

func TestResumeRunsNothingTwice(t *testing.T) {
	b := newBench(t, threeStages)
	first, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	launches := b.ran
	second, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.ran != launches || second.Ran != 0 || second.Winner.Hash() != first.Winner.Hash() {
		t.Errorf("second run launched %d servers, ran %d trials", b.ran-launches, second.Ran)
	}
	// A lost trial is run again as its next attempt, and only that one.
	b.m.trials[1].Status = core.StatusLost
	third, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := b.m.trials[len(b.m.trials)-1]
	if third.Ran != 1 || last.Attempt != 2 || last.Option != "speed=5" || last.Status != core.StatusOK {
		t.Errorf("after a loss: ran %d; last is %s attempt %d %s", third.Ran, last.Option, last.Attempt, last.Status)
	}
}

func TestInfrastructureIsRetriedConfigurationIsNot(t *testing.T) {
	for class, attempts := range map[string]int{"port_in_use": 2, "oom_kv": 1} {
		b := newBench(t, "stages: [{name: one, try: [{fail: "+class+"}]}]\n")
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, trial := range b.m.trials {
			if trial.Failure != "" {
				n++
			}
		}
		if n != attempts {
			t.Errorf("%s: %d attempts, want %d", class, n, attempts)
		}
	}
}

func TestBadKnobFailsItsTrialOnly(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{bad: 1}, {speed: 3}]}]\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.m.trials[1]; got.Failure != core.BadArgument || !strings.Contains(got.FailureText, "bad=1") {
		t.Errorf("refused knob: %s %q", got.Failure, got.FailureText)
	}
	if res.Winner.Knobs["speed"] != core.Number(3) {
		t.Errorf("winner %v", res.Winner.Knobs)
	}
}

func TestStopBetweenTrials(t *testing.T) {
	b := newBench(t, threeStages)
	stop := make(chan struct{})
	b.Stopping = stop
	b.Events = func(e study.Event) {
		if e.Kind == study.EventTrial && e.Trial.Option == "speed=5" {
			close(stop)
		}
	}
	if _, err := b.Run(t.Context()); !errors.Is(err, study.ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	if got := b.statuses(); got != "baseline/baseline=ok one/speed=5=ok" {
		t.Errorf("trials: %s", got)
	}
	if b.ran != b.ended {
		t.Errorf("started %d servers, ended %d", b.ran, b.ended)
	}
}

func TestStopWhileLoading(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{hang: 1}, {speed: 3}]}]\n")
	stop := make(chan struct{})
	b.Stopping = stop
	b.Events = func(e study.Event) {
		if e.Kind == study.EventProgress {
			close(stop)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := b.Run(ctx); !errors.Is(err, study.ErrStopped) || ctx.Err() != nil {
		t.Fatalf("got %v, want ErrStopped before the time is up", err)
	}
	if got := b.statuses(); got != "baseline/baseline=ok one/hang=1=aborted" {
		t.Errorf("trials: %s", got)
	}
	if b.ran != b.ended {
		t.Errorf("started %d servers, ended %d", b.ran, b.ended)
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t, threeStages+"run: {budget: {gpu_hours: 1}}\n")
	now := time.Now()
	b.Now = func() time.Time { now = now.Add(10 * time.Minute); return now }
	if _, err := b.Run(t.Context()); !errors.Is(err, study.ErrBudget) {
		t.Errorf("got %v, want ErrBudget", err)
	}
}

func TestOutlineShowsCommands(t *testing.T) {
	b := newBench(t, threeStages)
	o, err := study.NewOutline(t.Context(), b.File, b.Open, study.Durations{})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Launches) != 9 || o.Trials != 9 || o.Launches[2].Argv[1] != "speed=9" || o.Launches[4].When != "other" {
		t.Errorf("outline: %d launches, %d trials: %+v", len(o.Launches), o.Trials, o.Launches)
	}
	if b.opened != b.closed {
		t.Errorf("opened %d engines, closed %d", b.opened, b.closed)
	}
	b = newBench(t, "stages: [{name: one, try: [{bad: 1}]}]\n")
	if _, err := study.NewOutline(t.Context(), b.File, b.Open, study.Durations{}); err == nil || !strings.Contains(err.Error(), ":8:") {
		t.Errorf("a knob that no command can express: %v", err)
	}
}

func TestPromptsAreFreshAtEveryLoadAndRepeat(t *testing.T) {
	b := newBench(t, "load: {concurrency: [1, 2]}\nrun: {repeats: 2}\nstages: [{name: one, try: [{speed: 3}]}]\n")
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seeds := map[string]map[core.Value]int{}
	for _, trial := range b.m.trials {
		if seeds[trial.Option] == nil {
			seeds[trial.Option] = map[core.Value]int{}
		}
		seeds[trial.Option][trial.Load.Seed]++
	}
	for option, of := range seeds {
		if len(of) != 4 {
			t.Errorf("%s: seeds %v: two trials of one launch asked the same prompts", option, of)
		}
		for seed := range of {
			if seeds["baseline"][seed] == 0 {
				t.Errorf("%s: seed %v is not the baseline's: candidates were asked other prompts", option, seed)
			}
		}
	}
}

func TestEditedStudyIsMeasuredAnew(t *testing.T) {
	b := newBench(t, "")
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(){
		"workload": func() { b.File.Study.Workloads[0].Workload.OutputLen = core.Number(5) },
		"gpu":      func() { b.File.Study.Hardware.GPU = "another" },
	} {
		before := len(b.m.trials)
		for _, trial := range b.m.trials {
			trial.Setup.GPU = "one"
		}
		edit()
		res, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if res.Ran != 1 || len(b.m.trials) != before+1 || !slices.Contains(res.Winners, b.m.trials[before].ID) {
			t.Errorf("after another %s: ran %d, winners %v", name, res.Ran, res.Winners)
		}
	}
}

func TestWrongVersionIsRefused(t *testing.T) {
	b := newBench(t, "")
	b.File.Study.Engines["sim"] = core.Origin{Version: "2.0"}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.m.trials[0]; got.Failure != core.Unsupported || !strings.Contains(got.FailureText, "asks for version 2.0") {
		t.Errorf("another version than asked: %s %q", got.Failure, got.FailureText)
	}
}

func TestMachineTroubleSettlesNothing(t *testing.T) {
	b := newBench(t, "")
	start := b.Start
	b.Start = func(context.Context, study.ProcessSpec) (study.Process, error) {
		return nil, errors.New("no such file")
	}
	if _, err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Fatalf("a program that is not there: %v", err)
	}
	if got := b.m.trials[0].Status; got != core.StatusPlanned {
		t.Errorf("its trial is %s, want planned", got)
	}
	b.Start = start
	res, err := b.Run(t.Context())
	if err != nil || res.Ran != 1 || len(b.m.trials) != 1 {
		t.Errorf("after the repair: ran %d, %d trials, %v", res.Ran, len(b.m.trials), err)
	}
}

func TestRetriesOfEarlierRunsDoNotCount(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{fail: port_in_use}]}]\n")
	for range 2 {
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	failed := 0
	for _, trial := range b.m.trials {
		if trial.Failure == core.PortInUse {
			failed++
		}
	}
	if failed != 4 {
		t.Errorf("%d attempts in two runs, want 2 in each", failed)
	}
}

func TestFactsNeverTouchTheConfiguration(t *testing.T) {
	b := newBench(t, "")
	open := b.Open
	b.Open = func(ctx context.Context, name string) (*study.Session, error) {
		s, err := open(ctx, name)
		s.Engine = talkative{}
		return s, err
	}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := b.m.trials[0]
	if _, changed := got.Setup.Config.Knobs["tp"]; changed || got.Setup.Config.Model != "m" || got.Setup.WeightDtype != "fp8" {
		t.Errorf("setup after the facts: %+v", got.Setup)
	}
}

// talkative is an engine that says more than it was asked.
type talkative struct{ fake }

func (t talkative) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	ready, err := t.fake.Launch(ctx, req, progress)
	ready.Facts = map[string]core.Value{"tp": core.Number(8), "model": core.String("other"), "weight_dtype": core.String("fp8")}
	return ready, err
}

// A launch that failed is told once, whatever it was to measure, also when it is
// known from an earlier run.
func TestFailedLaunchIsToldOnce(t *testing.T) {
	b := newBench(t, "run: {repeats: 3}\nstages: [{name: one, try: [{name: broken, fail: oom_kv}]}]\n")
	var told []study.Event
	b.Events = func(e study.Event) {
		if e.Trial != nil && e.Trial.Option == "broken" && e.Kind != study.EventProgress && e.Kind != study.EventLaunch {
			told = append(told, e)
		}
	}
	for _, want := range []study.EventKind{study.EventFailed, study.EventKnown} {
		told = nil
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || told[0].Kind != want || told[0].Total != 3 || told[0].Trial.Failure != core.OOMKV {
			t.Errorf("%d events: %+v", len(told), told)
		}
	}
}

// allVoid is a judge whose audit voids everything.
type allVoid struct{ highest }

func (a allVoid) Best(_ context.Context, _ string, among []core.ID) ([]core.ID, error) {
	return nil, &study.VoidError{Void: study.Void{Trials: len(among), Rules: []string{"E7 dummy weights"}}}
}

func (a allVoid) Rank(ctx context.Context, objective string, among []core.ID) (study.Ranking, error) {
	_, err := a.Best(ctx, objective, among)
	return study.Ranking{}, err
}

// Void figures decide nothing: every option is measured on top of the baseline, and
// nothing is verified.
func TestVoidFiguresDecideNothing(t *testing.T) {
	b := newBench(t, threeStages)
	b.Judge = allVoid{highest{b.m}}
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Void == nil || len(res.Winners) > 0 || res.Winner.Hash() != res.Baseline.Hash() {
		t.Errorf("%+v", res)
	}
	all := strings.Join(b.events, "\n")
	if !strings.Contains(all, "nothing is decided: the audit voids every figure that could decide (3 trials): E7 dummy weights") ||
		!strings.Contains(all, "nothing was decided") || strings.Contains(all, "new best") {
		t.Error(all)
	}
}
