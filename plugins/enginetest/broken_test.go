package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

// broken is an engine that breaks one rule, and what the suite must say of it.
type broken struct {
	name, want string
	engine     func() *enginetest.Fake
	opt        enginetest.Options
}

func brokenEngines() []broken {
	var sound enginetest.Fake
	planning := func(change func(core.PlanRequest, *core.Plan) error) func() *enginetest.Fake {
		return func() *enginetest.Fake {
			return &enginetest.Fake{PlanFn: func(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
				plan, err := sound.Plan(ctx, req)
				if err == nil {
					err = change(req, &plan)
				}
				return plan, err
			}}
		}
	}
	measuring := func(change func(*core.Sample), times int) func() *enginetest.Fake {
		return func() *enginetest.Fake {
			return &enginetest.Fake{BenchmarkFn: func(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
				var got enginetest.Recorder
				if err := sound.Benchmark(ctx, req, &got); err != nil {
					return err
				}
				for i := range got.All {
					change(&got.All[i])
				}
				for range times {
					if err := sink.Samples(got.All); err != nil {
						return err
					}
				}
				return nil
			}}
		}
	}
	calls := 0
	return []broken{
		{"LoudName", "must be a lower-case name", func() *enginetest.Fake { return &enginetest.Fake{Name: "Fake Engine"} }, enginetest.Options{}},
		{"NoVersion", "Info.Version is empty", func() *enginetest.Fake {
			return &enginetest.Fake{InfoFn: func(context.Context) (core.EngineInfo, error) { return core.EngineInfo{Name: "fake"}, nil }}
		}, enginetest.Options{}},
		{"WrongDefault", `knob "a" is a number, but its default "x" is not`, func() *enginetest.Fake {
			return &enginetest.Fake{InfoFn: func(context.Context) (core.EngineInfo, error) {
				return core.EngineInfo{Name: "fake", Version: "1", Knobs: []core.KnobInfo{{Name: "a", Type: core.NumberType, Default: core.String("x"), Doc: "d"}}}, nil
			}}
		}, enginetest.Options{}},
		{"Moody", "must give the same answer for the same request", planning(func(_ core.PlanRequest, p *core.Plan) error {
			calls++
			p.Processes[0].Argv = append(p.Processes[0].Argv, fmt.Sprint(calls))
			return nil
		}), enginetest.Options{}},
		{"WritesFiles", "Plan made the launch's folder", planning(func(req core.PlanRequest, _ *core.Plan) error {
			return os.MkdirAll(filepath.Join(req.WorkDir, "x"), 0o755)
		}), enginetest.Options{}},
		{"OwnPort", "must be reached at the allotted http://127.0.0.1:21750", planning(func(_ core.PlanRequest, p *core.Plan) error {
			p.Ready.BaseURL = "http://127.0.0.1:8000"
			return nil
		}), enginetest.Options{}},
		{"DefaultHost", "the allotted address 127.0.0.1 stands nowhere", planning(func(_ core.PlanRequest, p *core.Plan) error {
			p.Processes[0].Argv[2] = "0.0.0.0"
			return nil
		}), enginetest.Options{}},
		{"DropsKnobs", "was dropped in silence", func() *enginetest.Fake {
			return &enginetest.Fake{PlanFn: func(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
				req.Config.Knobs = nil
				return sound.Plan(ctx, req)
			}}
		}, enginetest.Options{}},
		{"IllTyped", `must be refused before a server is started with it`, func() *enginetest.Fake {
			return &enginetest.Fake{PlanFn: func(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
				req.Config.Knobs = nil
				return sound.Plan(ctx, req)
			}}
		}, enginetest.Options{}},
		{"NamelessRefusal", "must name it", func() *enginetest.Fake {
			return &enginetest.Fake{PlanFn: func(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
				plan, err := sound.Plan(ctx, req)
				if err != nil {
					return plan, fmt.Errorf("%w: something is wrong", core.ErrInvalid)
				}
				return plan, nil
			}}
		}, enginetest.Options{Unknown: "colour"}},
		{"Guesses", "an empty log proves nothing", func() *enginetest.Fake {
			return &enginetest.Fake{DiagnoseFn: func(context.Context, core.DiagnoseRequest) (core.Diagnosis, error) {
				return core.Diagnosis{Class: core.Crash}, nil
			}}
		}, enginetest.Options{}},
		{"StopFails", "is no error, Stop says", func() *enginetest.Fake {
			return &enginetest.Fake{StopFn: func(context.Context, core.StopRequest) error { return errors.New("connection refused") }}
		}, enginetest.Options{}},
		{"TwiceCounted", "came twice", measuring(func(*core.Sample) {}, 2), enginetest.Options{}},
		{"NoTokens", "an answer without a token counts as failed", measuring(func(s *core.Sample) { s.OutputTokens = 0 }, 1), enginetest.Options{}},
		{"BackwardsTime", "must come in the order", measuring(func(s *core.Sample) { s.First = s.Sent - 1; s.Chunks = nil }, 1), enginetest.Options{}},
		{"NoBenchmark", "said to measure by itself", func() *enginetest.Fake {
			return &enginetest.Fake{BenchmarkFn: func(context.Context, core.BenchmarkRequest, core.Sink) error { return core.ErrUnimplemented }}
		}, enginetest.Options{MustBenchmark: true}},
		{"DeafLaunch", "Launch has not returned", func() *enginetest.Fake {
			return &enginetest.Fake{LaunchFn: func(context.Context, core.LaunchRequest, func(core.Progress)) (core.Ready, error) {
				time.Sleep(time.Second)
				return core.Ready{}, errors.New("too late")
			}}
		}, enginetest.Options{Prompt: 300 * time.Millisecond}},
	}
}

// TestBrokenEngine runs the suite on an engine that breaks a rule; it is meant to
// fail and runs only in the process that TestSuiteFinds starts.
func TestBrokenEngine(t *testing.T) {
	if os.Getenv("ENGINETEST_BROKEN") == "" {
		t.Skip("runs as a child of TestSuiteFinds")
	}
	for _, b := range brokenEngines() {
		t.Run(b.name, func(t *testing.T) { enginetest.Conformance(t, b.engine(), b.opt) })
	}
}

// TestSuiteFinds shows that each rule of the suite can fail.
func TestSuiteFinds(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBrokenEngine$", "-test.v")
	cmd.Env = append(os.Environ(), "ENGINETEST_BROKEN=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the suite passes engines that break its rules")
	}
	sections := strings.Split(string(out), "=== RUN   TestBrokenEngine/")
	for _, b := range brokenEngines() {
		var said strings.Builder
		for _, s := range sections {
			if name, _, _ := strings.Cut(s, "\n"); name == b.name || strings.HasPrefix(name, b.name+"/") {
				said.WriteString(s)
			}
		}
		if !strings.Contains(said.String(), b.want) {
			t.Errorf("%s: the suite does not say %q, but:\n%s", b.name, b.want, said.String())
		}
	}
}
