package sim_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/core"
)

func TestLaunchAndStop(t *testing.T) {
	engine := newEngine()
	p := start(t, engine, config(core.Knobs{"max_num_seqs": core.Number(32), "speculative_method": core.String("eagle3")}))
	var phases []string
	ready, err := engine.Launch(context.Background(), p.launchRequest(), func(g core.Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != g.Phase {
			phases = append(phases, g.Phase)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"load", "compile", "ready"}, phases); diff != "" {
		t.Error(diff)
	}
	if ready.Version != "1.0" || ready.Model != "Qwen/Qwen3-8B" || ready.BaseURL != p.plan.Ready.BaseURL {
		t.Errorf("%+v", ready)
	}
	// 16.38 GB at 2.2 GB/s and a second and a half; the log's clock adds a little.
	if s := ready.LoadS.Num; s < 8.9 || s > 60 {
		t.Errorf("weights loaded after %v simulated seconds", ready.LoadS)
	}
	for name, want := range map[string]core.Value{"max_num_seqs": core.Number(32), "context_len": core.Number(40960), "chunked_prefill": core.Bool(false),
		"speculative_tokens": core.Number(4), "time_scale": core.Number(100), "gpu": core.String("NVIDIA H100 80GB HBM3"), "kv_cache_dtype": core.String("bf16")} {
		if got := ready.Resolved[name]; got != want {
			t.Errorf("resolved %s: %v, want %v", name, got, want)
		}
	}
	if diff := cmp.Diff(p.plan.SetupHints, ready.Facts); diff != "" {
		t.Error("facts differ from the plan's hints:", diff)
	}

	stop := core.StopRequest{BaseURL: ready.BaseURL, PIDs: []int{p.cmd.Process.Pid}, Grace: time.Second}
	if err := engine.Stop(context.Background(), stop); err != nil {
		t.Fatal(err)
	}
	if code := p.exitCode(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if err := engine.Stop(context.Background(), stop); err != nil {
		t.Errorf("stop of a dead server: %v", err)
	}
}

func TestLaunchThatFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config core.Config
		change func(*core.Plan)
		class  core.FailureClass
		says   string
		code   int // of the process that ends by itself; -1 is still running
	}{
		{"out of memory by fault", config(core.Knobs{"fault_oom_at_load": core.Bool(true)}), nil, core.OOMWeights, "CUDA out of memory", 1},
		{"KV cache", config(core.Knobs{"context_len": core.Number(1e6)}), nil, core.OOMKV, "the longest that fits", 1},
		{"unknown checkpoint", config(nil).With(core.Config{Checkpoint: "acme/nameless"}), nil, core.ModelNotFound, "acme/nameless", 1},
		{"unsupported", config(core.Knobs{"gpu": core.String("A100"), "kv_cache_dtype": core.String("fp8")}), nil, core.Unsupported, "8-bit units", 1},
		{"usage", config(nil), func(p *core.Plan) { p.Processes[0].Argv = append(p.Processes[0].Argv, "--bogus") }, core.BadArgument, "--bogus", 2},
		{"never ready", config(core.Knobs{"fault_never_ready": core.Bool(true)}), func(p *core.Plan) { p.Ready.Timeout = 300 * time.Millisecond }, core.StartupTimeout, "not ready after 300ms", -1},
		{"silent", config(core.Knobs{"fault_never_ready": core.Bool(true)}), func(p *core.Plan) { p.Ready.Idle = 300 * time.Millisecond }, core.StartupTimeout, "no progress for 300ms", -1},
		{"slow", config(core.Knobs{"fault_slow_ready": core.Number(1000)}), func(p *core.Plan) { p.Ready.Timeout = 300 * time.Millisecond }, core.StartupTimeout, "not ready", -1},
		{"refuses all", config(core.Knobs{"fault_refuse_share": core.Number(1)}), func(p *core.Plan) { p.Ready.Timeout = time.Second }, core.StartupTimeout, "503", -1},
		{"errors inside 200", config(core.Knobs{"fault_error_in_200": core.Number(1)}), nil, core.RequestsFailed, "error inside HTTP 200", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			engine := newEngine()
			plan, err := engine.Plan(context.Background(), core.PlanRequest{Config: tc.config, Host: "127.0.0.1", Port: freePort(t)})
			if err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(&plan)
			}
			p := startPlan(t, plan)
			_, err = engine.Launch(context.Background(), p.launchRequest(), nil)
			var launch *core.LaunchError
			if !errors.As(err, &launch) {
				t.Fatalf("error %v", err)
			}
			if launch.Class != tc.class || !strings.Contains(launch.Line, tc.says) {
				t.Errorf("%s: %q, want %s with %q", launch.Class, launch.Line, tc.class, tc.says)
			}
			if tc.code < 0 {
				select {
				case <-p.ended:
					t.Error("the server ended")
				default:
				}
				return
			}
			if code := p.exitCode(t); code != tc.code {
				t.Errorf("exit status %d, want %d", code, tc.code)
			}
			// The host asks again with what is left: the same class and line.
			tail, err := os.ReadFile(p.log)
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine.Diagnose(context.Background(), core.DiagnoseRequest{LogTail: string(tail), ExitCode: tc.code, Phase: "load"})
			if err != nil || got.Class != launch.Class || got.Line != launch.Line {
				t.Errorf("diagnosis %+v, %v; launch said %+v", got, err, launch)
			}
		})
	}
}

func TestLaunchIsCancelled(t *testing.T) {
	engine := newEngine()
	p := start(t, engine, config(core.Knobs{"fault_never_ready": core.Bool(true)}))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := engine.Launch(ctx, p.launchRequest(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// Another server on the port must not pass for ours, even with the same model.
func TestPortOfAnotherServer(t *testing.T) {
	other := startInside(t, "--time-scale", "1000")
	engine := newEngine()
	plan, err := engine.Plan(context.Background(), core.PlanRequest{Config: config(nil), Host: "127.0.0.1", Port: freePort(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("ours ends at once", func(t *testing.T) {
		plan := plan
		plan.Processes = []core.Process{plan.Processes[0]}
		argv := append([]string(nil), plan.Processes[0].Argv...)
		for i, a := range argv {
			if a == "--port" {
				argv[i+1] = other[strings.LastIndexByte(other, ':')+1:]
			}
		}
		plan.Processes[0].Argv = argv
		p := startPlan(t, plan)
		if code := p.exitCode(t); code != 1 {
			t.Errorf("exit status %d", code)
		}
		_, err := engine.Launch(context.Background(), p.launchRequest(), nil)
		var launch *core.LaunchError
		if !errors.As(err, &launch) || launch.Class != core.PortInUse {
			t.Errorf("error %v", err)
		}
	})
	t.Run("ours still lives", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("who listens on a port can be told on Linux only")
		}
		// A process that stands for a server which has not come to its port yet.
		p := start(t, engine, config(core.Knobs{"fault_never_ready": core.Bool(true)}))
		p.plan.Ready.BaseURL = other
		p.plan.Ready.Timeout = 2 * time.Second
		_, err := engine.Launch(context.Background(), p.launchRequest(), nil)
		var launch *core.LaunchError
		if !errors.As(err, &launch) || launch.Class != core.PortInUse {
			t.Errorf("error %v", err)
		}
		// Ending ours leaves the other one alone.
		if err := engine.Stop(context.Background(), core.StopRequest{BaseURL: other, PIDs: []int{p.cmd.Process.Pid}, Grace: time.Second}); err != nil {
			t.Errorf("stop: %v", err)
		}
		if resp, err := http.Get(other + "/health"); err != nil {
			t.Errorf("the other server was ended: %v", err)
		} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("the other server answers %s", resp.Status)
		}
	})
	t.Run("another model", func(t *testing.T) {
		p := start(t, engine, config(core.Knobs{"fault_never_ready": core.Bool(true)}))
		p.plan.Ready.BaseURL, p.plan.Ready.Model = other, "other/model-1B"
		_, err := engine.Launch(context.Background(), p.launchRequest(), nil)
		var launch *core.LaunchError
		if !errors.As(err, &launch) || launch.Class != core.PortInUse || !strings.Contains(launch.Line, "other/model-1B") {
			t.Errorf("error %v", err)
		}
	})
}

// A stop that nobody hears is an error only while the server lives.
func TestStopOfASilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = newEngine().Stop(ctx, core.StopRequest{BaseURL: "http://" + l.Addr().String(), PIDs: []int{os.Getpid()}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
