package query

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// versus is the vs clause: which trials are the baseline, what must be equal for
// one to match a row, and the values taken of them.
type versus struct {
	cond  *node
	keys  []*node
	exprs []*node  // values of which medians are taken
	texts []string // their canonical text
	found map[string]*baseline

	okOnly bool // only trials with status ok are baselines
	split  bool // simulated trials have baselines of their own
}

// baseline are the trials that match one combination of keys.
type baseline struct {
	values  [][]float64
	medians []core.Value // of values, once all rows were read
	notes   *assertions
	residue *residue
}

func (p *plan) planVersus() error {
	if p.vs == nil {
		return nil
	}
	// What where names is about the rows: "status == \"ok\"" there must not let a
	// retracted trial into the baseline.
	asked := p.asked
	p.asked = map[string]bool{}
	cond, err := p.compiler(p.q.vs, "vs").condition(p.q.vs.root)
	if err != nil {
		return err
	}
	p.vs.okOnly, p.vs.split = !p.asked["status"], !p.asked["simulated"]
	maps.Copy(asked, p.asked)
	p.vs.cond, p.asked = cond, asked
	keys := p.q.on
	if keys == nil {
		for _, name := range []string{"model", "workload", "load"} {
			p.vs.keys = append(p.vs.keys, p.fieldColumn(name))
		}
	}
	for _, it := range keys {
		n, err := p.compiler(it.expression, "on").compile(it.root)
		if err != nil {
			return err
		}
		if n.base {
			return it.errorf(it.off, "on cannot depend on the baseline")
		}
		p.vs.keys = append(p.vs.keys, n)
	}
	return nil
}

// baseOf compiles base(x).
func (c *compiler) baseOf(arg ast.Node, off int) (*node, error) {
	slot, _, err := c.baseSlot(arg, off, "base")
	return slot, err
}

// baseSlot compiles x and gives the node of its baseline beside it.
func (c *compiler) baseSlot(arg ast.Node, off int, name string) (slot, x *node, err error) {
	vs := c.plan.vs
	switch {
	case vs == nil || c.clause == "vs" || c.clause == "on":
		return nil, nil, c.errorf(off, "%s has a meaning only beside a vs clause", name)
	case c.group != nil && c.inside == "":
		return nil, nil, c.errorf(off, "%s stands for one trial: use median(%s(%s))", name, name, arg)
	}
	x, err = c.number(arg)
	if err != nil {
		return nil, nil, err
	}
	if x.base {
		return nil, nil, c.errorf(off, "%s of a value that has a baseline in it", name)
	}
	text := arg.String()
	i := slices.Index(vs.texts, text)
	if i < 0 {
		i = len(vs.texts)
		vs.texts = append(vs.texts, text)
		vs.exprs = append(vs.exprs, x)
	}
	slot = valueNode(core.NumberType, func(row []core.Value) core.Value { return c.plan.baseValue(row, i) }, x)
	slot.field, slot.base = x.field, true
	slot.kids = nil // the field of another trial is not what leaves this one undecided
	return slot, x, nil
}

// gainOf compiles gain(x).
func (c *compiler) gainOf(arg ast.Node, off int) (*node, error) {
	slot, x, err := c.baseSlot(arg, off, "gain")
	if err != nil {
		return nil, err
	}
	better := core.HigherBetter
	switch {
	case x.field != nil && x.field.Better != 0:
		better = x.field.Better
	default:
		for _, g := range c.plan.q.goals {
			if g.root.String() == arg.String() {
				better = g.better
			}
		}
	}
	out := valueNode(core.NumberType, func(row []core.Value) core.Value {
		return gain(x.val(row), slot.val(row), better)
	}, x)
	out.base = true
	return out, nil
}

// gain is (v - base) / |base|, turned where lower is better.
func gain(v, base core.Value, better core.Better) core.Value {
	difference := arithmetic("-", v, base)
	if base.Kind != core.KindNumber {
		return core.Missing()
	}
	return arithmetic("*", arithmetic("/", difference, core.Number(math.Abs(base.Num))), core.Number(float64(better)))
}

// bareGain is the gain of the verb's value, or of the first measured column.
func (c *compiler) bareGain(off int) (*node, error) {
	q := c.plan.q
	if c.plan.vs == nil {
		return nil, c.errorf(off, "gain has a meaning only beside a vs clause")
	}
	if len(q.goals) > 0 && c.clause != q.verb {
		other := *c
		other.expression, other.aliases = q.goals[0].expression, nil
		return other.gainOf(q.goals[0].root, 0)
	}
	var first ast.Node
	var of item
	for _, it := range q.show {
		if first == nil {
			first, of = firstMeasured(it.root), it
		}
	}
	if first == nil {
		return nil, c.errorf(off, "gain of what? write gain(total_tps)")
	}
	other := *c
	other.aliases = nil
	node, err := other.gainOf(first, off)
	var mistake *SyntaxError
	if errors.As(err, &mistake) && of.expression != nil {
		return nil, c.errorf(off, "gain of %s: %s", first, mistake.Msg)
	}
	return node, err
}

// firstMeasured is the first measured figure of a tree, nil for none; attained and
// goodput are figures too.
func firstMeasured(root ast.Node) (first ast.Node) {
	aroundRequests(root, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.IdentifierNode:
			if f, ok := core.LookupField(n.Value); ok && f.Measured() && first == nil {
				first = n
			}
		case *ast.CallNode:
			if callee, ok := n.Callee.(*ast.IdentifierNode); ok && ofRequests(callee.Value) && first == nil {
				first = n
			}
		}
	})
	return first
}

// versusOutputs adds the baseline and the gain of each ranked value.
func (p *plan) versusOutputs() error {
	for i, g := range p.q.goals {
		if p.goals[i].base { // the value is a comparison itself
			continue
		}
		c := p.compiler(g.expression, "")
		base, err := c.baseOf(g.root, g.off)
		if err != nil {
			return err
		}
		gained, err := c.gainOf(g.root, g.off)
		if err != nil {
			return err
		}
		name := "gain"
		if len(p.q.goals) > 1 {
			name = "gain(" + g.name + ")"
		}
		p.outputs = append(p.outputs,
			output{describe("base("+g.name+")", base, g.better), func(_ *group, row []core.Value) core.Value { return base.val(row) }},
			output{Column{Name: name, Type: core.NumberType, Better: core.HigherBetter},
				func(_ *group, row []core.Value) core.Value { return gained.val(row) }})
	}
	return nil
}

// versusKey is the key under which the baselines of a row stand.
func (p *plan) versusKey(row []core.Value) string {
	key := make([]byte, 0, 64)
	if p.vs.split && row[p.simulated].True() {
		key = append(key, 's')
	}
	for _, k := range p.vs.keys {
		key = appendKey(key, k.val(row))
	}
	return string(key)
}

// addBaseline takes a row that is a baseline.
func (p *plan) addBaseline(row []core.Value) {
	if !p.isBaseline(row) {
		return
	}
	key := p.versusKey(row)
	b := p.vs.found[key]
	if b == nil {
		b = &baseline{values: make([][]float64, len(p.vs.exprs)), notes: &assertions{}, residue: p.newResidue()}
		p.vs.found[key] = b
	}
	for i, x := range p.vs.exprs {
		if v := x.val(row); v.Kind == core.KindNumber {
			b.values[i] = append(b.values[i], v.Num)
		}
	}
	b.notes.add(p, row)
	b.residue.add(row)
}

// baseValue is the median of the i-th value over the baselines of a row.
func (p *plan) baseValue(row []core.Value, i int) core.Value {
	b := p.vs.found[p.versusKey(row)]
	if b == nil {
		return core.Missing()
	}
	b.settle()
	return b.medians[i]
}

// settle takes the medians, once all rows were read, and leaves the values sorted.
func (b *baseline) settle() {
	if b.medians != nil {
		return
	}
	for _, xs := range b.values {
		b.medians = append(b.medians, summary("median", xs, 0))
	}
}
