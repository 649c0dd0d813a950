package query

import (
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// aggregate is one call such as median(total_tps), evaluated over the trials of a
// group. Its result stands behind the keys in the group's row.
type aggregate struct {
	name string
	text string // canonical, to use equal calls once
	arg  *node  // nil for count()
	p    float64
	// severity is that of the figures which a shown aggregate of numbers rests on.
	severity []severityColumn
}

// aggregate compiles a call that stands for a group.
func (c *compiler) aggregate(f function, args []ast.Node, off int) (*node, error) {
	switch {
	case c.inside != "":
		return nil, c.errorf(off, "%s inside %s: an aggregate of an aggregate has no meaning", f.name, c.inside)
	case c.group == nil:
		if f.most < 0 {
			return nil, c.errorf(off, "%s of one value is an aggregate, which has no meaning in %s", f.name, c.clause)
		}
		return nil, c.errorf(off, "%s is an aggregate, which has no meaning in %s", f.name, c.clause)
	}
	agg := &aggregate{name: f.name}
	inner := *c
	inner.inside = f.name
	typ, field := core.NumberType, (*core.Field)(nil)
	if len(args) > 0 {
		arg, err := inner.compile(args[0])
		if err != nil {
			return nil, err
		}
		agg.arg = arg
		if err := c.aggregateType(f.name, args[0], arg); err != nil {
			return nil, err
		}
		if arg.typ == core.TimeType && (f.name == "min" || f.name == "max") {
			typ = core.TimeType
		}
		field = arg.field
	}
	if f.name == "p" {
		p, err := inner.number(args[1])
		if err != nil {
			return nil, err
		}
		if p.lit == nil || p.lit.Num < 0 || p.lit.Num > 100 {
			return nil, c.errorf(c.start(args[1]), "p wants a percentile from 0 to 100: p(x, 99)")
		}
		agg.p = p.lit.Num
	}
	if f.name == "count" || f.name == "sum" || f.name == "stdev" {
		field = nil
	}
	agg.text = f.name + "(" + argTexts(args) + ")"
	slot := c.plan.slot(agg)
	if f.name == "all" || f.name == "any" {
		return conditionNode(func(row []core.Value) tri { return condition(row[slot]) }), nil
	}
	out := valueNode(typ, func(row []core.Value) core.Value { return row[slot] })
	out.field = field
	return out, nil
}

func argTexts(args []ast.Node) string {
	text := ""
	for i, arg := range args {
		if i > 0 {
			text += ", "
		}
		text += arg.String()
	}
	return text
}

func (c *compiler) aggregateType(name string, place ast.Node, arg *node) error {
	switch name {
	case "count":
		return nil
	case "all", "any":
		if arg.typ != core.BoolType && arg.typ != core.AnyType {
			return c.errorf(c.start(place), "%s wants a condition: %s is %s", name, place, kindName(arg.typ))
		}
		return nil
	}
	if arg.typ == core.NumberType || arg.typ == core.AnyType || (arg.typ == core.TimeType && (name == "min" || name == "max")) {
		return nil
	}
	return c.errorf(c.start(place), "%s wants a number: %s is %s", name, place, kindName(arg.typ))
}

// slot gives the place of an aggregate in the group's row, one for equal calls.
func (p *plan) slot(agg *aggregate) int {
	i := slices.IndexFunc(p.aggregates, func(o *aggregate) bool { return o.text == agg.text })
	if i < 0 {
		i = len(p.aggregates)
		p.aggregates = append(p.aggregates, agg)
	}
	return len(p.by) + i
}

// gathered is what one aggregate has seen of one group.
type gathered struct {
	trials int // all
	values []float64
	yes    int // conditions that hold
	no     int

	extreme float64 // the largest or smallest value yet, of max and min
	doubts  *doubts // nil for none
}

// add takes a row that stands for trials.
func (g *gathered) add(p *plan, agg *aggregate, row []core.Value, trials [][]core.Value) {
	g.trials++
	if agg.arg == nil {
		return
	}
	if agg.name == "all" || agg.name == "any" || (agg.name == "count" && agg.arg.typ == core.BoolType) {
		switch agg.arg.cond(row) {
		case yes:
			g.yes++
		case no:
			g.no++
		}
		return
	}
	v := agg.arg.val(row)
	switch {
	case agg.name == "count":
		if known(v) {
			g.yes++
		}
	case v.Kind == core.KindNumber:
		g.values = append(g.values, v.Num)
		if len(agg.severity) > 0 {
			g.doubt(p, agg, v.Num, trials)
		}
	}
}

func (g *gathered) result(agg *aggregate) core.Value {
	switch agg.name {
	case "count":
		if agg.arg == nil {
			return core.Number(float64(g.trials))
		}
		return core.Number(float64(g.yes))
	case "all":
		switch {
		case g.no > 0:
			return core.Bool(false)
		case g.yes < g.trials:
			return core.Missing()
		}
		return core.Bool(true)
	case "any":
		switch {
		case g.yes > 0:
			return core.Bool(true)
		case g.no < g.trials:
			return core.Missing()
		}
		return core.Bool(false)
	}
	return summary(agg.name, g.values, agg.p)
}

// passedOver is how many trials an aggregate of numbers could not use.
func (g *gathered) passedOver(agg *aggregate) int {
	switch agg.name {
	case "count", "all", "any":
		return 0
	}
	return g.trials - len(g.values)
}

// summary is a statistic of the values, which it sorts. It is missing of none, and
// of values among which an unlimited one leaves no finite result. The largest may
// be unlimited.
func summary(name string, xs []float64, p float64) core.Value {
	slices.Sort(xs)
	n := len(xs)
	if n == 0 {
		return core.Missing()
	}
	switch name {
	case "min":
		return core.Number(xs[0])
	case "max":
		return core.Number(xs[n-1])
	case "sum":
		return finite(total(xs))
	case "mean":
		return finite(mean(xs))
	case "stdev":
		if n < 2 {
			return core.Missing()
		}
		m := mean(xs)
		squares := make([]float64, n)
		for i, x := range xs {
			squares[i] = (x - m) * (x - m)
		}
		return finite(math.Sqrt(total(squares) / float64(n-1)))
	case "p":
		return finite(quantile(xs, p/100))
	}
	return finite(quantile(xs, 0.5))
}

// mean scales before it sums, so that it overflows only where the mean does.
func mean(xs []float64) float64 {
	n := float64(len(xs))
	if m := total(xs) / n; !math.IsInf(m, 0) {
		return m
	}
	m := 0.0
	for _, x := range xs {
		m += x / n
	}
	return m
}

// total sums with compensation (Neumaier), so that the rounding of a large group
// stays below the precision of its figures.
func total(xs []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, x := range xs {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	if math.IsInf(sum, 0) || math.IsNaN(lost) {
		return sum
	}
	return sum + lost
}

// quantile interpolates linearly between order statistics: the q-quantile of n
// sorted values lies at position q·(n-1). It is the default of NumPy.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	lo, hi := sorted[i], sorted[i+1]
	if f := at - float64(i); f > 0 {
		return lo + (hi-lo)*f
	}
	return lo
}
