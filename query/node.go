package query

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// node is a checked expression, ready to be evaluated on a row. Conditions have
// eval through cond; values through val. Both are always set.
type node struct {
	typ   core.Type
	val   func(row []core.Value) core.Value
	cond  func(row []core.Value) tri
	kids  []*node
	field *core.Field // of a plain field
	col   int         // its column
	lit   *core.Value // of a literal
	base  bool        // needs a baseline
	reads bool        // needs the trial's samples
	cmp   string      // operator of a comparison of kids[0] with kids[1]
}

func valueNode(t core.Type, val func([]core.Value) core.Value, kids ...*node) *node {
	n := &node{typ: t, val: val, kids: kids, col: -1}
	n.cond = func(row []core.Value) tri { return condition(n.val(row)) }
	n.base = slices.ContainsFunc(kids, func(k *node) bool { return k.base })
	n.reads = slices.ContainsFunc(kids, func(k *node) bool { return k.reads })
	return n
}

func conditionNode(cond func([]core.Value) tri, kids ...*node) *node {
	n := valueNode(core.BoolType, nil, kids...)
	n.cond = cond
	n.val = func(row []core.Value) core.Value { return n.cond(row).value() }
	return n
}

func literal(t core.Type, v core.Value) *node {
	n := valueNode(t, nil)
	n.lit = &v
	n.val = func([]core.Value) core.Value { return *n.lit }
	return n
}

// why adds the columns that leave the node undecided or missing on a row.
func (n *node) why(row []core.Value, add func(col int)) {
	if v := n.val(row); v.Kind != core.KindMissing && v.Kind != core.KindUnset {
		return
	}
	if n.col >= 0 {
		add(n.col)
		return
	}
	found := false
	for _, kid := range n.kids {
		kid.why(row, func(col int) { found = true; add(col) })
	}
	if !found && !n.base { // kinds without an order: name every field that may hold several
		for _, kid := range n.kids {
			if kid.col >= 0 {
				add(kid.col)
			}
		}
	}
}

// fields calls f for every field under the node.
func (n *node) fields(f func(*core.Field)) {
	if n.field != nil {
		f(n.field)
	}
	for _, kid := range n.kids {
		kid.fields(f)
	}
}
