package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Cause is one thing that keeps a trial out of an answer, or that it is in it.
type Cause struct {
	Clause string // the part of the query
	Text   string
}

// watched is one trial whose way through the clauses is followed.
type watched struct {
	number float64
	row    []core.Value // as it was read
	whole  []core.Value // with per, the combined row that it is part of
}

func (w *watched) see(p *plan, row []core.Value) {
	if row[p.number].Kind == core.KindNumber && row[p.number].Num == w.number {
		w.row = slices.Clone(row)
	}
}

func (w *watched) combined(p *plan, rows [][]core.Value, out []core.Value) {
	if slices.ContainsFunc(rows, func(row []core.Value) bool { return row[p.number].Num == w.number }) {
		w.whole = slices.Clone(out)
	}
}

// Why tells what keeps a trial from winning a query of max, min, pareto or show: its
// status, a condition and by how much it fails, a figure that is missing or too small
// and by how much. With per it speaks of the row that the trial's repeats make. The
// answer to the query comes along. A trial that is not there is core.ErrNotFound.
func Why(ctx context.Context, src Source, number int64, text string, opt Options) ([]Cause, *Answer, error) {
	q, err := Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains([]string{"max", "min", "pareto", "show"}, q.verb) || q.over != nil {
		return nil, nil, syntaxError(text, 0, "a trial can be followed through max, min, pareto and show, without over")
	}
	names, err := src.Names(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read names: %w", err)
	}
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	w := &watched{number: float64(number)}
	p, err := q.plan(names, opt, func(p *plan) { p.from(ctx, src); p.all, p.watched = true, w })
	if err != nil {
		return nil, nil, err
	}
	if p.grouped {
		return nil, nil, syntaxError(text, 0, "why asks of one trial, and aggregates show groups")
	}
	a, err := p.run(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	if w.row == nil {
		return nil, nil, fmt.Errorf("trial %d: %w in this history", number, core.ErrNotFound)
	}
	return p.causes(w, a), a, nil
}

// causes follows the trial through the clauses until one keeps it out.
func (p *plan) causes(w *watched, a *Answer) []Cause {
	row := w.row
	if (p.okOnly || p.unretracted) && !p.takes(core.Status(row[p.status].Text)) {
		which := "only trials with status ok take part"
		if p.unretracted {
			which = "such trials take part only where a question names it"
		}
		return []Cause{{"status", "its status is " + row[p.status].Text + ", and " + which}}
	}
	if p.split && row[p.simulated].True() && a.Excluded.Simulated > 0 {
		return []Cause{{"simulated", "it is simulated, and real trials qualify"}}
	}
	conds := p.where
	if p.q.per != "" {
		if out := p.failing(p.filters, row); out != nil {
			return out
		}
		if conds = p.judged; w.whole == nil {
			return []Cause{{"per " + p.q.per, "no combined row holds it"}}
		}
		row = w.whole
	}
	out := p.failing(conds, row)
	if out == nil {
		for i, g := range p.goals {
			if v := g.val(row); v.Kind != core.KindNumber {
				out = append(out, Cause{p.q.goals[i].name, unknown(v) + ", so that it cannot be ranked"})
			}
		}
	}
	rank := p.rankOf(row, a)
	if out != nil && len(p.goals) > 0 && len(rank) > 0 && rank[0].Clause != "" && !slices.ContainsFunc(p.goals, func(g rankedGoal) bool { return g.val(row).Kind != core.KindNumber }) {
		// What it would have come to otherwise is half of the answer.
		return append(out, Cause{rank[0].Clause, "without that: " + rank[0].Text})
	}
	if out != nil {
		return out
	}
	return rank
}

func unknown(v core.Value) string {
	if v.Kind == core.KindUnset {
		return "it is unset"
	}
	if v.IsMissing() {
		return "it is unknown"
	}
	return "it is " + v.String()
}

// failing says of each condition that a row fails by how much.
func (p *plan) failing(conds []conjunct, row []core.Value) []Cause {
	var out []Cause
	for _, c := range conds {
		switch c.cond(row) {
		case no:
			text := "false: " + p.valuesOf(c.node, row)
			if c.cmp != "" {
				if gap := arithmetic("-", c.kids[0].val(row), c.kids[1].val(row)); gap.Kind == core.KindNumber && gap.Num != 0 {
					side := "above"
					if gap.Num < 0 {
						side = "below"
					}
					text += fmt.Sprintf(", %s %s", short(math.Abs(gap.Num)), side)
				}
			}
			out = append(out, Cause{"where " + c.text, text})
		case undecided:
			out = append(out, Cause{"where " + c.text, "undecided: " + p.valuesOf(c.node, row)})
		}
	}
	return out
}

// valuesOf lists the fields that a node names with their values in a row.
func (p *plan) valuesOf(n *node, row []core.Value) string {
	var parts []string
	var walk func(n *node)
	walk = func(n *node) {
		if n.col >= 0 {
			v := printed(row[n.col], n.typ)
			text := v.String()
			if !known(v) {
				text = map[bool]string{true: "unset", false: "unknown"}[v.Kind == core.KindUnset]
			}
			if part := p.columns[n.col] + " is " + text; !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
		for _, kid := range n.kids {
			walk(kid)
		}
	}
	walk(n)
	if len(parts) == 0 {
		return "it holds for no such trial"
	}
	return strings.Join(parts, ", ")
}

// rankOf says where a row that takes part comes in among those of its group. A
// reason without a clause says that it is in the answer.
func (p *plan) rankOf(row []core.Value, a *Answer) []Cause {
	var key []core.Value
	for _, k := range p.by {
		key = append(key, k.val(row))
	}
	at := slices.IndexFunc(a.Groups, func(g Group) bool { return slices.Equal(g.Key, key) })
	switch {
	case at >= 0:
	case p.q.having == nil:
		return nil // nothing qualifies at all
	default:
		return []Cause{{"having", "its group, " + p.keyText(key) + ", is left out"}}
	}
	g := a.Groups[at]
	number := a.Column("number")
	if number >= 0 {
		for i, r := range a.Rows[g.First:g.Last] {
			if r[number] == row[p.number] {
				return []Cause{{"", p.placeOf(i, g)}}
			}
		}
	}
	switch {
	case p.q.verb == "show" && number < 0:
		return []Cause{{"", "it passes every condition; show number to see which row it is"}}
	case p.q.verb == "show":
		return []Cause{{"limit", "it passes every condition, and the answer shows other rows first"}}
	case g.First == g.Last:
		return []Cause{{"limit", "the answer ends before its group"}}
	case p.q.verb == "pareto":
		return p.dominated(row, a, g)
	}
	goal := p.q.goals[0]
	best := a.Rows[g.First]
	mine, winners := p.goals[0].val(row), best[a.Column(goal.name)]
	if mine.Kind != core.KindNumber || winners.Kind != core.KindNumber {
		return nil
	}
	gap := (winners.Num - mine.Num) * float64(goal.better)
	name := "trial " + best[number].String()
	switch {
	case gap > 0:
		return []Cause{{goal.name, fmt.Sprintf("%s against %s of %s: %s", short(mine.Num), short(winners.Num), name, p.behind(mine.Num, winners.Num))}}
	case gap == 0 && len(p.prefer) > 0:
		return []Cause{{"prefer", fmt.Sprintf("ties with %s at %s, and prefer chose that", name, short(mine.Num))}}
	}
	return []Cause{{goal.name, fmt.Sprintf("%s is no worse than %s of %s", short(mine.Num), short(winners.Num), name)}}
}

func (p *plan) placeOf(i int, g Group) string {
	where := ""
	if len(p.by) > 0 {
		where = " of " + p.keyText(g.Key)
	}
	switch {
	case p.q.verb == "pareto":
		return "it is on the front" + where
	case p.q.verb == "show":
		return "it is in the answer" + where
	case i == 0 && g.Ties == 0:
		return "it wins" + where
	case i <= g.Ties:
		return fmt.Sprintf("it wins%s, tied with %s", where, plural(g.Ties, "other row"))
	}
	return fmt.Sprintf("it is number %d%s", i+1, where)
}

// behind is a difference in the unit and as a share.
func (p *plan) behind(mine, best float64) string {
	gap := math.Abs(best - mine)
	text := short(gap) + " behind"
	if best != 0 {
		text += fmt.Sprintf(" (%s %%)", short(100*gap/math.Abs(best)))
	}
	return text
}

// dominated names rows of the front that are nowhere worse.
func (p *plan) dominated(row []core.Value, a *Answer, g Group) []Cause {
	const most = 3
	var out []Cause
	n := 0
	for _, r := range a.Rows[g.First:g.Last] {
		var parts []string
		worse := true
		for i, goal := range p.q.goals {
			mine, theirs := p.goals[i].val(row), r[a.Column(goal.name)]
			if mine.Kind != core.KindNumber || theirs.Kind != core.KindNumber || (theirs.Num-mine.Num)*float64(goal.better) < 0 {
				worse = false
				break
			}
			parts = append(parts, fmt.Sprintf("%s %s against %s", goal.name, short(mine.Num), short(theirs.Num)))
		}
		if !worse {
			continue
		}
		if n++; n <= most {
			out = append(out, Cause{"pareto", fmt.Sprintf("trial %s is nowhere worse: %s", r[a.Column("number")], strings.Join(parts, ", "))})
		}
	}
	if n > most {
		out = append(out, Cause{"pareto", plural(n-most, "further trial") + " of the front too"})
	}
	if n == 0 {
		out = append(out, Cause{"pareto", "nothing of the front is better in all, which is a matter of limit"})
	}
	return out
}

// short is a number for people.
func short(x float64) string {
	switch size := math.Abs(x); {
	case size >= 1e15 || (size > 0 && size < 1e-4):
		return strconv.FormatFloat(x, 'g', 4, 64)
	case x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', -1, 64)
	case size >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
