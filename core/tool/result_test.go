package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/core/tool"
)

const vllmLine = `{"date": "20261201-101010", "backend": "openai", "label": null, "model_id": "m", "tokenizer_id": "m", "num_prompts": 8, "request_rate": "inf", "burstiness": 1.0, ` +
	`"max_concurrency": 4, "duration": 2.0, "completed": 8, "failed": 0, "total_input_tokens": 800, "total_output_tokens": 400, "request_throughput": 4.0, ` +
	`"output_throughput": 200.0, "total_token_throughput": 600.0, "mean_ttft_ms": 12.5, "median_ttft_ms": 12.0, "p99_ttft_ms": 20.0}`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWatch: only what the run wrote is its result.
func TestWatch(t *testing.T) {
	other := strings.Replace(vllmLine, `"duration": 2.0`, `"duration": 4.0`, 1)
	for _, tc := range []struct {
		name     string
		before   map[string]string
		run      map[string]string
		duration []float64 // of the trials that are found
		stale    string
	}{
		{"a new file", nil, map[string]string{"r.json": vllmLine}, []float64{2}, ""},
		{"nothing written", nil, nil, nil, ""},
		{"an older file is left", map[string]string{"r.json": vllmLine}, nil, nil, "r.json is older than the run"},
		{"written again with the same content", map[string]string{"r.json": vllmLine}, map[string]string{"r.json": vllmLine}, nil, "older than the run"},
		{"copied from an older one", map[string]string{"old.json": vllmLine}, map[string]string{"r.json": vllmLine}, nil, "r.json is a copy of old.json"},
		{"overwritten", map[string]string{"r.json": vllmLine}, map[string]string{"r.json": other}, []float64{4}, ""},
		{"overwritten by something longer", map[string]string{"r.json": vllmLine}, map[string]string{"r.json": other + "  "}, []float64{4}, ""},
		{"appended to, as vllm does", map[string]string{"r.json": vllmLine}, map[string]string{"r.json": vllmLine + "\n" + other}, []float64{4}, ""},
		{"appended to, as sglang does", map[string]string{"r.json": vllmLine + "\n"}, map[string]string{"r.json": vllmLine + "\n" + other + "\n"}, []float64{4}, ""},
		{"not for us", nil, map[string]string{"r.txt": vllmLine, "r.pytorch.json": vllmLine}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.before {
				write(t, filepath.Join(dir, name), text)
			}
			w, err := tool.NewWatch([]tool.Place{{Path: filepath.Join(dir, "r.json")}, {Path: dir, Pattern: "*.json"}, {Path: filepath.Join(dir, "none"), Pattern: "*"}})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range tc.run {
				write(t, filepath.Join(dir, name), text)
			}
			fresh, stale, err := w.Fresh()
			if err != nil {
				t.Fatal(err)
			}
			res, err := tool.ReadFiles(t.Context(), fresh, ingest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []float64
			for _, trial := range res.Trials {
				got = append(got, trial.Figures["duration_s"])
			}
			if len(got) != len(tc.duration) || len(got) > 0 && got[0] != tc.duration[0] {
				t.Errorf("durations %v, want %v; notes %v", got, tc.duration, res.Notes)
			}
			if text := strings.Join(stale, "; "); !strings.Contains(text, tc.stale) || tc.stale == "" && text != "" && len(tc.before) == 0 {
				t.Errorf("stale %q, want %q", text, tc.stale)
			}
		})
	}
}

func TestReadPrinted(t *testing.T) {
	block := `INFO starting
============ Serving Benchmark Result ============
Successful requests:                     8
Benchmark duration (s):                  2.00
Total input tokens:                      4096
Total generated tokens:                  1024
Request throughput (req/s):              4.00
Output token throughput (tok/s):         512.00
Total Token throughput (tok/s):          2560.00
---------------Time to First Token----------------
Mean TTFT (ms):                          40.00
==================================================
`
	res, err := tool.ReadPrinted(t.Context(), "stdout",
		"vllm bench serve --model m --dataset-name random --random-input-len 512 --random-output-len 128 --num-prompts 10 --max-concurrency 4", block, ingest.Options{})
	if err != nil || len(res.Trials) != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	trial := res.Trials[0]
	trial.Derive()
	// The command, not the block, knows that ten were asked for.
	if trial.Figures["total_tps"] != 2560 || trial.Figures["success_rate"] != 0.8 || trial.Load.Concurrency != core.Number(4) || trial.Workload.InputLen != core.Number(512) {
		t.Errorf("%v %+v %+v", trial.Figures, trial.Load, trial.Workload)
	}
	if res, err := tool.ReadPrinted(t.Context(), "stdout", "vllm bench serve", "nothing\n", ingest.Options{}); err != nil || len(res.Trials) != 0 {
		t.Errorf("%+v %v", res, err)
	}
}

func TestEnd(t *testing.T) {
	for _, tc := range []struct {
		name    string
		end     tool.End
		result  bool
		status  core.Status
		failure core.FailureClass
		text    string
	}{
		{"well", tool.End{}, true, core.StatusOK, "", ""},
		{"crashed", tool.End{ExitCode: 1, LastLine: "ValueError: no"}, false, core.StatusFailed, core.BenchFailed, "exit code 1: ValueError: no"},
		// A result of a command that failed is kept and is no good trial.
		{"crashed after its result", tool.End{ExitCode: 3}, true, core.StatusFailed, core.BenchFailed, "exit code 3"},
		{"silent", tool.End{Notes: []string{"r.json is older than the run"}}, false, core.StatusFailed, core.NoResult,
			"no result was produced, though the command ended with exit code 0; r.json is older than the run"},
		{"too long", tool.End{TimedOut: true, ExitCode: 137, Limit: time.Minute, LastLine: "64%"}, true, core.StatusFailed, core.BenchTimeout, "not finished after 1m0s: 64%"},
		{"ended", tool.End{Interrupted: true, ExitCode: 130}, false, core.StatusAborted, core.Interrupted, "ended by the user"},
	} {
		trial := &core.Trial{Status: core.StatusRunning}
		tc.end.Apply(trial, tc.result)
		if trial.Status != tc.status || trial.Failure != tc.failure || trial.FailureText != tc.text {
			t.Errorf("%s: %s %s %q", tc.name, trial.Status, trial.Failure, trial.FailureText)
		}
		if got := trial.Extra["bench_did_not_exit"].True(); got != (tc.result && tc.end.TimedOut) {
			t.Errorf("%s: did not exit %t", tc.name, got)
		}
	}
	// What the reader found to have failed stays failed.
	trial := &core.Trial{Status: core.StatusFailed, Failure: core.RequestsFailed}
	tool.End{}.Apply(trial, true)
	if trial.Status != core.StatusFailed || trial.Failure != core.RequestsFailed {
		t.Errorf("%s %s", trial.Status, trial.Failure)
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\n\n": "b", "": "", "x\r 64%|##| 64/100\r": "64%|##| 64/100", "a\r\nb\r\n": "b", "Mean TPOT (ms): 7\n======\n": "Mean TPOT (ms): 7",
	} {
		if got := tool.LastLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestObserve: what was seen over the whole run is a figure of the measured window
// only where that is nearly all of it.
func TestObserve(t *testing.T) {
	seen := load.Observed{Figures: core.Figures{"mean_power_w": 300, "output_tps": 1}, Throttled: core.Bool(true), Extra: map[string]core.Value{"peak_temperature_c": core.Number(60)}}
	trial := &core.Trial{Figures: core.Figures{"duration_s": 95, "output_tps": 200}}
	tool.Observe(trial, seen, 100*time.Second)
	if trial.Figures["mean_power_w"] != 300 || trial.Figures["output_tps"] != 200 || !trial.Throttled.True() {
		t.Errorf("whole run: %v", trial.Figures)
	}
	trial = &core.Trial{Figures: core.Figures{"duration_s": 60}}
	tool.Observe(trial, seen, 100*time.Second)
	if _, ok := trial.Figures["mean_power_w"]; ok || trial.Extra["run_mean_power_w"] != core.Number(300) || !trial.Throttled.IsMissing() || trial.Extra["peak_temperature_c"] != core.Number(60) {
		t.Errorf("a part of it: %v %v", trial.Figures, trial.Extra)
	}
}
