package query

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// ResidueFields are the fields that tell whether trials may be compared as if they
// were one experiment: what was asked, how hard, on what, and measured by what.
// What a search chooses (engine, checkpoint, knobs, parallelism) is not among them,
// since that is what it compares.
func ResidueFields() []string {
	var names []string
	for _, f := range residueList {
		names = append(names, f.name)
	}
	return names
}

// residueList is never changed. A field with an owner counts as differing only
// where one owner has several values: two engines always have two versions.
var residueList = []struct{ name, owner string }{
	{"model", ""}, {"workload", ""}, {"dataset", ""}, {"input_len", ""}, {"output_len", ""}, {"ignore_eos", ""},
	{"turns", ""}, {"load", ""}, {"concurrency", ""}, {"request_rate", ""}, {"burstiness", ""}, {"num_prompts", ""},
	{"gpu", ""}, {"gpus", ""}, {"nodes", ""}, {"power_limit_w", ""}, {"driver", ""}, {"host", ""},
	{"compile_cache", ""}, {"engine_version", "engine"}, {"tool", ""}, {"tool_version", "tool"}, {"simulated", ""},
}

// residueField is one of them in a plan.
type residueField struct {
	name       string
	typ        core.Type
	col, owner int // columns, or places in the facet; owner is -1 for none
	facet      int // -1 for none
}

// residueNames picks the fields that are neither in by nor named by an equality in
// where, and their owners.
func (p *plan) residueNames() []string {
	settled := map[string]bool{}
	for _, k := range p.by {
		if k.field != nil && k.col >= 0 {
			settled[k.field.Name] = true
		}
	}
	// What a curve goes along and what a group has as members differs on purpose.
	meant := func(f *core.Field) {
		settled[f.Name] = true
		switch {
		case f.Group == core.GroupLoad:
			settled["load"] = true
		case f.Group == core.GroupAsked:
			settled["workload"] = true
		case f.Measured() && p.curve != nil:
			settled["load"], settled["concurrency"], settled["request_rate"] = true, true, true
		}
		if f.Name == "workload" {
			for _, name := range []string{"dataset", "input_len", "output_len", "ignore_eos", "turns"} {
				settled[name] = true
			}
		}
	}
	if p.curve != nil {
		p.curve.along.fields(meant)
	}
	if p.over != nil {
		p.over.node.fields(meant)
	}
	if p.q.where != nil {
		ast.Walk(&p.q.where.root, visitor(func(n ast.Node) {
			if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "==" || b.Operator == "in") {
				if id, ok := b.Left.(*ast.IdentifierNode); ok {
					settled[id.Value] = true
				}
				if id, ok := b.Right.(*ast.IdentifierNode); ok && b.Operator == "==" {
					settled[id.Value] = true
				}
			}
		}))
	}
	var names []string
	p.settled = settled
	for _, r := range residueList {
		if p.unnoticed(r.name) {
			continue
		}
		names = append(names, r.name)
		if r.owner != "" {
			names = append(names, r.owner)
		}
	}
	return names
}

// unnoticed reports whether nobody looks at a field of the residue. Whether a figure is
// a simulated one matters also where the query has chosen it.
func (p *plan) unnoticed(name string) bool {
	return p.settled[name] && (!p.doubts || name != "simulated")
}

// planResidue says where a row has the fields of the residue.
func (p *plan) planResidue(names []string) {
	if names == nil {
		return
	}
	for _, r := range residueList {
		if p.unnoticed(r.name) {
			continue
		}
		f, _ := core.LookupField(r.name)
		field := residueField{name: r.name, typ: f.Type, owner: -1}
		if field.facet, field.col = p.facetOf(r.name); field.facet < 0 {
			field.col = p.column(r.name)
		}
		if r.owner != "" {
			of, at := p.facetOf(r.owner)
			if of != field.facet { // they are shared apart, so that a row must have both
				field.facet, field.col = -1, p.column(r.name)
			}
			if field.owner = at; field.facet < 0 {
				field.owner = p.column(r.owner)
			}
		}
		p.residue = append(p.residue, field)
	}
}

// maxResidue bounds the distinct values that are kept of one field: the smallest,
// so that the answer does not depend on the order of the rows.
const maxResidue = 100

// owned is a value with its owner's.
type owned struct{ owner, value core.Value }

// residue collects the distinct values of the residue's fields in one group.
type residue struct {
	p     *plan
	seen  [][]owned // sorted
	last  []owned   // the value of the row before, which is most often that of this one
	more  []bool
	looks [][]uint64 // of each facet, a bit for each look seen; settle turns it into values
}

func (p *plan) newResidue() *residue {
	n := len(p.residue)
	return &residue{p: p, seen: make([][]owned, n), last: make([]owned, n), more: make([]bool, n), looks: make([][]uint64, len(p.facets))}
}

func (r *residue) add(row []core.Value) {
	for k, f := range r.p.facets {
		r.addLook(k, int(row[f.col].Num))
	}
	for i, f := range r.p.residue {
		if f.facet < 0 {
			r.see(i, f.of(row))
		}
	}
}

func (r *residue) addLook(facet, n int) {
	set := r.looks[facet]
	if n/64 >= len(set) {
		set = append(set, make([]uint64, n/64+1-len(set))...)
		r.looks[facet] = set
	}
	set[n/64] |= 1 << (n % 64)
}

// settle turns the looks that were seen into values.
func (r *residue) settle() {
	for k, words := range r.looks {
		for word, set := range words {
			for ; set != 0; set &= set - 1 {
				values := r.p.lookAt(r.p.facets[k], 64*word+bits.TrailingZeros64(set))
				for i, f := range r.p.residue {
					if f.facet == k {
						r.see(i, f.of(values))
					}
				}
			}
		}
		r.looks[k] = nil
	}
}

// of takes the field of a row, or of the values of its facet.
func (f residueField) of(values []core.Value) owned {
	o := owned{value: values[f.col]}
	if f.owner >= 0 {
		o.owner = values[f.owner]
	}
	return o
}

func (r *residue) see(i int, o owned) {
	if len(r.seen[i]) > 0 && r.last[i] == o {
		return
	}
	r.last[i] = o
	r.insert(i, o)
}

func (r *residue) insert(i int, o owned) {
	at, found := slices.BinarySearchFunc(r.seen[i], o, compareOwned)
	switch {
	case found:
	case at >= maxResidue:
		r.more[i] = true
	default:
		r.seen[i] = slices.Insert(r.seen[i], at, o)
		if len(r.seen[i]) > maxResidue {
			r.seen[i] = r.seen[i][:maxResidue]
			r.more[i] = true
		}
	}
}

// compareOwned orders by content alone; versions are put in order when printed.
func compareOwned(a, b owned) int {
	if c := versions(nil).sortValues(a.owner, b.owner, core.TextType, false); c != 0 {
		return c
	}
	return versions(nil).sortValues(a.value, b.value, core.TextType, false)
}

// merge adds what another group has seen.
func (r *residue) merge(other *residue) {
	r.settle()
	other.settle()
	for i := range other.seen {
		for _, o := range other.seen[i] {
			r.insert(i, o)
		}
		r.more[i] = r.more[i] || other.more[i]
	}
}

// differs reports whether the field tells trials of the group apart.
func (r *residue) differs(i int) bool {
	seen := r.seen[i]
	if r.p.residue[i].owner < 0 {
		return len(seen) > 1
	}
	for j := 1; j < len(seen); j++ {
		if seen[j].owner == seen[j-1].owner {
			return true
		}
	}
	return false
}

// compared gives the residue of each set of trials that were compared with each
// other: a group, a curve, or with over the same member in all groups.
func (p *plan) compared(groups []*group) []*residue {
	var out []*residue
	members := map[string]*residue{}
	for _, g := range groups {
		switch {
		case p.curve != nil:
			for _, key := range slices.Sorted(maps.Keys(g.curves)) {
				out = append(out, g.curves[key].residue)
			}
		case p.over != nil:
			for _, key := range slices.Sorted(maps.Keys(g.cells)) {
				if members[key] == nil {
					members[key] = p.newResidue()
				}
				members[key].merge(g.cells[key].residue)
			}
		case p.q.per != "" && p.q.verb == "show" && !p.grouped:
			out = append(out, g.combined...)
		case g.residue != nil:
			out = append(out, g.residue)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		out = append(out, members[key])
	}
	return out
}

// residueOf unites what differs within any of the groups.
func (p *plan) residueOf(groups []*group) []Residue {
	all := p.newResidue()
	differs := make([]bool, len(p.residue))
	for _, r := range p.compared(groups) {
		r.settle()
		one := p.newResidue()
		for i := range p.residue {
			if r.differs(i) {
				differs[i] = true
				one.seen[i], one.more[i] = r.seen[i], r.more[i]
			}
		}
		all.merge(one)
	}
	var out []Residue
	for i, f := range p.residue {
		if !differs[i] || p.settled[f.name] {
			continue
		}
		res := Residue{Field: f.name, More: all.more[i]}
		for _, o := range all.seen[i] {
			res.Values = append(res.Values, o.value)
		}
		slices.SortFunc(res.Values, func(a, b core.Value) int { return p.versions.sortValues(a, b, f.typ, false) })
		res.Values = slices.Compact(res.Values)
		out = append(out, res)
	}
	return out
}
