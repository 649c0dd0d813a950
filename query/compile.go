package query

import (
	"math"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// compiler checks one expression and turns it into closures over a row.
type compiler struct {
	*expression
	plan    *plan
	clause  string // for messages
	aliases map[string]item
	group   *groupScope       // set where an expression stands for a group
	inside  string            // the aggregate around, or attained or goodput; "" none
	request *requestCondition // set inside attained and goodput
}

// groupScope is what an expression over a group may use: keys and aggregates. A
// group's row is its keys followed by its aggregates.
type groupScope struct {
	keys map[string]int // canonical text of a by-value -> position
}

func (c *compiler) compile(n ast.Node) (*node, error) {
	if c.group != nil && c.inside == "" {
		if i, ok := c.group.keys[n.String()]; ok {
			key := c.plan.by[i]
			slot := valueNode(key.typ, func(row []core.Value) core.Value { return row[i] })
			slot.field = key.field
			return slot, nil
		}
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return literal(core.NumberType, core.Number(float64(n.Value))), nil
	case *ast.FloatNode:
		return literal(core.NumberType, core.Number(n.Value)), nil
	case *ast.StringNode:
		return literal(core.TextType, core.String(n.Value)), nil
	case *ast.BoolNode:
		return literal(core.BoolType, core.Bool(n.Value)), nil
	case *ast.NilNode:
		return nil, c.errorf(c.at(n), "nil is not in the language: use missing(x) or known(x)")
	case *ast.IdentifierNode:
		if c.request != nil && n.Value != "unlimited" {
			return c.requestField(n.Value, c.at(n))
		}
		return c.identifier(n)
	case *ast.MemberNode:
		if c.request != nil {
			return c.requestField(n.String(), c.start(n))
		}
		return c.member(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(callee.Value, n.Arguments, c.at(callee))
		}
		return nil, c.errorf(c.start(n), "methods are not in the language")
	case *ast.BuiltinNode:
		return c.call(n.Name, n.Arguments, c.at(n))
	case *ast.ArrayNode:
		return nil, c.errorf(c.at(n), "a list may stand only to the right of in")
	case *ast.SliceNode:
		return nil, c.errorf(c.at(n), "indexing is not in the language")
	}
	return nil, c.errorf(c.at(n), "%s is not in the language", n)
}

func (c *compiler) identifier(n *ast.IdentifierNode) (*node, error) {
	if it, ok := c.aliases[n.Value]; ok {
		other := *c
		other.expression, other.aliases = it.expression, nil
		return other.compile(it.root)
	}
	switch n.Value {
	case "unlimited":
		return literal(core.NumberType, core.Unlimited()), nil
	case "gain":
		return c.bareGain(c.at(n))
	case "n", "failed_repeats":
		return c.repeatCount(n.Value, c.at(n))
	}
	return c.fieldNode(n.Value, c.at(n))
}

// member reads args.x and the like, whose names may hold dots.
func (c *compiler) member(n *ast.MemberNode) (*node, error) {
	name := ""
	for at := ast.Node(n); ; {
		m, ok := at.(*ast.MemberNode)
		if !ok {
			id, ok := at.(*ast.IdentifierNode)
			if !ok {
				return nil, c.errorf(c.start(n), "only args, passed, extra and quality have names behind a dot")
			}
			return c.fieldNode(id.Value+name, c.at(id))
		}
		property, ok := m.Property.(*ast.StringNode)
		if off := c.at(m); !ok || c.query[off] == '[' {
			return nil, c.errorf(off, "indexing is not in the language: write args.name")
		}
		name = "." + property.Value + name
		at = m.Node
	}
}

func (c *compiler) fieldNode(name string, off int) (*node, error) {
	f, err := c.plan.lookup(c.expression, name, off)
	if err != nil {
		return nil, err
	}
	if c.group != nil && c.inside == "" {
		e := c.errorf(off, "%s stands outside an aggregate: use median(%s), or put %s in by", name, name, name)
		if f.Type != core.NumberType && f.Type != core.AnyType {
			e.Msg = name + " stands outside an aggregate: put it in by"
		}
		return nil, e
	}
	return c.plan.fieldColumn(f.Name), nil
}

// repeatCount is how many repeats a combined row stands for, which per makes a name
// like any figure's.
func (c *compiler) repeatCount(name string, off int) (*node, error) {
	switch {
	case c.plan.q.per == "":
		return nil, c.errorf(off, "unknown field %q: it counts the repeats that per combines, as in per setup", name)
	case c.clause == "vs" || c.clause == "on":
		return nil, c.errorf(off, "%s belongs to a combined row, and a baseline is made of trials", name)
	case c.group != nil && c.inside == "":
		return nil, c.errorf(off, "%s stands outside an aggregate: use median(%s)", name, name)
	}
	col := c.plan.column(name)
	n := valueNode(core.NumberType, func(row []core.Value) core.Value { return row[col] })
	n.field, n.col = &core.Field{Name: name, Type: core.NumberType, Group: core.GroupCounts, Doc: "repeats of a combined row"}, col
	return n, nil
}

// noteMix remembers arithmetic between figures that per sums and such of which it
// takes the median: the result is neither.
func (c *compiler) noteMix(n ast.Node, l, r *node) {
	if c.plan.q.per == "" {
		return
	}
	var sums, others bool
	for _, side := range []*node{l, r} {
		side.fields(func(f *core.Field) {
			switch {
			case !f.Measured() || f.Name == "n" || f.Name == "failed_repeats" || f.Name == "success_rate":
			case summed(*f):
				sums = true
			default:
				others = true
			}
		})
	}
	if text := n.String(); sums && others && !slices.Contains(c.plan.mixes, text) {
		c.plan.mixes = append(c.plan.mixes, text)
	}
}

func (c *compiler) unary(n *ast.UnaryNode) (*node, error) {
	if n.Operator == "not" || n.Operator == "!" {
		kid, err := c.compile(n.Node)
		if err != nil {
			return nil, err
		}
		if kid.typ != core.BoolType && kid.typ != core.AnyType {
			return nil, c.errorf(c.start(n.Node), "%s is %s where a condition is wanted: not binds closer than ==, so write not (…)",
				n.Node, kindName(kid.typ))
		}
		return conditionNode(func(row []core.Value) tri { return kid.cond(row).not() }, kid), nil
	}
	kid, err := c.number(n.Node)
	if err != nil {
		return nil, err
	}
	if n.Operator == "+" {
		return kid, nil
	}
	negate := func(row []core.Value) core.Value { return arithmetic("*", kid.val(row), core.Number(-1)) }
	if kid.lit != nil {
		return literal(core.NumberType, negate(nil)), nil
	}
	return valueNode(core.NumberType, negate, kid), nil
}

// condition compiles a node that must be true, false or undecided.
func (c *compiler) condition(n ast.Node) (*node, error) {
	kid, err := c.compile(n)
	if err != nil {
		return nil, err
	}
	if kid.typ != core.BoolType && kid.typ != core.AnyType {
		return nil, c.errorf(c.start(n), "%s is %s where a condition is wanted", n, kindName(kid.typ))
	}
	return kid, nil
}

// numberOf names the number that may be meant by a text field.
func numberOf(n ast.Node) string {
	if id, ok := n.(*ast.IdentifierNode); ok && id.Value == "gpu" {
		return ": gpus is how many there are, output_tps_per_gpu a rate for each"
	}
	return ""
}

// number compiles a node that must be a number.
func (c *compiler) number(n ast.Node) (*node, error) {
	kid, err := c.compile(n)
	if err != nil {
		return nil, err
	}
	if kid.typ != core.NumberType && kid.typ != core.AnyType {
		return nil, c.errorf(c.start(n), "%s is %s where a number is wanted%s", n, kindName(kid.typ), numberOf(n))
	}
	return kid, nil
}

// kindName is a type as a message calls it.
func kindName(t core.Type) string {
	switch t {
	case core.TextType:
		return "text"
	case core.BoolType:
		return "true or false"
	}
	return "a " + t.String()
}

func (c *compiler) binary(n *ast.BinaryNode) (*node, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return c.logical(n)
	case "==", "!=", "<", "<=", ">", ">=":
		return c.comparison(n)
	case "in":
		return c.membership(n)
	case "+", "-", "*", "/", "%", "**":
		return c.arithmetic(n)
	case "??":
		return c.fallback(n)
	case "matches", "contains", "startsWith", "endsWith":
		return c.textual(n)
	}
	return nil, c.errorf(c.at(n), "%s is not in the language", n.Operator)
}

func (c *compiler) logical(n *ast.BinaryNode) (*node, error) {
	l, err := c.condition(n.Left)
	if err != nil {
		return nil, err
	}
	r, err := c.condition(n.Right)
	if err != nil {
		return nil, err
	}
	if n.Operator == "and" || n.Operator == "&&" {
		return conditionNode(func(row []core.Value) tri {
			t := l.cond(row)
			if t == no {
				return no
			}
			return t.and(r.cond(row))
		}, l, r), nil
	}
	return conditionNode(func(row []core.Value) tri {
		t := l.cond(row)
		if t == yes {
			return yes
		}
		return t.or(r.cond(row))
	}, l, r), nil
}

func (c *compiler) arithmetic(n *ast.BinaryNode) (*node, error) {
	l, r, err := c.pair(n.Left, n.Right)
	if err != nil {
		return nil, err
	}
	op := n.Operator
	result := core.NumberType
	timed := l.typ == core.TimeType || r.typ == core.TimeType
	switch {
	case l.typ == core.TimeType && r.typ == core.TimeType && op == "-":
	case timed && (op == "+" && l.typ != r.typ || op == "-" && l.typ == core.TimeType):
		result = core.TimeType
	case timed:
		return nil, c.errorf(c.at(n), "%s has no meaning for a time", op)
	}
	for i, side := range []*node{l, r} {
		if side.typ != core.NumberType && side.typ != core.AnyType && side.typ != core.TimeType {
			part := []ast.Node{n.Left, n.Right}[i]
			return nil, c.errorf(c.start(part), "%s is %s where a number is wanted%s", part, kindName(side.typ), numberOf(part))
		}
	}
	c.noteMix(n, l, r)
	compute := func(row []core.Value) core.Value { return arithmetic(op, l.val(row), r.val(row)) }
	if l.lit != nil && r.lit != nil {
		return literal(result, compute(nil)), nil
	}
	return valueNode(result, compute, l, r), nil
}

// pair compiles two operands; the error is that of the first faulty one.
func (c *compiler) pair(left, right ast.Node) (l, r *node, err error) {
	if l, err = c.compile(left); err != nil {
		return nil, nil, err
	}
	r, err = c.compile(right)
	return l, r, err
}

func (c *compiler) fallback(n *ast.BinaryNode) (*node, error) {
	l, r, err := c.pair(n.Left, n.Right)
	if err != nil {
		return nil, err
	}
	t, err := c.unite(n, l, r)
	if err != nil {
		return nil, err
	}
	return valueNode(t, func(row []core.Value) core.Value {
		if v := l.val(row); known(v) {
			return v
		}
		return r.val(row)
	}, l, r), nil
}

func (c *compiler) conditional(n *ast.ConditionalNode) (*node, error) {
	test, err := c.condition(n.Cond)
	if err != nil {
		return nil, err
	}
	l, r, err := c.pair(n.Exp1, n.Exp2)
	if err != nil {
		return nil, err
	}
	t, err := c.unite(n, l, r)
	if err != nil {
		return nil, err
	}
	return valueNode(t, func(row []core.Value) core.Value {
		switch test.cond(row) {
		case yes:
			return l.val(row)
		case no:
			return r.val(row)
		}
		return core.Missing()
	}, test, l, r), nil
}

// unite gives the type of two alternatives.
func (c *compiler) unite(n ast.Node, l, r *node) (core.Type, error) {
	switch {
	case l.typ == r.typ:
		return l.typ, nil
	case l.typ == core.AnyType || r.typ == core.AnyType:
		return core.AnyType, nil
	case l.typ == core.VersionType && r.typ == core.TextType, l.typ == core.TextType && r.typ == core.VersionType:
		return core.TextType, nil
	}
	return 0, c.errorf(c.start(n), "the alternatives are %s and %s: they must be of one kind", kindName(l.typ), kindName(r.typ))
}

// bin is x rounded down to a multiple of w. What lies a rounding of floating point
// below a multiple is that multiple: 0.3 is three times 0.1.
func bin(x, w core.Value) core.Value {
	if x.Kind != core.KindNumber || w.Kind != core.KindNumber || !(w.Num > 0) || x.IsUnlimited() {
		return core.Missing()
	}
	n := x.Num / w.Num
	if near := math.Round(n); math.Abs(n-near) <= 1e-9*max(1, math.Abs(near)) {
		n = near
	}
	v := finite(math.Floor(n) * w.Num)
	if v.Kind == core.KindNumber {
		v.Num, _ = strconv.ParseFloat(strconv.FormatFloat(v.Num, 'g', 12, 64), 64)
	}
	return v
}
