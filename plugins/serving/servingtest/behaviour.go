package servingtest

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// Behaviour runs an adapter against the fake of its engine: what a launch may meet
// and what the adapter must make of it. The test binary must hand its arguments to
// [Main].
func Behaviour(t *testing.T, engine *serving.Adapter, fake Fake) {
	b := behaviour{engine, fake}
	t.Run("launch and stop", b.launchAndStop)
	t.Run("benchmark", b.benchmark)
	t.Run("fails", b.fails)
	t.Run("progress bar", b.progressBar)
	t.Run("foreign listener", b.foreignListener)
	t.Run("killed leader", b.killedLeader)
	t.Run("slow load", b.slowLoad)
	t.Run("stopped while it loads", b.stoppedInLoad)
	t.Run("ignores TERM", b.ignoresTerm)
	t.Run("stalls", b.stalls)
	t.Run("cancelled", b.cancelled)
	t.Run("flags", b.flags)
	t.Run("prepare", b.prepare)
}

type behaviour struct {
	engine *serving.Adapter
	fake   Fake
}

const testModel = "test/model-8B"

// request is a plan of the fake with a fault.
func (b behaviour) request(fault string, knobs core.Knobs) core.PlanRequest {
	c := core.Config{Engine: b.fake.Engine, Checkpoint: testModel, Knobs: knobs, CommandKnown: true}
	if fault != "" {
		c.Env = map[string]string{FaultEnv: fault}
	}
	return core.PlanRequest{Config: c, Origin: b.origin()}
}

func (b behaviour) origin() core.Origin {
	return core.Origin{Cmd: os.Args[0] + " fake-" + b.fake.Engine}
}

func (b behaviour) launchAndStop(t *testing.T) {
	p := Start(t, b.engine, b.request("", nil))
	var phases []string
	ready, err := b.engine.Launch(t.Context(), p.Request(), func(g core.Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != g.Phase {
			phases = append(phases, g.Phase)
		}
	})
	if err != nil {
		t.Fatalf("%v; log:\n%s", err, p.LogText(t))
	}
	if !slices.Contains(phases, "load") || phases[len(phases)-1] != "ready" {
		t.Errorf("phases %v", phases)
	}
	if ready.Model != testModel || ready.BaseURL != p.Plan.Ready.BaseURL {
		t.Errorf("%+v", ready)
	}
	if s := ready.LoadS; s.Kind != core.KindNumber || s.Num <= 0 || s.Num > 30 {
		t.Errorf("weights loaded after %v seconds", s)
	}
	if n := health(t, ready.BaseURL); n != 0 {
		t.Errorf("/health was asked %d times", n)
	}

	stop := core.StopRequest{BaseURL: ready.BaseURL, PIDs: []int{p.Cmd.Process.Pid}, Grace: time.Second}
	if err := b.engine.Stop(t.Context(), stop); err != nil {
		t.Errorf("stop: %v", err)
	}
	// What the host does next: one SIGTERM to the leader.
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ExitCode(t); code != b.fake.TermExit {
		t.Errorf("exit status %d, want %d", code, b.fake.TermExit)
	}
	if err := b.engine.Stop(t.Context(), stop); err != nil {
		t.Errorf("stop of a dead server: %v", err)
	}
	// An engine that was asked to stop has not failed, whatever its status.
	d, err := b.engine.Diagnose(t.Context(), core.DiagnoseRequest{LogTail: p.LogText(t), ExitCode: b.fake.TermExit, Phase: "stop"})
	if err != nil || d.Class != core.UnknownFailure {
		t.Errorf("diagnosis of an ordinary stop: %+v, %v", d, err)
	}
}

func health(t *testing.T, base string) (n int) {
	t.Helper()
	resp, err := http.Get(base + "/servingtest/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var digit [1]byte
	for {
		if k, err := resp.Body.Read(digit[:]); k == 0 && err != nil {
			return n
		}
		n = n*10 + int(digit[0]-'0')
	}
}

type counter struct{ ok, all int }

func (c *counter) Samples(batch []core.Sample) error {
	for _, s := range batch {
		c.all++
		if s.Outcome == core.OutcomeOK && s.OutputTokens == 8 {
			c.ok++
		}
	}
	return nil
}
func (c *counter) Progress(core.Progress)        {}
func (c *counter) Summary(map[string]core.Value) {}

func (b behaviour) benchmark(t *testing.T) {
	p := Start(t, b.engine, b.request("", nil))
	ready, err := b.engine.Launch(t.Context(), p.Request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen counter
	err = b.engine.Benchmark(t.Context(), core.BenchmarkRequest{
		BaseURL: ready.BaseURL, Model: ready.Model, Config: core.Config{Engine: b.fake.Engine, Checkpoint: testModel},
		Workload: core.Workload{Dataset: "random", InputLen: core.Number(16), OutputLen: core.Number(8), IgnoreEOS: core.Bool(true), Turns: core.Number(1)},
		Load:     core.Load{Concurrency: core.Number(2), RequestRate: core.Unlimited(), NumPrompts: core.Number(6), Seed: core.Number(1)},
	}, &seen)
	if err != nil || seen.ok != 6 || seen.all != 6 {
		t.Errorf("%+v, %v", seen, err)
	}
}

func (b behaviour) fails(t *testing.T) {
	for _, tc := range []struct {
		name, fault string
		knobs       core.Knobs
		class       core.FailureClass
		says        string
		code        int // of a server that ends by itself; -1 still runs
	}{
		{"never ready", NeverReady, nil, core.StartupTimeout, "no progress for", -1},
		{"port taken", PortTaken, nil, core.PortInUse, "Errno 98", 1},
		{"healthy but 500", Answers500, nil, core.RequestsFailed, "engine is gone", -1},
		{"other model", OtherModel, nil, core.PortInUse, "other/model", -1},
		{"no cause", WrapperOnly, nil, core.UnknownFailure, "", b.fake.FailedExit},
		{"out of memory", "log:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", nil, core.OOMWeights, "Tried to allocate", b.fake.FailedExit},
		{"gated", "log:huggingface_hub.errors.GatedRepoError: 401 Client Error.", nil, core.Auth, "GatedRepoError", b.fake.FailedExit},
		{"broken GPU", "log:RuntimeError: CUDA error: uncorrectable ECC error encountered", nil, core.Driver, "ECC", b.fake.FailedExit},
		{"dead but up", "hang:RuntimeError: CUDA error: an illegal memory access was encountered", nil, core.Crash, "illegal memory access", -1},
		{"key in the line", "log:OSError: [Errno 98] Address already in use, --api-key canary-key", nil, core.PortInUse, "--api-key [redacted]", b.fake.FailedExit},
		{"misspelt flag", "", core.Knobs{"no_such_flag": core.Number(1)}, core.BadArgument, "flag", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req := b.request("", tc.knobs)
			req.Host, req.Port, req.WorkDir = "127.0.0.1", FreePort(t), t.TempDir()
			plan, err := b.engine.Plan(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if tc.fault != "" {
				// Not by the configuration, which may hold no key.
				plan.Processes[0].Env[FaultEnv] = tc.fault
			}
			plan.Ready.Idle = 10 * time.Second
			if tc.fault == NeverReady || strings.HasPrefix(tc.fault, "hang:") {
				plan.Ready.Idle = 800 * time.Millisecond
			}
			p := StartPlan(t, plan, req.WorkDir)
			_, err = b.engine.Launch(t.Context(), p.Request(), nil)
			var launch *core.LaunchError
			if !errors.As(err, &launch) {
				t.Fatalf("error %v", err)
			}
			if launch.Class != tc.class || !strings.Contains(launch.Line, tc.says) {
				t.Errorf("%s: %q, want %s with %q; log:\n%s", launch.Class, launch.Line, tc.class, tc.says, p.LogText(t))
			}
			if tc.code < 0 {
				select {
				case <-p.Ended:
					t.Error("the server ended")
				default:
				}
				return
			}
			if code := p.ExitCode(t); code != tc.code {
				t.Errorf("exit status %d, want %d", code, tc.code)
			}
			// The host asks again with what is left: the same class.
			d, err := b.engine.Diagnose(t.Context(), core.DiagnoseRequest{LogTail: p.LogText(t), ExitCode: tc.code, Phase: "load"})
			if err != nil || d.Class != tc.class {
				t.Errorf("diagnosis %+v, %v", d, err)
			}
		})
	}
}

// A progress bar without a line end is progress: only the cap ends the wait.
func (b behaviour) progressBar(t *testing.T) {
	req := b.request(SlowBar, nil)
	req.Host, req.Port, req.WorkDir = "127.0.0.1", FreePort(t), t.TempDir()
	plan, err := b.engine.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	plan.Ready.Idle, plan.Ready.Timeout = 600*time.Millisecond, 1500*time.Millisecond
	p := StartPlan(t, plan, req.WorkDir)
	_, err = b.engine.Launch(t.Context(), p.Request(), nil)
	var launch *core.LaunchError
	if !errors.As(err, &launch) || launch.Class != core.StartupTimeout || !strings.Contains(launch.Line, "not ready after 1.5s") {
		t.Errorf("error %v", err)
	}
}

// A server of another launch on the port does not pass for this one.
func (b behaviour) foreignListener(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who listens on a port can be told on Linux only")
	}
	other := Start(t, b.engine, b.request("", nil))
	if _, err := b.engine.Launch(t.Context(), other.Request(), nil); err != nil {
		t.Fatal(err)
	}
	p := Start(t, b.engine, b.request(NeverReady, nil))
	p.Plan.Ready.BaseURL = other.Plan.Ready.BaseURL
	_, err := b.engine.Launch(t.Context(), p.Request(), nil)
	var launch *core.LaunchError
	if !errors.As(err, &launch) || launch.Class != core.PortInUse || !strings.Contains(launch.Line, "not of this launch") {
		t.Errorf("error %v", err)
	}
}

// A leader that dies by SIGKILL leaves its workers behind: that is what the host's
// supervision is for, and the fake must show it.
func (b behaviour) killedLeader(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the workers are found through /proc")
	}
	p := Start(t, b.engine, b.request("", nil))
	if _, err := b.engine.Launch(t.Context(), p.Request(), nil); err != nil {
		t.Fatal(err)
	}
	workers := childrenOf(p.Cmd.Process.Pid)
	if len(workers) != len(b.fake.Workers) {
		t.Fatalf("workers %v, want %d", workers, len(b.fake.Workers))
	}
	t.Cleanup(func() {
		for _, pid := range workers {
			if w, err := os.FindProcess(pid); err == nil {
				_ = w.Kill()
			}
		}
	})
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	time.Sleep(20 * time.Millisecond)
	for _, pid := range workers {
		if !serving.Alive(pid) {
			t.Errorf("worker %d did not outlive its leader", pid)
		}
	}
}

// A load takes its time; the port opens after it.
func (b behaviour) slowLoad(t *testing.T) {
	p := Start(t, b.engine, b.request("slow:700ms", nil))
	ready, err := b.engine.Launch(t.Context(), p.Request(), nil)
	if err != nil {
		t.Fatalf("%v; log:\n%s", err, p.LogText(t))
	}
	if s := ready.LoadS; s.Kind != core.KindNumber || s.Num < 0.6 {
		t.Errorf("weights loaded after %v seconds, want what it took", s)
	}
}

// One that is asked to end while it loads ends with its usual status.
func (b behaviour) stoppedInLoad(t *testing.T) {
	p := Start(t, b.engine, b.request("slow:1m", nil))
	for !strings.Contains(p.LogText(t), strings.ReplaceAll(b.fake.Loading[len(b.fake.Loading)-1], "%s", testModel)) {
		select {
		case <-p.Ended:
			t.Fatalf("it ended by itself; log:\n%s", p.LogText(t))
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ExitCode(t); code != b.fake.TermExit {
		t.Errorf("exit status %d, want %d", code, b.fake.TermExit)
	}
}

// A server that hangs in its shutdown must be killed, and its workers with it.
func (b behaviour) ignoresTerm(t *testing.T) {
	p := Start(t, b.engine, b.request(Stubborn, nil))
	if _, err := b.engine.Launch(t.Context(), p.Request(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.killTree)
	workers := childrenOf(p.Cmd.Process.Pid)
	for _, pid := range append(workers, p.Cmd.Process.Pid) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Signal(syscall.SIGTERM) // that nothing comes of it is the test
		}
	}
	select {
	case <-p.Ended:
		t.Error("it ended by TERM")
	case <-time.After(200 * time.Millisecond):
	}
	for _, pid := range workers {
		if !serving.Alive(pid) {
			t.Errorf("worker %d ended by TERM", pid)
		}
	}
}

// A stream that stands still ends its request by the idle limit, not the trial.
func (b behaviour) stalls(t *testing.T) {
	p := Start(t, b.engine, b.request(Stalls, nil))
	t.Cleanup(p.killTree)
	ready, err := b.engine.Launch(t.Context(), p.Request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen counter
	err = b.engine.Benchmark(t.Context(), core.BenchmarkRequest{
		BaseURL: ready.BaseURL, Model: ready.Model, Config: core.Config{Engine: b.fake.Engine, Checkpoint: testModel}, IdleTimeout: 300 * time.Millisecond,
		Workload: core.Workload{Dataset: "random", InputLen: core.Number(16), OutputLen: core.Number(8), IgnoreEOS: core.Bool(true), Turns: core.Number(1)},
		Load:     core.Load{Concurrency: core.Number(2), RequestRate: core.Unlimited(), NumPrompts: core.Number(4), Seed: core.Number(1)},
	}, &seen)
	if err != nil || seen.ok != 0 || seen.all != 4 {
		t.Errorf("%+v, %v, want four requests that failed", seen, err)
	}
}

// childrenOf lists the children of a process by /proc.
func childrenOf(pid int) []int {
	var out []int
	tasks, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		after := string(text[strings.LastIndexByte(string(text), ')')+1:])
		f := strings.Fields(after)
		if len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(strings.Split(path, "/")[2])
			out = append(out, child)
		}
	}
	return out
}

func (b behaviour) cancelled(t *testing.T) {
	p := Start(t, b.engine, b.request(NeverReady, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.engine.Launch(ctx, p.Request(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// What the engine's own --help lists decides before anything is started.
func (b behaviour) flags(t *testing.T) {
	check := func(knobs core.Knobs) []core.BadFlag {
		t.Helper()
		req := b.request("", knobs)
		req.Host, req.Port = "127.0.0.1", 21000
		plan, err := b.engine.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		found, err := b.engine.Prepare(t.Context(), core.PrepareRequest{PlanRequest: req, Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		return found.Flags
	}
	if got := check(nil); len(got) != 0 {
		t.Errorf("a plain command: %v", got)
	}
	got := check(core.Knobs{"made_up_elsewhere": core.Number(1)})
	if len(got) != 1 || !strings.Contains(got[0].Text, "no such flag") {
		t.Errorf("a flag that only a description mentions: %v", got)
	}
	if got := check(core.Knobs{"kv_cache_dtyp": core.String("fp8"), "stream_intervall": core.Number(2)}); len(got) != 2 {
		t.Errorf("misspelt flags: %v", got)
	}
}
