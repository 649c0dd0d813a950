package study_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// preparing is the fake engine on a machine that has some models. Each
// configuration needs the model that it names; the flag --bad is refused.
type preparing struct {
	fake
	here  map[string]bool
	asked *int
}

func (p preparing) Prepare(_ context.Context, req core.PrepareRequest) (core.Preparation, error) {
	*p.asked++
	name := req.Config.Checkpoint
	need := core.Need{Kind: "model", Name: name, Problem: name + " is not here", Fetch: []string{"get", name}, Denied: "ask for " + name}
	if _, more := req.Config.Knobs["weights"]; p.here[name] && !more {
		need.Found = "/models/" + name
	}
	out := core.Preparation{
		Needs: []core.Need{need},
		Facts: map[string]core.Value{"engine_version": core.String("2.0"), "driver": core.String("580.1"), "gpu": core.String("NVIDIA H100"), "extra.checkpoint_revision": core.String("c-" + name)},
	}
	if _, ok := req.Config.Knobs["refused"]; ok {
		out.Flags = []core.BadFlag{{Flag: "--refused", Text: "--refused: no such flag"}}
	}
	return out, nil
}

func (preparing) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	plan, err := fake{}.Plan(ctx, req)
	if v, ok := req.Config.Knobs["refused"]; ok && err == nil {
		plan.Processes[0].Argv = append(plan.Processes[0].Argv, "--refused="+v.String())
	}
	return plan, err
}

func (preparing) Diagnose(_ context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	if strings.Contains(req.LogTail, "403") {
		return core.Diagnosis{Class: core.Auth, Line: "403 Forbidden"}, nil
	}
	return core.Diagnosis{Class: core.UnknownFailure}, nil
}

func preparedBench(t *testing.T, stages string, here ...string) (*bench, *int) {
	b := newBench(t, stages)
	asked := 0
	engine := preparing{here: map[string]bool{}, asked: &asked}
	for _, name := range here {
		engine.here[name] = true
	}
	b.Open = func(context.Context, string) (*study.Session, error) {
		b.opened++
		return &study.Session{Engine: engine, Close: func(context.Context) error { b.closed++; return nil }}, nil
	}
	b.Fetch = func(_ context.Context, need core.Need) (string, error) {
		switch {
		case strings.HasPrefix(need.Name, "gated"):
			return "403\n", errors.New("exit status 1")
		case strings.HasPrefix(need.Name, "odd"):
			return "first\nthe last word\n", errors.New("exit status 9")
		}
		engine.here[need.Name] = true
		return "", nil
	}
	return b, &asked
}

// What is missing is fetched where that goes, all of the rest is told at once, and
// nothing is launched or recorded.
func TestMissingThingsFailBeforeTheFirstLaunch(t *testing.T) {
	b, _ := preparedBench(t, "stages: [{name: one, try: [{checkpoint: gated}, {checkpoint: odd}, {checkpoint: fine}, {checkpoint: gated, speed: 3}]}]\n", "m")
	_, err := b.Run(t.Context())
	var missing *study.MissingError
	if !errors.As(err, &missing) || len(missing.Needs) != 2 {
		t.Fatalf("%v", err)
	}
	for _, says := range []string{"model gated: ask for gated (403 Forbidden)", "model odd: it could not be fetched: the last word: exit status 9"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
	if b.ran > 0 || len(b.m.trials) > 0 || b.opened != b.closed {
		t.Errorf("%d servers, %d trials, %d engines opened and %d closed", b.ran, len(b.m.trials), b.opened, b.closed)
	}
	if got := strings.Count(strings.Join(b.events, "\n"), "fetch model "); got != 3 {
		t.Errorf("fetched %d times: %q", got, b.events)
	}
	b.Unprepared = true
	if _, err := b.Run(t.Context()); err != nil || b.ran == 0 {
		t.Errorf("without a look: %v, %d servers", err, b.ran)
	}
}

// What one launch needs more of a thing than another is missing.
func TestTheLaunchThatNeedsMoreDecides(t *testing.T) {
	for _, stages := range []string{"[{weights: 1}]", "[{speed: 1}, {weights: 1}, {speed: 2}]"} {
		b, _ := preparedBench(t, "stages: [{name: one, try: "+stages+"}]\n", "m")
		b.Fetch = nil
		var missing *study.MissingError
		if _, err := b.Run(t.Context()); !errors.As(err, &missing) || len(missing.Needs) != 1 || missing.Needs[0].Name != "m" {
			t.Errorf("%s: %v", stages, err)
		}
	}
}

// A flag that this machine's engine does not take fails its launch without a start,
// and a launch that fails knows version, driver and GPU.
func TestKnownBeforeTheLaunch(t *testing.T) {
	b, asked := preparedBench(t, "run: {repeats: 2}\nstages: [{name: one, try: [{refused: 1}, {fail: oom_kv}, {speed: 3}]}]\n", "m")
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.ran != 3 {
		t.Errorf("%d servers were started, want 3", b.ran)
	}
	failed := 0
	for _, trial := range b.m.trials {
		switch trial.Option {
		case "refused=1":
			failed++
			if trial.Failure != core.BadArgument || trial.FailureText != "--refused: no such flag" || !slices.Contains(trial.Launch.Argv, "--refused=1") {
				t.Errorf("%s %q of %q", trial.Failure, trial.FailureText, trial.Launch.Argv)
			}
		case "fail=oom_kv":
			failed++
		}
		// A server that answers knows its own version better.
		version := "2.0"
		if trial.Status == core.StatusOK {
			version = "1.0"
		}
		if s := trial.Setup; s.EngineVersion != version || s.Driver != "580.1" || s.GPU != "NVIDIA H100" || trial.Extra["checkpoint_revision"] != core.String("c-m") {
			t.Errorf("%s/%s: %+v, %v", trial.Stage, trial.Option, s, trial.Extra)
		}
	}
	if failed != 4 {
		t.Errorf("%d failed trials, want 4", failed)
	}
	// Running it again launches nothing and looks for nothing.
	before := *asked
	if res, err := b.Run(t.Context()); err != nil || res.Ran > 0 || *asked != before {
		t.Errorf("%+v, %v; asked %d times more", res, err, *asked-before)
	}
}

// The sum of the data is recorded; data that is not there is missing like a model.
func TestDataIsLookedFor(t *testing.T) {
	text := strings.Replace(small, "{dataset: random, input: 8, output: 4, requests: 10}", "{dataset: custom, path: asked.jsonl, output: 4, requests: 10}", 1)
	f, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := preparedBench(t, "", "m")
	b.File = f
	var missing *study.MissingError
	if _, err := b.Run(t.Context()); !errors.As(err, &missing) || !strings.Contains(err.Error(), "data asked.jsonl: ") || !strings.Contains(err.Error(), "data_dir in local.yaml") {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(f.Path), "asked.jsonl"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc", FIPS 180-2
	if got := b.m.trials[0].Extra["data_sha256"]; got != core.String(sum) {
		t.Errorf("sum %v", got)
	}
}

// Ending the run while something is fetched ends it at once.
func TestStopWhileFetching(t *testing.T) {
	b, _ := preparedBench(t, "")
	stop := make(chan struct{})
	b.Stopping = stop
	b.Fetch = func(ctx context.Context, _ core.Need) (string, error) {
		close(stop)
		<-ctx.Done()
		return "", ctx.Err()
	}
	if _, err := b.Run(t.Context()); !errors.Is(err, study.ErrStopped) || b.ran > 0 {
		t.Errorf("%v, %d servers", err, b.ran)
	}
}

// A model below this machine's folder of models is loaded from there; the
// configuration keeps its name.
func TestModelDir(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"study.yaml": small + "stages: [{name: one, try: [{checkpoint: org/here}, {checkpoint: org/else}, {checkpoint: ../models}]}]\n",
		"local.yaml": "model_dir: models\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := study.Read(filepath.Join(dir, "study.yaml")); err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "models", "org", "here"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := study.Read(filepath.Join(dir, "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]string{}
	open := func(context.Context, string) (*study.Session, error) {
		return &study.Session{Engine: pathEngine{asked: asked}, Close: func(context.Context) error { return nil }}, nil
	}
	if _, err := study.NewOutline(t.Context(), f, open, study.Durations{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"m": "", "org/here": filepath.Join(dir, "models", "org", "here"), "org/else": "", "../models": ""}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", asked, want)
	}
}

// pathEngine remembers from where each checkpoint would be loaded.
type pathEngine struct {
	fake
	asked map[string]string
}

func (p pathEngine) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	p.asked[req.Config.Checkpoint] = req.ModelPath
	return fake{}.Plan(ctx, req)
}
