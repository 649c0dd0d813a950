package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Options are what a run may be told beyond the query.
type Options struct {
	// Now is the moment that now() means; zero is the clock's.
	Now time.Time
	// Marks asks of show what max and min say unasked: how bad the findings are that touch
	// the measured figures which a row shows. A picture needs it, since it draws figures
	// without their findings. Aggregates say it always.
	Marks bool
}

// Run answers a query. IsUsage tells a mistake in the query from a failure to read
// the history. A query for which no trial qualifies is no error: its answer has no
// rows and a warning that says why.
func Run(ctx context.Context, src Source, text string, opt Options) (*Answer, error) {
	q, names, err := prepare(ctx, src, text, &opt)
	if err != nil {
		return nil, err
	}
	p, err := q.plan(names, opt, func(p *plan) { p.from(ctx, src) })
	if err != nil {
		return nil, err
	}
	a, err := p.run(ctx, src)
	if err != nil || a.Considered > 0 || len(p.late) == 0 {
		return a, err
	}
	// Why nothing qualifies is told by a trial that nearly does, which takes all columns.
	p, err = q.plan(names, opt, func(p *plan) { p.from(ctx, src); p.all = true })
	if err != nil {
		return nil, err
	}
	return p.run(ctx, src)
}

// prepare parses a query, reads what its names may be, and settles what now is.
func prepare(ctx context.Context, src Source, text string, opt *Options) (*Query, core.Names, error) {
	q, err := Parse(text)
	if err != nil {
		return nil, core.Names{}, err
	}
	names, err := src.Names(ctx)
	if err != nil {
		return nil, core.Names{}, fmt.Errorf("read names: %w", err)
	}
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	return q, names, nil
}

// run reads the history and answers.
func (p *plan) run(ctx context.Context, src Source) (*Answer, error) {
	history, err := src.History(ctx)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	e := newEvaluation(p)
	if r := p.requests; r != nil {
		r.source = func(id core.ID) ([]core.Sample, error) { return src.Requests(ctx, id, r.chunks) }
	}
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
	a := e.answer(history)
	if p.requests != nil && p.requests.err != nil {
		return nil, p.requests.err
	}
	if p.failed != nil {
		return nil, fmt.Errorf("read trials: %w", p.failed)
	}
	return a, nil
}

func stream(ctx context.Context, src Source, p *plan, take func(row []core.Value)) error {
	n := 0
	sel, places := p.selection()
	var wide []core.Value
	if places != nil {
		wide = make([]core.Value, len(p.columns))
	}
	for row, err := range src.Rows(ctx, sel) {
		if err != nil {
			return fmt.Errorf("read trials: %w", err)
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if wide != nil {
			for i, at := range places {
				wide[at] = row[i]
			}
			row = wide
		}
		if p.requests == nil {
			take(row)
			continue
		}
		row[p.requests.read] = core.Missing()
		if take(row); p.requests.err != nil {
			return p.requests.err
		}
	}
	return ctx.Err()
}

// selection is what is read of every trial, and the columns at which it stands; nil
// where these are all. Columns that are worked out stay missing in the rows that are
// read, and so do those that come later.
func (p *plan) selection() (sel core.Select, places []int) {
	if !slices.Contains(p.virtual, true) && len(p.late) == 0 {
		return core.Select{Columns: p.columns}, nil
	}
	for i, name := range p.columns {
		if !p.virtual[i] && !slices.Contains(p.late, i) {
			sel.Columns, places = append(sel.Columns, name), append(places, i)
		}
	}
	for _, f := range p.facets {
		sel.Looks, places = append(sel.Looks, f.fields), append(places, f.col)
	}
	return sel, places
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
	repeats    map[string]*repeats // with per
	inOrder    []*repeats

	lastKey     string // of the row before
	lastRepeats *repeats
	looks       looks
	pools       map[string]*pool // with within noise
	last        *group           // of the row before
}

// group is what was seen of one combination of keys.
type group struct {
	key          []core.Value
	row          []core.Value // keys and aggregates, once all rows were read
	considered   int          // trials
	taken        int          // rows that took part: trials, or what per made of them
	best         best         // of rows that no hard or void finding touches
	tainted      best         // of the others
	front        front        // likewise
	taintedFront front
	curves       map[string]*curve
	cells        map[string]*cell
	list         list
	gathered     []gathered
	residue      *residue
	combined     []*residue   // of repeats that differ, with show … per
	unsound      bool         // a hard or void finding touches the winner
	sound        []core.Value // the row that would win otherwise
	soundGroup   *group       // with over, the group that it stands for
}

func newEvaluation(p *plan) *evaluation {
	e := &evaluation{p: p, statuses: map[string]int{}, misses: make([]miss, len(p.where))}
	for i := range e.tallies {
		e.tallies[i] = tally{reasons: map[string]int{}, studies: map[core.Value]bool{}, groups: map[string]*group{},
			repeats: map[string]*repeats{}, looks: looks{index: map[string]int32{}}, pools: map[string]*pool{}}
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

// takes reports whether trials of a status take part. What was retracted ranks only
// where a question speaks of it.
func (p *plan) takes(status core.Status) bool {
	switch {
	case p.okOnly:
		return status == core.StatusOK
	case p.unretracted:
		return status != core.StatusRetracted
	}
	return true
}

// add takes one row.
func (e *evaluation) add(row []core.Value) {
	p := e.p
	e.trials++
	if p.watched != nil {
		p.watched.see(p, row)
	}
	if p.vs != nil && !p.early {
		p.addBaseline(row)
	}
	t := &e.tallies[p.class(row)]
	if p.okOnly || p.unretracted {
		if status := row[p.status].Text; !p.takes(core.Status(status)) {
			e.status++
			e.statuses[status]++
			if s := core.Status(status); !s.Open() && s != core.StatusRetracted {
				t.touch(p, row)
			}
			if p.q.per != "" && status == string(core.StatusFailed) && decide(p.filters, row) == yes {
				t.repeatsOf(p, row).failed++
			}
			return
		}
	}
	t.rows++
	if p.q.per != "" {
		if e.passes(t, p.filters, row, 1) {
			t.repeat(p, row)
		}
		return
	}
	if e.qualifies(t, p.where, row, 1) {
		t.take(p, row, e.buffer, nil)
	}
}

// passes judges a row that stands for n trials by conditions, and counts it where it
// does not pass.
func (e *evaluation) passes(t *tally, conds []conjunct, row []core.Value, n int) bool {
	p := e.p
	if p.counted != nil {
		p.counted.judge(p.class(row), conds, row, n)
	}
	switch decide(conds, row) {
	case no:
		t.where += n
		t.touch(p, row)
		if !e.any {
			e.countMisses(conds, row, n)
		}
		return false
	case undecided:
		t.leaveUndecided(p, row, n, func(add func(int)) {
			for _, c := range conds {
				c.why(row, add)
			}
		})
		return false
	}
	return true
}

// qualifies is passes, and then whether the row has all that the verb ranks. It
// leaves the scores in the buffer.
func (e *evaluation) qualifies(t *tally, conds []conjunct, row []core.Value, n int) bool {
	p := e.p
	if !e.passes(t, conds, row, n) {
		return false
	}
	scores, ok := p.scores(row, e.buffer)
	e.buffer = scores
	if p.curve != nil {
		ok = p.curve.ready(p, row)
	}
	if p.over != nil && ok {
		member := p.over.node.val(row)
		if ok = known(member); ok {
			if _, weighs := p.over.weightOf(member); !weighs {
				t.where += n
				t.touch(p, row)
				return false
			}
		}
	}
	if !ok {
		t.leaveUndecided(p, row, n, func(add func(int)) { p.lacks(row, add) })
		return false
	}
	e.any = true
	return true
}

// lacks adds the columns for want of which a row cannot be ranked.
func (p *plan) lacks(row []core.Value, add func(col int)) {
	for _, g := range p.goals {
		if g.val(row).Kind != core.KindNumber {
			g.why(row, add)
			if g.col >= 0 { // a knob that is text here
				add(g.col)
			}
		}
	}
	if p.curve != nil {
		p.curve.why(p, row, add)
	}
	if p.over != nil {
		p.over.node.why(row, add)
	}
}

// decide is the conjunction of conditions on a row.
func decide(conds []conjunct, row []core.Value) tri {
	t := yes
	for _, c := range conds {
		t = t.and(c.cond(row))
		if t == no {
			return no
		}
	}
	return t
}

// take lets a row that qualifies take part: a trial, or what per made of repeats.
func (t *tally) take(p *plan, row []core.Value, scores []float64, r *repeats) {
	n := 1
	if r != nil {
		n = len(r.rows)
	}
	t.considered += n
	g := t.group(p, row)
	g.considered += n
	g.taken++
	trials := [][]core.Value{row}
	if r != nil && p.grouped {
		trials = p.unpack(r)
	}
	for i, agg := range p.aggregates {
		g.gathered[i].add(p, agg, row, trials)
	}
	compared := g.residue
	var c *curve
	var m *cell
	switch {
	case p.curve != nil:
		c = g.curveOf(p, row)
		compared = c.residue
	case p.over != nil:
		m = g.cellOf(p, row)
		compared = m.residue
	case r != nil && p.q.verb == "show" && !p.grouped:
		compared = g.ownResidue(p, r)
	}
	switch {
	case compared == nil:
	case r == nil:
		compared.add(row)
	default:
		t.looks.addTo(compared, r)
	}
	if p.q.noise {
		t.poolRow(p, row, r)
	}
	switch {
	case p.grouped:
		for _, one := range trials {
			t.notes.addWithBaseline(p, one)
		}
	case c != nil:
		c.add(p, row)
	case m != nil:
		m.add(p, row, scores[0])
	case p.q.verb == "show":
		n := p.q.top
		if n == 0 && len(p.by) == 0 {
			n = p.q.limit
		}
		g.list.add(p, row, n)
	case p.q.verb == "pareto" && p.tainted(row):
		g.taintedFront.add(p, row, scores)
	case p.q.verb == "pareto":
		g.front.add(p, row, scores)
	case p.tainted(row):
		g.tainted.add(p, row, scores[0])
	default:
		g.best.add(p, row, scores[0])
	}
}

// leaveUndecided counts a row that lacks something and stands for n trials, each
// field once.
func (t *tally) leaveUndecided(p *plan, row []core.Value, n int, why func(add func(col int))) {
	t.undecided += n
	t.touch(p, row)
	var cols []int
	why(func(col int) {
		if !slices.Contains(cols, col) {
			cols = append(cols, col)
		}
	})
	if len(cols) == 0 && p.vs != nil {
		t.reasons["baseline"] += n
	}
	for _, col := range cols {
		name := p.columns[col]
		t.reasons[name] += n
		if name == "success_rate" && p.requested >= 0 && row[p.requested].IsMissing() {
			t.unasked += n
			t.studies[row[p.study]] = true
		}
	}
}
