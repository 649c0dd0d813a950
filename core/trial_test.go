package core_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

func TestDeriveSuccessRate(t *testing.T) {
	for _, tc := range []struct {
		name    string
		figures core.Figures
		prompts core.Value
		want    core.Value
	}{
		{"tool's own requested", core.Figures{"requested": 100, "completed": 97}, core.Missing(), core.Number(0.97)},
		{"completed and failed", core.Figures{"completed": 3, "failed": 1}, core.Missing(), core.Number(0.75)},
		{"from the command", core.Figures{"completed": 97}, core.Number(100), core.Number(0.97)},
		{"failed line wins over the command", core.Figures{"completed": 1000, "failed": 0}, core.Number(2000), core.Number(1)},
		{"nothing says how many were asked", core.Figures{"completed": 772}, core.Missing(), core.Missing()},
		{"cut off requests do not count", core.Figures{"requested": 100, "completed": 80, "incomplete": 20}, core.Missing(), core.Number(1)},
		{"all cut off", core.Figures{"requested": 20, "completed": 0, "incomplete": 20}, core.Missing(), core.Missing()},
	} {
		trial := core.Trial{Figures: tc.figures, Load: core.Load{NumPrompts: tc.prompts}}
		trial.Derive()
		if got := trial.Value("success_rate"); got != tc.want {
			t.Errorf("%s: success_rate = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestDeriveFollowsCorrections(t *testing.T) {
	trial := core.Trial{Status: core.StatusOK, Figures: core.Figures{"completed": 4, "duration_s": 2, "input_tokens": 6, "output_tokens": 10,
		"mean_ttft_ms": 10, "mean_tpot_ms": 2}}
	trial.Derive()
	if got := trial.Figures["duration_tps"]; got != 8 {
		t.Errorf("duration_tps = %v, want 8", got)
	}
	if got := trial.Figures["est_e2el_ms"]; got != 10+2*(2.5-1) {
		t.Errorf("est_e2el_ms = %v, want 13", got)
	}
	if err := trial.SetField("requested", core.Number(5)); err != nil {
		t.Fatal(err)
	}
	if err := trial.SetField("mean_e2el_ms", core.Number(14)); err != nil {
		t.Fatal(err)
	}
	trial.Derive()
	if got := trial.Figures["success_rate"]; got != 0.8 {
		t.Errorf("success_rate = %v, want 0.8", got)
	}
	if _, ok := trial.Figures["est_e2el_ms"]; ok {
		t.Error("an estimate stands beside a measured latency")
	}
}

func TestNothingCompletedHasNoLatency(t *testing.T) {
	trial := core.Trial{Status: core.StatusOK, Figures: core.Figures{"completed": 0, "failed": 5, "mean_ttft_ms": 0, "total_tps": 0, "duration_s": 3}}
	trial.Derive()
	for _, name := range []string{"mean_ttft_ms", "total_tps"} {
		if v := trial.Value(name); !v.IsMissing() {
			t.Errorf("%s = %v, want missing", name, v)
		}
	}
	if trial.Status != core.StatusFailed || trial.Failure != core.RequestsFailed {
		t.Errorf("status %s (%s), want failed (requests_failed)", trial.Status, trial.Failure)
	}
	if got := trial.Figures["success_rate"]; got != 0 {
		t.Errorf("success_rate = %v, want 0", got)
	}
}

func TestEveryFieldHasOneMeaning(t *testing.T) {
	var trial core.Trial
	trial.Derive()
	for _, name := range core.FieldNames() {
		f, ok := core.LookupField(name)
		if !ok || f.Name != name || f.Doc == "" {
			t.Errorf("field %s: %+v, %t", name, f, ok)
		}
		trial.Value(name)
	}
	for name, want := range map[string]string{"p50_ttft_ms": "median_ttft_ms", "p75_ttft_ms": "p75_ttft_ms", "p99_9_e2el_ms": "p99_9_e2el_ms"} {
		if f, ok := core.LookupField(name); !ok || f.Name != want {
			t.Errorf("LookupField(%s) = %s, %t; want %s", name, f.Name, ok, want)
		}
	}
	for _, name := range []string{"total_tsp", "p999_ttft_ms", "p99_ttft", "args.", "success"} {
		if _, ok := core.LookupField(name); ok {
			t.Errorf("LookupField(%s) found a field", name)
		}
	}
}

func TestSetField(t *testing.T) {
	var trial core.Trial
	for _, tc := range []struct {
		name  string
		value core.Value
	}{
		{"number", core.Number(1)}, {"config", core.String("x")}, {"duration_tps", core.Number(1)},
		{"total_tps", core.String("fast")}, {"total_tps", core.Unlimited()}, {"ignore_eos", core.Number(1)}, {"total_tsp", core.Number(1)},
	} {
		if err := trial.SetField(tc.name, tc.value); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("SetField(%s, %v) = %v, want an invalid error", tc.name, tc.value, err)
		}
	}
	for name, v := range map[string]core.Value{"engine": core.String("vllm"), "concurrency": core.Unlimited(), "args.max_num_seqs": core.Number(8), "quality.gsm8k": core.Number(0.94), "gpus": core.Number(2)} {
		if err := trial.SetField(name, v); err != nil {
			t.Errorf("SetField(%s): %v", name, err)
		}
		if got := trial.Value(name); got != v {
			t.Errorf("%s = %v, want %v", name, got, v)
		}
	}
}

func TestKnobsHaveOneName(t *testing.T) {
	for _, tc := range []struct{ engine, flag, want string }{
		{"vllm", "--max-model-len", "context_len"}, {"sglang", "--context-length", "context_len"}, {"trtllm", "--max_seq_len", "context_len"},
		{"vllm", "--max-num-seqs", "max_num_seqs"}, {"sglang", "--max-running-requests", "max_num_seqs"}, {"sglang", "--max-num-seqs", "max_num_seqs"},
		{"vllm", "gpu_memory_utilization", "gpu_memory_utilization"}, {"sglang", "--mem-fraction-static", "mem_fraction_static"},
		{"vllm", "-tp", "tp"}, {"sglang", "--tp-size", "tp"}, {"other", "--max_model_len", "max_model_len"},
	} {
		if got := core.CanonicalKnob(tc.engine, tc.flag); got != tc.want {
			t.Errorf("CanonicalKnob(%s, %s) = %s, want %s", tc.engine, tc.flag, got, tc.want)
		}
	}
	a := core.Config{Engine: "vllm", Knobs: core.Knobs{}}.With(core.Config{Knobs: core.Knobs{"max_model_len": core.Number(8)}})
	b := core.Config{Engine: "vllm"}.With(core.Config{Knobs: core.Knobs{"context_len": core.Number(8)}})
	if a.Hash() != b.Hash() {
		t.Errorf("equal knobs, different configurations: %v, %v", a.Knobs, b.Knobs)
	}
	if c := a.With(core.Config{Engine: "sglang"}); len(c.Knobs) != 0 || c.Engine != "sglang" {
		t.Errorf("another engine kept the knobs: %+v", c)
	}
}

func TestSameTrial(t *testing.T) {
	block := &core.Trial{Figures: core.Figures{"completed": 100, "input_tokens": 23260, "output_tokens": 22061, "duration_s": 44.40, "mean_ttft_ms": 64.00, "median_ttft_ms": 60.26, "p99_ttft_ms": 98.59}}
	full := &core.Trial{Figures: core.Figures{"completed": 100, "input_tokens": 23260, "output_tokens": 22061, "duration_s": 44.4012345, "mean_ttft_ms": 63.9951, "median_ttft_ms": 60.2599, "p99_ttft_ms": 98.5949, "p90_ttft_ms": 80}}
	if !core.SameTrial(block, full, core.CoarserDecimals(2, -1)) {
		t.Error("a printed block and its full floats are two trials")
	}
	other := &core.Trial{Figures: core.Figures{}}
	for k, v := range block.Figures {
		other.Figures[k] = v
	}
	other.Figures["mean_ttft_ms"] = 64.01
	if core.SameTrial(block, other, 2) {
		t.Error("a figure differs in its last printed digit, still one trial")
	}
	faster := *full
	block.Load.Concurrency, faster.Load.Concurrency = core.Number(4), core.Number(8)
	if core.SameTrial(block, &faster, 2) {
		t.Error("two concurrencies, still one trial")
	}
	delete(block.Figures, "p99_ttft_ms")
	delete(block.Figures, "median_ttft_ms")
	if core.SameTrial(block, full, 2) {
		t.Error("five figures are not enough to call two records one trial")
	}
}

func TestFiguresAreFinite(t *testing.T) {
	f := core.Figures{"total_tps": 1}
	f.Set("total_tps", math.Inf(1))
	if v := f.Value("total_tps"); !v.IsMissing() {
		t.Errorf("an infinite figure was kept: %v", v)
	}
}

func TestNearestNames(t *testing.T) {
	for name, want := range map[string]string{"total_tsp": "total_tps", "succes_rate": "success_rate", "mean_tttf_ms": "mean_ttft_ms"} {
		got := core.NearestNames(name, core.FieldNames())
		if len(got) == 0 || got[0] != want {
			t.Errorf("NearestNames(%s) = %v, want %s first", name, got, want)
		}
	}
}
