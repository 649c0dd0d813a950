package query

import (
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// repeatOutputs shows how many repeats a combined row stands for.
func (p *plan) repeatOutputs() {
	for _, name := range []string{"n", "failed_repeats"} {
		col := p.column(name)
		if !slices.ContainsFunc(p.outputs, func(o output) bool { return o.Name == name }) {
			p.outputs = append(p.outputs, output{Column{Name: name, Type: core.NumberType},
				func(_ *group, row []core.Value) core.Value { return row[col] }})
		}
	}
}

// tail are the columns behind the value in the rows of max, min and pareto, and of
// curves.
func (p *plan) tail() []string {
	names := []string{"number", "id", "study", "engine", "model", "workload", "config", "n", "findings"}
	if p.q.per != "" {
		names = slices.Insert(names, len(names)-1, "failed_repeats")
	}
	return names
}

// planRest settles who takes part and asks for the columns that the evaluation
// itself needs, those of the residue last.
func (p *plan) planRest() error {
	ranks := len(p.goals) > 0 || p.curve != nil
	p.okOnly = (ranks || p.q.per != "") && !p.asked["status"]
	p.unretracted = ranks && !p.okOnly && !strings.Contains(p.q.text, string(core.StatusRetracted))
	p.split = ranks && !p.asked["simulated"]
	if ranks {
		p.findings = p.column("findings")
		if err := p.rankOutputs(); err != nil {
			return err
		}
	}
	if p.q.verb == "count" {
		p.outputs = append(p.outputs, output{Column{Name: "count", Type: core.NumberType},
			func(g *group, _ []core.Value) core.Value { return core.Number(float64(g.taken)) }})
	}
	if p.vs != nil {
		if len(p.vs.exprs) == 0 {
			return syntaxError(p.q.text, p.q.vs.off, "vs changes nothing: name base(x) or gain in a column")
		}
	}
	if p.okOnly || p.unretracted || p.q.per != "" || (p.vs != nil && p.vs.okOnly) {
		p.status = p.column("status")
	}
	if p.split || (p.vs != nil && p.vs.split) {
		p.simulated = p.column("simulated")
	}
	p.started, p.id, p.number = p.column("started_at"), p.column("id"), p.column("number")
	p.asserted = p.column("asserted")
	if p.asked["success_rate"] {
		p.requested, p.study = p.column("requested"), p.column("study")
	}
	if p.q.per != "" {
		if p.asked["success_rate"] {
			p.completed, p.incomplete = p.column("completed"), p.column("incomplete")
		}
	}
	if len(p.goals) > 0 && p.over == nil && slices.ContainsFunc(p.where, func(c conjunct) bool { return asksForAll(c.node) }) {
		p.answered = p.column("completed")
	}
	if p.q.per != "" || p.curve != nil {
		p.option, p.launch = p.column("option"), p.column("launch")
	}
	compares := ranks || (p.q.verb == "show" && (p.grouped || p.q.per != ""))
	var residue []string
	if compares {
		residue = p.residueNames()
	}
	keys := p.repeatNames()
	if p.shared != nil {
		p.planLate()
		shown := residue
		if p.q.per != "" {
			shown = slices.Concat(residue, p.columns) // a kept row need not hold what its looks give
		}
		keys = p.planFacets(shown, keys)
	}
	p.keep = len(p.columns)
	p.planResidue(residue)
	p.planRepeats(keys)
	return nil
}

func (p *plan) rankOutputs() error {
	if c := p.curve; c != nil {
		p.curveOutputs()
		if c.cond != nil {
			p.severity = p.severities(c.cond)
		} else {
			p.severity = p.severities(c.value)
		}
		return nil
	}
	var ranked []*node
	for i, g := range p.q.goals {
		n := p.goals[i]
		ranked = append(ranked, n.node)
		p.outputs = append(p.outputs, output{describe(g.name, n.node, g.better),
			func(_ *group, row []core.Value) core.Value { return p.goalOf(row, i) }})
	}
	p.severity = p.severities(ranked...)
	p.typical = p.goals[0].node
	if p.vs != nil {
		if err := p.versusOutputs(); err != nil {
			return err
		}
	}
	for _, name := range p.tail() {
		if slices.ContainsFunc(p.outputs, func(o output) bool { return o.Name == name }) {
			continue
		}
		p.outputs = append(p.outputs, p.tailOutput(name))
	}
	return nil
}

func (p *plan) tailOutput(name string) output {
	behind := -1 // where a row that stands for a group has it
	if p.over != nil {
		behind = slices.Index([]string{overTrials: "n", overFailed: "failed_repeats", overFindings: "findings"}, name)
	}
	c, col := Column{Name: name, Type: core.NumberType}, -1
	if name != "n" && name != "failed_repeats" {
		f, _ := core.LookupField(name)
		c = Column{Name: name, Unit: f.Unit, Type: f.Type, Better: f.Better}
		col = p.column(name)
	} else if p.q.per != "" {
		col = p.column(name)
	}
	return output{c, func(_ *group, row []core.Value) core.Value {
		switch {
		case behind >= 0:
			return row[p.keep+behind]
		case col < 0: // n of a trial
			return core.Number(1)
		}
		return row[col]
	}}
}
