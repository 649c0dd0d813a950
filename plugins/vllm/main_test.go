package vllm_test

import (
	"os"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/vllm"
)

// The test binary is the executable under test, too.
func TestMain(m *testing.M) {
	if code, ok := servingtest.Main(os.Args[1:], fake()); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func fake() servingtest.Fake {
	const core = "(EngineCore_DP0 pid=4243) INFO 11-30 21:00:02 [core.py:77] "
	return servingtest.Fake{
		Engine: "vllm", Program: "vllm serve",
		Loading: []string{
			"INFO 11-30 21:00:00 [__init__.py:216] Automatically detected platform cuda.",
			"(APIServer pid=4242) INFO 11-30 21:00:01 [api_server.py:1839] vLLM API server version 0.11.0",
			"(APIServer pid=4242) INFO 11-30 21:00:01 [utils.py:233] non-default args: {'model_tag': '%s', 'host': '127.0.0.1'}",
			core + "Initializing a V1 LLM engine (v0.11.0) with config: model='%s', speculative_config=None, tokenizer='%s', trust_remote_code=False, dtype=torch.bfloat16, max_seq_len=40960, load_format=auto, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, seed=0, served_model_name=%s, enable_prefix_caching=True, chunked_prefill_enabled=True, compilation_config={\"level\":3,\"seed\":7}",
			core + "Chunked prefill is enabled with max_num_batched_tokens=8192.",
			core + "Starting to load model %s...",
		},
		Loaded: []string{
			core + "Using Flash Attention backend on V1 engine.",
			core + "Model loading took 15.2683 GiB and 9.94 seconds",
			core + "Directly load the compiled graph(s) for dynamic shape from the cache, took 3.1 s",
			core + "GPU KV cache size: 425,344 tokens",
			core + "Maximum concurrency for 40,960 tokens per request: 10.38x",
			"\x1b[1;36m(EngineCore_DP0 pid=4243)\x1b[0;0m INFO 11-30 21:00:09 [core.py:210] init engine (profile, create kv cache, warmup model) took 12.39 seconds",
		},
		Ready: []string{
			"(APIServer pid=4242) INFO 11-30 21:00:10 [api_server.py:1912] Starting vLLM API server 0 on http://127.0.0.1:0",
			"(APIServer pid=4242) INFO:     Application startup complete.",
		},
		Workers: []string{"VLLM::EngineCore", "VLLM::Worker_TP0"},
		Wrapper: []string{
			"(EngineCore_DP0 pid=4243) ERROR 11-30 21:00:05 [core.py:708] EngineCore failed to start.",
			"(APIServer pid=4242) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
		},
		FailedExit: 1,
		Info: map[string]string{
			"/version": `{"version":"0.11.0"}`,
			"/metrics": "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"26584\",sliding_window=\"None\"} 1.0\n",
		},
	}
}

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, vllm.New(), enginetest.Options{MustBenchmark: true})
}

func TestBehaviour(t *testing.T) { servingtest.Behaviour(t, vllm.New(), fake()) }

func TestResolved(t *testing.T) {
	ready := servingtest.Launch(t, vllm.New(), "vllm")
	servingtest.WantKnobs(t, core.Knobs{
		"context_len": core.Number(40960), "max_batched_tokens": core.Number(8192), "chunked_prefill": core.Bool(true), "enable_prefix_caching": core.Bool(true),
		"kv_cache_dtype": core.String("auto"), "dtype": core.String("bfloat16"), "load_format": core.String("auto"), "enforce_eager": core.Bool(false),
		"trust_remote_code": core.Bool(false), "seed": core.Number(0), "tp": core.Number(1), "pp": core.Number(1), "dp": core.Number(1),
		"attention_backend": core.String("FLASH_ATTN"), "kv_cache_tokens": core.Number(425344), "compile_cache": core.String("warm"),
		"block_size": core.Number(16), "gpu_memory_utilization": core.Number(0.9), "num_gpu_blocks": core.Number(26584),
	}, ready.Resolved)
	if got := ready.Facts["weight_dtype"]; got != core.String("bf16") {
		t.Errorf("weights in %v", got)
	}
	if ready.Version != "0.11.0" {
		t.Errorf("version %q", ready.Version)
	}
}

// Lines of a newer version: what depends on the GPU and what was found in the
// compile cache.
func TestStartsOfNewerVersions(t *testing.T) {
	server := enginetest.NewServer(t, "demo/m-8B")
	for log, want := range map[string]core.Knobs{
		"0.24-warm.log": {
			"context_len": core.Number(4096), "dtype": core.String("bfloat16"), "tp": core.Number(1), "kv_cache_dtype": core.String("auto"),
			"max_batched_tokens": core.Number(8192), "chunked_prefill": core.Bool(true), "max_cudagraph_capture_size": core.Number(512),
			"attention_backend": core.String("FLASH_ATTN"), "kv_cache_tokens": core.Number(814368), "compile_cache": core.String("warm"),
		},
		"0.24-debug.log":    {"max_num_seqs": core.Number(1024), "max_batched_tokens": core.Number(8192)},
		"0.24-aot-only.log": {"attention_backend": core.String("TRITON_ATTN"), "compile_cache": core.String("warm")},
		"0.24-cold.log":     {"compile_cache": core.String("cold")},
	} {
		t.Run(log, func(t *testing.T) {
			servingtest.WantKnobs(t, want, servingtest.ReadStart(t, vllm.New(), "testdata/starts/"+log, server.URL, server.Model).Resolved)
		})
	}
}
