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

func fake() servingtest.Fake { return servingtest.VLLM() }

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, vllm.New(), enginetest.Options{MustBenchmark: true, Origin: core.Origin{Cmd: os.Args[0] + " fake-vllm"}})
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
