package query

import (
	"maps"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// answer makes the answer of what was seen.
func (e *evaluation) answer(history core.History) *Answer {
	p := e.p
	e.combineAll()
	a := &Answer{Query: p.q.text, History: history, Verb: p.q.verb}
	for _, o := range p.outputs {
		a.Columns = append(a.Columns, o.Column)
	}
	t, simulated := e.chosen(a)
	if p.q.noise {
		p.noise = p.noiseOf(t.pools)
	}
	a.Considered = t.considered
	a.Excluded.Status = e.status
	a.Excluded.Where, a.Excluded.Undecided = t.where, t.undecided
	for _, name := range slices.Sorted(maps.Keys(t.reasons)) {
		a.Undecided = append(a.Undecided, Reason{name, t.reasons[name]})
	}
	notes := t.notes
	groups, dropped := p.arrange(t.groups)
	shown := p.fill(a, groups, &notes)

	for _, g := range shown {
		if p.vs == nil || p.grouped || p.over != nil {
			continue
		}
		for _, row := range g.list.rows {
			if b := p.vs.found[p.versusKey(row)]; b != nil && g.residue != nil {
				g.residue.merge(b.residue)
			}
		}
	}
	if p.over != nil {
		a.Residue = p.residueOf(groups) // all compete
	} else {
		a.Residue = p.residueOf(shown)
	}
	a.Warnings = e.warnings(a, t, &notes, groups, shown, dropped, simulated)
	return a
}

// chosen decides whether real or simulated trials answer, and unites the counts.
func (e *evaluation) chosen(a *Answer) (t *tally, simulated bool) {
	real, sim := &e.tallies[0], &e.tallies[1]
	if !e.p.split || sim.rows == 0 {
		real.merge(sim)
		return real, false
	}
	if real.considered > 0 {
		a.Excluded.Simulated = sim.rows
		return real, false
	}
	sim.merge(real)
	return sim, sim.considered > 0
}

// merge adds the counts and the empty groups of a tally that answers nothing.
func (t *tally) merge(other *tally) {
	t.where += other.where
	t.undecided += other.undecided
	t.unasked += other.unasked
	for name, n := range other.reasons {
		t.reasons[name] += n
	}
	maps.Copy(t.studies, other.studies)
	for name, g := range other.groups {
		if t.groups[name] == nil {
			t.groups[name] = g
		}
	}
}

// arrange completes the groups, drops those that having leaves out, and puts the
// rest in the order of their keys. It returns how many it dropped.
func (p *plan) arrange(all map[string]*group) (groups []*group, dropped int) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := all[name]
		g.row = slices.Clone(g.key)
		for i, agg := range p.aggregates {
			g.row = append(g.row, g.gathered[i].result(agg))
		}
		if p.having != nil && g.considered > 0 && p.having.cond(g.row) != yes {
			dropped++
			continue
		}
		groups = append(groups, g)
	}
	// One row answers count even where nothing qualifies.
	if p.q.verb == "count" && len(p.by) == 0 && len(all) == 0 {
		g := &group{gathered: make([]gathered, len(p.aggregates))}
		for i, agg := range p.aggregates {
			g.row = append(g.row, g.gathered[i].result(agg))
		}
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		for i, k := range p.by {
			if c := p.versions.sortValues(a.key[i], b.key[i], k.typ, false); c != 0 {
				return c
			}
		}
		return 0
	})
	return groups, dropped
}

// fill writes rows and groups into the answer and returns the groups that have
// rows. The rows of a group are left in its list.
func (p *plan) fill(a *Answer, groups []*group, notes *assertions) []*group {
	ties := map[*group]int{}
	for _, g := range groups {
		switch {
		case p.grouped:
			if g.considered > 0 || p.q.verb == "count" {
				g.list.rows = [][]core.Value{nil}
			}
		case g.considered == 0:
		case p.q.verb == "show":
			g.list.sort(p)
			if p.q.top > 0 && len(g.list.rows) > p.q.top {
				g.list.rows = g.list.rows[:p.q.top]
			}
		case p.q.verb == "pareto":
			g.list.rows, ties[g] = g.frontWinners(p)
		case p.curve != nil:
			g.list.rows, ties[g] = p.curveRows(g)
		case p.over != nil:
		default:
			g.list.rows, ties[g] = g.winners(p)
		}
	}
	if p.over != nil {
		a.Ties = p.compete(groups)
	} else {
		p.orderGroups(groups)
	}

	var shown []*group
	total := 0
	for _, g := range groups {
		if total += len(g.list.rows); p.q.verb == "show" && p.q.top == 0 && !p.grouped {
			total += g.list.total - len(g.list.rows) // those not even kept
		}
		if room := p.q.limit - len(a.Rows); p.q.limit > 0 && len(g.list.rows) > room {
			g.list.rows = g.list.rows[:room]
		}
		out := Group{Key: g.key, First: len(a.Rows), Considered: g.considered, Ties: ties[g], Empty: g.considered == 0,
			Simulated: p.doubts && g.onlySimulated()}
		for _, row := range g.list.rows {
			a.Rows = append(a.Rows, p.output(g, row))
			switch {
			case p.doubts:
				a.Severity = append(a.Severity, g.doubtOf())
			case len(p.goals) > 0 || p.curve != nil || p.shown != nil:
				a.Severity = append(a.Severity, p.severityOf(row))
			}
			if !p.grouped {
				for _, one := range p.trialsOf(row) {
					notes.addWithBaseline(p, one)
				}
			}
			if p.numbers {
				a.Trials = append(a.Trials, p.numbersOf(row))
			}
		}
		out.Last = len(a.Rows)
		if g.sound != nil && out.Last > out.First {
			of := g
			if g.soundGroup != nil {
				of = g.soundGroup
			}
			out.Sound = p.output(of, g.sound)
			if len(p.by) == 0 || p.over != nil {
				a.SoundWinner = out.Sound
			}
		}
		if i := slices.IndexFunc(p.outputs, func(o output) bool { return o.Name == "base("+p.firstGoal()+")" }); i >= 0 && out.Last > out.First {
			out.Base = a.Rows[out.First][i]
		}
		if out.Empty && len(p.by) > 0 {
			a.EmptyGroups++
		}
		if len(g.list.rows) > 0 {
			shown = append(shown, g)
		}
		a.Ties += out.Ties
		a.Groups = append(a.Groups, out)
	}
	if p.q.limit > 0 && total > len(a.Rows) {
		a.Warnings = append(a.Warnings, limitWarning(len(a.Rows), total))
	}
	return shown
}

// output is a row as the answer shows it.
func (p *plan) output(g *group, row []core.Value) []core.Value {
	values := make([]core.Value, len(p.outputs))
	for i, o := range p.outputs {
		values[i] = o.get(g, row)
	}
	return values
}

func (p *plan) firstGoal() string {
	if len(p.q.goals) == 0 {
		return ""
	}
	return p.q.goals[0].name
}

// orderGroups sorts groups by order by: each by its own row, or by its best one.
// Groups without rows come last.
func (p *plan) orderGroups(groups []*group) {
	if len(p.order) == 0 || (p.q.verb == "show" && !p.grouped) {
		return
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		x, y := a.list.rows, b.list.rows
		switch {
		case len(x) == 0 || len(y) == 0:
			return min(len(y), 1) - min(len(x), 1)
		case p.grouped:
			return p.ordered(a.row, b.row)
		}
		for _, k := range p.order {
			if c := p.versions.sortValues(k.val(x[0]), k.val(y[0]), k.typ, k.desc); c != 0 {
				return c
			}
		}
		return 0
	})
}
