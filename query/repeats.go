package query

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// repeatFields must be equal, beside setup or config, for trials to repeat each
// other: what was asked and how hard, seed aside. It is never changed.
var repeatFields = []string{"simulated", "workload", "dataset", "input_len", "output_len", "ignore_eos", "turns",
	"load", "concurrency", "request_rate", "burstiness", "num_prompts"}

// repeats are the trials of one repeat key that pass the filters of where.
type repeats struct {
	rows   []int32 // places of kept rows
	looks  []int32 // of each, its look: see looks
	failed int     // failed trials that were left out by their status
}

// standing are the trials for which one row of the answer stands.
type standing struct {
	repeats *repeats
	rows    [][]core.Value // those of the repeats once they were asked for, or rows that stand for others themselves
}

// looks keeps the values of the residue's fields once for each distinct combination,
// since most trials of a history look like another one. It is for a source that does
// not number them itself.
type looks struct {
	index  map[string]int32
	values [][]core.Value // rows
}

// rule is how a column of a combined row comes from those of the repeats.
type rule uint8

const (
	ruleRepresentative rule = iota // a choice, a setting, an identity
	ruleSum
	ruleMedian
	ruleWorst // the largest
	ruleAny   // true when any is
	ruleSuccessRate
)

// repeatNames are the fields that tell repeats apart, nil where nothing repeats.
func (p *plan) repeatNames() []string {
	switch {
	case p.q.per != "":
		return append([]string{p.q.per}, repeatFields...)
	case p.q.noise:
		return append([]string{"setup"}, repeatFields...)
	}
	return nil
}

// planRepeats asks for the columns that tell repeats apart, of those that no facet
// has, and says how each kept column is combined. p.keep is settled already.
func (p *plan) planRepeats(keys []string) {
	for _, name := range keys {
		p.repeatKey = append(p.repeatKey, p.column(name))
	}
	if p.q.per == "" {
		if p.q.noise {
			p.option, p.launch = p.column("option"), p.column("launch")
		}
		return
	}
	p.rules = make([]rule, p.keep)
	p.kept = arena{index: map[string]uint64{}}
	for i, name := range p.columns[:p.keep] {
		if !p.virtual[i] {
			p.rules[i] = ruleOf(name)
		}
		worked := i == p.n || i == p.failedRepeats || i == p.stand
		switch facet, at := p.facetOf(name); {
		case worked || slices.Contains(p.late, i):
		case facet >= 0:
			p.shownBy = append(p.shownBy, lookColumn{i, facet, at})
		default:
			p.kept.columns = append(p.kept.columns, i)
		}
	}
	if p.requests != nil {
		for _, call := range p.requests.calls {
			p.rules[call.col] = ruleMedian
		}
	}
	p.kept.last = make([]uint64, len(p.kept.columns))
}

func ruleOf(name string) rule {
	f, _ := core.LookupField(name)
	switch {
	case !f.Measured():
		return ruleRepresentative
	case name == "success_rate":
		return ruleSuccessRate
	case summed(f):
		return ruleSum
	case strings.HasPrefix(name, "severity."):
		return ruleWorst
	case f.Type == core.BoolType:
		return ruleAny
	}
	return ruleMedian
}

// summed reports whether a figure counts something, so that repeats add up. Ratios
// and the duration stand among the counts and are none.
func summed(f core.Field) bool {
	switch f.Name {
	case "success_rate", "duration_s", "mean_input_len", "mean_output_len":
		return false
	case "findings":
		return true
	}
	return f.Group == core.GroupCounts
}

// appendRepeatKey appends what is equal for trials that repeat each other. Keys of
// by that are not measured belong to it, so that a combined row lies in one group.
func (p *plan) appendRepeatKey(b []byte, row []core.Value) []byte {
	for _, f := range p.facets {
		if len(f.keyed) > 0 {
			b = binary.AppendUvarint(b, uint64(p.key(f, row)))
		}
	}
	for _, col := range p.repeatKey {
		b = appendKey(b, row[col])
	}
	for _, k := range p.by {
		if !measured(k) {
			b = appendKey(b, k.val(row))
		}
	}
	return b
}

// measured reports whether a node names anything that repeats may differ in.
func measured(n *node) bool {
	is := false
	n.fields(func(f *core.Field) { is = is || f.Measured() })
	return is
}

// repeat adds a trial to those that it repeats.
func (t *tally) repeat(p *plan, row []core.Value) {
	r := t.repeatsOf(p, row)
	r.rows = append(r.rows, int32(p.kept.add(row)))
	if !p.byLook() {
		r.looks = append(r.looks, t.looks.add(p, row))
	}
}

func (t *tally) repeatsOf(p *plan, row []core.Value) *repeats {
	var space [256]byte
	key := p.appendRepeatKey(space[:0], row)
	// Most sources give repeats one after another.
	if n := len(t.inOrder); n > 0 && string(key) == t.lastKey {
		return t.lastRepeats
	}
	r := t.repeats[string(key)]
	t.lastKey = string(key)
	if r == nil {
		r = &repeats{}
		t.repeats[t.lastKey] = r
		t.inOrder = append(t.inOrder, r)
	}
	t.lastRepeats = r
	return r
}

// unpack gives the kept rows of repeats.
func (p *plan) unpack(r *repeats) [][]core.Value {
	rows := make([][]core.Value, len(r.rows))
	cells := make([]core.Value, len(r.rows)*p.keep)
	p.unpackInto(r, rows, cells)
	return rows
}

func (p *plan) unpackInto(r *repeats, rows [][]core.Value, cells []core.Value) {
	clear(cells)
	for i, at := range r.rows {
		rows[i] = cells[i*p.keep : (i+1)*p.keep : (i+1)*p.keep]
		p.kept.get(int(at), rows[i])
		for _, c := range p.shownBy {
			rows[i][c.col] = p.look(p.facets[c.facet], rows[i])[c.at]
		}
	}
}

func (l *looks) add(p *plan, row []core.Value) int32 {
	var space [512]byte
	key := space[:0]
	for _, f := range p.residue {
		key = appendKey(key, row[f.col])
		if f.owner >= 0 {
			key = appendKey(key, row[f.owner])
		}
	}
	if i, ok := l.index[string(key)]; ok {
		return i
	}
	i := int32(len(l.values))
	l.index[string(key)] = i
	l.values = append(l.values, slices.Clone(row))
	return i
}

// byLook reports whether rows name all that the residue looks at by number.
func (p *plan) byLook() bool {
	return len(p.facets) > 0 && !slices.ContainsFunc(p.residue, func(f residueField) bool { return f.facet < 0 })
}

// addTo shows a residue all that the repeats looked like.
func (l *looks) addTo(r *residue, from *repeats) {
	if p := r.p; p.byLook() {
		for k, f := range p.facets {
			place := slices.Index(p.kept.columns, f.col)
			for _, at := range from.rows {
				r.addLook(k, int(p.kept.number(int(at), place)))
			}
		}
		return
	}
	for i, look := range from.looks {
		if i == 0 || look != from.looks[i-1] {
			r.add(l.values[look])
		}
	}
}

// alike reports whether repeats have all that the residue looks at in common.
func (p *plan) alike(r *repeats) bool {
	if !p.byLook() {
		return !slices.ContainsFunc(r.looks, func(look int32) bool { return look != r.looks[0] })
	}
	for _, f := range p.facets {
		place := slices.Index(p.kept.columns, f.col)
		first := p.kept.number(int(r.rows[0]), place)
		if slices.ContainsFunc(r.rows, func(at int32) bool { return p.kept.number(int(at), place) != first }) {
			return false
		}
	}
	return true
}

// ownResidue is a residue of these repeats alone, where they do not all look alike.
func (g *group) ownResidue(p *plan, r *repeats) *residue {
	if p.alike(r) {
		return nil
	}
	own := p.newResidue()
	g.combined = append(g.combined, own)
	return own
}

// trialsOf gives the rows of the trials that a row of the answer stands for.
func (p *plan) trialsOf(row []core.Value) [][]core.Value {
	switch {
	case p.curve != nil && len(row) > p.keep:
		out := p.trialsOf(row[:p.keep])
		if other := row[p.keep : 2*p.keep]; known(other[p.id]) {
			out = slices.Concat(out, p.trialsOf(other))
		}
		return out
	case p.stand < 0 || row[p.stand].Kind != core.KindNumber:
		return [][]core.Value{row}
	}
	of := &p.stands[int(row[p.stand].Num)]
	if of.repeats != nil {
		if of.rows == nil {
			of.rows = p.unpack(of.repeats)
			p.complete(of.rows)
			slices.SortFunc(of.rows, p.tieBreak)
		}
		return of.rows
	}
	var out [][]core.Value
	for _, r := range of.rows {
		out = append(out, p.trialsOf(r)...)
	}
	return out
}
