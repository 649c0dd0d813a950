package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Options are what a run may be told beyond the query.
type Options struct {
	// Now is the moment that now() means; zero is the clock's.
	Now time.Time
}

// Run answers a query. IsUsage tells a mistake in the query from a failure to read
// the history. A query for which no trial qualifies is no error: its answer has no
// rows and a warning that says why.
func Run(ctx context.Context, src Source, text string, opt Options) (*Answer, error) {
	q, err := Parse(text)
	if err != nil {
		return nil, err
	}
	names, err := src.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	p, err := q.plan(names, opt.Now)
	if err != nil {
		return nil, err
	}
	history, err := src.History(ctx)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	e := newEvaluation(p)
	if p.vs != nil && p.early {
		if err := stream(ctx, src, p, p.addBaseline); err != nil {
			return nil, err
		}
	}
	if err := stream(ctx, src, p, e.add); err != nil {
		return nil, err
	}
	// The answer counts the rows that it saw, whatever was written meanwhile.
	history.Trials = e.trials
	return e.answer(history), nil
}

func stream(ctx context.Context, src Source, p *plan, take func(row []core.Value)) error {
	n := 0
	for row, err := range src.Rows(ctx, core.Select{Columns: p.columns}) {
		if err != nil {
			return fmt.Errorf("read trials: %w", err)
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		take(row)
	}
	return ctx.Err()
}

// evaluation is what one pass over the rows has seen.
type evaluation struct {
	p        *plan
	trials   int
	status   int            // left out by their status
	statuses map[string]int // of those
	tallies  [2]tally       // real trials and simulated ones, where these stand apart
	misses   []miss         // of each conjunct, while nothing qualifies
	any      bool           // something qualifies
	buffer   []float64
}

// tally counts and groups the trials of one kind.
type tally struct {
	rows       int // all, whatever came of them
	where      int
	undecided  int
	reasons    map[string]int
	unasked    int                 // undecided for want of the number of requests asked
	studies    map[core.Value]bool // of those
	groups     map[string]*group
	considered int
	notes      assertions
}

// miss counts the trials that fail one conjunct, and remembers the one that fails
// this conjunct alone and by least.
type miss struct {
	trials  int
	gap     float64
	nearest []core.Value // the row, nil for none
}

// group is what was seen of one combination of keys.
type group struct {
	key        []core.Value
	row        []core.Value // keys and aggregates, once all rows were read
	considered int
	best       best
	front      front
	list       list
	gathered   []gathered
	residue    *residue
}

func newEvaluation(p *plan) *evaluation {
	e := &evaluation{p: p, statuses: map[string]int{}, misses: make([]miss, len(p.where))}
	for i := range e.tallies {
		e.tallies[i] = tally{reasons: map[string]int{}, studies: map[core.Value]bool{}, groups: map[string]*group{}}
	}
	return e
}

// class is the tally of a row.
func (p *plan) class(row []core.Value) int {
	if p.split && row[p.simulated].True() {
		return 1
	}
	return 0
}

// add takes one row.
func (e *evaluation) add(row []core.Value) {
	p := e.p
	e.trials++
	if p.vs != nil && !p.early {
		p.addBaseline(row)
	}
	t := &e.tallies[p.class(row)]
	if p.okOnly {
		if status := row[p.status].Text; status != string(core.StatusOK) {
			e.status++
			e.statuses[status]++
			if s := core.Status(status); !s.Open() && s != core.StatusRetracted {
				t.touch(p, row)
			}
			return
		}
	}
	t.rows++
	switch p.decide(row) {
	case no:
		t.where++
		t.touch(p, row)
		if !e.any {
			e.countMisses(row)
		}
		return
	case undecided:
		t.leaveUndecided(p, row, func(add func(int)) {
			for _, c := range p.where {
				c.why(row, add)
			}
		})
		return
	}
	scores, ok := p.scores(row, e.buffer)
	e.buffer = scores
	if !ok {
		t.leaveUndecided(p, row, func(add func(int)) {
			for _, g := range p.goals {
				if g.val(row).Kind != core.KindNumber {
					g.why(row, add)
					if g.col >= 0 { // a knob that is text here
						add(g.col)
					}
				}
			}
		})
		return
	}
	e.any = true
	t.take(p, row, scores)
}

// decide is the condition of where.
func (p *plan) decide(row []core.Value) tri {
	t := yes
	for _, c := range p.where {
		t = t.and(c.cond(row))
		if t == no {
			return no
		}
	}
	return t
}

// take lets a row that qualifies take part.
func (t *tally) take(p *plan, row []core.Value, scores []float64) {
	t.considered++
	g := t.group(p, row)
	g.considered++
	for i, agg := range p.aggregates {
		g.gathered[i].add(agg, row)
	}
	if g.residue != nil {
		g.residue.add(row)
	}
	switch {
	case p.grouped:
		t.notes.addWithBaseline(p, row)
	case p.q.verb == "show":
		n := p.q.top
		if n == 0 && len(p.by) == 0 {
			n = p.q.limit
		}
		g.list.add(p, row, n)
	case p.q.verb == "pareto":
		g.front.add(p, row, scores)
	default:
		g.best.add(p, row, scores[0])
	}
}

// leaveUndecided counts a row that lacks something, each field once.
func (t *tally) leaveUndecided(p *plan, row []core.Value, why func(add func(col int))) {
	t.undecided++
	t.touch(p, row)
	var cols []int
	why(func(col int) {
		if !slices.Contains(cols, col) {
			cols = append(cols, col)
		}
	})
	if len(cols) == 0 && p.vs != nil {
		t.reasons["baseline"]++
	}
	for _, col := range cols {
		name := p.columns[col]
		t.reasons[name]++
		if name == "success_rate" && p.requested >= 0 && row[p.requested].IsMissing() {
			t.unasked++
			t.studies[row[p.study]] = true
		}
	}
}

// touch makes a group known in which nothing may qualify, when the row belongs to
// what was asked: it passes every condition that is not about measured fields.
func (t *tally) touch(p *plan, row []core.Value) {
	if len(p.by) == 0 {
		return
	}
	for _, c := range p.where {
		if c.filter && c.cond(row) != yes {
			return
		}
	}
	t.group(p, row)
}

func (t *tally) group(p *plan, row []core.Value) *group {
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
		g.residue = newResidue(p.residue)
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

// countMisses notes which conditions a row fails.
func (e *evaluation) countMisses(row []core.Value) {
	failed, only := 0, -1
	for i, c := range e.p.where {
		switch c.cond(row) {
		case no:
			e.misses[i].trials++
			failed, only = failed+1, i
		case undecided:
			failed++
		}
	}
	if failed != 1 || only < 0 || e.p.where[only].cmp == "" {
		return
	}
	kids := e.p.where[only].kids
	l, r := kids[0].val(row), kids[1].val(row)
	gap := arithmetic("-", l, r)
	if gap.Kind != core.KindNumber {
		return
	}
	m, distance := &e.misses[only], math.Abs(gap.Num)
	if m.nearest == nil || distance < m.gap || (distance == m.gap && e.p.tieBreak(row, m.nearest) < 0) {
		m.gap, m.nearest = distance, e.p.keepRow(row)
	}
}
