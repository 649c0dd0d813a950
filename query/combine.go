package query

import (
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// combineAll judges the combined row of each set of repeats and lets those that
// qualify take part.
func (e *evaluation) combineAll() {
	p := e.p
	for i := range e.tallies {
		t := &e.tallies[i]
		for _, r := range t.inOrder {
			if len(r.rows) == 0 {
				continue
			}
			row := p.combine(r)
			if e.qualifies(t, p.judged, row, len(r.rows)) {
				t.take(p, row, e.buffer, r)
			}
		}
	}
}

// combine makes one row of repeats, which the next one overwrites. One trial alone
// stays as it is.
func (p *plan) combine(r *repeats) []core.Value {
	n := len(r.rows)
	if n > len(p.scratchRows) {
		p.scratchRows = make([][]core.Value, 2*n)
		p.scratch = make([]core.Value, (2*n+1)*p.keep)
	}
	rows := p.scratchRows[:n]
	p.unpackInto(r, rows, p.scratch[p.keep:(n+1)*p.keep])
	p.sortRepeats(rows)
	out := p.scratch[:p.keep:p.keep]
	copy(out, p.representative(rows))
	if len(rows) > 1 {
		xs := make([]float64, 0, len(rows))
		for col, rule := range p.rules {
			switch rule {
			case ruleSum:
				out[col] = sumOf(rows, col)
			case ruleMedian:
				out[col] = medianOf(rows, col, xs)
			case ruleWorst:
				out[col] = worstOf(rows, col)
			case ruleAny:
				out[col] = anyOf(rows, col)
			case ruleSuccessRate:
				out[col] = p.successRate(rows, col)
			}
		}
	}
	out[p.n] = core.Number(float64(len(rows)))
	out[p.failedRepeats] = core.Number(float64(r.failed + p.failedAmong(rows)))
	if p.watched != nil {
		p.watched.combined(p, rows, out)
	}
	p.stands = append(p.stands, standing{repeats: r})
	out[p.stand] = core.Number(float64(len(p.stands) - 1))
	if p.requests != nil {
		out[p.requests.read] = core.Missing() // that of the representative is not the median
	}
	return out
}

// sortRepeats puts repeats into the fixed order.
func (p *plan) sortRepeats(rows [][]core.Value) {
	if len(p.late) > 0 {
		// Their ids decide only where nothing else does, and have to be fetched.
		for i, row := range rows {
			if slices.ContainsFunc(rows[:i], func(o []core.Value) bool { return o[p.started] == row[p.started] }) {
				p.complete(rows)
				break
			}
		}
	}
	slices.SortFunc(rows, p.tieBreak)
}

// representative is the repeat whose value lies closest to the median: of the first
// goal, of the first measured column of show, or of what a curve shows; else the
// first repeat.
func (p *plan) representative(rows [][]core.Value) []core.Value {
	if p.typical == nil {
		return rows[0]
	}
	var xs []float64
	for _, row := range rows {
		if v := p.typical.val(row); v.Kind == core.KindNumber {
			xs = append(xs, v.Num)
		}
	}
	middle := summary("median", xs, 0)
	best, distance := rows[0], math.Inf(1)
	for _, row := range rows {
		if d := arithmetic("-", p.typical.val(row), middle); d.Kind == core.KindNumber && math.Abs(d.Num) < distance {
			best, distance = row, math.Abs(d.Num)
		}
	}
	return best
}

// failedAmong counts failed trials that take part because the query names status.
func (p *plan) failedAmong(rows [][]core.Value) int {
	n := 0
	for _, row := range rows {
		if row[p.status].Text == string(core.StatusFailed) {
			n++
		}
	}
	return n
}

// sumOf is missing when one of the values is: a sum without it would be too small.
func sumOf(rows [][]core.Value, col int) core.Value {
	xs := make([]float64, 0, len(rows))
	for _, row := range rows {
		if row[col].Kind != core.KindNumber {
			return core.Missing()
		}
		xs = append(xs, row[col].Num)
	}
	return summary("sum", xs, 0)
}

// medianOf passes over repeats without a value. What is no number stays where all
// that have one agree.
func medianOf(rows [][]core.Value, col int, xs []float64) core.Value {
	var other core.Value
	for _, row := range rows {
		switch v := row[col]; {
		case v.Kind == core.KindNumber:
			xs = append(xs, v.Num)
		case !known(v):
		case other.IsMissing():
			other = v
		case other != v:
			return core.Missing()
		}
	}
	switch {
	case len(xs) == 0:
		return other
	case known(other):
		return core.Missing()
	}
	return summary("median", xs, 0)
}

func worstOf(rows [][]core.Value, col int) core.Value {
	var out core.Value
	for _, row := range rows {
		if v := row[col]; v.Kind == core.KindNumber && (out.IsMissing() || v.Num > out.Num) {
			out = v
		}
	}
	return out
}

func anyOf(rows [][]core.Value, col int) core.Value {
	t := no
	for _, row := range rows {
		t = t.or(condition(row[col]))
	}
	return t.value()
}

// successRate is that of all requests of the repeats together. Where their numbers
// are unknown, repeats of one rate have that rate, and others none.
func (p *plan) successRate(rows [][]core.Value, col int) core.Value {
	completed, requested := sumOf(rows, p.completed), sumOf(rows, p.requested)
	incomplete := make([]float64, 0, len(rows))
	for _, row := range rows {
		if v := row[p.incomplete]; v.Kind == core.KindNumber {
			incomplete = append(incomplete, v.Num)
		}
	}
	asked := requested
	if len(incomplete) > 0 {
		asked = arithmetic("-", requested, summary("sum", incomplete, 0))
	}
	if asked.Kind == core.KindNumber && completed.Kind == core.KindNumber {
		if asked.Num <= 0 {
			return core.Missing()
		}
		return arithmetic("/", completed, asked)
	}
	rate := rows[0][col]
	for _, row := range rows {
		if row[col] != rate {
			return core.Missing()
		}
	}
	return rate
}
