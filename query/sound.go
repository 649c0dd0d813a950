package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// severityColumn is where a row says how bad the worst finding is that touches a
// metric.
type severityColumn struct {
	metric string
	col    int
}

// severities asks for the severity of every figure that the nodes name, and of
// those that a named figure is derived from: a throughput per GPU is no sounder
// than the throughput.
func (p *plan) severities(nodes ...*node) []severityColumn {
	var out []severityColumn
	add := func(metric string) {
		f, ok := core.LookupField("severity." + metric)
		if !ok || strings.HasPrefix(metric, "severity.") {
			return // a setting, which no finding can touch
		}
		s := severityColumn{strings.TrimPrefix(f.Name, "severity."), p.column(f.Name)}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, n := range nodes {
		n.fields(func(f *core.Field) {
			add(f.Name)
			for _, input := range slices.Concat(restsOn(f.Name), p.requestFigures(f.Name)) {
				add(input)
			}
		})
	}
	return out
}

// worst is the severity of the worst finding on a row and the metrics that findings
// of this severity touch. A severity that the source does not know counts as none.
func worst(row []core.Value, columns []severityColumn) (s core.Severity, metrics []string) {
	for _, c := range columns {
		v := row[c.col]
		if v.Kind != core.KindNumber || v.Num < 1 {
			continue
		}
		switch at := core.Severity(v.Num); {
		case at > s:
			s, metrics = at, []string{c.metric}
		case at == s:
			metrics = append(metrics, c.metric)
		}
	}
	return s, metrics
}

// shownFigure is a measured column of show, with marks.
type shownFigure struct {
	*node
	severity []severityColumn
}

// worstOf is worst of the figures that rank a row or, with marks, of those that it
// shows: where there is no figure, nothing is to be doubted.
func (p *plan) worstOf(row []core.Value) (s core.Severity, metrics []string) {
	if p.shown == nil {
		return worst(row, p.severity)
	}
	for _, f := range p.shown {
		if !known(f.val(row)) {
			continue
		}
		switch at, touched := worst(row, f.severity); {
		case at > s:
			s, metrics = at, touched
		case at == s:
			metrics = with(metrics, touched)
		}
	}
	return s, metrics
}

// tainted reports whether a hard or void finding touches what a row is ranked by.
func (p *plan) tainted(row []core.Value) bool {
	for _, c := range p.severity {
		if v := &row[c.col]; v.Kind == core.KindNumber && v.Num >= float64(core.SeverityHard) {
			return true
		}
	}
	return false
}

// soundOf compiles sound(m).
func (c *compiler) soundOf(arg ast.Node, off int) (*node, error) {
	if c.group != nil && c.inside == "" {
		return nil, c.errorf(off, "sound stands for one trial: use all(sound(%s))", arg)
	}
	x, err := c.number(arg)
	if err != nil {
		return nil, err
	}
	columns := c.plan.severities(x)
	if len(columns) == 0 {
		return nil, c.errorf(off, "sound wants a measured figure: %s is none", arg)
	}
	return conditionNode(func(row []core.Value) tri {
		if !known(x.val(row)) {
			return undecided
		}
		t := yes
		for _, s := range columns {
			t = t.and(compareValues("<", row[s.col], core.Number(float64(core.SeverityHard)), true))
		}
		return t
	}, x), nil
}

// severityOf is the severity of the worst finding that touches the figures of any
// trial that a row stands for.
func (p *plan) severityOf(row []core.Value) core.Severity {
	var s core.Severity
	for _, r := range p.trialsOf(row) {
		at, _ := p.worstOf(r)
		s = max(s, at)
	}
	return s
}

// soundWarnings names the trials of the answer that a hard or void finding touches,
// the metrics, and the best sound row of the group. The worst come first.
func (p *plan) soundWarnings(shown []*group) []Warning {
	if len(p.severity) == 0 && p.shown == nil && !p.doubts {
		return nil
	}
	var out []Warning
	for _, level := range []core.Severity{core.SeverityVoid, core.SeverityHard} {
		const most = 5
		groups := 0
		for _, g := range shown {
			text := p.soundWarning(g, level)
			if text == "" {
				continue
			}
			if groups++; groups <= most {
				out = append(out, Warning{Code: level.String(), Message: text, Hint: "sweepbook audit prints the evidence"})
			}
		}
		if groups > most {
			out = append(out, Warning{Code: level.String(), Message: fmt.Sprintf("%s findings touch %s more", level, plural(groups-most, "group"))})
		}
	}
	return out
}

// noteWarnings names the trials of show that no worse finding than a note touches, with
// marks or behind aggregates: a worse one is named already.
func (p *plan) noteWarnings(shown []*group) []Warning {
	if p.shown == nil && !p.doubts {
		return nil
	}
	names, n, _ := p.touched(shown, core.SeverityNote)
	if n == 0 {
		return nil
	}
	return []Warning{{Code: "findings", Message: listSome(names, n) + ": the audit has notes on the figures shown",
		Hint: "sweepbook audit lists which figures they touch"}}
}

// touched names the trials of groups of which the worst finding on their figures has a
// severity, and the metrics: how many they are, and at least as many names as a message
// lists.
func (p *plan) touched(groups []*group, level core.Severity) (names []string, n int, metrics []string) {
	if p.grouped {
		return p.doubted(groups, level)
	}
	for _, g := range groups {
		for _, row := range g.list.rows {
			for _, r := range p.trialsOf(row) {
				s, touched := p.worstOf(r)
				if s != level {
					continue
				}
				if name := p.trialName(r); !slices.Contains(names, name) {
					names = append(names, name)
				}
				metrics = with(metrics, touched)
			}
		}
	}
	return names, len(names), metrics
}

func (p *plan) soundWarning(g *group, level core.Severity) string {
	names, n, metrics := p.touched([]*group{g}, level)
	if n == 0 {
		return ""
	}
	text := listSome(names, n) + ": a " + level.String() + " finding touches " + strings.Join(metrics, ", ")
	if len(p.by) > 0 {
		text = p.keyText(g.key) + ": " + text
	}
	switch {
	case g.sound != nil:
		text += "; the best sound row is "
		if g.soundGroup != nil {
			text += "that of " + cmp.Or(p.keyText(g.soundGroup.key), "other trials")
		} else {
			text += "trial " + p.trialName(g.sound)
		}
		for i, goal := range p.q.goals {
			text += fmt.Sprintf("%s %s = %s", []string{" with", ","}[min(i, 1)], goal.name, printed(p.goalOf(g.sound, i), p.goals[i].typ))
		}
	case g.unsound:
		text += "; no sound row is left"
	}
	return text
}

// goalOf is the value of the i-th goal in a row of the answer.
func (p *plan) goalOf(row []core.Value, i int) core.Value {
	if p.over != nil {
		return row[p.keep+overScore]
	}
	return p.goals[i].val(row)
}
