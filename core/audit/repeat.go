package audit

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

func repeatRules() []Rule {
	return []Rule{
		{
			ID: "D5", Version: 1, Severity: core.SeverityInfo, Metrics: nil,
			Title: "printed more than once",
			Doc:   "Another record has the same figures: one trial, told twice. It must not be counted as a second run.",
			check: func(x *subject) []hit {
				if first, ok := x.study.firstRecord[x.t.ID]; ok && first.record != x.keys.record && x.keys.record != "" {
					return one("the same figures as at " + first.place)
				}
				if len(x.t.Sources) > 1 {
					return one(fmt.Sprintf("%d sources print it: %s", len(x.t.Sources), places(x.t.Sources)))
				}
				return nil
			},
		},
		{
			ID: "D6", Version: 1, Severity: core.SeverityInfo, Metrics: nil,
			Title: "repeat of an earlier trial",
			Doc: "Setup, workload and load are those of an earlier trial and the figures are not: the difference is the noise of this measurement, and " +
				"a gain below it says nothing.",
			check: func(x *subject) []hit {
				first, ok := x.study.firstRepeat[x.keys.repeat]
				if !ok || first.id == x.t.ID {
					return nil
				}
				mine, ok := x.get("total_tps")
				if !ok || first.total <= 0 {
					return one("repeats " + first.place)
				}
				return one(fmt.Sprintf("repeats %s: total_tps %s against %s, %s apart", first.place, num(mine), num(first.total), percent(abs(mine/first.total-1))))
			},
		},
	}
}

func abs(v float64) float64 { return max(v, -v) }

func places(sources []core.Source) string {
	text := ""
	for i, s := range sources {
		switch {
		case i == 3:
			return text + ", …"
		case i > 0:
			text += ", "
		}
		text += placeOf(s)
	}
	return text
}

func placeOf(s core.Source) string {
	if s.Position == "" {
		return s.File
	}
	return s.File + " " + s.Position
}
