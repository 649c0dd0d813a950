package query

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// restsWorth is the failure rate that an answer must be able to hide before a warning
// says so: with 300 requests and more the bound lies below it.
const restsWorth = 0.01

// asksForAll reports whether a condition holds only where no request failed.
func asksForAll(n *node) bool {
	if n.cmp != "==" && n.cmp != ">=" || len(n.kids) != 2 {
		return false
	}
	rate, all := n.kids[0], n.kids[1]
	return rate.field != nil && rate.field.Name == "success_rate" && all.lit != nil && *all.lit == core.Number(1)
}

// restsWarnings says on how few requests it rests that none failed: the fewest that a
// row of the answer has. A rate of 1 over a few is no rate of 1.
func (p *plan) restsWarnings(shown []*group) []Warning {
	if p.answered < 0 {
		return nil
	}
	var least []core.Value
	rows := 0
	for _, g := range shown {
		for _, row := range g.list.rows {
			if row == nil || row[p.answered].Kind != core.KindNumber || row[p.answered].Num < 1 {
				continue
			}
			bound, _ := stats.FailureBound(int(row[p.answered].Num), 0.95)
			if bound <= restsWorth {
				continue
			}
			if rows++; least == nil || row[p.answered].Num < least[p.answered].Num {
				least = row
			}
		}
	}
	if least == nil {
		return nil
	}
	n := int(least[p.answered].Num)
	bound, _ := stats.FailureBound(n, 0.95)
	w := Warning{Code: "rests", Message: fmt.Sprintf("success_rate == 1 rests on %s of trial %s: a failure rate up to %.2g %% is not excluded at 95 %%",
		plural(n, "request"), p.trialName(least), 100*bound)}
	if rows > 1 {
		w.Message += fmt.Sprintf(" (%d rows rest on fewer than 300)", rows)
	}
	return []Warning{w}
}
