package sglang_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/sglang"
)

// The commands of the tuning documents, and the forms of an origin.
func TestCommands(t *testing.T) {
	num, text, yes := core.Number, core.String, core.Bool(true)
	const start = "python3 -m sglang.launch_server --model-path "
	eagle := func(more core.Knobs) core.Knobs {
		k := core.Knobs{"speculative_algorithm": text("EAGLE3"), "speculative_draft_model_path": text("Tengyunw/qwen3_8b_eagle3"), "speculative_num_steps": num(4),
			"speculative_eagle_topk": num(4), "speculative_num_draft_tokens": num(16)}
		for name, v := range more {
			k[name] = v
		}
		return k
	}
	const drafting = " --speculative-algorithm EAGLE3 --speculative-draft-model-path Tengyunw/qwen3_8b_eagle3 --speculative-num-steps 4 --speculative-eagle-topk 4 --speculative-num-draft-tokens 16"
	servingtest.Commands(t, sglang.New(), "sglang", "--host 127.0.0.1 --port 21000", []servingtest.Case{
		{Name: "plain 8B", Checkpoint: "Qwen/Qwen3-8B", Want: start + "Qwen/Qwen3-8B"},
		{Name: "plain 32B", Checkpoint: "Qwen/Qwen3-32B", Want: start + "Qwen/Qwen3-32B"},
		{Name: "fp8 32B", Checkpoint: "Qwen/Qwen3-32B-FP8", Want: start + "Qwen/Qwen3-32B-FP8"},
		{Name: "graph batch", Checkpoint: "Qwen/Qwen3-8B", Knobs: core.Knobs{"cuda_graph_max_bs": num(8)}, Want: start + "Qwen/Qwen3-8B --cuda-graph-max-bs 8"},
		{Name: "attention", Checkpoint: "Qwen/Qwen3-8B-FP8", Knobs: core.Knobs{"attention_backend": text("triton")}, Want: start + "Qwen/Qwen3-8B-FP8 --attention-backend triton"},
		{Name: "EAGLE3", Checkpoint: "Qwen/Qwen3-8B-FP8", Knobs: eagle(nil), Want: start + "Qwen/Qwen3-8B-FP8" + drafting},
		{Name: "compiled", Checkpoint: "Qwen/Qwen3-8B-FP8", Knobs: eagle(core.Knobs{"enable_torch_compile": yes}), Want: start + "Qwen/Qwen3-8B-FP8 --enable-torch-compile" + drafting},
		{Name: "9B", Checkpoint: "Qwen/Qwen3.5-9B", Knobs: core.Knobs{"reasoning_parser": text("qwen3"), "context_len": num(32768)},
			Want: start + "Qwen/Qwen3.5-9B --reasoning-parser qwen3 --context-length 32768"},

		{Name: "switches, lists and signs", Checkpoint: "a/b", Knobs: core.Knobs{"disable_radix_cache": yes, "enable_mixed_chunk": core.Bool(false), "chunked_prefill_size": num(-1),
			"cuda_graph_bs": text("1,2,4"), "json_model_override_args": text(`{"a": "-x"}`), "warmups": text("-odd")},
			Want: start + `a/b --chunked-prefill-size -1 --disable-radix-cache --cuda-graph-bs 1 2 4 --json-model-override-args '{"a":"-x"}' --warmups=-odd`},
		{Name: "the same idea", Checkpoint: "a/b", Knobs: core.Knobs{"max_num_seqs": num(64), "tensor_parallel_size": num(2)}, Want: start + "a/b --max-running-requests 64 --tp-size 2"},
		{Name: "memory fraction is its own", Checkpoint: "a/b", Knobs: core.Knobs{"mem_fraction_static": num(0.8)}, Want: start + "a/b --mem-fraction-static 0.8"},
		{Name: "environment", Checkpoint: "a/b", Origin: core.Origin{Venv: "/opt/sg"}, Want: "/opt/sg/bin/python3 -m sglang.launch_server --model-path a/b"},
		{Name: "interpreter", Checkpoint: "a/b", Origin: core.Origin{Cmd: "/opt/python3.12"}, Want: "/opt/python3.12 -m sglang.launch_server --model-path a/b"},
		{Name: "command line tool", Checkpoint: "a/b", Origin: core.Origin{Cmd: "sglang"}, Want: "sglang serve --model-path a/b"},
	})
}

func TestSeeds(t *testing.T) { servingtest.SeedsComeOut(t, sglang.New(), "sglang", 20) }

func TestRefusals(t *testing.T) {
	num, text := core.Number, core.String
	servingtest.Refuses(t, sglang.New(), "sglang", []servingtest.Refusal{
		servingtest.Knob("mem_fraction_static", num(1.5), "--mem-fraction-static", "from 0 to 1"),
		servingtest.Knob("chunked_prefill_size", num(-2), "at least -1"),
		servingtest.Knob("chunked_prefill", core.Bool(true), "no flag for this idea"),
		servingtest.Knob("max_batched_tokens", num(8), "no flag for this idea"),
		servingtest.Knob("brand_new_switch", core.Bool(false), "no form for a switch that is off"),
		servingtest.Knob("nccl_port", num(5), "allotted"),
		servingtest.Knob("api_key", text("x"), "secrets"),
		servingtest.Knob("config", text("x.yaml"), "file"),
		{Name: "too few GPUs", Says: []string{"needs 8 GPUs"}, Change: func(r *core.PlanRequest) {
			r.GPUs = []string{"0", "1", "2", "3"}
			r.Config.Knobs = core.Knobs{"tp": num(4), "dp": num(2)}
		}},
	})
	req := servingtest.Case{Checkpoint: "a/b", Knobs: core.Knobs{"tp": num(4), "dp": num(4), "enable_dp_attention": core.Bool(true)}}.PlanRequest("sglang")
	req.GPUs = []string{"0", "1", "2", "3"}
	if _, err := sglang.New().Plan(t.Context(), req); err != nil {
		t.Errorf("attention copies live inside the tensor parallel group: %v", err)
	}
}
