package query

import (
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// miss counts the trials that fail one conjunct, and remembers the one that fails
// this conjunct alone and by least.
type miss struct {
	trials  int
	gap     float64
	nearest []core.Value // the row, nil for none
}

// countMisses notes which conditions a row fails that stands for n trials. Those that
// need samples come last and are not asked where another fails.
func (e *evaluation) countMisses(conds []conjunct, row []core.Value, n int) {
	failed, only := 0, -1
	for _, c := range conds {
		if c.reads && failed > 0 {
			break
		}
		switch c.cond(row) {
		case no:
			e.misses[c.at].trials += n
			failed, only = failed+1, c.at
		case undecided:
			failed++
		}
	}
	if failed != 1 || only < 0 || e.p.where[only].cmp == "" || len(e.p.late) > 0 {
		return
	}
	kids := e.p.where[only].kids
	l, r := kids[0].val(row), kids[1].val(row)
	gap := arithmetic("-", l, r)
	if gap.Kind != core.KindNumber {
		return
	}
	m, distance := &e.misses[only], math.Abs(gap.Num)
	if m.nearest == nil || distance < m.gap || (distance == m.gap && e.p.tieBreak(row, m.nearest) < 0) {
		m.gap, m.nearest = distance, e.p.keepRow(row)
	}
}
