package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// entry is a kept row with its scores, one for each goal; higher is better.
type entry struct {
	row    []core.Value
	scores []float64
	tied   bool // with the first, once the list is complete
}

// scores turns the goals' values of a row into scores. ok is false when one of
// them is missing or no number.
func (p *plan) scores(row []core.Value, into []float64) ([]float64, bool) {
	into = into[:0]
	for _, g := range p.goals {
		v := g.val(row)
		if v.Kind != core.KindNumber {
			return into, false
		}
		into = append(into, v.Num*float64(g.better))
	}
	return into, true
}

// keepRow copies what the answer may need of a row.
func (p *plan) keepRow(row []core.Value) []core.Value { return slices.Clone(row[:p.keep]) }

// tieBreak is the fixed order of rows that are otherwise equal.
func (p *plan) tieBreak(a, b []core.Value) int {
	if c := p.versions.sortValues(a[p.started], b[p.started], core.TimeType, false); c != 0 {
		return c
	}
	return cmp.Compare(a[p.id].Text, b[p.id].Text)
}

// arrival is the fixed order of the rows of show. Trials of which nobody recorded when
// they ran come as they were imported, since the order of their ids means nothing.
func (p *plan) arrival(a, b []core.Value) int {
	if c := p.versions.sortValues(a[p.started], b[p.started], core.TimeType, false); c != 0 {
		return c
	}
	if c := p.versions.sortValues(a[p.number], b[p.number], core.NumberType, false); c != 0 {
		return c
	}
	return cmp.Compare(a[p.id].Text, b[p.id].Text)
}

// preferred compares two rows by the prefer goals; a missing value loses.
func (p *plan) preferred(a, b []core.Value) int {
	for _, g := range p.prefer {
		if c := p.versions.sortValues(g.val(a), g.val(b), g.typ, g.better == core.HigherBetter); c != 0 {
			return c
		}
	}
	return 0
}

// best keeps the rows of a group that may yet be in the answer: the top N with all
// that tie with the last of them, and all within the tolerance of the best.
type best struct {
	entries []entry
	cutoff  float64 // a row below it is out
	started bool
}

func (b *best) add(p *plan, row []core.Value, score float64) {
	if b.started && score < b.cutoff {
		return
	}
	simple := p.q.top <= 1 && p.q.within == 0 && !p.q.noise
	switch {
	case !b.started:
		b.started, b.cutoff = true, math.Inf(-1)
	case simple && score > b.cutoff:
		b.entries = b.entries[:0]
	}
	if simple {
		b.cutoff = score
	}
	b.entries = append(b.entries, entry{row: p.keepRow(row), scores: []float64{score}})
	// How far noise reaches is known only once all rows were read.
	if !simple && !p.q.noise && len(b.entries) >= 2*p.q.top+64 && len(b.entries)&(len(b.entries)-1) == 0 {
		b.cut(p)
	}
}

// cut sorts by score and drops what cannot be in the answer any more.
func (b *best) cut(p *plan) {
	slices.SortStableFunc(b.entries, func(x, y entry) int { return cmp.Compare(y.scores[0], x.scores[0]) })
	if len(b.entries) == 0 || p.q.noise {
		return
	}
	b.cutoff = math.Inf(-1)
	if top := max(p.q.top, 1); len(b.entries) >= top {
		b.cutoff = min(b.entries[top-1].scores[0], tieLimit(p, b.entries[0].scores[0]))
	}
	n := slices.IndexFunc(b.entries, func(e entry) bool { return e.scores[0] < b.cutoff })
	if n >= 0 {
		b.entries = b.entries[:n]
	}
}

// tieLimit is the lowest score that still ties with the best.
func tieLimit(p *plan, best float64) float64 {
	if p.q.within == 0 || math.IsInf(best, 0) {
		return best
	}
	return best - math.Abs(best)*p.q.within
}

// finish gives the rows in order and how many tie with the first. prefer then
// keeps of the ties only those that are best by its goals.
func (b *best) finish(p *plan) (rows [][]core.Value, ties int) {
	b.cut(p)
	p.completeEntries(b.entries)
	p.markTies(b.entries)
	least := math.Inf(-1)
	if n := len(b.entries); p.q.noise && p.q.top > 0 && p.q.top < n {
		least = b.entries[p.q.top-1].scores[0]
	}
	slices.SortFunc(b.entries, func(x, y entry) int {
		if x.tied != y.tied {
			if x.tied {
				return -1
			}
			return 1
		}
		if !x.tied || len(p.prefer) == 0 {
			if c := cmp.Compare(y.scores[0], x.scores[0]); c != 0 {
				return c
			}
		}
		if c := p.preferred(x.row, y.row); c != 0 {
			return c
		}
		if c := cmp.Compare(y.scores[0], x.scores[0]); c != 0 {
			return c
		}
		return p.tieBreak(x.row, y.row)
	})
	for _, e := range b.entries {
		tied := e.tied && p.preferred(b.entries[0].row, e.row) == 0
		if !tied && (p.q.top == 0 || e.scores[0] < least) {
			continue
		}
		if tied {
			ties++
		}
		rows = append(rows, e.row)
	}
	return rows, ties - 1
}

// winners gives the rows of a group and notes in it whether the first of them is
// touched by a hard or void finding, and which would come first otherwise. Rows that
// no such finding touches are kept apart, so that none of them is dropped for one
// that may not count.
func (g *group) winners(p *plan) (rows [][]core.Value, ties int) {
	if len(g.tainted.entries) == 0 {
		return g.best.finish(p)
	}
	all := best{entries: slices.Concat(g.best.entries, g.tainted.entries)}
	rows, ties = all.finish(p)
	if g.unsound = p.tainted(rows[0]); g.unsound && len(g.best.entries) > 0 {
		sound, _ := g.best.finish(p)
		g.sound = sound[0]
	}
	return rows, ties
}

// frontWinners is winners for a front: its best row is the first by the first goal.
func (g *group) frontWinners(p *plan) (rows [][]core.Value, ties int) {
	all := front{entries: slices.Clone(g.front.entries)}
	for _, e := range g.taintedFront.entries {
		all.add(p, e.row, e.scores)
	}
	rows, ties = all.finish(p)
	g.unsound = slices.ContainsFunc(rows, p.tainted)
	if g.unsound && len(g.front.entries) > 0 {
		sound, _ := g.front.finish(p)
		g.sound = sound[0]
	}
	return rows, ties
}

// front is the Pareto front of a group. Rows equal in every goal all stay.
type front struct{ entries []entry }

func (f *front) add(p *plan, row []core.Value, scores []float64) {
	for _, e := range f.entries {
		if dominates(e.scores, scores) {
			return
		}
	}
	f.entries = slices.DeleteFunc(f.entries, func(e entry) bool { return dominates(scores, e.scores) })
	f.entries = append(f.entries, entry{row: p.keepRow(row), scores: slices.Clone(scores)})
}

// dominates reports whether a is nowhere worse than b and somewhere better.
func dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if a[i] < b[i] {
			return false
		}
		better = better || a[i] > b[i]
	}
	return better
}

// finish gives the front from best to worst by its first goal, and how many rows
// equal one before them.
func (f *front) finish(p *plan) (rows [][]core.Value, ties int) {
	p.completeEntries(f.entries)
	slices.SortFunc(f.entries, func(x, y entry) int {
		if c := slices.Compare(y.scores, x.scores); c != 0 {
			return c
		}
		return p.tieBreak(x.row, y.row)
	})
	for i, e := range f.entries {
		if i > 0 && slices.Equal(e.scores, f.entries[i-1].scores) {
			ties++
		}
		rows = append(rows, e.row)
	}
	return rows, ties
}

// list keeps the rows of show.
type list struct {
	rows  [][]core.Value
	total int
}

// add keeps a row; where the answer needs only the first n of each list, it keeps
// hardly more.
func (l *list) add(p *plan, row []core.Value, n int) {
	l.total++
	l.rows = append(l.rows, p.keepRow(row))
	if n > 0 && len(l.rows) >= 2*n+1024 {
		l.sort(p)
		l.rows = l.rows[:n]
	}
}

func (l *list) sort(p *plan) {
	slices.SortFunc(l.rows, p.ordered)
}

// ordered compares two rows by order by, then by the fixed order.
func (p *plan) ordered(a, b []core.Value) int {
	for _, k := range p.order {
		if c := p.versions.sortValues(k.val(a), k.val(b), k.typ, k.desc); c != 0 {
			return c
		}
	}
	if p.grouped {
		return 0
	}
	return p.arrival(a, b)
}
