package sim_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/sim"
)

func planRequest(c core.Config) core.PlanRequest {
	return core.PlanRequest{Config: c, Host: "127.0.0.1", Port: 21000, GPUs: []string{"0"}}
}

func TestPlan(t *testing.T) {
	req := planRequest(core.Config{
		Engine: "sim", Model: "Qwen/Qwen3-8B", Checkpoint: "Qwen/Qwen3-8B-FP8", Revision: "main", Env: map[string]string{"A": "b"},
		Knobs: core.Knobs{"max_num_seqs": core.Number(64), "context_len": core.Number(4096), "chunked_prefill": core.Bool(true),
			"enable_prefix_caching": core.Bool(false), "gpu": core.String("h200"), "kv_cache_dtype": core.String("fp8"),
			"speculative_method": core.String("eagle3"), "tp": core.Number(2), "time_scale": core.Number(0.5)},
	})
	want := core.Plan{
		Processes: []core.Process{{Name: "server", Env: map[string]string{"A": "b"}, GPUs: []string{"0"}, Argv: []string{
			"/bin/sweepbook", "sim-server", "--model", "Qwen/Qwen3-8B-FP8", "--host", "127.0.0.1", "--port", "21000", "--revision", "main",
			"--enable-chunked-prefill", "--max-model-len", "4096", "--no-enable-prefix-caching", "--gpu", "h200", "--kv-cache-dtype", "fp8",
			"--max-num-seqs", "64", "--speculative-method", "eagle3", "--time-scale", "0.5", "--tensor-parallel-size", "2"}}},
		SetupHints: map[string]core.Value{"gpu": core.String("NVIDIA H200"), "gpus": core.Number(2), "weight_dtype": core.String("fp8"),
			"kv_dtype": core.String("fp8"), "spec_method": core.String("eagle3")},
	}
	engine := sim.New("/bin/sweepbook")
	for range 20 {
		got, err := engine.Plan(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got.Ready.BaseURL != "http://127.0.0.1:21000" || got.Ready.Model != "Qwen/Qwen3-8B-FP8" || got.Ready.Timeout <= 0 || got.Ready.Idle <= 0 {
			t.Fatalf("%+v", got.Ready)
		}
		got.Ready = core.ReadyRule{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	knob := func(name string, v core.Value) core.Config {
		return core.Config{Checkpoint: "Qwen/Qwen3-8B", Knobs: core.Knobs{name: v}}
	}
	for _, tc := range []struct {
		name   string
		change func(*core.PlanRequest)
		says   []string
	}{
		{"mistyped knob", func(r *core.PlanRequest) { r.Config = knob("max_num_seq", core.Number(1)) }, []string{`"max_num_seq"`, "nearest: max_num_seqs"}},
		{"nothing near", func(r *core.PlanRequest) { r.Config = knob("zzzzzzzzzzzz", core.Number(1)) }, []string{`"zzzzzzzzzzzz"`, "no such knob"}},
		{"text for a number", func(r *core.PlanRequest) { r.Config = knob("max_num_seqs", core.String("many")) }, []string{`"max_num_seqs"`, `want a number, got the text "many"`}},
		{"number for a boolean", func(r *core.PlanRequest) { r.Config = knob("chunked_prefill", core.Number(1)) }, []string{`"chunked_prefill"`, "want true or false"}},
		{"number for a text", func(r *core.PlanRequest) { r.Config = knob("gpu", core.Number(1)) }, []string{`"gpu"`, "want a text"}},
		{"half a token", func(r *core.PlanRequest) { r.Config = knob("max_batched_tokens", core.Number(64.5)) }, []string{"whole number", "64.5"}},
		{"below the least", func(r *core.PlanRequest) { r.Config = knob("tp", core.Number(0)) }, []string{`"tp"`, "at least 1"}},
		{"unlimited", func(r *core.PlanRequest) { r.Config = knob("max_num_seqs", core.Unlimited()) }, []string{`"max_num_seqs"`, "unlimited"}},
		{"beyond a share", func(r *core.PlanRequest) { r.Config = knob("fault_refuse_share", core.Number(2)) }, []string{"from 0 to 1"}},
		{"missing value", func(r *core.PlanRequest) { r.Config = knob("seed", core.Missing()) }, []string{`"seed"`, "got nothing"}},
		{"unknown choice", func(r *core.PlanRequest) { r.Config = knob("kv_cache_dtype", core.String("int3")) }, []string{"auto, bf16, fp8", "int3"}},
		{"unknown GPU", func(r *core.PlanRequest) { r.Config = knob("gpu", core.String("B999")) }, []string{"NVIDIA H100 80GB HBM3", "B999"}},
		{"twice", func(r *core.PlanRequest) {
			r.Config = knob("context_len", core.Number(10))
			r.Config.Knobs["max_model_len"] = core.Number(10)
		}, []string{`"max_model_len"`, `"context_len"`}},
		{"drafts without a method", func(r *core.PlanRequest) { r.Config = knob("speculative_tokens", core.Number(3)) }, []string{"speculative-tokens", "speculative-method"}},
		{"no model", func(r *core.PlanRequest) { r.Config = core.Config{} }, []string{"checkpoint"}},
		{"other engine", func(r *core.PlanRequest) { r.Config.Engine = "vllm" }, []string{"vllm"}},
		{"no port", func(r *core.PlanRequest) { r.Port = 0 }, []string{"port"}},
		{"image", func(r *core.PlanRequest) { r.Origin.Image = "x" }, []string{"origin"}},
		{"other version", func(r *core.PlanRequest) { r.Origin.Version = "0.9" }, []string{"version", "0.9"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := planRequest(core.Config{Checkpoint: "Qwen/Qwen3-8B"})
			tc.change(&req)
			_, err := newEngine().Plan(context.Background(), req)
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%v is not ErrInvalid", err)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// The engine's own spelling gives the same command as the canonical one.
func TestPlanSpellings(t *testing.T) {
	argv := func(name string) []string {
		plan, err := sim.New("x").Plan(context.Background(), planRequest(core.Config{Model: "Qwen/Qwen3-8B", Knobs: core.Knobs{name: core.Number(16)}}))
		if err != nil {
			t.Fatal(err)
		}
		return plan.Processes[0].Argv
	}
	for canonical, own := range map[string]string{"context_len": "max_model_len", "max_batched_tokens": "max_num_batched_tokens", "tp": "tensor_parallel_size"} {
		if diff := cmp.Diff(argv(canonical), argv(own)); diff != "" {
			t.Errorf("%s: %s", own, diff)
		}
	}
}

// Every knob that is documented has a type, a text and a default that Plan
// accepts; a plan of all of them is understood by the server's own parser.
func TestInfoAgreesWithPlan(t *testing.T) {
	engine := newEngine()
	info, err := engine.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "sim" || !info.Simulated || info.Version != sim.Version {
		t.Errorf("%+v", info)
	}
	all := core.Knobs{"context_len": core.Number(1000), "quantization": core.String("fp8"), "speculative_method": core.String("mtp")}
	names := map[string]bool{}
	for _, k := range info.Knobs {
		if names[k.Name] || k.Doc == "" || !strings.HasPrefix(k.Flag, "--") || k.Type == 0 {
			t.Errorf("%+v", k)
		}
		names[k.Name] = true
		if _, given := all[k.Name]; !given {
			all[k.Name] = k.Default
		}
	}
	for name := range maps.Keys(all) {
		if !names[name] {
			t.Errorf("knob %s is not documented", name)
		}
	}
	plan, err := engine.Plan(context.Background(), planRequest(core.Config{Checkpoint: "Qwen/Qwen3-8B", Knobs: all}))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range info.Knobs {
		no := "--no-" + strings.TrimPrefix(k.Flag, "--")
		if !slices.Contains(plan.Processes[0].Argv, k.Flag) && !slices.Contains(plan.Processes[0].Argv, no) {
			t.Errorf("%s is not in the command %v", k.Flag, plan.Processes[0].Argv)
		}
	}
}

func TestProbe(t *testing.T) {
	got, err := newEngine().Probe(context.Background(), core.Origin{Version: sim.Version})
	if err != nil || got.Version != sim.Version || got.Command == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := sim.New("/no/such/file").Probe(context.Background(), core.Origin{}); err == nil {
		t.Error("no error for an executable that is not there")
	}
	if _, err := newEngine().Probe(context.Background(), core.Origin{Venv: "x"}); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
}
