package query

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// function is a name that may be called in an expression.
type function struct {
	name      string
	least     int // arguments
	most      int // -1: any number
	aggregate bool
	usage     string
}

// functions is never changed.
var functions = []function{
	{"missing", 1, 1, false, "missing(x): whether x is missing or unset"},
	{"known", 1, 1, false, "known(x): whether x has a value"},
	{"bin", 2, 2, false, "bin(x, w): x rounded down to a multiple of w"},
	{"now", 0, 0, false, "now(): the moment of the question"},
	{"days", 1, 1, false, "days(n): n days in seconds"},
	{"base", 1, 1, false, "base(x): x of the baseline"},
	{"gain", 1, 1, false, "gain(x): how much better x is than the baseline's, as a fraction"},

	{"mean", 1, -1, true, "mean(x)"},
	{"median", 1, -1, true, "median(x)"},
	{"min", 1, -1, true, "min(x)"},
	{"max", 1, -1, true, "max(x)"},
	{"sum", 1, 1, true, "sum(x)"},
	{"stdev", 1, 1, true, "stdev(x): of a sample, divided by n-1"},
	{"p", 2, 2, true, "p(x, 99): percentile"},
	{"count", 0, 1, true, "count(), count(x), count(condition)"},
	{"all", 1, 1, true, "all(condition)"},
	{"any", 1, 1, true, "any(condition)"},

	{"sound", 1, 1, false, "sound(m): no hard or void finding touches m"},
	{"attained", 1, 1, false, "attained(condition): the share of a trial's requests for which it holds"},
	{"goodput", 1, 1, false, "goodput(condition): such requests per second"},
}

func lookupFunction(name string) (function, bool) {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return function{}, false
	}
	return functions[i], true
}

// ofRequests reports whether the function has a meaning in a condition about one
// request: missing, known, bin, and mean, median, min and max of several values.
func (f function) ofRequests(args int) bool {
	return f.name == "missing" || f.name == "known" || f.name == "bin" || f.most < 0 && args > 1
}

func (c *compiler) call(name string, args []ast.Node, off int) (*node, error) {
	f, ok := lookupFunction(name)
	switch {
	case !ok:
		var names []string
		for _, f := range functions {
			names = append(names, f.name)
		}
		err := c.errorf(off, "unknown function %q", name)
		if habit := functionHabit(name); habit != "" {
			err.Msg += ": it is called " + habit + " here"
		} else {
			err.Near = core.NearestNames(name, names)
		}
		return nil, err
	case len(args) < f.least || (f.most >= 0 && len(args) > f.most):
		return nil, c.errorf(off, "wrong number of arguments: %s", f.usage)
	case c.request != nil && !f.ofRequests(len(args)):
		return nil, c.errorf(off, "%s has no meaning inside %s, whose condition is about one request", name, c.inside)
	case f.aggregate && (f.most >= 0 || len(args) == 1):
		return c.aggregate(f, args, off)
	case f.aggregate:
		return c.scalar(name, args)
	}
	switch name {
	case "now":
		return literal(core.TimeType, core.Number(float64(c.plan.now.UnixMicro())/1e6)), nil
	case "days":
		n, err := c.number(args[0])
		if err != nil {
			return nil, err
		}
		return valueNode(core.NumberType, func(row []core.Value) core.Value {
			return arithmetic("*", n.val(row), core.Number(86400))
		}, n), nil
	case "bin":
		x, err := c.number(args[0])
		if err != nil {
			return nil, err
		}
		w, err := c.number(args[1])
		if err != nil {
			return nil, err
		}
		out := valueNode(core.NumberType, func(row []core.Value) core.Value { return bin(x.val(row), w.val(row)) }, x, w)
		return out, nil
	case "base":
		return c.baseOf(args[0], off)
	case "gain":
		return c.gainOf(args[0], off)
	case "sound":
		return c.soundOf(args[0], off)
	case "attained", "goodput":
		return c.overRequests(name, args[0], off)
	}
	x, err := c.compile(args[0])
	if err != nil {
		return nil, err
	}
	want := truth(name == "known")
	return conditionNode(func(row []core.Value) tri {
		if known(x.val(row)) {
			return want
		}
		return want.not()
	}, x), nil
}

// scalar is mean, median, min or max of several values of one row. One of them
// missing makes the result missing.
func (c *compiler) scalar(name string, args []ast.Node) (*node, error) {
	kids := make([]*node, len(args))
	for i, arg := range args {
		kid, err := c.number(arg)
		if err != nil {
			return nil, err
		}
		kids[i] = kid
	}
	return valueNode(core.NumberType, func(row []core.Value) core.Value {
		xs := make([]float64, len(kids))
		for i, kid := range kids {
			v := kid.val(row)
			if v.Kind != core.KindNumber {
				return core.Missing()
			}
			xs[i] = v.Num
		}
		return summary(name, xs, 0)
	}, kids...), nil
}
