package query_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// TestDoubtfulAggregates: an aggregate hides no finding on the trials that it rests on.
func TestDoubtfulAggregates(t *testing.T) {
	const (
		void = core.SeverityVoid
		hard = core.SeverityHard
		note = core.SeverityNote
	)
	for _, c := range []struct {
		query    string
		severity []core.Severity
		warnings []string
	}{
		{"show median(total_tps) by engine", []core.Severity{void, hard, void, 0}, []string{
			"void: engine a: trial 1: a void finding touches total_tps", "void: engine c: trial 6: a void finding touches total_tps",
			"hard: engine b: trial 5: a hard finding touches total_tps", "findings: trial 2: the audit has notes on the figures shown"}},
		{"show mean(total_tps_per_gpu), count()", []core.Severity{void}, []string{
			"void: trials 1, 6: a void finding touches total_tps", "hard: trial 5: a hard finding touches total_tps_per_gpu, total_tps",
			"findings: trial 2: the audit has notes on the figures shown"}},
		{"show median(total_tps), median(mean_ttft_ms) where number <= 2", []core.Severity{void}, []string{
			"void: trial 1: a void finding touches total_tps", "hard: trial 1: a hard finding touches mean_ttft_ms",
			"findings: trial 2: the audit has notes on the figures shown"}},
		// An extreme rests on the trials that have it.
		{"show max(total_tps)", []core.Severity{void}, []string{"void: trial 1: a void finding touches total_tps"}},
		{"show min(total_tps)", []core.Severity{0}, nil},
		{"show max(total_tps) where number in [4, 5, 6]", []core.Severity{void}, []string{
			"void: trial 6: a void finding touches total_tps", "hard: trial 5: a hard finding touches total_tps"}},
		// Repeats each for themselves.
		{"show max(total_tps) where engine == \"b\" per setup", []core.Severity{hard}, []string{"hard: trial 5: a hard finding touches total_tps"}},
		// A trial without the figure lends it nothing, and no finding touches how many there are or a choice.
		{"show median(mean_ttft_ms) where engine == \"b\"", []core.Severity{0}, nil},
		{"show count(), count(total_tps > 1), all(sound(total_tps)), max(gpus)", nil, nil},
		{"show count() having median(total_tps) > 1", nil, nil},
		{"show median(total_tps) where sound(total_tps)", []core.Severity{note}, []string{"findings: trial 2: the audit has notes on the figures shown"}},
	} {
		h := audited(t)
		for range 2 {
			a := ask(t, h, c.query)
			if diff := cmp.Diff(c.severity, a.Severity); diff != "" {
				t.Errorf("%s: severities (-want +got):\n%s", c.query, diff)
			}
			var warnings []string
			for _, w := range a.Warnings {
				if slices.Contains([]string{"void", "hard", "findings"}, w.Code) {
					warnings = append(warnings, w.Code+": "+w.Message)
				}
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", c.query, diff)
			}
			slices.Reverse(h)
		}
	}
}

// TestSimulatedAggregates: an aggregate of simulated trials alone is called one.
func TestSimulatedAggregates(t *testing.T) {
	h := memory{
		trial(t, 1, "engine", "sim", "total_tps", 900, "simulated", true),
		trial(t, 2, "engine", "sim", "total_tps", 800, "simulated", true),
		trial(t, 3, "engine", "vllm", "total_tps", 100),
		trial(t, 4, "engine", "mix", "total_tps", 100),
		trial(t, 5, "engine", "mix", "total_tps", 700, "simulated", true),
	}
	for _, c := range []struct {
		query, want string
		simulated   int
	}{
		{"show mean(total_tps) by engine", "only simulated trials qualify for engine sim", 2},
		{`show mean(total_tps), count() where engine == "sim"`, "only simulated trials qualify: 2 trials", 2},
		{`show mean(total_tps) by engine order by mean(total_tps) desc limit 1`, "only simulated trials qualify: 2 trials", 2},
		{`show mean(total_tps) where engine == "sim" per setup`, "only simulated trials qualify: 2 trials", 2},
		{"show mean(total_tps)", "", 0},
		{"show mean(total_tps) where simulated == true by engine", "", 3}, // as asked
		{"show count() by engine", "", 0},                                 // no figure
	} {
		a := ask(t, h, c.query)
		if got := message(a, "simulated"); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
		if got, _ := a.Simulated(); got != c.simulated {
			t.Errorf("%s: %d simulated trials, want %d", c.query, got, c.simulated)
		}
		differs := slices.ContainsFunc(a.Residue, func(r query.Residue) bool { return r.Field == "simulated" })
		if want := c.query == "show mean(total_tps)" || c.query == "show mean(total_tps) by engine" || c.query == "show count() by engine"; differs != want {
			t.Errorf("%s: simulated among the residue: %t", c.query, differs)
		}
	}
}
