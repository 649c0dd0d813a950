package vllm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/vllm"
)

const address = "--host=127.0.0.1 --port=21000"

// The commands of the tuning documents, and the forms of an origin.
func TestCommands(t *testing.T) {
	num, text, yes, no := core.Number, core.String, core.Bool(true), core.Bool(false)
	parser := text("qwen3")
	const nine = "Qwen/Qwen3.5-9B"
	servingtest.Commands(t, vllm.New(), "vllm", address, []servingtest.Case{
		{Name: "plain 8B", Checkpoint: "Qwen/Qwen3-8B", Want: "vllm serve Qwen/Qwen3-8B"},
		{Name: "plain 32B", Checkpoint: "Qwen/Qwen3-32B", Want: "vllm serve Qwen/Qwen3-32B"},
		{Name: "recommended 9B", Checkpoint: nine, Knobs: core.Knobs{"reasoning_parser": parser, "performance_mode": text("throughput"), "context_len": num(32768), "max_num_seqs": num(512)},
			Want: "vllm serve Qwen/Qwen3.5-9B --reasoning-parser=qwen3 --performance-mode=throughput --max-model-len=32768 --max-num-seqs=512"},
		{Name: "prefix caching", Checkpoint: nine, Knobs: core.Knobs{"reasoning_parser": parser, "enable_prefix_caching": yes, "context_len": num(32768)},
			Want: "vllm serve Qwen/Qwen3.5-9B --reasoning-parser=qwen3 --enable-prefix-caching --max-model-len=32768"},
		{Name: "multi-token prediction", Checkpoint: nine, Knobs: core.Knobs{"reasoning_parser": parser, "context_len": num(32768),
			"speculative_config": text(`{ "num_speculative_tokens": 4, "method": "mtp" }`)},
			Want: `vllm serve Qwen/Qwen3.5-9B --reasoning-parser=qwen3 '--speculative-config={"method":"mtp","num_speculative_tokens":4}' --max-model-len=32768`},
		{Name: "both limits", Checkpoint: nine, Knobs: core.Knobs{"reasoning_parser": parser, "performance_mode": text("throughput"), "max_model_len": text("32K"),
			"max_batched_tokens": num(49152), "max_num_seqs": num(768)},
			Want: "vllm serve Qwen/Qwen3.5-9B --reasoning-parser=qwen3 --performance-mode=throughput --max-model-len=32768 --max-num-batched-tokens=49152 --max-num-seqs=768"},

		{Name: "switches", Checkpoint: "a/b", Knobs: core.Knobs{"enable_prefix_caching": no, "chunked_prefill": no, "enforce_eager": yes, "async_scheduling": no},
			Want: "vllm serve a/b --no-enable-prefix-caching --no-enable-chunked-prefill --no-async-scheduling --enforce-eager"},
		{Name: "negative form", Checkpoint: "a/b", Knobs: core.Knobs{"no_enable_prefix_caching": yes}, Want: "vllm serve a/b --no-enable-prefix-caching"},
		{Name: "raw flags last, by name", Checkpoint: "a/b", Knobs: core.Knobs{"zz_new": num(0.25), "brand_new_flag": yes, "old_switch": no, "tp": num(2), "some_json": text(`{"a": 1}`)},
			Want: `vllm serve a/b --tensor-parallel-size=2 --brand-new-flag --no-old-switch '--some-json={"a": 1}' --zz-new=0.25`},
		{Name: "list", Checkpoint: "a/b", Knobs: core.Knobs{"cudagraph_capture_sizes": text("[1, 2,4]"), "seed": num(0)},
			Want: "vllm serve a/b --cudagraph-capture-sizes 1 2 4 --seed=0"},
		{Name: "memory fraction is its own", Checkpoint: "a/b", Knobs: core.Knobs{"gpu_memory_utilization": num(0.92)}, Want: "vllm serve a/b --gpu-memory-utilization=0.92"},
		{Name: "dotted", Checkpoint: "a/b", Knobs: core.Knobs{"compilation_config.mode": num(3)}, Want: "vllm serve a/b --compilation-config.mode=3"},
		{Name: "revision", Checkpoint: "a/b", Revision: "abc123", Want: "vllm serve a/b --revision=abc123"},

		{Name: "environment", Checkpoint: "a/b", Origin: core.Origin{Venv: "/opt/vllm"}, Want: "/opt/vllm/bin/vllm serve a/b"},
		{Name: "executable", Checkpoint: "a/b", Origin: core.Origin{Cmd: "/opt/bin/vllm"}, Want: "/opt/bin/vllm serve a/b"},
		{Name: "whole command", Checkpoint: "a/b", Origin: core.Origin{Cmd: "uv run vllm serve"}, Want: "uv run vllm serve a/b"},
	})
}

func TestSeeds(t *testing.T) { servingtest.SeedsComeOut(t, vllm.New(), "vllm", 22) }

func TestContainer(t *testing.T) {
	t.Setenv("HF_HOME", "/cache/hf")
	req := servingtest.Case{Checkpoint: "/models/q", Knobs: core.Knobs{"tp": core.Number(2)}, Origin: core.Origin{Image: "vllm/vllm-openai:v0.11.0"}}.PlanRequest("vllm")
	req.GPUs = []string{"GPU-1", "GPU-2"}
	req.Config.Env = map[string]string{"VLLM_ATTENTION_BACKEND": "FLASHINFER"}
	const middle = ` --network host --ipc host --ulimit memlock=-1 --ulimit stack=67108864 -e DO_NOT_TRACK=1 -e PYTHONUNBUFFERED=1 -e VLLM_ATTENTION_BACKEND=FLASHINFER` +
		` -e VLLM_NO_USAGE_STATS=1 -e HF_TOKEN -e HUGGING_FACE_HUB_TOKEN -e HF_HOME=/huggingface -v /cache/hf:/huggingface -v /launches/0199:/launches/0199:ro -v /models/q:/models/q:ro` +
		` --entrypoint vllm vllm/vllm-openai:v0.11.0 serve /models/q --tensor-parallel-size=2 ` + address
	for program, want := range map[string]string{
		"":       `docker run --rm --init --pull=never --name=sweepbook-0199 --gpus '"device=GPU-1,GPU-2"'` + middle,
		"podman": `podman run --rm --init --pull=never --name=sweepbook-0199 --device nvidia.com/gpu=GPU-1 --device nvidia.com/gpu=GPU-2` + middle,
	} {
		req.Origin.Cmd = program
		plan, err := vllm.New().Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, servingtest.Shell(plan.Processes[0].Argv)); diff != "" {
			t.Error(diff)
		}
		if plan.Processes[0].Env != nil {
			t.Errorf("environment of the command: %v", plan.Processes[0].Env)
		}
	}
}

func TestEnvironmentAndHints(t *testing.T) {
	req := servingtest.Case{Checkpoint: "Qwen/Qwen3-8B-FP8", Knobs: core.Knobs{"kv_cache_dtype": core.String("fp8_e4m3"), "speculative_config": core.String(`{"method":"eagle3"}`)}}.PlanRequest("vllm")
	req.GPUs = []string{"GPU-7"}
	plan, err := vllm.New().Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-7", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "PYTHONUNBUFFERED": "1", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1"}
	if diff := cmp.Diff(env, plan.Processes[0].Env); diff != "" {
		t.Error(diff)
	}
	hints := map[string]core.Value{"gpus": core.Number(1), "weight_dtype": core.String("fp8"), "kv_dtype": core.String("fp8"), "spec_method": core.String("eagle3")}
	if diff := cmp.Diff(hints, plan.SetupHints); diff != "" {
		t.Error(diff)
	}
	if plan.Ready.Model != "Qwen/Qwen3-8B-FP8" || plan.Ready.BaseURL != "http://127.0.0.1:21000" || plan.Ready.Idle == 0 || plan.Ready.Timeout == 0 {
		t.Errorf("%+v", plan.Ready)
	}
	if trial := (core.Trial{}); trial.SetField("weight_dtype", hints["weight_dtype"]) != nil || trial.SetField("gpus", hints["gpus"]) != nil {
		t.Error("a hint is no field of a trial")
	}
}

func TestRefusals(t *testing.T) {
	num, text := core.Number, core.String
	change := func(name string, f func(*core.PlanRequest), says ...string) servingtest.Refusal {
		return servingtest.Refusal{Name: name, Change: f, Says: says}
	}
	servingtest.Refuses(t, vllm.New(), "vllm", []servingtest.Refusal{
		servingtest.Knob("max_num_seqs", text("many"), "--max-num-seqs", "a whole number of at least 1", `"many"`),
		servingtest.Knob("max_num_seqs", num(0), "--max-num-seqs", "at least 1"),
		servingtest.Knob("max_num_seqs", num(1.5), "a whole number"),
		servingtest.Knob("max_num_seqs", core.Unlimited(), "unlimited"),
		servingtest.Knob("gpu_memory_utilization", num(1.2), "--gpu-memory-utilization", "from 0 to 1"),
		servingtest.Knob("enforce_eager", num(1), "--enforce-eager", "true or false"),
		servingtest.Knob("speculative_config", text("mtp"), "--speculative-config", "JSON"),
		servingtest.Knob("performance_mode", text("fast"), "balanced, interactivity, throughput"),
		servingtest.Knob("cudagraph_capture_sizes", text("1 two"), "whole numbers"),
		servingtest.Knob("reasoning_parser", core.Missing(), "--reasoning-parser"),
		servingtest.Knob("brand_new", core.Missing(), "no value"),
		servingtest.Knob("brand_new", core.Unlimited(), "unlimited"),
		servingtest.Knob("brand_new", text("a\nb"), "line break"),
		servingtest.Knob("brand_new", text("hf_abcdefghijklmnopqrstuvwx"), "looks like a secret"),
		servingtest.Knob("hf_overrides", text(`{"api_key":"canary"}`), "looks like a secret"),
		change("a proxy with a password", func(r *core.PlanRequest) {
			r.Config.Env = map[string]string{"HTTPS_PROXY": "http://me:word@proxy:1"}
		}, "HTTPS_PROXY", "looks like a secret"),
		servingtest.Knob("brand new", num(1), "letters, digits"),
		servingtest.Knob("port", num(8000), "the host allots"),
		servingtest.Knob("host", text("0.0.0.0"), "the host allots"),
		servingtest.Knob("api-key", text("x"), "server on the loopback"),
		servingtest.Knob("served_model_name", text("x"), "checkpoint names"),
		servingtest.Knob("uds", text("/tmp/x"), "TCP"),
		servingtest.Knob("ep", num(2), "no flag for this idea"),
		change("twice", func(r *core.PlanRequest) {
			r.Config.Knobs = core.Knobs{"context_len": num(1), "max_model_len": num(2)}
		}, `"max_model_len"`, "the same as", `"context_len"`),
		change("switch twice", func(r *core.PlanRequest) {
			r.Config.Knobs = core.Knobs{"enforce_eager": core.Bool(true), "no_enforce_eager": core.Bool(true)}
		}, "the same as"),
		change("removed flag", func(r *core.PlanRequest) {
			r.Origin.Version = "0.28.0"
			r.Config.Knobs = core.Knobs{"max_num_partial_prefills": num(2)}
		}, "removed in version 0.27.0", "0.28.0"),
		change("url", func(r *core.PlanRequest) { r.Origin.URL = "http://x" }, "url", "sweepbook bench"),
		change("two forms", func(r *core.PlanRequest) { r.Origin.Venv, r.Origin.Image = "/v", "i" }, "give one of"),
		change("two words beside an image", func(r *core.PlanRequest) { r.Origin.Cmd, r.Origin.Image = "sudo docker", "i" }, "one word"),
		change("no checkpoint", func(r *core.PlanRequest) { r.Config.Checkpoint = "" }, "checkpoint"),
		change("a flag for a checkpoint", func(r *core.PlanRequest) { r.Config.Checkpoint = "--help" }, "no name of a model"),
		change("other engine", func(r *core.PlanRequest) { r.Config.Engine = "sglang" }, `"sglang"`),
		change("no port", func(r *core.PlanRequest) { r.Port = 0 }, "port"),
		change("secret", func(r *core.PlanRequest) { r.Config.Env = map[string]string{"HF_TOKEN": "x"} }, "HF_TOKEN", "run.secrets"),
		change("too few GPUs", func(r *core.PlanRequest) {
			r.GPUs = []string{"GPU-1"}
			r.Config.Knobs = core.Knobs{"tp": num(2), "dp": num(2)}
		}, "needs 4 GPUs and is given 1"),
		change("GPUs chosen twice", func(r *core.PlanRequest) {
			r.GPUs = []string{"GPU-1"}
			r.Config.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "3"}
		}, "CUDA_VISIBLE_DEVICES"),
	})
	// An older version still has the flag.
	req := servingtest.Case{Checkpoint: "a/b", Knobs: core.Knobs{"max_num_partial_prefills": num(2)}, Origin: core.Origin{Version: "0.27.0rc1"}}.PlanRequest("vllm")
	if _, err := vllm.New().Plan(t.Context(), req); err != nil {
		t.Error(err)
	}
}
