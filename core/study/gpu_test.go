package study_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// hardwareFake is the engine of the other tests on a machine with GPUs: it keeps
// the requests that it is asked to plan.
type hardwareFake struct {
	fake
	plans *[]core.PlanRequest
}

func (h hardwareFake) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	if req.WorkDir != "" { // of a launch, not of the look ahead
		*h.plans = append(*h.plans, req)
	}
	return h.fake.Plan(ctx, req)
}

func (b *bench) withGPUs(reserve func() (*study.Reserved, error)) *[]core.PlanRequest {
	plans := &[]core.PlanRequest{}
	b.Open = func(context.Context, string) (*study.Session, error) {
		b.opened++
		return &study.Session{Engine: hardwareFake{plans: plans}, Close: func(context.Context) error { b.closed++; return nil }}, nil
	}
	b.Reserve = func(context.Context, core.ID, core.Config) (*study.Reserved, error) { return reserve() }
	return plans
}

func TestLaunchGetsItsGPUs(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{speed: 9}, {name: broken, fail: oom_kv}]}]\n")
	var proved []int
	plans := b.withGPUs(func() (*study.Reserved, error) {
		return &study.Reserved{Names: []string{"3"}, UUIDs: []string{"GPU-3"}, Driver: "580.1", Ports: 23300, Warning: "look out",
			Marks: map[string]core.Value{"gpu_uuids": core.String("GPU-3")},
			Prove: func(_ context.Context, port int) error { proved = append(proved, port); return nil }}, nil
	})
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*plans) != 3 || len(proved) != 3 {
		t.Fatalf("%d plans, %d proofs", len(*plans), len(proved))
	}
	for i, req := range *plans {
		if strings.Join(req.GPUs, ",") != "3" || req.Port < 23300 || req.Port >= 23400 || proved[i] != req.Port {
			t.Errorf("planned on GPUs %v and port %d, proved on port %d", req.GPUs, req.Port, proved[i])
		}
	}
	for _, trial := range b.m.trials {
		if trial.Extra["gpu_uuids"] != core.String("GPU-3") || trial.Setup.Driver != "580.1" {
			t.Errorf("%s (%s): extras %v, driver %q", trial.Option, trial.Status, trial.Extra, trial.Setup.Driver)
		}
	}
	if n := strings.Count(strings.Join(b.events, "\n"), "look out"); n != 1 {
		t.Errorf("warned %d times", n)
	}
}

// A port that somebody else has taken is no trace of the server that did not get it.
func TestForeignPortIsNoTrace(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{fail: port_in_use}]}]\n")
	var proved []int
	b.withGPUs(func() (*study.Reserved, error) {
		return &study.Reserved{Ports: 23300, Prove: func(_ context.Context, port int) error { proved = append(proved, port); return nil }}, nil
	})
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(proved) != 3 || proved[0] == 0 || proved[1] != 0 || proved[2] != 0 {
		t.Errorf("proved on ports %v, want the first one only", proved)
	}
}

// A GPU that cannot be measured on fails one launch with its class and ends the
// run, which goes on once the GPU is well.
func TestUnfitGPUEndsTheRun(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{speed: 9}]}]\n")
	launches := 0
	b.withGPUs(func() (*study.Reserved, error) {
		if launches++; launches == 2 {
			return nil, &core.LaunchError{Class: core.GPUDirty, Line: "in quarantine"}
		}
		return &study.Reserved{}, nil
	})
	_, err := b.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no further launch is made: gpu_dirty: in quarantine") {
		t.Errorf("error %v", err)
	}
	if got := b.statuses(); got != "baseline/baseline=ok one/speed=9=failed" || b.ran != 1 || b.ended != 1 {
		t.Errorf("trials %s; %d servers started, %d ended", got, b.ran, b.ended)
	}
	if last := b.m.trials[1]; last.Failure != core.GPUDirty || last.FailureText != "in quarantine" {
		t.Errorf("%s %q", last.Failure, last.FailureText)
	}
	again := newBench(t, "stages: [{name: one, try: [{speed: 9}]}]\n")
	again.m = b.m
	again.Store, again.Judge = b.m, highest{b.m}
	again.withGPUs(func() (*study.Reserved, error) { return &study.Reserved{}, nil })
	if _, err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.statuses(); got != "baseline/baseline=ok one/speed=9=failed one/speed=9=ok" {
		t.Errorf("trials after the GPU was well again: %s", got)
	}
}

// A GPU that another run holds is no failure of any trial.
func TestHeldGPUFailsNothing(t *testing.T) {
	b := newBench(t, "")
	b.withGPUs(func() (*study.Reserved, error) { return nil, fmt.Errorf("GPU 0 is %w", core.ErrHeld) })
	if _, err := b.Run(t.Context()); !errors.Is(err, core.ErrHeld) {
		t.Errorf("error %v", err)
	}
	if got := b.statuses(); got != "baseline/baseline=planned" || b.opened != b.closed {
		t.Errorf("trials %s; %d engines opened, %d closed", got, b.opened, b.closed)
	}
}

// What the proof finds is said; the machine itself refuses the next launch.
func TestFailedProofIsSaid(t *testing.T) {
	b := newBench(t, "")
	b.withGPUs(func() (*study.Reserved, error) {
		return &study.Reserved{Prove: func(context.Context, int) error { return errors.New("41000 MiB are still in use") }}, nil
	})
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(b.events, "\n"), "41000 MiB are still in use") {
		t.Errorf("events %q", b.events)
	}
}

func TestGPURules(t *testing.T) {
	f, err := read(t, strings.Replace(small, "study:", "run: {gpu: {max_used_mib: 300, neighbours: allow, free_within: 90s}}\nstudy:", 1))
	if err != nil {
		t.Fatal(err)
	}
	rules := f.Study.Run.GPU
	if rules.MaxUsedMiB != core.Number(300) || !rules.Neighbours || rules.FreeWithin.Seconds() != 90 {
		t.Errorf("%+v", rules)
	}
	for text, says := range map[string]string{
		"{neighbours: some}":  `want allow or refuse, got "some"`,
		"{max_used_mib: -1}":  "max_used_mib",
		"{max_used_mib: lot}": "max_used_mib",
		"{free_within: soon}": "free_within",
		"{free_within: 0s}":   "free_within",
		"{max_use_mib: 1}":    "did you mean max_used_mib",
	} {
		if _, err := read(t, strings.Replace(small, "study:", "run: {gpu: "+text+"}\nstudy:", 1)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// counting refuses to plan a configuration for fewer GPUs than its knob "tp" asks for.
type counting struct {
	fake
	simulated bool
}

func (c counting) Info(context.Context) (core.EngineInfo, error) {
	return core.EngineInfo{Name: "sim", Simulated: c.simulated}, nil
}

func (c counting) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	if need := req.Config.Knobs["tp"].Num; need > float64(len(req.GPUs)) {
		return core.Plan{}, fmt.Errorf("tp: %w: %g GPUs are needed, %d given", core.ErrInvalid, need, len(req.GPUs))
	}
	return c.fake.Plan(ctx, req)
}

// What was refused for too few GPUs is measured once there are enough, and asked for no
// more often than that.
func TestTooFewGPUsDoNotStick(t *testing.T) {
	const stage = "stages: [{name: one, try: [{speed: 1}, {tp: 2}]}]\n"
	for name, tc := range map[string]struct {
		text      string
		simulated bool
		more      func(*study.File)
	}{
		"parallel":         {"run: {parallel: 2}\nhardware: {gpus: 1}\n", false, func(f *study.File) { f.Study.Hardware.GPUs = 2 }},
		"local.yaml":       {"hardware: {gpus: 2}\n", false, func(f *study.File) { f.Local.GPUs = []string{"0", "1"} }},
		"beside simulator": {"hardware: {gpus: 4}\n", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _, _ := packed(t, tc.text+small+stage, 1)
			b.Unprepared = true
			b.File.Local.GPUs = []string{"0"}
			b.Open = func(context.Context, string) (*study.Session, error) {
				return &study.Session{Engine: counting{simulated: tc.simulated}, Close: func(context.Context) error { return nil }}, nil
			}
			b.Reserve = func(context.Context, core.ID, core.Config) (*study.Reserved, error) {
				if b.File.Study.Run.Parallel > 1 {
					return &study.Reserved{Names: []string{"0", "1"}[:b.File.Study.Hardware.GPUs]}, nil
				}
				return &study.Reserved{Names: b.File.Local.GPUs}, nil
			}
			expect := func(when string, ran int, want string) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				res, err := b.Run(ctx)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				got := ""
				for _, tr := range b.m.trials {
					if tr.Option == "tp=2" {
						got = fmt.Sprintf("%s %s attempt %d", tr.Status, tr.Failure, tr.Attempt)
					}
				}
				if res.Ran != ran || got != want {
					t.Errorf("%s: %d trials, tp=2 is %s; want %d and %s", when, res.Ran, got, ran, want)
				}
			}
			expect("with one", 3, "failed bad_argument attempt 1")
			expect("again", 0, "failed bad_argument attempt 1")
			if tc.more == nil {
				return
			}
			tc.more(b.File)
			expect("with two", 1, "ok  attempt 2")
			expect("at last", 0, "ok  attempt 2")
		})
	}
}

// named reports another name of the GPU than the study has.
type named struct{ fake }

func (n named) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	plan, err := n.fake.Plan(ctx, req)
	plan.SetupHints = map[string]core.Value{"gpu": core.String("NVIDIA H100 80GB HBM3")}
	return plan, err
}

// What was measured is measured, whatever the machine calls the GPU that the study
// names: once and for all where the study names a part of it, once a run where it is
// another one.
func TestAnotherNameOfTheGPU(t *testing.T) {
	for gpu, again := range map[string]int{"H100": 0, "NVIDIA H100 80GB HBM3": 0, "A100": 2} {
		t.Run(gpu, func(t *testing.T) {
			b := benchOf(t, small+"hardware: {gpu: "+gpu+"}\nstages: [{name: one, try: [{speed: 1}]}]\n")
			b.Open = func(context.Context, string) (*study.Session, error) {
				return &study.Session{Engine: named{}, Close: func(context.Context) error { return nil }}, nil
			}
			for _, want := range []int{2, again} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				res, err := b.Run(ctx)
				cancel()
				if err != nil || res.Ran != want {
					t.Fatalf("%d trials and %v, want %d", res.Ran, err, want)
				}
			}
		})
	}
}
