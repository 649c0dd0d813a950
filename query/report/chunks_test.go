package report_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

// TestCompareChunks: with speculative decoding a chunk holds several tokens, and gaps
// between chunks must not be taken for gaps between tokens.
func TestCompareChunks(t *testing.T) {
	for _, c := range []struct {
		name             string
		acceptA, acceptB float64 // 0 unknown
		methodA, methodB string
		metrics          []string
		want             string // "" no warning
	}{
		{"accepted on one side", 0, 2.15, "", "", nil, "a decoding step accepts 2.15 tokens in B: a chunk holds several tokens there, so mean_itl_ms time chunks"},
		{"accepted on both", 1.8, 2.15, "eagle3", "eagle3", nil, "accepts 1.8 tokens in A and 2.15 in B"},
		{"another method", 0, 0, "eagle3", "mtp", nil, "spec_method is eagle3 in A and mtp in B"},
		{"one method", 0, 0, "eagle3", "", []string{"mean_itl_ms"}, "spec_method is eagle3 in A and unknown in B"},
		{"the same method", 0, 0, "eagle3", "eagle3", nil, ""},
		{"known to be off", 0, 0, "none", "", nil, ""},
		{"nothing accepted", 1, 1, "", "", nil, ""},
		{"only TPOT", 0, 2.15, "", "", []string{"mean_tpot_ms"}, ""},
	} {
		m := &memory{}
		for i, side := range []struct {
			accept float64
			method string
		}{{c.acceptA, c.methodA}, {c.acceptB, c.methodB}} {
			tr := core.Trial{Study: "chunks", Setup: setup([]string{"vllm", "sglang"}[i], "", nil), Workload: workload("random"), Load: load,
				Figures: figures(128, 128, 625.77, 312.88, 402.1, 24.9)}
			tr.Setup.Config.Model, tr.Setup.SpecMethod = "example/8b", side.method
			tr.Figures["mean_itl_ms"] = []float64{25, 61.2}[i]
			if side.accept > 0 {
				tr.Figures["accept_len"] = side.accept
			}
			m.add(tr)
		}
		var got string
		for _, w := range compare(t, m, "1", "2", report.CompareOptions{Metrics: c.metrics}).Warnings {
			if strings.Contains(w, "chunk") {
				got += w
			}
		}
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) || c.want != "" && !strings.HasSuffix(got, "the comparable figure is TPOT") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
