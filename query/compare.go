package query

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

func (c *compiler) comparison(n *ast.BinaryNode) (*node, error) {
	l, r, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	return c.compare(n, l, r)
}

// compare is the comparison of two compiled sides.
func (c *compiler) compare(n *ast.BinaryNode, l, r *node) (*node, error) {
	if err := c.agree(n, l, r); err != nil {
		return nil, err
	}
	op := n.Operator
	var cond func([]core.Value) tri
	versions := c.plan.versions
	switch {
	case l.typ == core.VersionType || r.typ == core.VersionType:
		cond = func(row []core.Value) tri { return versions.compare(op, l.val(row), r.val(row)) }
	case l.col >= 0 && !l.reads && r.lit != nil && r.lit.Kind == core.KindNumber:
		// The usual comparison, of a field with a number, without copying values.
		col, want := l.col, r.lit.Num
		cond = func(row []core.Value) tri {
			v := &row[col]
			if v.Kind == core.KindNumber {
				switch {
				case v.Num < want:
					return holds(op, -1)
				case v.Num > want:
					return holds(op, 1)
				}
				return holds(op, 0)
			}
			return compareValues(op, *v, *r.lit, true)
		}
	default:
		cond = func(row []core.Value) tri { return compareValues(op, l.val(row), r.val(row), true) }
	}
	out := conditionNode(cond, l, r)
	out.cmp = op
	return out, nil
}

// operands compiles both sides of a comparison. A bare word beside a text is most
// likely text without quotes.
func (c *compiler) operands(n *ast.BinaryNode) (l, r *node, err error) { return c.sides(n, nil) }

// sides is operands where the left side may be compiled already.
func (c *compiler) sides(n *ast.BinaryNode, l *node) (_, r *node, err error) {
	var errL error
	if l == nil {
		l, errL = c.compile(n.Left)
	}
	r, errR := c.compile(n.Right)
	quote := func(side ast.Node, err error, other *node) error {
		id, ok := side.(*ast.IdentifierNode)
		var e *SyntaxError
		if ok && errors.As(err, &e) && other != nil && (other.typ == core.TextType || other.typ == core.VersionType || other.typ == core.AnyType) {
			e.Msg += "; text is written in quotes: \"" + id.Value + "\""
			e.Near = nil
		}
		return err
	}
	if errL != nil {
		return nil, nil, quote(n.Left, errL, r)
	}
	if errR != nil {
		return nil, nil, quote(n.Right, errR, l)
	}
	return l, r, nil
}

func (c *compiler) membership(n *ast.BinaryNode) (*node, error) {
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return nil, c.errorf(c.start(n.Right), "in wants a list: %s in [\"a\", \"b\"]", n.Left)
	}
	if len(list.Nodes) == 0 {
		return nil, c.errorf(c.at(list), "the list is empty")
	}
	var left *node
	kids := make([]*node, len(list.Nodes))
	for i, element := range list.Nodes {
		eq := &ast.BinaryNode{Operator: "==", Left: n.Left, Right: element}
		eq.SetLocation(n.Location())
		l, r, err := c.sides(eq, left)
		if err != nil {
			return nil, err
		}
		left = l
		if l.lit != nil { // what one element makes of a literal is not for the next
			l = literal(l.typ, *l.lit)
		}
		if kids[i], err = c.compare(eq, l, r); err != nil {
			return nil, err
		}
	}
	return conditionNode(func(row []core.Value) tri {
		t := no
		for _, kid := range kids {
			if t = t.or(kid.cond(row)); t == yes {
				return yes
			}
		}
		return t
	}, kids...), nil
}

// textual compiles the tests of a text.
func (c *compiler) textual(n *ast.BinaryNode) (*node, error) {
	l, r, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	for i, side := range []*node{l, r} {
		if side.typ != core.TextType && side.typ != core.VersionType && side.typ != core.AnyType {
			part := []ast.Node{n.Left, n.Right}[i]
			return nil, c.errorf(c.start(part), "%s is %s where text is wanted", part, kindName(side.typ))
		}
	}
	test := map[string]func(s, t string) bool{
		"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
	}[n.Operator]
	if n.Operator == "matches" {
		if r.lit == nil {
			return nil, c.errorf(c.start(n.Right), "matches wants a pattern in quotes")
		}
		pattern, err := regexp.Compile(r.lit.Text)
		if err != nil {
			return nil, c.errorf(c.start(n.Right), "pattern: %v", err)
		}
		test = func(s, _ string) bool { return pattern.MatchString(s) }
	}
	return conditionNode(func(row []core.Value) tri {
		x, y := l.val(row), r.val(row)
		switch {
		case x.Kind == core.KindMissing || y.Kind == core.KindMissing:
			return undecided
		case x.Kind != core.KindText || y.Kind != core.KindText:
			return no
		}
		return truth(test(x.Text, y.Text))
	}, l, r), nil
}

// agree checks that a comparison has a meaning and gives text beside a time, a
// version or a limit the type of the other side.
func (c *compiler) agree(n *ast.BinaryNode, l, r *node) error {
	if err := c.adopt(n, n.Right, r, l); err != nil {
		return err
	}
	if err := c.adopt(n, n.Left, l, r); err != nil {
		return err
	}
	ordered := n.Operator != "==" && n.Operator != "!="
	textual := func(t core.Type) bool { return t == core.TextType || t == core.VersionType }
	switch {
	case ordered && (l.typ == core.BoolType || r.typ == core.BoolType):
		return c.errorf(c.at(n), "true and false have no order: use == or !=")
	case l.typ == r.typ || l.typ == core.AnyType || r.typ == core.AnyType || textual(l.typ) && textual(r.typ):
		return nil
	case l.typ == core.TimeType || r.typ == core.TimeType:
		return c.errorf(c.at(n), "a time compares with a time: \"2026-11-01\", \"2026-11-01T12:00:00Z\" or now() - days(7)")
	}
	msg := kindName(l.typ) + " is never comparable with " + kindName(r.typ)
	for _, side := range []struct{ number, other *node }{{l, r}, {r, l}} {
		switch {
		case side.number.typ == core.NumberType && side.other.lit != nil && side.other.lit.Kind == core.KindText:
			msg += ": write a number without quotes"
			if f := side.number.field; f != nil && f.Unit != "" {
				msg += "; " + f.Name + " is in " + f.Unit
			}
		case side.number.lit != nil && side.number.typ == core.NumberType && side.other.typ == core.VersionType:
			msg = "a version is written as text: \"0.11\""
		}
	}
	return c.errorf(c.at(n), "%s", msg)
}

// adopt reads a text literal as what the other side of a comparison is.
func (c *compiler) adopt(n *ast.BinaryNode, place ast.Node, lit, other *node) error {
	if lit.lit == nil || lit.lit.Kind != core.KindText {
		return nil
	}
	text := lit.lit.Text
	set := func(t core.Type, v core.Value) { lit.typ, *lit.lit = t, v }
	switch other.typ {
	case core.NumberType, core.AnyType:
		if text == "inf" || text == "unlimited" {
			set(core.NumberType, core.Unlimited())
		}
	case core.TimeType:
		at, ok := parseTime(text)
		if !ok {
			return c.errorf(c.start(place), "%q is no time: write \"2026-11-01\" or \"2026-11-01T12:00:00Z\"", text)
		}
		set(core.TimeType, core.Number(float64(at.UnixMicro())/1e6))
	case core.VersionType:
		if !c.plan.versions.parse(text).ok && n.Operator != "==" && n.Operator != "!=" {
			return c.errorf(c.start(place), "%q is no version: write one such as \"0.11.0\"", text)
		}
		lit.typ = core.VersionType
	}
	return nil
}

// parseTime reads a date or a moment; one without a zone is UTC.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
