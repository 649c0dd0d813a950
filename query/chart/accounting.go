package chart

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/query"
)

// Accounting says in sentences who took part in an answer, who was left out and
// why, and what a reader must be warned of. Pictures have it in their footer and
// reports beside their tables, so that both say the same.
func Accounting(a *query.Answer) []string {
	var out []string
	for _, e := range []struct {
		n   int
		why string
	}{
		{a.Excluded.Where, "by where"},
		{a.Excluded.Undecided, "undecided" + reasons(a.Undecided)},
		{a.Excluded.Status, "by status"},
		{a.Excluded.Simulated, "simulated"},
	} {
		if e.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", e.n, e.why))
		}
	}
	first := fmt.Sprintf("considered %s", trials(a.Considered))
	if len(out) > 0 {
		first += "; left out: " + strings.Join(out, ", ")
	}
	lines := []string{first}
	if a.EmptyGroups > 0 {
		lines = append(lines, fmt.Sprintf("groups in which nothing qualifies: %d", a.EmptyGroups))
	}
	if a.Ties > 0 {
		lines = append(lines, fmt.Sprintf("ties beyond the first row: %d", a.Ties))
	}
	for _, w := range a.Warnings {
		lines = append(lines, w.Message)
	}
	if len(a.Residue) > 0 {
		var parts []string
		for _, r := range a.Residue {
			parts = append(parts, residue(r))
		}
		lines = append(lines, "the trials compared differ in "+strings.Join(parts, "; "))
	}
	return lines
}

func trials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}

// reasons is " (no total_tps: 2, no success_rate: 1)".
func reasons(rs []query.Reason) string {
	var parts []string
	for _, r := range rs {
		parts = append(parts, fmt.Sprintf("no %s: %d", r.Field, r.Trials))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + listed(parts, 3) + ")"
}

// residue is "workload (sharegpt, short)".
func residue(r query.Residue) string {
	var vs []string
	for _, v := range r.Values {
		if v.IsMissing() {
			vs = append(vs, "missing")
		} else {
			vs = append(vs, v.String())
		}
	}
	list := listed(vs, 4)
	if r.More {
		list += " and more"
	}
	return fmt.Sprintf("%s (%s)", r.Field, list)
}
