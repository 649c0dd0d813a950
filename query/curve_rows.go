package query

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// curveRows answers for one group: the rows of its curves, and how many tie with the
// first.
func (p *plan) curveRows(g *group) (rows [][]core.Value, ties int) {
	var all [][]level
	for _, key := range slices.Sorted(maps.Keys(g.curves)) {
		all = append(all, g.curves[key].levels(p))
	}
	slices.SortStableFunc(all, func(a, b []level) int { return p.tieBreak(a[0].points[0].row, b[0].points[0].row) })
	for _, levels := range all {
		if len(levels) == 1 {
			p.curve.single++
		}
		switch p.q.verb {
		case "first":
			rows = append(rows, p.first(levels)...)
		case "last":
			rows = append(rows, p.last(levels)...)
		case "at":
			rows = append(rows, p.crossings(levels)...)
		case "change":
			rows = append(rows, p.changes(levels)...)
		}
	}
	if p.q.verb == "at" || p.q.verb == "change" || len(rows) == 0 {
		return rows, 0
	}
	// The curve that breaks first comes first, or the one that holds longest.
	place := func(row []core.Value) core.Value { return p.curve.along.val(row[:p.keep]) }
	order := func(a, b []core.Value) int {
		return p.versions.sortValues(place(a), place(b), p.curve.along.typ, p.q.verb == "last")
	}
	slices.SortStableFunc(rows, order)
	ties = len(rows)
	if i := slices.IndexFunc(rows, func(row []core.Value) bool { return order(rows[0], row) != 0 }); i >= 0 {
		ties = i
	}
	if top := p.q.top; top > 0 && top < len(rows) {
		last := rows[top-1]
		if i := slices.IndexFunc(rows, func(row []core.Value) bool { return order(last, row) < 0 }); i >= 0 {
			rows = rows[:i]
		}
	}
	return rows, ties - 1
}

// curveRow joins the two trials of a row and what is said of them.
func (p *plan) curveRow(answer, other []core.Value, levels ...level) []core.Value {
	out := make([]core.Value, 2*p.keep+curveWidth)
	copy(out, answer[:p.keep])
	if other != nil {
		copy(out[p.keep:], other[:p.keep])
	}
	var n, failed float64
	for _, l := range levels {
		var rows [][]core.Value
		for _, at := range l.points {
			rows = append(rows, at.row)
			n += p.repeatsIn(at.row)
			if p.failedRepeats >= 0 {
				failed += at.row[p.failedRepeats].Num
			}
		}
		if p.doubtful(rows) {
			p.note(&p.curve.doubt, "%s", p.named(l, l.points[0]))
		}
	}
	findings := answer[p.findings].Num
	if other != nil && p.q.verb == "at" && other[p.id] != answer[p.id] {
		findings += other[p.findings].Num
	}
	out[2*p.keep+curveTrials] = core.Number(n)
	out[2*p.keep+curveFailed] = core.Number(failed)
	out[2*p.keep+curveFindings] = core.Number(findings)
	return out
}

// named names a place and its trial in a message.
func (p *plan) named(l level, at point) string {
	return fmt.Sprintf("%s = %s (trial %s)", p.q.along.text, printed(l.x, p.curve.along.typ), p.trialName(at.row))
}

// pick is the first point of a level of which holds is as wanted.
func (l level) pick(holds bool) (point, bool) {
	i := slices.IndexFunc(l.points, func(at point) bool { return at.holds == holds })
	if i < 0 {
		return point{}, false
	}
	return l.points[i], true
}

// note keeps what a message says of a curve.
func (p *plan) note(list *[]string, format string, args ...any) {
	*list = append(*list, fmt.Sprintf(format, args...))
}

func (p *plan) noteMixed(levels []level) {
	for _, l := range levels {
		_, some := l.pick(true)
		if at, not := l.pick(false); some && not {
			p.note(&p.curve.mixed, "%s", p.named(l, at))
		}
	}
}

// first brackets the lowest place at which the condition holds for any trial.
func (p *plan) first(levels []level) [][]core.Value {
	p.noteMixed(levels)
	i := slices.IndexFunc(levels, func(l level) bool { _, ok := l.pick(true); return ok })
	end := levels[len(levels)-1]
	if i < 0 {
		p.note(&p.curve.never, "up to %s", p.named(end, end.points[0]))
		return nil
	}
	at, _ := levels[i].pick(true)
	var before []core.Value
	if i > 0 {
		before = levels[i-1].points[0].row
	} else {
		p.note(&p.curve.open, "from the lowest on, %s", p.named(levels[0], at))
	}
	for _, l := range levels[i+1:] {
		if _, any := l.pick(true); !any {
			p.note(&p.curve.later, "%s, above %s", p.named(l, l.points[0]), p.named(levels[i], at))
		}
	}
	return [][]core.Value{p.curveRow(at.row, before, levels[i])}
}

// last brackets the end of the run, from the lowest place on, through which the
// condition holds for every trial.
func (p *plan) last(levels []level) [][]core.Value {
	p.noteMixed(levels)
	i := slices.IndexFunc(levels, func(l level) bool { _, ok := l.pick(false); return ok })
	switch i {
	case -1:
		end := levels[len(levels)-1]
		p.note(&p.curve.open, "up to the highest, %s", p.named(end, end.points[0]))
		return [][]core.Value{p.curveRow(end.points[0].row, nil, end)}
	case 0:
		at, _ := levels[0].pick(false)
		p.note(&p.curve.never, "not at the lowest, %s", p.named(levels[0], at))
	}
	breaks, _ := levels[i].pick(false)
	for _, l := range levels[i+1:] {
		if _, not := l.pick(false); !not {
			p.note(&p.curve.later, "%s, above %s", p.named(l, l.points[0]), p.named(levels[i], breaks))
		}
	}
	if i == 0 {
		return nil
	}
	end := levels[i-1]
	return [][]core.Value{p.curveRow(end.points[0].row, breaks.row, end)}
}

// middle is the median value of a level and the point that lies closest to it.
func (l level) middle() (value float64, at point) {
	xs := make([]float64, 0, len(l.points))
	for _, at := range l.points {
		xs = append(xs, at.value)
	}
	slices.Sort(xs)
	value = quantile(xs, 0.5)
	at = l.points[0]
	for _, o := range l.points {
		if math.Abs(o.value-value) < math.Abs(at.value-value) {
			at = o
		}
	}
	return value, at
}

// crossings are the places at which the value is reached: measured, or between two
// neighbours of which one lies above and one below.
func (p *plan) crossings(levels []level) [][]core.Value {
	var rows [][]core.Value
	add := func(x core.Value, a, b level) {
		va, at := a.middle()
		vb, bt := b.middle()
		row := p.curveRow(at.row, bt.row, a, b)
		if len(a.points) > 0 && a.x == b.x {
			row = p.curveRow(at.row, at.row, a)
		}
		row[2*p.keep+curveAt], row[2*p.keep+curveBefore], row[2*p.keep+curveAfter] = x, core.Number(va), core.Number(vb)
		rows = append(rows, row)
	}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i, l := range levels {
		v, _ := l.middle()
		lowest, highest = min(lowest, v), max(highest, v)
		if v == p.q.target {
			add(l.x, l, l)
			continue
		}
		if i+1 == len(levels) {
			continue
		}
		if w, _ := levels[i+1].middle(); (v < p.q.target) != (w < p.q.target) && w != p.q.target {
			from := core.Number(v)
			share := arithmetic("/", arithmetic("-", core.Number(p.q.target), from), arithmetic("-", core.Number(w), from))
			x := arithmetic("+", l.x, arithmetic("*", share, arithmetic("-", levels[i+1].x, l.x)))
			if x.IsMissing() {
				_, at := l.middle()
				p.note(&p.curve.between, "%s", p.named(l, at))
			}
			add(x, l, levels[i+1])
		}
	}
	start := levels[0].points[0]
	switch {
	case len(rows) == 0:
		p.note(&p.curve.never, "the curve of trial %s goes from %s to %s", p.trialName(start.row),
			core.Number(lowest), core.Number(highest))
	case len(rows) > 1:
		p.note(&p.curve.later, "%d places on the curve of trial %s", len(rows), p.trialName(start.row))
	}
	return rows
}

// changes compares each level with the one before it.
func (p *plan) changes(levels []level) [][]core.Value {
	var rows [][]core.Value
	for i := 1; i < len(levels); i++ {
		before, from := levels[i-1].middle()
		after, to := levels[i].middle()
		row := p.curveRow(to.row, from.row, levels[i])
		row[2*p.keep+curveBefore], row[2*p.keep+curveAfter] = core.Number(before), core.Number(after)
		rows = append(rows, row)
	}
	return rows
}
