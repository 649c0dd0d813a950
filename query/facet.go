package query

import (
	"context"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// facet is a set of fields of which a Sharer's trials share the values: a row has in
// one column the number of its look, which is the values of all of them at once.
type facet struct {
	fields []string
	col    int
	looks  [][]core.Value // by number, as far as they were asked for

	// keyed are the places of the fields by which repeats are told apart, keys the
	// number of each look's values there: equal for equal values.
	keyed []int
	keys  []uint32
	index map[string]uint32
}

// lookColumn is a column that a facet has.
type lookColumn struct{ col, facet, at int }

// look gives the values of a row's look.
func (p *plan) look(f *facet, row []core.Value) []core.Value { return p.lookAt(f, int(row[f.col].Num)) }

func (p *plan) lookAt(f *facet, n int) []core.Value {
	if n < len(f.looks) && f.looks[n] != nil {
		return f.looks[n]
	}
	values, err := p.shared.Look(p.ctx, f.fields, n)
	if err != nil {
		p.failed = err
		return make([]core.Value, len(f.fields))
	}
	if n >= len(f.looks) {
		f.looks = append(f.looks, make([][]core.Value, n+1-len(f.looks))...)
	}
	f.looks[n] = values
	return values
}

// key is a number that is equal for looks that repeats may have both.
func (p *plan) key(f *facet, row []core.Value) uint32 {
	n := int(row[f.col].Num)
	if n < len(f.keys) && f.keys[n] != 0 {
		return f.keys[n]
	}
	var text []byte
	values := p.lookAt(f, n)
	for _, at := range f.keyed {
		text = appendKey(text, values[at])
	}
	key, ok := f.index[string(text)]
	if !ok {
		key = uint32(len(f.index) + 1)
		f.index[string(text)] = key
	}
	if n >= len(f.keys) {
		f.keys = append(f.keys, make([]uint32, n+1-len(f.keys))...)
	}
	f.keys[n] = key
	return key
}

// planFacets asks for the looks of fields and says which of the keys no facet has.
func (p *plan) planFacets(fields, keys []string) (rest []string) {
	for i, in := range p.shared.Facets(slices.Concat(fields, keys)) {
		f := &facet{fields: in, col: p.worked("look " + string(rune('a'+i))), index: map[string]uint32{}}
		for _, name := range keys {
			if at := slices.Index(in, name); at >= 0 && !slices.Contains(f.keyed, at) {
				f.keyed = append(f.keyed, at)
			}
		}
		p.facets = append(p.facets, f)
	}
	for _, name := range keys {
		if f, _ := p.facetOf(name); f < 0 {
			rest = append(rest, name)
		}
	}
	return rest
}

// facetOf is the facet that has a field, and the field's place in it.
func (p *plan) facetOf(name string) (facet, at int) {
	for i, f := range p.facets {
		if at := slices.Index(f.fields, name); at >= 0 {
			return i, at
		}
	}
	return -1, -1
}

// planLate leaves columns out of the walk that only the rows of an answer need.
func (p *plan) planLate() {
	if (len(p.goals) == 0 && !p.grouped) || p.over != nil || p.q.noise || p.all {
		return
	}
	if p.requests != nil { // samples are read of a trial by its id
		return
	}
	names := []string{"id", "started_at", "findings", "asserted"}
	switch {
	case p.grouped && p.q.per == "":
		names = names[:2] // no row of the answer is a trial
	case p.q.per != "":
		// started_at tells a combined row's repeats apart.
		names = []string{"id", "option", "launch", "findings", "asserted"}
		if p.grouped || p.vs != nil {
			names = names[:4]
		}
	case p.vs != nil:
		names = names[:3] // a baseline's corrections count too
	}
	if p.answered >= 0 && p.q.per == "" { // with per it makes the rate
		names = append(names, "completed")
	}
	for _, name := range names {
		if !p.asked[name] {
			p.late = append(p.late, p.column(name))
		}
	}
}

// maxAsked is how many trials are asked for at once.
const maxAsked = 500

// complete reads the late columns of rows. A failure shows when the answer is done.
func (p *plan) complete(rows [][]core.Value) {
	if len(p.late) == 0 {
		return
	}
	byNumber := map[float64][][]core.Value{}
	var numbers []core.Value
	for _, row := range rows {
		if n := row[p.number]; n.Kind == core.KindNumber && row[p.id].IsMissing() {
			if byNumber[n.Num] == nil {
				numbers = append(numbers, n)
			}
			byNumber[n.Num] = append(byNumber[n.Num], row)
		}
	}
	columns := []string{"number"}
	for _, col := range p.late {
		columns = append(columns, p.columns[col])
	}
	for some := range slices.Chunk(numbers, maxAsked) {
		sel := core.Select{Columns: columns, Where: []core.Cond{{Field: "number", Op: core.OpIn, Values: some}}}
		for read, err := range p.shared.Rows(p.ctx, sel) {
			if err != nil {
				p.failed = err
				return
			}
			for _, row := range byNumber[read[0].Num] {
				for i, col := range p.late {
					row[col] = read[1+i]
				}
			}
		}
	}
	if p.stand < 0 {
		return
	}
	for _, row := range rows {
		if row[p.stand].Kind != core.KindNumber {
			continue // a trial
		}
		trials := p.trialsOf(row)
		for _, col := range p.late {
			if len(trials) > 1 && p.rules[col] == ruleSum {
				row[col] = sumOf(trials, col)
			}
		}
	}
}

// completeEntries is complete for kept rows with scores.
func (p *plan) completeEntries(entries []entry) {
	if len(p.late) == 0 {
		return
	}
	rows := make([][]core.Value, len(entries))
	for i, e := range entries {
		rows[i] = e.row
	}
	p.complete(rows)
}

// from tells the plan whom to ask during a run.
func (p *plan) from(ctx context.Context, src Source) {
	p.ctx = ctx
	p.shared, _ = src.(Sharer)
}
