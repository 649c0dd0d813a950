package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)

func options() store.Options {
	return store.Options{User: "ada", SweepbookVersion: "0.1.0", Now: func() time.Time { return epoch.Add(time.Hour) }}
}

func openNew(t testing.TB) *store.DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "history.db"), options())
}

func openAt(t testing.TB, path string, opt store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// figures are n plausible figures that differ from trial to trial.
func figures(n int) core.Figures {
	x := float64(n)
	return core.Figures{
		"completed": 1000, "input_tokens": 200000 + x, "output_tokens": 180000.0 + 3*x, "duration_s": 61.25 + x/7,
		"mean_ttft_ms": 120.5 + x/3, "median_ttft_ms": 99.125 + x/11, "p99_ttft_ms": 480.0625 + x/13,
		"mean_tpot_ms": 11.5 + x/17, "median_tpot_ms": 10.75 + x/19, "p99_tpot_ms": 25.5 + x/23,
		"total_tps": 6204.08 + x, "output_tps": 2938.77 + x/2, "rps": 16.3,
	}
}

func id(n int) core.ID { return core.HashID(fmt.Sprint("trial ", n)) }

// plain is a trial of the most usual kind.
func plain(n int) *core.Trial {
	return &core.Trial{
		ID: id(n), Study: "qwen3-32b", Stage: "engine", Option: "engine=vllm", Role: core.RoleCandidate, Status: core.StatusOK,
		Attempt: 1, Repeat: 1,
		Setup: core.Setup{
			Config: core.Config{Engine: "vllm", Model: "Qwen/Qwen3-32B", Checkpoint: "Qwen/Qwen3-32B-FP8", CommandKnown: true,
				Knobs: core.Knobs{"max_num_seqs": core.Number(256), "tp": core.Number(2), "kv_cache_dtype": core.String("fp8")}},
			EngineVersion: "0.11.0", GPU: "NVIDIA H100 80GB HBM3", GPUs: 2, Tool: "vllm-bench", ToolVersion: "0.11.0",
		},
		Workload:  core.Workload{Name: "sharegpt", Dataset: "sharegpt", Turns: core.Number(1)},
		Load:      core.Load{Concurrency: core.Number(float64(int(8) << (n % 4))), RequestRate: core.Unlimited(), NumPrompts: core.Number(1000), Seed: core.Number(42)},
		StartedAt: epoch.Add(time.Duration(n) * time.Minute),
		Figures:   figures(n),
	}
}

// varied are trials that differ in every way that matters to the tables.
func varied() []*core.Trial {
	var ts []*core.Trial
	add := func(change func(*core.Trial)) {
		t := plain(len(ts))
		change(t)
		ts = append(ts, t)
	}
	add(func(*core.Trial) {})
	add(func(t *core.Trial) { // everything there is
		t.Course = &core.Course{AtMS: []int64{1000, 2003}, PowerW: []float64{650.25, 0}, SMClockMHz: []float64{1980, 1755}}
		t.Launch = &core.Launch{ID: core.NewID(epoch), Setup: t.Setup, Argv: []string{"vllm", "serve", "a <b> & \"c\""}, Env: map[string]string{"HF_HOME": ""},
			Resolved: core.Knobs{"max_num_seqs": core.Number(1), "max_batched_tokens": core.Number(8192), "block_size": core.Number(16),
				"seed": core.Missing(), "swap": core.Unset(), "eager": core.Bool(false)},
			StartedAt: epoch, LoadS: core.Number(12.5), ReadyS: core.Number(48), CompileWarm: core.Bool(false), Host: "node-1", PluginSHA: "ab12",
			Failure: core.Crash, FailureText: "killed", Log: "logs/1.log"}
		t.Host, t.EndedAt, t.ZoneAssumed, t.FailureText = "node-1", epoch.Add(time.Hour), true, "a line"
		t.Setup.Driver, t.Setup.Image, t.Setup.Nodes, t.Setup.PowerLimitW = "560.35.03", "vllm/vllm-openai:v0.11.0", 1, 700
		t.Setup.WeightDtype, t.Setup.KVDtype, t.Setup.SpecMethod = "fp8", "fp8", "eagle3"
		t.Setup.Config.Revision, t.Setup.Config.Env = "main", map[string]string{"VLLM_USE_V1": "1", "EMPTY": ""}
		t.Workload.Path, t.Workload.Endpoint, t.Workload.IgnoreEOS = "ShareGPT.json", "/v1/completions", core.Bool(true)
		t.Workload.InputLen, t.Workload.OutputLen = core.Number(2000), core.Number(100)
		t.Workload.Params = core.Knobs{"temperature": core.Number(0), "prefix": core.String("")}
		t.Load.Burstiness, t.Load.DurationS = core.Number(0.5), core.Number(60)
		t.Throttled = core.Bool(true)
		for i, f := range core.Fields() {
			if f.Figure() {
				t.Figures[f.Name] = 1.5 + float64(i)/3
			}
		}
		t.Figures["p75_ttft_ms"], t.Figures["p99_9_e2el_ms"], t.Figures["mean_queue_ms"] = 1.25, 2.5, 0
		t.Quality = map[string]core.Value{"gsm8k": core.Number(0.875), "mmlu": core.Number(0)}
		t.Extra = map[string]core.Value{"note": core.String(""), "limit": core.Unlimited(), "flag": core.Bool(false), "none": core.Unset(), "жар": core.Number(-1e-300), "inf": core.String("inf")}
		t.Tags, t.Asserted = []string{"gold", "rerun"}, nil
		t.Findings = []core.Finding{{Rule: "A3x", Version: 2, Severity: core.SeverityVoid, Metrics: []string{"total_tps", "*"}, Evidence: "1 ≠ 2"},
			{Rule: "B1", Version: 1, Severity: core.SeverityInfo, Evidence: ""},
			{Rule: "A7", Version: 1, Severity: core.SeverityHard, Metrics: []string{"peak_output_tps"}, Evidence: "393 < 979"}}
		t.Sources = []core.Source{{File: "a.json", SHA256: "aa", Position: "1", Format: "vllm-json", Tool: "vllm-bench", Version: "0.11.0", Decimals: -1,
			Raw: `{"completed": 1000}`, Imported: epoch}, {File: "b.log", SHA256: "bb", Position: "line 7", Format: "serving-block", Decimals: 2, Imported: epoch}}
	})
	add(func(t *core.Trial) { // next to nothing
		*t = core.Trial{ID: t.ID, Status: core.StatusPlanned, Figures: core.Figures{}}
	})
	add(func(t *core.Trial) { // failed, of another engine, its own flag names
		t.Setup.Config = core.Config{Engine: "sglang", Model: "m", CommandKnown: true, Knobs: core.Knobs{"max_num_seqs": core.Number(64), "tp_size": core.Number(9),
			"free": core.Unset(), "gap": core.Missing(), "auto": core.String("auto"), "inf": core.String("inf"), "cap": core.Unlimited(), "on": core.Bool(true)}}
		t.Status, t.Failure, t.Figures = core.StatusFailed, core.OOMKV, core.Figures{"completed": 0, "failed": 10, "total_tps": 0, "mean_ttft_ms": 0}
	})
	add(func(t *core.Trial) { // command not known, several launches share a setup
		t.Setup.Config.CommandKnown = false
		t.Setup.GPUs = 0
		t.Launch = &core.Launch{Setup: t.Setup, Resolved: core.Knobs{"chunked_prefill": core.Bool(true)}, ReadyS: core.Number(0), CompileWarm: core.Bool(true)}
		t.StartedAt = time.Time{}
		t.Setup.Simulated = true
	})
	add(func(t *core.Trial) { // the same launch for a trial whose engine is another
		t.Setup.Config = core.Config{Engine: "trtllm", CommandKnown: true, Knobs: core.Knobs{"max_batch_size": core.Number(3)}}
		l := *ts[1].Launch
		t.Launch = &l
		t.Workload.Name = "other name"
		t.ID = core.NewID(epoch)
	})
	return ts
}

// dynamicColumns are names beyond the fixed fields, recorded and not.
func dynamicColumns() []string {
	names := []string{"p75_ttft_ms", "p99_9_e2el_ms", "mean_queue_ms", "p50_ttft_ms", "p12_itl_ms", "quality.gsm8k", "quality.mmlu", "quality.none",
		"extra.note", "extra.limit", "extra.flag", "extra.none", "extra.жар", "extra.inf", "extra.absent",
		"severity.total_tps", "severity.mean_ttft_ms", "severity.success_rate"}
	for _, knob := range []string{"max_num_seqs", "max_running_requests", "max_batch_size", "tp", "tp_size", "tensor_parallel_size", "kv_cache_dtype",
		"max_batched_tokens", "max_num_batched_tokens", "max_num_tokens", "block_size", "seed", "random_seed", "swap", "eager", "free", "gap", "auto", "inf",
		"cap", "on", "chunked_prefill", "enable_chunked_prefill", "never_heard_of"} {
		names = append(names, "args."+knob, "passed."+knob)
	}
	return names
}

// diff compares whole trials; maps and lists that are empty or nil are alike.
func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func all(t testing.TB, db *store.DB) []*core.Trial {
	t.Helper()
	var ts []*core.Trial
	for trial, err := range db.AllTrials(context.Background()) {
		ok(t, err)
		ts = append(ts, trial)
	}
	return ts
}

func rows(t testing.TB, db *store.DB, sel core.Select) [][]core.Value {
	t.Helper()
	var out [][]core.Value
	for row, err := range db.Rows(context.Background(), sel) {
		ok(t, err)
		out = append(out, append([]core.Value(nil), row...))
	}
	return out
}
