package study_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// lane is the fake engine as it is opened for one launch, with something to do before
// it answers. Its speed is known once a launch was planned.
type lane struct {
	fake
	config core.Config
	before func(call string, config core.Config)
	end    error // of Launch
}

func (l *lane) Info(ctx context.Context) (core.EngineInfo, error) {
	l.before("Info", l.config)
	return l.fake.Info(ctx)
}

func (l *lane) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	l.config = req.Config
	l.before("Plan", l.config)
	return l.fake.Plan(ctx, req)
}

func (l *lane) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	l.before("Launch", l.config)
	if l.end != nil {
		return core.Ready{}, l.end
	}
	return l.fake.Launch(ctx, req, progress)
}

func (l *lane) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	l.before("Benchmark", l.config)
	return l.fake.Benchmark(ctx, req, sink)
}

func (l *lane) Stop(ctx context.Context, req core.StopRequest) error {
	if l.before != nil {
		l.before("Stop", l.config)
	}
	return l.fake.Stop(ctx, req)
}

func (l *lane) Diagnose(ctx context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	l.before("Diagnose", l.config)
	return l.fake.Diagnose(ctx, req)
}

const twoLanes = "run: {parallel: 2}\n" + small + "stages: [{name: one, try: [{speed: 1}, {speed: 2}]}]\n"

// waited is how long a lane is given to come to where it is expected. Only a lane that
// is held up takes so long.
const waited = 20 * time.Second

// reached reports whether something happens in time.
func reached(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(waited):
		return false
	}
}

// While the plugin of one lane takes its time, another lane's launch goes all the way.
func TestLanesDoNotWaitForEachOthersPlugins(t *testing.T) {
	for _, call := range []string{"Open", "Info", "Plan", "Start", "Diagnose"} {
		t.Run(call, func(t *testing.T) {
			b, _, _, _ := packed(t, twoLanes, 1)
			b.Unprepared = true
			var opened atomic.Int32
			measured := make(chan struct{})
			var slow atomic.Bool
			// hold keeps one of the two lanes until the other has recorded its trial.
			hold := func(at string) {
				if at == call && opened.Load() > 1 && slow.CompareAndSwap(false, true) && !reached(measured) {
					t.Errorf("nothing was measured while another lane's %s took %s", at, waited)
				}
			}
			b.Open = func(context.Context, string) (*study.Session, error) {
				n := opened.Add(1)
				hold("Open")
				e := &lane{before: func(at string, _ core.Config) { hold(at) }}
				if call == "Diagnose" && n == 2 {
					e.end = errors.New("it does not say why")
				}
				return &study.Session{Engine: e, Close: func(context.Context) error { return nil }}, nil
			}
			start := b.Start
			b.Start = func(ctx context.Context, spec study.ProcessSpec) (study.Process, error) {
				hold("Start")
				return start(ctx, spec)
			}
			b.Events = func(e study.Event) {
				if e.Kind == study.EventTrial && e.Trial.Stage == "one" && e.Trial.Status == core.StatusOK {
					select {
					case <-measured:
					default:
						close(measured)
					}
				}
			}
			if _, err := b.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slow.Load() {
				t.Errorf("no lane came to %s", call)
			}
		})
	}
}

// slowStore takes its time over some trials, as on a disk that is full.
type slowStore struct {
	*memory
	wait func(*core.Trial)
}

func (s slowStore) SaveTrial(ctx context.Context, t *core.Trial) error {
	s.wait(t)
	return s.memory.SaveTrial(ctx, t)
}

func (s slowStore) FinishTrial(ctx context.Context, t *core.Trial, samples []core.Sample) error {
	s.wait(t)
	return s.memory.FinishTrial(ctx, t, samples)
}

// What a lane measured does not become longer while another lane's trial is recorded.
func TestTimesAreALanesOwn(t *testing.T) {
	b, _, _, _ := packed(t, twoLanes, 1)
	b.Unprepared = true
	type phase struct {
		entered, storing, read chan struct{}
		ended                  atomic.Bool
		once                   sync.Once
	}
	// The lane of speed 1 is in the call while that of speed 2 is in the store, where an
	// hour passes.
	phases := map[string]*phase{"Launch": {}, "Benchmark": {}}
	for _, p := range phases {
		p.entered, p.storing, p.read = make(chan struct{}), make(chan struct{}), make(chan struct{})
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var passed atomic.Int64
	b.Now = func() time.Time {
		now := began.Add(time.Duration(passed.Load()))
		for _, p := range phases {
			if p.ended.Load() {
				p.once.Do(func() { close(p.read) })
			}
		}
		return now
	}
	b.Open = func(context.Context, string) (*study.Session, error) {
		e := &lane{before: func(call string, config core.Config) {
			p := phases[call]
			speed := config.Knobs["speed"]
			switch {
			case p == nil:
			case speed == core.Number(1):
				close(p.entered)
				<-p.storing
				p.ended.Store(true)
			case speed == core.Number(2):
				<-p.entered
			}
		}}
		return &study.Session{Engine: e, Close: func(context.Context) error { return nil }}, nil
	}
	b.Store = slowStore{b.m, func(tr *core.Trial) {
		p := map[core.Status]*phase{core.StatusRunning: phases["Launch"], core.StatusOK: phases["Benchmark"]}[tr.Status]
		if p != nil && tr.Option == "speed=2" {
			close(p.storing)
			if !reached(p.read) {
				t.Logf("speed=1 did not look at the clock while speed=2 was %s", tr.Status)
			}
			passed.Add(int64(time.Hour))
		}
	}}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tr := range b.m.trials {
		if tr.Option != "speed=1" {
			continue
		}
		if tr.Launch.ReadyS != core.Number(0) {
			t.Errorf("ready after %v s, want 0: the hour was another lane's", tr.Launch.ReadyS)
		}
		// Its measurement begins after the first hour or ends before the second.
		if took := tr.EndedAt.Sub(tr.StartedAt); took != 0 {
			t.Errorf("measured for %s, want 0: the hour was another lane's", took)
		}
	}
}

// mute never answers one call.
type mute struct {
	lane
	call string
}

func (m *mute) wait(ctx context.Context, call string) error {
	if call != m.call {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *mute) Info(ctx context.Context) (core.EngineInfo, error) {
	return core.EngineInfo{Name: "sim"}, m.wait(ctx, "Info")
}

func (m *mute) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	if err := m.wait(ctx, "Plan"); err != nil {
		return core.Plan{}, err
	}
	return m.fake.Plan(ctx, req)
}

func (m *mute) Launch(context.Context, core.LaunchRequest, func(core.Progress)) (core.Ready, error) {
	return core.Ready{}, errors.New("it does not say why")
}

func (m *mute) Diagnose(ctx context.Context, _ core.DiagnoseRequest) (core.Diagnosis, error) {
	return core.Diagnosis{}, m.wait(ctx, "Diagnose")
}

// A plugin that never answers does not hold the run for ever.
func TestAPluginThatNeverAnswers(t *testing.T) {
	for call, want := range map[string]string{"Info": "engine sim: no answer to Info", "Plan": "engine sim: no answer to Plan", "Diagnose": ""} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "run: {retries: 0}\n")
				b.Unprepared = true
				b.Open = func(context.Context, string) (*study.Session, error) {
					return &study.Session{Engine: &mute{call: call}, Close: func(context.Context) error { return nil }}, nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := b.Run(ctx)
				if ctx.Err() != nil {
					t.Fatalf("after an hour: %v", err)
				}
				if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%v, want %q", err, want)
				}
				if got := b.m.trials[0]; call == "Diagnose" && (got.Failure != core.UnknownFailure || got.FailureText != "it does not say why") {
					t.Errorf("%s %q, want what was seen from outside", got.Failure, got.FailureText)
				}
			})
		})
	}
}

// stopped tells that its server is being ended.
type stopped struct {
	process
	tell func()
}

func (s *stopped) Stop(ctx context.Context, _ time.Duration) error {
	s.tell()
	return ctx.Err()
}

// A server is ended while another lane's trial is recorded, however long that takes: the
// time for its end does not pass in a wait.
func TestAServerEndsWhileAnotherLaneRecords(t *testing.T) {
	b, _, _, _ := packed(t, twoLanes, 1)
	ending, storing, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.Open = func(context.Context, string) (*study.Session, error) {
		e := &lane{before: func(call string, config core.Config) {
			switch config.Knobs["speed"] {
			case core.Number(1):
				if call == "Benchmark" {
					<-ending
				}
			case core.Number(2):
				if call == "Stop" {
					close(ending)
					<-storing
				}
			}
		}}
		return &study.Session{Engine: e, Close: func(context.Context) error { return nil }}, nil
	}
	b.Start = func(_ context.Context, spec study.ProcessSpec) (study.Process, error) {
		return &stopped{process{done: make(chan struct{})}, func() {
			if strings.Contains(spec.Process.Argv[1], "speed=2") {
				close(ended)
			}
		}}, nil
	}
	b.Store = slowStore{b.m, func(tr *core.Trial) {
		if tr.Option == "speed=1" && tr.Status == core.StatusOK {
			close(storing)
			if !reached(ended) {
				t.Errorf("the server of speed=2 still lives %s after it was asked to end, since speed=1 is recorded", waited)
			}
		}
	}}
	if _, err := b.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
