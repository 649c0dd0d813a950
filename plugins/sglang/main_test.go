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

func fake() servingtest.Fake { return servingtest.SGLang() }

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, sglang.New(), enginetest.Options{MustBenchmark: true, Origin: core.Origin{Cmd: os.Args[0] + " fake-sglang"}})
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
