package load_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// TestGoodputOfSharedCase48: equality counts, a failed request is in the
// denominator, and a one-token output keeps to any limit of TPOT.
func TestGoodputOfSharedCase48(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shared(t, "cases", "48-percentiles-small-n-and-goodput-edges"), "goodput.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Duration float64            `json:"duration_s"`
		SLO      map[string]float64 `json:"slo"`
		Requests []struct {
			OK      bool    `json:"ok"`
			TTFT    float64 `json:"ttft_ms"`
			Latency float64 `json:"latency_ms"`
			Tokens  int     `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var samples []core.Sample
	for _, r := range v.Requests {
		s := answered(0, r.TTFT/1000, r.Latency/1000, r.Tokens)
		if !r.OK {
			s = core.Sample{First: core.NoTime, Last: core.NoTime, End: sec(v.Duration), Outcome: core.OutcomeFailed}
		}
		samples = append(samples, s)
	}
	within := load.Within(v.SLO)
	if share, n := load.Attained(samples, within); share != 0.5 || n != 4 {
		t.Errorf("attained %v of %d, want 0.5 of 4", share, n)
	}
	if rps, ok := load.Goodput(samples, within); !ok || rps != 0.2 {
		t.Errorf("goodput %v (%t), want 0.2", rps, ok)
	}
}

func TestAttained(t *testing.T) {
	cut := streamed(0, 5, 1)
	cut.Outcome = core.OutcomeIncomplete
	samples := []core.Sample{streamed(0, 3, 1, 2, 4), streamed(0, 3, 2, 2.5, 3), cut}
	share, n := load.Attained(samples, func(s load.SampleFigures) bool { return s.TTFT.Num <= 1000 })
	if share != 0.5 || n != 2 {
		t.Errorf("%v of %d, want half of 2: the cut one was neither good nor bad", share, n)
	}
	if share, n := load.Attained(nil, load.Within(nil)); share != 0 || n != 0 {
		t.Errorf("%v of %d", share, n)
	}
	if _, ok := load.Goodput(nil, load.Within(nil)); ok {
		t.Error("a goodput without samples")
	}
	f := load.FiguresOf(samples[0])
	for name, want := range map[string]core.Value{"ttft_ms": core.Number(1000), "tpot_ms": core.Number(1500), "e2el_ms": core.Number(4000),
		"queue_ms": core.Number(0), "max_icl_ms": core.Number(2000), "icl_ms": core.Number(1500), "output_tokens": core.Number(3), "cached_tokens": core.Missing()} {
		if got, ok := f.Value(name); !ok || got != want {
			t.Errorf("%s = %v (%t), want %v", name, got, ok, want)
		}
	}
	for _, name := range load.SampleFieldNames() {
		if _, ok := f.Value(name); !ok {
			t.Errorf("%s is not known", name)
		}
	}
	if _, ok := f.Value("p99_ttft_ms"); ok {
		t.Error("a request has no percentile")
	}
	// A one-token output has no TPOT; an unknown count does not pass for one.
	one, unknown := streamed(0, 1, 1), streamed(0, -1, 1, 2)
	within := load.Within(map[string]float64{"tpot_ms": 5})
	if !within(load.FiguresOf(one)) || within(load.FiguresOf(unknown)) {
		t.Errorf("within a TPOT limit: one token %t, unknown %t", within(load.FiguresOf(one)), within(load.FiguresOf(unknown)))
	}
	// The figures of one request and of a trial of it are the same.
	trial := load.Figures(samples[:1])
	for name, field := range map[string]string{"ttft_ms": "mean_ttft_ms", "tpot_ms": "mean_tpot_ms", "e2el_ms": "mean_e2el_ms", "icl_ms": "mean_icl_ms", "max_icl_ms": "max_icl_ms"} {
		if v, _ := f.Value(name); v.Num != trial[field] {
			t.Errorf("%s = %v, of the trial %v", name, v, trial[field])
		}
	}
}
