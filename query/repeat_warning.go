package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// repeatWarnings says where a combined row may not be what it seems.
func (p *plan) repeatWarnings(shown []*group) []Warning {
	if p.q.per == "" {
		return nil
	}
	var out []Warning
	var labels []string
	sizes := map[int]bool{}
	for _, g := range shown {
		for _, row := range g.list.rows {
			if row == nil {
				continue
			}
			rows := p.trialsOf(row)
			sizes[len(rows)] = true
			if p.doubtful(rows) {
				labels = append(labels, p.trialName(row))
			}
		}
	}
	if len(labels) > 0 {
		slices.SortFunc(labels, byNumber)
		out = append(out, Warning{Code: "repeats", Message: listTrials(labels) + ": combines imported trials of different option, because all that is known of their " +
			p.q.per + " is equal", Hint: "add option to by where these are different configurations"})
	}
	if len(p.mixes) > 0 && slices.ContainsFunc(shown, func(g *group) bool { return g.considered > g.taken }) {
		out = append(out, Warning{Code: "repeats", Message: strings.Join(p.mixes, "; ") + ": counts are summed over repeats and other figures are medians",
			Hint: "divide the counts by n"})
	}
	if f := p.sumsRanked(); f != "" && len(sizes) > 1 {
		out = append(out, Warning{Code: "repeats", Message: f + " is summed over repeats, and the rows stand for different numbers of them",
			Hint: "divide it by n"})
	}
	return append(out, p.passedOver(shown)...)
}

// passedOver says which medians of the answer rest on fewer trials than their row.
func (p *plan) passedOver(shown []*group) []Warning {
	lacking, all := make([]int, p.keep), make([]int, p.keep)
	for _, g := range shown {
		for _, row := range g.list.rows {
			if row == nil {
				continue
			}
			rows := p.trialsOf(row)
			for col := range p.keep {
				n := 0
				for _, r := range rows {
					if !known(r[col]) {
						n++
					}
				}
				if n < len(rows) {
					lacking[col] += n
					all[col] += len(rows)
				}
			}
		}
	}
	var out []Warning
	for col, name := range p.columns[:p.keep] {
		if p.rules[col] == ruleMedian && p.asked[name] && lacking[col] > 0 {
			out = append(out, Warning{Code: "missing", Message: fmt.Sprintf("%s: %d of %s lack a value and do not count",
				name, lacking[col], plural(all[col], "repeat"))})
		}
	}
	return out
}

// doubtful reports whether trials count as repeats although imports label them
// differently: of a setup whose command is unknown, little tells one from another.
func (p *plan) doubtful(rows [][]core.Value) bool {
	p.complete(rows)
	imported := false
	options := map[core.Value]bool{}
	for _, row := range rows {
		imported = imported || !known(row[p.launch])
		options[row[p.option]] = true
	}
	return imported && len(options) > 1
}

// sumsRanked is a figure that is summed over repeats and alone decides the rank.
func (p *plan) sumsRanked() string {
	for _, g := range p.goals {
		if g.field != nil && g.col >= 0 && summed(*g.field) {
			return g.field.Name
		}
	}
	return ""
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
