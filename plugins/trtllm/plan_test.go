package trtllm_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/trtllm"
)

const address = "--host=127.0.0.1 --port=21000"

// The commands of the tuning documents, the options file, and the forms of an
// origin.
func TestCommands(t *testing.T) {
	num, text, yes, no := core.Number, core.String, core.Bool(true), core.Bool(false)
	const file = " --extra_llm_api_options=/launches/0199/options.yaml"
	servingtest.Commands(t, trtllm.New(), "trtllm", address, []servingtest.Case{
		{Name: "plain 8B", Checkpoint: "Qwen/Qwen3-8B", Want: "trtllm-serve Qwen/Qwen3-8B"},
		{Name: "plain 32B", Checkpoint: "Qwen/Qwen3-32B", Want: "trtllm-serve Qwen/Qwen3-32B"},
		{Name: "chunked", Checkpoint: "Qwen/Qwen3-32B-FP8", Knobs: core.Knobs{"context_len": num(40960), "chunked_prefill": yes},
			Want: "trtllm-serve Qwen/Qwen3-32B-FP8 --max_seq_len=40960 --enable_chunked_prefill"},
		{Name: "the default, said", Checkpoint: "a/b", Knobs: core.Knobs{"chunked_prefill": no}, Want: "trtllm-serve a/b"},
		{Name: "fraction alone", Checkpoint: "a/b", Knobs: core.Knobs{"kv_cache_free_gpu_memory_fraction": num(0.85)}, Want: "trtllm-serve a/b --free_gpu_memory_fraction=0.85"},
		{Name: "fraction beside the cache", Checkpoint: "a/b", Knobs: core.Knobs{"free_gpu_memory_fraction": num(0.85), "kv_cache_dtype": text("fp8"), "tp": num(2)},
			Want: "trtllm-serve a/b --tp_size=2" + file, Options: "kv_cache_config:\n  dtype: fp8\n  free_gpu_memory_fraction: 0.85\n"},
		{Name: "options", Checkpoint: "a/b", Knobs: core.Knobs{
			"kv_cache_config.enable_block_reuse": no, "attention_backend": text("FLASHINFER"), "cuda_graph_config.batch_sizes": text("1 2 4"), "cuda_graph_config": text(`{"enable_padding": true}`),
			"speculative_config":              text(`{"decoding_type":"Eagle3","max_draft_len":3,"speculative_model":"x/y: z","acceptance":1e-5,"none":null,"list":[{"a":1},"b c"]}`),
			"extra_llm_api_options.new_thing": num(3), "moe_config.load_balancer.slots": num(7), "raw_flag": num(5)},
			Want: "trtllm-serve a/b --raw_flag=5" + file,
			Options: `attn_backend: FLASHINFER
cuda_graph_config:
  batch_sizes: [1, 2, 4]
  enable_padding: true
kv_cache_config:
  enable_block_reuse: false
moe_config:
  load_balancer:
    slots: 7
new_thing: 3
speculative_config:
  acceptance: 0.00001
  decoding_type: Eagle3
  list: [{a: 1}, "b c"]
  max_draft_len: 3
  none: null
  speculative_model: "x/y: z"
`},
		{Name: "environment", Checkpoint: "a/b", Origin: core.Origin{Venv: "/opt/t"}, Want: "/opt/t/bin/trtllm-serve a/b"},
		{Name: "executable", Checkpoint: "a/b", Origin: core.Origin{Cmd: "/usr/local/bin/trtllm-serve"}, Want: "/usr/local/bin/trtllm-serve a/b"},
	})
}

func TestSeeds(t *testing.T) { servingtest.SeedsComeOut(t, trtllm.New(), "trtllm", 5) }

func TestRefusals(t *testing.T) {
	num, text := core.Number, core.String
	servingtest.Refuses(t, trtllm.New(), "trtllm", []servingtest.Refusal{
		servingtest.Knob("max_num_seqs", text("x"), "--max_batch_size"),
		servingtest.Knob("free_gpu_memory_fraction", num(2), "--free_gpu_memory_fraction", "from 0 to 1"),
		servingtest.Knob("dp", num(2), "no flag for this idea"),
		servingtest.Knob("raw_switch", core.Bool(false), "no form"),
		servingtest.Knob("extra_llm_api_options", text("x.yaml"), "file"),
		servingtest.Knob("set", text("a=b"), "as a knob"),
		servingtest.Knob("kv_cache_config..x", num(1), "no path"),
		{Name: "one place twice", Says: []string{"kv_cache_config.dtype", "twice"}, Change: func(r *core.PlanRequest) {
			r.Config.Knobs = core.Knobs{"kv_cache_dtype": text("fp8"), "kv_cache_config": text(`{"dtype":"auto"}`)}
		}},
		{Name: "fraction twice", Says: []string{"free_gpu_memory_fraction", "twice"}, Change: func(r *core.PlanRequest) {
			r.Config.Knobs = core.Knobs{"free_gpu_memory_fraction": num(0.8), "kv_cache_config": text(`{"free_gpu_memory_fraction":0.7}`)}
		}},
		{Name: "inside a value", Says: []string{"stream_interval", "as a value and as a mapping"}, Change: func(r *core.PlanRequest) {
			r.Config.Knobs = core.Knobs{"stream_interval": num(2), "stream_interval.x": num(1)}
		}},
	})
}
