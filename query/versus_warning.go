package query

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// isBaseline reports whether vs compares with a trial.
func (p *plan) isBaseline(row []core.Value) bool {
	return (!p.vs.okOnly || row[p.status].Text == string(core.StatusOK)) && p.vs.cond.cond(row) == yes
}

// partOf reports whether a trial that a row stands for is among its own baselines.
func (p *plan) partOf(row []core.Value, key string) bool {
	for _, one := range p.trialsOf(row) {
		if p.isBaseline(one) && p.vs.exprs[0].val(one).Kind == core.KindNumber && p.versusKey(one) == key {
			return true
		}
	}
	return false
}

// baselineWarnings says that rows are compared with medians of several trials: of the
// row whose baselines lie furthest apart, how many these are and their range, and how
// many rows are part of what they are compared with.
func (p *plan) baselineWarnings(shown []*group) []Warning {
	rows, several, own := 0, 0, 0
	var widest []float64
	var of []core.Value
	for _, g := range shown {
		for _, row := range g.list.rows {
			if row == nil {
				continue
			}
			rows++
			key := p.versusKey(row)
			b := p.vs.found[key]
			if b == nil || len(b.values[0]) < 2 {
				continue
			}
			several++
			if p.partOf(row, key) {
				own++
			}
			b.settle()
			if widest == nil || cmp.Compare(apart(b.values[0]), apart(widest)) > 0 {
				widest, of = b.values[0], row
			}
		}
	}
	if several == 0 {
		return nil
	}
	text := fmt.Sprintf("the median of %s, %.6g to %.6g", trials(len(widest)), widest[0], widest[len(widest)-1])
	switch name := p.trialName(of); {
	case rows > 1:
		text = fmt.Sprintf("a median of several trials in %d of %d rows; in that of trial %s %s", several, rows, name, text)
		if own > 0 {
			text += fmt.Sprintf("; in %s the row's own trial is among them", plural(own, "row"))
		}
	case own > 0:
		text += fmt.Sprintf(", trial %s itself among them", name)
	}
	return []Warning{{Code: "baseline", Message: "base(" + p.vs.texts[0] + "): " + text}}
}

// apart is how far sorted values lie apart, as a share of their median.
func apart(xs []float64) float64 {
	return (xs[len(xs)-1] - xs[0]) / math.Abs(quantile(xs, 0.5))
}
