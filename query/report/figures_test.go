package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/query/chart"
	"github.com/sweepbook/sweepbook/query/report"
)

// TestSimulatedFigures: a picture of simulated trials says so below itself, and so does
// the text where nothing qualifies.
func TestSimulatedFigures(t *testing.T) {
	const banner, footer = "> **Simulated.** Every figure comes from a simulator", "simulated: no GPU was measured"
	m, def := stagedStudy()
	for i, c := range []struct {
		objective, footer string
	}{
		{def.Objective, ""},
		{def.Objective, "simulated: 1 of the 11 trials of the study"},
		{def.Objective, footer},
		{"max total_tps where success_rate == 1 and mean_ttft_ms < 1", footer},
	} {
		for n, tr := range m.trials {
			tr.Setup.Simulated = i > 1 || i == 1 && n == 2
		}
		def.Objective = c.objective
		r := build(t, m, def.Name, def, report.Options{})
		if got := strings.Contains(string(r.Markdown("")), banner); got != (c.footer == footer) {
			t.Errorf("case %d: the banner stands there: %t", i, got)
		}
		for file := range r.Charts {
			notes := r.Figure(file).Notes
			if got := slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "simulated: ") }); got != (c.footer != "") || got && notes[0] != c.footer {
				t.Errorf("case %d: %s says %q, want %q", i, file, notes, c.footer)
			}
		}
	}
}

// TestRepeatsInFigures: a bar that is a median has a whisker over its repeats, and the
// baseline says where it does not qualify.
func TestRepeatsInFigures(t *testing.T) {
	m, def := stagedStudy()
	def.Objective = "max total_tps where success_rate == 1 and mean_ttft_ms < 30000"
	r := build(t, m, def.Name, def, report.Options{})
	for _, file := range []string{"before-after.png", "stages.png"} {
		bars := r.Figure(file).Bars
		i := slices.IndexFunc(bars, func(m chart.Mark) bool { return m.Emphasis == chart.Baseline })
		if i < 0 {
			t.Fatalf("%s has no baseline", file)
		}
		if b := bars[i]; b.N != 2 || b.Low.Num != 2349.1 || b.High.Num != 2352.82 || b.Note != "does not qualify" {
			t.Errorf("%s: the baseline is %+v", file, b)
		}
		i = slices.IndexFunc(bars, func(m chart.Mark) bool { return m.Emphasis == chart.Best })
		if b := bars[i]; b.N != 1 || !b.Low.IsMissing() {
			t.Errorf("%s: one trial has a whisker: %+v", file, b)
		}
	}
	// On other workloads nothing was decided.
	for _, b := range r.Figure("before-after.png").Bars[2:] {
		if b.Note == "does not qualify" {
			t.Errorf("%s: %+v", b.Group, b)
		}
	}
}
