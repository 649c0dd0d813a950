package chart_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

// mixedClocks are three trials: one of sound figures, one whose TPOT cannot be right, and
// one whose TPOT must decide nothing.
func mixedClocks() memory {
	m := sweep()[:3]
	for i, s := range []core.Severity{0, core.SeverityHard, core.SeverityVoid} {
		m[i].Option = []string{"sound", "negative", "inverted"}[i]
		m[i].Figures["mean_tpot_ms"] = 40 + float64(i)
		m[i].Findings = nil
		if s > 0 {
			m[i].Findings = []core.Finding{{Rule: "B9", Severity: s, Metrics: []string{"mean_tpot_ms"}}}
		}
	}
	return m
}

// TestMarkedShow: show draws a figure that must not be believed with the same sign and
// footnote as min, although the question asks for no findings.
func TestMarkedShow(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string // name, findings, void
		note  string
	}{
		{"show option, mean_tpot_ms", []string{"sound 0 false", "negative 1 false", "inverted 1 true"}, "trial 2: a hard finding touches mean_tpot_ms"},
		{"show option, concurrency, mean_tpot_ms", []string{"sound 0 false", "negative 1 false", "inverted 1 true"}, "trial 3: a void finding touches mean_tpot_ms"},
		{"show option, total_tps", []string{"sound 0 false", "negative 0 false", "inverted 0 false"}, ""},
		{"show median(mean_tpot_ms) by option", []string{"inverted 1 true", "negative 1 false", "sound 0 false"}, "option inverted: trial 3: a void finding touches mean_tpot_ms"},
		{"min mean_tpot_ms by option", []string{"inverted 1 true", "negative 1 false", "sound 0 false"}, "option negative: trial 2: a hard finding touches mean_tpot_ms"},
	} {
		a, err := query.Run(t.Context(), mixedClocks(), c.query, query.Options{Now: time.Unix(0, 0), Marks: true})
		if err != nil {
			t.Fatal(err)
		}
		f, err := chart.FromAnswer(a, chart.Options{Format: chart.SVG})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range f.Bars {
			got = append(got, fmt.Sprintf("%s %d %t", m.Label, m.Findings, m.Void))
		}
		for _, s := range f.Series {
			for _, p := range s.Points {
				got = append(got, fmt.Sprintf("%s %d %t", s.Name, p.Findings, p.Void))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
		if noted := strings.Contains(strings.Join(f.Notes, "\n"), "finding touches"); noted != (c.note != "") || noted && !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, c.note) }) {
			t.Errorf("%s: notes %q, want %q", c.query, f.Notes, c.note)
		}
		picture, err := chart.Draw(a, chart.Options{Format: chart.SVG})
		if err != nil {
			t.Fatal(err)
		}
		for _, sign := range []string{"audit findings on the trial", "void: must not decide"} {
			if bytes.Contains(picture, []byte(sign)) != (c.note != "") {
				t.Errorf("%s: the legend says %q: %t", c.query, sign, c.note == "")
			}
		}
	}
}
