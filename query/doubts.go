package query

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// doubts are, for each severity from a note up, the trials behind a figure that a
// finding of it touches, and the metrics. Their numbers take less room than the values
// of the aggregate, so that a history may be doubtful throughout.
type doubts [core.SeverityVoid + 1]struct {
	numbers []float64
	ids     []string // of trials without a number
	metrics []string
}

// ofNumbers reports whether an aggregate is made of values: how many trials fulfil a
// condition is no figure of theirs.
func (agg *aggregate) ofNumbers() bool {
	return agg.name != "count" && agg.name != "all" && agg.name != "any"
}

// doubt notes the findings on the trials that gave an aggregate a value. An extreme
// rests on the trials that have it and on no others.
func (g *gathered) doubt(p *plan, agg *aggregate, v float64, trials [][]core.Value) {
	if agg.name == "max" || agg.name == "min" {
		switch first := len(g.values) == 1; {
		case first || agg.name == "max" && v > g.extreme || agg.name == "min" && v < g.extreme:
			g.extreme, g.doubts = v, nil
		case v != g.extreme:
			return
		}
	}
	for _, row := range trials {
		s, metrics := worst(row, agg.severity)
		if s < core.SeverityNote || int(s) >= len(g.doubts) || !known(agg.arg.val(row)) {
			continue
		}
		if g.doubts == nil {
			g.doubts = &doubts{}
		}
		d := &g.doubts[s]
		if n := row[p.number]; n.Kind == core.KindNumber {
			d.numbers = append(d.numbers, n.Num)
		} else {
			d.ids = append(d.ids, row[p.id].Text)
		}
		d.metrics = with(d.metrics, metrics)
	}
}

// with adds the metrics that a list lacks.
func with(metrics, more []string) []string {
	for _, m := range more {
		if !slices.Contains(metrics, m) {
			metrics = append(metrics, m)
		}
	}
	return metrics
}

// doubted is touched of the shown aggregates of groups.
func (p *plan) doubted(groups []*group, level core.Severity) (names []string, n int, metrics []string) {
	var numbers []float64
	var ids, found []string
	for _, g := range groups {
		for i := range g.gathered {
			if all := g.gathered[i].doubts; all != nil {
				numbers, ids = append(numbers, all[level].numbers...), append(ids, all[level].ids...)
				found = with(found, all[level].metrics)
			}
		}
	}
	for _, agg := range p.aggregates { // in an order that does not depend on that of the rows
		for _, c := range agg.severity {
			if slices.Contains(found, c.metric) {
				metrics = with(metrics, []string{c.metric})
			}
		}
	}
	slices.Sort(numbers)
	slices.Sort(ids)
	numbers, ids = slices.Compact(numbers), slices.Compact(ids)
	for _, n := range numbers[:min(len(numbers), mostListed)] {
		names = append(names, core.Number(n).String())
	}
	return append(names, ids...), len(numbers) + len(ids), metrics
}

// onlySimulated reports whether no trial of a group was a real one.
func (g *group) onlySimulated() bool {
	if g.residue == nil {
		return false
	}
	g.residue.settle()
	i := slices.IndexFunc(g.residue.p.residue, func(f residueField) bool { return f.name == "simulated" })
	seen := g.residue.seen[i]
	return len(seen) == 1 && seen[0].value.True()
}

// doubtOf is the severity of the worst finding that touches the shown aggregates of a
// group.
func (g *group) doubtOf() core.Severity {
	for s := core.SeverityVoid; s >= core.SeverityNote; s-- {
		for i := range g.gathered {
			if d := g.gathered[i].doubts; d != nil && len(d[s].numbers)+len(d[s].ids) > 0 {
				return s
			}
		}
	}
	return 0
}
