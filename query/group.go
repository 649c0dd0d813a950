package query

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// touch makes a group known in which nothing may qualify, when the row belongs to
// what was asked: it passes every condition that is not about measured fields.
func (t *tally) touch(p *plan, row []core.Value) {
	if len(p.by) == 0 || (p.q.per != "" && slices.ContainsFunc(p.by, measured)) {
		return // there is no group, or only a combined row has one
	}
	for _, c := range p.filters {
		if c.cond(row) != yes {
			return
		}
	}
	t.group(p, row)
}

func (t *tally) group(p *plan, row []core.Value) *group {
	if t.last == nil || !t.last.has(p, row) {
		t.last = t.find(p, row)
	}
	return t.last
}

// has reports whether a row has the keys of the group.
func (g *group) has(p *plan, row []core.Value) bool {
	for i, k := range p.by {
		if k.val(row) != g.key[i] {
			return false
		}
	}
	return true
}

func (t *tally) find(p *plan, row []core.Value) *group {
	var space [96]byte
	name := space[:0]
	for _, k := range p.by {
		name = appendKey(name, k.val(row))
	}
	if g, ok := t.groups[string(name)]; ok {
		return g
	}
	g := &group{gathered: make([]gathered, len(p.aggregates))}
	for _, k := range p.by {
		g.key = append(g.key, k.val(row))
	}
	if len(p.residue) > 0 {
		g.residue = p.newResidue()
	}
	t.groups[string(name)] = g
	return g
}

// appendKey appends a text that is equal for equal values only.
func appendKey(b []byte, v core.Value) []byte {
	b = append(b, byte(v.Kind))
	switch v.Kind {
	case core.KindText:
		b = binary.AppendUvarint(b, uint64(len(v.Text)))
		b = append(b, v.Text...)
	case core.KindNumber, core.KindBool:
		// Adding 0 turns -0 into 0, which is equal to it.
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v.Num+0))
	}
	return b
}
