package report

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// Along is how one metric compares over a whole curve: the places of each verdict, in
// order, and where the sides change places.
type Along struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Field    string `json:"field"` // that of the curve
	Steps    []Step `json:"steps"`
	// Crossings are the neighbouring places of unlike told verdicts, better below and worse
	// above or the other way round. Places of which nothing can be told lie between them.
	Crossings []Crossing `json:"crossings"`
}

// Step is a run of neighbouring places with one verdict.
type Step struct {
	Verdict stats.Verdict `json:"verdict"`
	From    core.Value    `json:"from"`
	To      core.Value    `json:"to"`
}

// Crossing is where the sides change places: between Below and Above.
type Crossing struct {
	Below core.Value `json:"below"`
	Above core.Value `json:"above"`
}

// String is "output_tps: better from 1 to 16, worse at 64; the sides cross between 16 and 64".
func (a Along) String() string {
	var parts []string
	for _, s := range a.Steps {
		if s.From == s.To {
			parts = append(parts, fmt.Sprintf("%s at %s", verdictText(s.Verdict), s.From))
		} else {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", verdictText(s.Verdict), s.From, s.To))
		}
	}
	text := a.Metric + ": " + strings.Join(parts, ", ")
	for i, x := range a.Crossings {
		if i == 0 {
			text += "; the sides cross between "
		} else {
			text += " and again between "
		}
		text += fmt.Sprintf("%s and %s", x.Below, x.Above)
	}
	return text
}

// alongs sums up the comparisons of a curve, a metric of a workload each. They must be
// in the order of the curve.
func alongs(field string, metrics []Compared) []Along {
	var out []Along
	at := map[[2]string]int{}
	for _, m := range metrics {
		key := [2]string{m.Workload, m.Metric}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Along{Workload: m.Workload, Metric: m.Metric, Field: field, Crossings: []Crossing{}})
		}
		out[i].add(m.At, m.Verdict)
	}
	return out
}

func (a *Along) add(at core.Value, v stats.Verdict) {
	for i := len(a.Steps) - 1; i >= 0; i-- {
		last := a.Steps[i]
		if last.Verdict == stats.Better && v == stats.Worse || last.Verdict == stats.Worse && v == stats.Better {
			a.Crossings = append(a.Crossings, Crossing{last.To, at})
		}
		if last.Verdict == stats.Better || last.Verdict == stats.Worse {
			break
		}
	}
	if n := len(a.Steps); n > 0 && a.Steps[n-1].Verdict == v {
		a.Steps[n-1].To = at
		return
	}
	a.Steps = append(a.Steps, Step{v, at, at})
}

// Mixed reports whether the verdict is not the same at every place.
func (a Along) Mixed() bool { return len(a.Steps) > 1 }
