package query_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/query"
)

func TestExplain(t *testing.T) {
	x, err := query.Explain(t.Context(), mixed(t), `max total_tps where gpus > 1 and engine != "vllm" by engine`, query.Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	want := []query.Step{
		{Clause: "history", Left: 10},
		{Clause: "status", Left: 8, Why: "2 have another status than ok"},
		{Clause: "simulated", Left: 7, Why: "1 simulated ones stand aside"},
		// Trials 1 and 3 have one GPU; of 6 and 9 the number is unknown.
		{Clause: "where gpus > 1", Left: 3, Why: "false for 2, undecided for 2"},
		{Clause: `where engine != "vllm"`, Left: 2, Why: "false for 1"},
		{Clause: "groups", Left: 1},
		{Clause: "answer", Left: 2, Why: "rows"},
	}
	if d := cmp.Diff(want, x.Steps); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	for _, part := range []string{"query     max total_tps", "trials    history", "narrowed  the columns", "where gpus > 1          3  false for 2, undecided for 2"} {
		if !strings.Contains(x.String(), part) {
			t.Errorf("no %q in\n%s", part, x)
		}
	}
}

// Whatever is asked, the clauses lead from all trials to those considered.
func TestExplainAddsUp(t *testing.T) {
	for seed := range uint64(6) {
		history := randomHistory(t, seed, []int{0, 1, 3, 30, 60, 120}[seed])
		for _, text := range append(newer, "max total_tps where total_tps > 5000", `count where engine == "a" or total_tps > 200`,
			"max total_tps where p99_ttft_ms < 200 and success_rate > 0.9 and gpus == 1 per setup") {
			x, err := query.Explain(t.Context(), history, text, query.Options{Now: noon})
			if err != nil {
				t.Fatal(err)
			}
			left := -1
			for _, s := range x.Steps {
				if s.Clause == "answer" || s.Clause == "groups" || strings.HasPrefix(s.Clause, "per ") {
					break
				}
				left = s.Left
			}
			if left != x.Answer.Considered {
				t.Errorf("seed %d, %s: %d trials are left of which %d were considered:\n%s", seed, text, left, x.Answer.Considered, x)
			}
		}
	}
}
