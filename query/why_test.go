package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

func TestWhy(t *testing.T) {
	for _, test := range []struct {
		number int64
		query  string
		want   string // clause: text, one a line
	}{
		{7, "max total_tps", "status: its status is failed, and only trials with status ok take part"},
		{8, "max total_tps", "simulated: it is simulated, and real trials qualify"},
		{6, "max total_tps", "total_tps: it is unknown, so that it cannot be ranked"},
		{9, "max total_tps where gpus > 1", "where gpus > 1: undecided: gpus is unknown\ntotal_tps: without that: 50 against 300 of trial 2: 250 behind (83.33 %)"},
		{1, "max total_tps where total_tps >= 250", "where total_tps >= 250: false: total_tps is 100, 150 below\ntotal_tps: without that: 100 against 300 of trial 2: 200 behind (66.67 %)"},
		{4, "max total_tps", "total_tps: 250 against 300 of trial 2: 50 behind (16.67 %)"},
		{1, "min total_tps", "total_tps: 100 against 50 of trial 9: 50 behind (100 %)"},
		{2, "max total_tps", ": it wins, tied with 1 other row"},
		{2, "max total_tps prefer min gpus", "prefer: ties with trial 3 at 300, and prefer chose that"},
		{5, "max total_tps by engine", ": it wins of engine sglang, tied with 1 other row"},
		{1, "max total_tps by engine having count() > 5", "having: its group, engine vllm, is left out"},
		{4, "max total_tps top 4", ": it is number 4"},
		{4, "pareto max total_tps, min gpus", "pareto: trial 3 is nowhere worse: total_tps 250 against 300, gpus 4 against 1"},
		{3, "pareto max total_tps, min gpus", ": it is on the front"},
		{1, "show number where total_tps > 200", "where total_tps > 200: false: total_tps is 100, 100 below"},
		{2, "show number limit 1", "limit: it passes every condition, and the answer shows other rows first"},
		{2, "show number", ": it is in the answer"},
	} {
		causes, a, err := query.Why(t.Context(), mixed(t), test.number, test.query, query.Options{Now: noon})
		if err != nil || a == nil {
			t.Errorf("why %d %s: %v", test.number, test.query, err)
			continue
		}
		var lines []string
		for _, c := range causes {
			lines = append(lines, c.Clause+": "+c.Text)
		}
		if got := strings.Join(lines, "\n"); got != test.want {
			t.Errorf("why %d %s:\n%s\nwant\n%s", test.number, test.query, got, test.want)
		}
	}
}

func TestWhyRefuses(t *testing.T) {
	for _, text := range []string{"count", "first total_tps > 1 along gpus", "show engine, median(total_tps) by engine", "max total_tps by engine over gpus", "max totl_tps"} {
		if _, _, err := query.Why(t.Context(), mixed(t), 1, text, query.Options{Now: noon}); !query.IsUsage(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err := query.Why(t.Context(), mixed(t), 99, "max total_tps", query.Options{Now: noon}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a trial that is not there: %v", err)
	}
}

// A trial that an answer shows is told to be in it, and no other is.
func TestWhyAgreesWithAnswers(t *testing.T) {
	history := randomHistory(t, 5, 60)
	for _, text := range []string{"max total_tps where success_rate > 0.9 by engine", "max total_tps per setup", "pareto max total_tps, min p99_ttft_ms by engine", "min p99_ttft_ms within 10% top 3"} {
		a := ask(t, history, text)
		shown := map[string]bool{}
		for _, n := range column(t, a, "number") {
			shown[n] = true
		}
		for _, tr := range history {
			causes, _, err := query.Why(t.Context(), history, tr.Number, text, query.Options{Now: noon})
			if err != nil {
				t.Fatal(err)
			}
			in := len(causes) == 1 && causes[0].Clause == ""
			// With per another repeat may stand for the set that wins.
			if shown[core.Number(float64(tr.Number)).String()] && !in || in && !shown[core.Number(float64(tr.Number)).String()] && !strings.Contains(text, "per setup") {
				t.Errorf("%s: trial %d is in the answer: %t, and why says %v", text, tr.Number, !in, causes)
			}
			if len(causes) == 0 {
				t.Errorf("%s: nothing is said of trial %d", text, tr.Number)
			}
		}
	}
}
