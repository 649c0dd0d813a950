package query

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// weight is what one member of a group counts for.
type weight struct {
	member core.Value
	weight float64
}

// over is the over clause: groups compete by a geometric mean over their members.
type over struct {
	node    *node
	weights []weight // nil: every member counts 1
}

// cell is the best trial of one member in one group: of all and of the sound ones.
type cell struct {
	member      core.Value
	best, sound entry
	residue     *residue
}

// What stands behind the kept columns in a row that stands for a group.
const (
	overScore = iota
	overTrials
	overFindings
	overFailed // repeats
	overWidth
)

// weightList reads {"a": 2, "b": 1}.
func (q *Query) weightList(c clause) ([]weight, error) {
	n := len(c.tokens)
	if n < 2 || c.tokens[0].text != "{" || c.tokens[n-1].text != "}" || c.tokens[n-1].depth != c.tokens[0].depth {
		return nil, syntaxError(q.text, c.off, "weights wants members and numbers: weights {\"chat\": 2, \"code\": 1}")
	}
	inner := clause{word: c.word, off: c.off, start: c.tokens[0].end(), end: c.tokens[n-1].off}
	for _, t := range c.tokens[1 : n-1] {
		t.depth--
		inner.tokens = append(inner.tokens, t)
	}
	var out []weight
	for _, part := range inner.parts() {
		colon := slices.IndexFunc(part.tokens, func(t token) bool { return t.text == ":" && t.kind == symbolToken && t.depth == 0 })
		if colon < 0 {
			return nil, syntaxError(q.text, min(max(part.start, c.off), part.end), "weights wants a member, a colon and a number: \"chat\": 2")
		}
		at := part.tokens[colon]
		key, err := parseExpression(q.text, part.start, at.off, "weights")
		if err != nil {
			return nil, err
		}
		w := weight{member: literalOf(key.root)}
		if w.member.IsMissing() {
			return nil, key.errorf(key.off, "a member of weights is a text in quotes, a number, true or false")
		}
		value, err := parseExpression(q.text, at.end(), part.end, "weights")
		if err != nil {
			return nil, err
		}
		v := literalOf(value.root)
		if v.Kind != core.KindNumber || v.Num < 0 || v.IsUnlimited() {
			return nil, value.errorf(value.off, "a weight is a number, 0 or above")
		}
		w.weight = v.Num
		if slices.ContainsFunc(out, func(o weight) bool { return o.member == w.member }) {
			return nil, key.errorf(key.off, "%s stands twice in weights", key.text)
		}
		out = append(out, w)
	}
	if !slices.ContainsFunc(out, func(w weight) bool { return w.weight > 0 }) {
		return nil, syntaxError(q.text, c.off, "no weight is above 0")
	}
	return out, nil
}

// literalOf is the value of a literal, missing for anything else.
func literalOf(n ast.Node) core.Value {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return core.Number(float64(n.Value))
	case *ast.FloatNode:
		return core.Number(n.Value)
	case *ast.StringNode:
		return core.String(n.Value)
	case *ast.BoolNode:
		return core.Bool(n.Value)
	case *ast.IdentifierNode:
		if n.Value == "unlimited" {
			return core.Unlimited()
		}
	case *ast.UnaryNode:
		if v := literalOf(n.Node); v.Kind == core.KindNumber && n.Operator == "-" {
			return arithmetic("*", v, core.Number(-1))
		} else if v.Kind == core.KindNumber && n.Operator == "+" {
			return v
		}
	}
	return core.Missing()
}

func (p *plan) planOver() error {
	e := p.q.over
	if e == nil {
		return nil
	}
	n, err := p.compiler(e, "over").compile(e.root)
	if err != nil {
		return err
	}
	if n.lit != nil {
		return e.errorf(e.off, "over %s: every trial has the same", e.text)
	}
	if p.vs != nil && !p.goals[0].base {
		return syntaxError(p.q.text, p.q.vs.off, "over compares groups: put the baseline into the value, as in %s %s / base(%s)",
			p.q.verb, p.q.goals[0].text, p.q.goals[0].text)
	}
	p.over = &over{node: n, weights: p.q.weights}
	p.early = p.early || n.base
	return nil
}

// weightOf is what a member counts for; ok is false for one that weights leaves out.
func (o *over) weightOf(member core.Value) (w float64, ok bool) {
	if o.weights == nil {
		return 1, true
	}
	i := slices.IndexFunc(o.weights, func(w weight) bool { return w.member == member })
	if i < 0 || o.weights[i].weight == 0 {
		return 0, false
	}
	return o.weights[i].weight, true
}

func (g *group) cellOf(p *plan, row []core.Value) *cell {
	member := p.over.node.val(row)
	key := string(appendKey(nil, member))
	c := g.cells[key]
	if c == nil {
		if g.cells == nil {
			g.cells = map[string]*cell{}
		}
		c = &cell{member: member, residue: p.newResidue()}
		g.cells[key] = c
	}
	return c
}

// add keeps a row where it is the best of its member.
func (c *cell) add(p *plan, row []core.Value, score float64) {
	keep := func(e *entry) {
		if e.row == nil || score > e.scores[0] || (score == e.scores[0] && p.tieBreak(row, e.row) < 0) {
			*e = entry{row: p.keepRow(row), scores: []float64{score}}
		}
	}
	keep(&c.best)
	if !p.tainted(row) {
		keep(&c.sound)
	}
}

// scored is a group with its score.
type scored struct {
	g     *group
	score float64 // higher is better
	row   []core.Value
}

// compete scores the groups, leaves rows in those that win, and puts the groups in
// the order of the answer: the winners from best to worst, then the others as they
// were. It returns how many tie with the first.
func (p *plan) compete(groups []*group) (ties int) {
	members := p.members(groups)
	all := p.scored(groups, members, false)
	if len(all) == 0 {
		return 0
	}
	limit := tieLimit(p, all[0].score)
	n := 0
	for i, s := range all {
		tied := s.score >= limit
		if tied {
			ties++
		}
		if !tied && (p.q.top == 0 || i >= p.q.top && s.score < all[p.q.top-1].score) {
			break
		}
		s.g.list.rows = [][]core.Value{s.row}
		n++
	}
	if p.severityOf(all[0].row) >= core.SeverityHard {
		all[0].g.unsound = true
		if sound := p.scored(groups, members, true); len(sound) > 0 {
			all[0].g.sound, all[0].g.soundGroup = sound[0].row, sound[0].g
		}
	}
	rank := map[*group]int{}
	for i, s := range all[:n] {
		rank[s.g] = i - n
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(rank[a], rank[b]) })
	return ties - 1
}

// members are those that every group must have, in order: the weighted ones, else
// all that occur.
func (p *plan) members(groups []*group) []core.Value {
	var out []core.Value
	if p.over.weights != nil {
		for _, w := range p.over.weights {
			if w.weight > 0 {
				out = append(out, w.member)
			}
		}
	} else {
		seen := map[string]core.Value{}
		for _, g := range groups {
			for key, c := range g.cells {
				seen[key] = c.member
			}
		}
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			out = append(out, seen[key])
		}
	}
	slices.SortStableFunc(out, func(a, b core.Value) int { return p.versions.sortValues(a, b, p.over.node.typ, false) })
	return out
}

// scored gives the groups that have a score, best first.
func (p *plan) scored(groups []*group, members []core.Value, sound bool) []scored {
	var out []scored
	better := float64(p.goals[0].better)
	for _, g := range groups {
		var rows [][]core.Value
		var values, weights []float64
		for _, m := range members {
			c := g.cells[string(appendKey(nil, m))]
			if c == nil {
				break
			}
			e := c.best
			if sound {
				e = c.sound
			}
			if e.row == nil || e.scores[0]*better <= 0 || math.IsInf(e.scores[0], 0) {
				break
			}
			w, _ := p.over.weightOf(m)
			rows, values, weights = append(rows, e.row), append(values, e.scores[0]*better), append(weights, w)
		}
		if len(rows) < len(members) || len(members) == 0 {
			continue
		}
		value, ok := geometricMean(values, weights)
		if !ok {
			continue
		}
		out = append(out, scored{g, value * better, p.overRow(rows, value)})
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return out
}

// geometricMean measures the values by the largest of them, so that one value is its
// own mean to the last bit and round figures stay round.
func geometricMean(values, weights []float64) (mean float64, ok bool) {
	largest := slices.Max(values)
	shares := make([]float64, len(values))
	for i, v := range values {
		shares[i] = v / largest
	}
	mean, ok = stats.GeometricMean(shares, weights)
	return mean * largest, ok
}

// overRow stands for a group: what all its members' trials agree in, number and id
// of the first of them, and the score.
func (p *plan) overRow(rows [][]core.Value, score float64) []core.Value {
	out := make([]core.Value, p.keep+overWidth)
	copy(out, rows[0])
	for _, row := range rows[1:] {
		for col := range p.keep {
			if out[col] != row[col] && col != p.number && col != p.id && col != p.started {
				out[col] = core.Missing()
			}
		}
	}
	var n, failed, findings float64
	for _, row := range rows {
		n += p.repeatsIn(row)
		if p.failedRepeats >= 0 {
			failed += row[p.failedRepeats].Num
		}
		findings += row[p.findings].Num
	}
	p.stands = append(p.stands, standing{rows: rows})
	out[p.stand] = core.Number(float64(len(p.stands) - 1))
	out[p.keep+overScore] = core.Number(score)
	out[p.keep+overTrials] = core.Number(n)
	out[p.keep+overFailed] = core.Number(failed)
	out[p.keep+overFindings] = core.Number(findings)
	return out
}

// memberWarnings says which groups have no score, and why.
func (p *plan) memberWarnings(groups []*group) []Warning {
	var out []Warning
	members := p.members(groups)
	var lacking []string
	nowhere := map[core.Value]bool{}
	for _, m := range members {
		key := string(appendKey(nil, m))
		nowhere[m] = !slices.ContainsFunc(groups, func(g *group) bool { return g.cells[key] != nil })
		if nowhere[m] {
			out = append(out, Warning{Code: "members", Message: fmt.Sprintf("no trial that takes part has %s = %s, so that no group has a score",
				p.q.over.text, printed(m, p.over.node.typ))})
		}
	}
	better := float64(p.goals[0].better)
	for _, g := range groups {
		if g.considered == 0 {
			continue
		}
		var without, low []string
		for _, m := range members {
			c := g.cells[string(appendKey(nil, m))]
			switch {
			case c == nil && !nowhere[m]:
				without = append(without, printed(m, p.over.node.typ).String())
			case c != nil && (c.best.scores[0]*better <= 0 || math.IsInf(c.best.scores[0], 0)):
				low = append(low, printed(m, p.over.node.typ).String())
			}
		}
		name := "the history"
		if len(p.by) > 0 {
			name = p.keyText(g.key)
		}
		if len(without) > 0 {
			lacking = append(lacking, name+" lacks "+strings.Join(without, ", "))
		}
		if len(low) > 0 {
			lacking = append(lacking, fmt.Sprintf("%s is not above 0 for %s in %s", p.q.goals[0].name, strings.Join(low, ", "), name))
		}
	}
	if len(lacking) > 0 {
		const most = 5
		text := strings.Join(lacking[:min(most, len(lacking))], "; ")
		if n := len(lacking) - most; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, Warning{Code: "members", Message: "no score without every " + p.q.over.text + ": " + text})
	}
	return out
}
