package trtllm_test

import (
	"os"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/trtllm"
)

// The test binary is the executable under test, too.
func TestMain(m *testing.M) {
	if code, ok := servingtest.Main(os.Args[1:], fake()); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func fake() servingtest.Fake { return servingtest.TRTLLM() }

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, trtllm.New(), enginetest.Options{MustBenchmark: true, Origin: core.Origin{Cmd: os.Args[0] + " fake-trtllm"}})
}

func TestBehaviour(t *testing.T) { servingtest.Behaviour(t, trtllm.New(), fake()) }

func TestResolved(t *testing.T) {
	ready := servingtest.Launch(t, trtllm.New(), "trtllm")
	servingtest.WantKnobs(t, core.Knobs{
		"context_len": core.Number(40960), "max_num_seqs": core.Number(2048), "max_batched_tokens": core.Number(8192), "kv_cache_tokens": core.Number(370112),
	}, ready.Resolved)
	if ready.Version != "1.2.0rc1" {
		t.Errorf("version %q", ready.Version)
	}
}

func TestFolderIsServedUnderItsName(t *testing.T) {
	plan, err := trtllm.New().Plan(t.Context(), core.PlanRequest{Config: core.Config{Checkpoint: "/models/qwen3-8b"}, Host: "127.0.0.1", Port: 21000})
	if err != nil || plan.Ready.Model != "qwen3-8b" {
		t.Errorf("%q, %v", plan.Ready.Model, err)
	}
}
