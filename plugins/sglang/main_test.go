package sglang_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/sglang"
)

// The test binary is the executable under test, too.
func TestMain(m *testing.M) {
	if code, ok := servingtest.Main(os.Args[1:], fake()); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func fake() servingtest.Fake {
	return servingtest.Fake{
		Engine: "sglang", Program: "launch_server.py", Model: "--model-path",
		Loading: []string{
			"[2026-11-30 21:00:00] server_args=ServerArgs(model_path='%s', tokenizer_path='%s', host='127.0.0.1', api_key=None, mem_fraction_static=0.866, tp_size=1)",
			"[2026-11-30 21:00:03] Attention backend not explicitly specified. Use fa3 backend by default.",
			"[2026-11-30 21:00:05 TP0] Load weight begin. avail mem=78.58 GB",
		},
		Loaded: []string{
			"[2026-11-30 21:00:09 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=63.20 GB, mem usage=15.38 GB.",
			"[2026-11-30 21:00:10 TP0] KV Cache is allocated. #tokens: 372110, K size: 25.5 GB, V size: 25.5 GB",
			"[2026-11-30 21:00:11 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=11.6 GB",
			"[2026-11-30 21:00:14 TP0] max_total_num_tokens=372110, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=9.87 GB",
		},
		Ready:      []string{"[2026-11-30 21:00:16] The server is fired up and ready to roll!"},
		Workers:    []string{"sglang::scheduler_TP0", "sglang::detokenizer"},
		Early:      true,
		Wrapper:    []string{"[2026-11-30 21:00:06] Received sigquit from a child process. It usually means the child failed."},
		FailedExit: 137,
		Info: map[string]string{
			"/get_server_info": `{"model_path":"x","version":"0.5.5.post1","api_key":"canary-key-1","tp_size":1,"chunked_prefill_size":8192,"cuda_graph_bs":[1,2,4],"attention_backend":"fa3",` +
				`"disable_radix_cache":false,"quantization":null,"schedule_policy":"fcfs","mem_fraction_static":0.866,"max_total_num_tokens":372110,"internal_states":[{}]}`,
		},
	}
}

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, sglang.New(), enginetest.Options{MustBenchmark: true})
}

func TestBehaviour(t *testing.T) { servingtest.Behaviour(t, sglang.New(), fake()) }

func TestResolved(t *testing.T) {
	ready := servingtest.Launch(t, sglang.New(), "sglang")
	servingtest.WantKnobs(t, core.Knobs{
		"context_len": core.Number(40960), "max_num_seqs": core.Number(2048), "chunked_prefill_size": core.Number(8192), "max_prefill_tokens": core.Number(16384),
		"dtype": core.String("bfloat16"), "attention_backend": core.String("fa3"), "kv_cache_tokens": core.Number(372110), "tp": core.Number(1),
		"cuda_graph_bs": core.String("1 2 4"), "disable_radix_cache": core.Bool(false), "schedule_policy": core.String("fcfs"), "mem_fraction_static": core.Number(0.866),
	}, ready.Resolved)
	if ready.Version != "0.5.5.post1" {
		t.Errorf("version %q", ready.Version)
	}
	if strings.Contains(ready.Resolved.String(), "canary") {
		t.Errorf("a key in what was read back: %s", ready.Resolved)
	}
}
