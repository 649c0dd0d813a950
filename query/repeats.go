package query

import (
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
	rows   [][]core.Value // kept rows
	looks  []int          // of each, its look: see looks
	failed int            // failed trials that were left out by their status
}

// looks keeps the values of the residue's fields once for each distinct combination,
// since most trials of a history look like another one.
type looks struct {
	index  map[string]int
	values [][]owned
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

// planRepeats asks for the columns that tell repeats apart and says how each kept
// column is combined. p.keep is settled already.
func (p *plan) planRepeats() {
	if p.q.per == "" && !p.q.noise {
		return
	}
	by := p.q.per
	if by == "" {
		by = "setup"
	}
	p.repeatKey = []int{p.column(by)}
	for _, name := range repeatFields {
		p.repeatKey = append(p.repeatKey, p.column(name))
	}
	if p.q.per == "" {
		p.option, p.launch = p.column("option"), p.column("launch")
		return
	}
	p.rules = make([]rule, p.keep)
	for i, name := range p.columns[:p.keep] {
		if !p.virtual[i] {
			p.rules[i] = ruleOf(name)
		}
	}
	if p.requests != nil {
		for _, call := range p.requests.calls {
			p.rules[call.col] = ruleMedian
		}
	}
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
	r.rows = append(r.rows, p.keepRow(row))
	r.looks = append(r.looks, t.looks.add(p, row))
}

func (t *tally) repeatsOf(p *plan, row []core.Value) *repeats {
	var space [256]byte
	key := p.appendRepeatKey(space[:0], row)
	r := t.repeats[string(key)]
	if r == nil {
		r = &repeats{}
		t.repeats[string(key)] = r
	}
	return r
}

func (l *looks) add(p *plan, row []core.Value) int {
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
	values := make([]owned, len(p.residue))
	for i, f := range p.residue {
		values[i] = f.of(row)
	}
	l.index[string(key)] = len(l.values)
	l.values = append(l.values, values)
	return len(l.values) - 1
}

// addTo shows a residue all that the repeats looked like.
func (l *looks) addTo(r *residue, from *repeats) {
	for _, look := range from.looks {
		for i, o := range l.values[look] {
			r.see(i, o)
		}
	}
}

// ownResidue is a residue of these repeats alone, where they do not all look alike.
func (g *group) ownResidue(p *plan, r *repeats) *residue {
	if !slices.ContainsFunc(r.looks, func(look int) bool { return look != r.looks[0] }) {
		return nil
	}
	own := newResidue(p.residue)
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
	var out [][]core.Value
	for _, r := range p.stands[int(row[p.stand].Num)] {
		out = append(out, p.trialsOf(r)...)
	}
	return out
}
