package query

import (
	"context"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// plan is a checked query for one run: what to read and what to compute. Its
// closures share caches, so that one plan serves one goroutine.
type plan struct {
	q        *Query
	names    core.Names
	now      time.Time
	versions versions

	columns []string // of the rows that are read
	virtual []bool   // of each, whether it is worked out rather than read
	index   map[string]int
	asked   map[string]bool // fields that the query names

	where      []conjunct
	filters    []conjunct // those of where that a trial is judged by
	judged     []conjunct // those that a combined row is judged by, with per
	by         []*node
	goals      []rankedGoal
	prefer     []rankedGoal
	grouped    bool // show of aggregates, or count: one row a group
	aggregates []*aggregate
	having     *node
	order      []orderKey
	vs         *versus
	over       *over
	curve      *curvePlan
	requests   *requests        // nil where no sample is asked for
	severity   []severityColumn // of the figures that rank
	noise      *noise           // once all rows were read, with within noise
	outputs    []output
	shown      []shownFigure // with marks

	okOnly      bool // only trials with status ok take part
	unretracted bool // retracted trials do not, although the query names status
	split       bool // simulated trials stand apart
	doubts      bool // aggregates of figures are shown, on which findings may touch
	marks       bool // show says how bad the findings on its figures are
	numbers     bool // the answer names the trials of each row
	// early says that a baseline is needed before the last row was read.
	early bool

	// Columns that the evaluation itself needs; -1 where it does not.
	status, simulated, started, id, number, asserted, requested, study, findings int
	completed, incomplete, option, launch                                        int
	answered                                                                     int // completed, where none may have failed

	// What per works out: columns of a combined row, how its other columns come from
	// the repeats, and by what it picks the representative.
	n, failedRepeats int
	repeatKey        []int // columns
	rules            []rule
	typical          *node
	mixes            []string // expressions of which a part is summed and a part is not

	// stands holds the trials for which rows of the answer stand; the column stand
	// of such a row is its place.
	stands []standing
	stand  int

	keep    int // a kept row needs only the columns before this one
	residue []residueField
	settled map[string]bool // fields that may differ unnoticed

	// What a Sharer makes possible; shared is nil for any other source.
	shared Sharer
	ctx    context.Context //nolint:containedctx // a plan serves one run
	facets []*facet
	late   []int // columns that only rows of the answer get
	all    bool  // no column may be late
	failed error // of a later look at the source

	counted *judgement // by Explain
	watched *watched   // by Why

	kept        arena // rows that wait for their repeats
	scratch     []core.Value
	scratchRows [][]core.Value
	shownBy     []lookColumn // columns that a kept row's looks give
}

type conjunct struct {
	*node
	at     int // in the plan's where
	text   string
	filter bool // about what was chosen or asked, not about what was measured
}

type rankedGoal struct {
	*node
	better core.Better
}

type orderKey struct {
	*node
	desc bool
}

// output is one column of the answer. Either row is a kept row, or g alone counts.
type output struct {
	Column
	get func(g *group, row []core.Value) core.Value
}

func (p *plan) column(name string) int {
	i, ok := p.index[name]
	if !ok {
		i = len(p.columns)
		p.index[name] = i
		p.columns = append(p.columns, name)
		p.virtual = append(p.virtual, false)
	}
	return i
}

// worked gives a column that no source has.
func (p *plan) worked(name string) int {
	i := p.column(name)
	p.virtual[i] = true
	return i
}

// fieldColumn is the node of a plain field.
func (p *plan) fieldColumn(name string) *node {
	f, _ := core.LookupField(name)
	col := p.column(f.Name)
	n := valueNode(f.Type, func(row []core.Value) core.Value { return row[col] })
	n.field, n.col = &f, col
	return n
}

// plan checks the query and compiles it.
func (q *Query) plan(names core.Names, opt Options, prepare ...func(*plan)) (*plan, error) {
	p := &plan{q: q, names: names, now: opt.Now, versions: versions{}, index: map[string]int{}, asked: map[string]bool{},
		status: -1, simulated: -1, requested: -1, study: -1, findings: -1, completed: -1, incomplete: -1, answered: -1, n: -1, failedRepeats: -1, stand: -1}
	for _, fn := range prepare {
		fn(p)
	}
	if q.vs != nil {
		p.vs = &versus{found: map[string]*baseline{}}
	}
	if q.per != "" {
		p.n, p.failedRepeats = p.worked("n"), p.worked("failed_repeats")
	}
	if q.per != "" || q.over != nil {
		p.stand = p.worked("")
	}
	// In reading order, so that the first mistake is the one reported.
	steps := []func() error{p.planGoals, p.planCurve, p.planBy, p.planOver, p.planShow, p.planWhere, p.planVersus, p.planGroups, p.planOrder, p.planRest}
	p.marks = opt.Marks && q.verb == "show"
	p.numbers = opt.Marks
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *plan) compiler(e *expression, clause string) *compiler {
	return &compiler{expression: e, plan: p, clause: clause}
}

func (p *plan) planWhere() error {
	e := p.q.where
	if e == nil {
		return nil
	}
	for _, part := range conjuncts(e.root) {
		n, err := p.compiler(e, "where").condition(part)
		if err != nil {
			return err
		}
		p.where = append(p.where, conjunct{node: n, text: part.String(), filter: !measured(n)})
		p.early = p.early || n.base
	}
	// What needs samples comes last, so that these are read only of trials that all
	// else leaves in.
	slices.SortStableFunc(p.where, func(a, b conjunct) int {
		switch {
		case a.reads == b.reads:
			return 0
		case a.reads:
			return 1
		}
		return -1
	})
	for i := range p.where {
		p.where[i].at = i
		if c := p.where[i]; c.filter {
			p.filters = append(p.filters, c)
		} else {
			p.judged = append(p.judged, c)
		}
	}
	return nil
}

func (p *plan) planBy() error {
	for _, it := range p.q.by {
		n, err := p.compiler(it.expression, "by").compile(it.root)
		if err != nil {
			return err
		}
		if n.lit != nil {
			return it.errorf(it.off, "by %s: every trial has the same", it.text)
		}
		p.by = append(p.by, n)
		p.early = p.early || n.base
	}
	return nil
}

func (p *plan) planGoals() (err error) {
	if p.goals, err = p.ranked(p.q.goals, p.q.verb); err != nil {
		return err
	}
	p.prefer, err = p.ranked(p.q.prefer, "prefer")
	return err
}

// ranked compiles goals. A goal is a number, a moment, or a knob that may be one.
func (p *plan) ranked(goals []goal, clause string) ([]rankedGoal, error) {
	var out []rankedGoal
	for _, g := range goals {
		n, err := p.compiler(g.expression, clause).compile(g.root)
		if err != nil {
			return nil, err
		}
		if n.typ != core.NumberType && n.typ != core.TimeType && n.typ != core.AnyType {
			return nil, g.errorf(g.off, "%s is %s: only numbers and times can be ranked", g.text, kindName(n.typ))
		}
		if n.lit != nil {
			return nil, g.errorf(g.off, "%s is the same for every trial", g.text)
		}
		out = append(out, rankedGoal{n, g.better})
		p.early = p.early || n.base
	}
	return out, nil
}

// hasAggregate reports whether a tree calls an aggregate outside base and gain.
func hasAggregate(n ast.Node) bool {
	found := false
	aroundRequests(n, func(n ast.Node) {
		call, ok := n.(*ast.CallNode)
		if !ok {
			return
		}
		if callee, ok := call.Callee.(*ast.IdentifierNode); ok {
			f, known := lookupFunction(callee.Value)
			found = found || known && f.aggregate && (f.most >= 0 || len(call.Arguments) == 1)
		}
	})
	return found
}

type visitor func(ast.Node)

func (v visitor) Visit(n *ast.Node) { v(*n) }

func (p *plan) groupScope() *groupScope {
	keys := map[string]int{}
	for i, it := range p.q.by {
		keys[it.root.String()] = i
	}
	return &groupScope{keys: keys}
}

func (p *plan) planShow() error {
	p.grouped = p.q.verb == "count" || slices.ContainsFunc(p.q.show, func(it item) bool { return hasAggregate(it.root) })
	if p.grouped && p.q.top > 0 {
		return syntaxError(p.q.text, p.q.topOff, "top counts the trials of a group, which aggregates make one row: use limit")
	}
	p.byOutputs()
	for _, it := range p.q.show {
		c := p.compiler(it.expression, "show")
		if p.grouped {
			c.group = p.groupScope()
		}
		n, err := c.compile(it.root)
		if err != nil {
			return err
		}
		p.early = p.early || (n.base && p.grouped)
		get := func(_ *group, row []core.Value) core.Value { return n.val(row) }
		if p.grouped {
			get = func(g *group, _ []core.Value) core.Value { return n.val(g.row) }
		}
		p.outputs = append(p.outputs, output{describe(it.name, n, 0), get})
		if p.marks && !p.grouped {
			if columns := p.severities(n); len(columns) > 0 {
				p.shown = append(p.shown, shownFigure{n, columns})
			}
		}
		if p.typical == nil && !p.grouped && n.typ == core.NumberType && measured(n) {
			p.typical = n
		}
	}
	if p.q.per != "" && len(p.q.show) > 0 && !p.grouped {
		p.repeatOutputs()
	}
	for _, agg := range p.aggregates {
		p.early = p.early || agg.arg != nil && agg.arg.base
		if agg.arg != nil && agg.ofNumbers() {
			agg.severity = p.severities(agg.arg)
			p.doubts = p.doubts || len(agg.severity) > 0
		}
	}
	return nil
}

// describe gives a column what its expression tells of it.
func describe(name string, n *node, better core.Better) Column {
	c := Column{Name: name, Type: n.typ, Better: better}
	if n.field != nil {
		c.Unit = n.field.Unit
		if n.field.Better != 0 {
			c.Better = n.field.Better
		}
	}
	return c
}

// byOutputs puts the keys first, but not those that the query shows itself.
func (p *plan) byOutputs() {
	for i, it := range p.q.by {
		shown := func(o item) bool { return o.name == it.name || o.root.String() == it.root.String() }
		if slices.ContainsFunc(p.q.show, shown) || slices.ContainsFunc(p.q.goals, func(g goal) bool { return shown(g.item) }) {
			continue
		}
		p.outputs = append(p.outputs, output{describe(it.name, p.by[i], 0),
			func(g *group, _ []core.Value) core.Value { return g.key[i] }})
	}
}

// planGroups compiles having, over the keys and aggregates of a group.
func (p *plan) planGroups() error {
	if p.q.having == nil {
		return nil
	}
	c := p.compiler(p.q.having, "having")
	c.group = p.groupScope()
	c.aliases = p.aliases()
	n, err := c.condition(p.q.having.root)
	if err != nil {
		return err
	}
	p.having = n
	return nil
}

// aliases are the names that order by and having may use for columns.
func (p *plan) aliases() map[string]item {
	names := map[string]item{}
	for _, it := range p.q.show {
		names[it.name] = it
	}
	for _, g := range p.q.goals {
		names[g.name] = g.item
	}
	if p.q.verb == "count" {
		e, err := parseExpression("count()", 0, len("count()"), "count")
		if err == nil {
			names["count"] = item{e, "count"}
		}
	}
	return names
}

func (p *plan) planOrder() error {
	if len(p.q.order) > 0 && len(p.q.by) == 0 && p.q.verb != "show" {
		return syntaxError(p.q.text, p.q.order[0].off,
			"order by sorts the groups of %s and there is one: add by, or choose among ties with prefer", p.q.verb)
	}
	for _, o := range p.q.order {
		c := p.compiler(o.expression, "order by")
		c.aliases = p.aliases()
		if p.grouped {
			c.group = p.groupScope()
		}
		n, err := c.compile(o.root)
		if err != nil {
			return err
		}
		p.order = append(p.order, orderKey{n, o.desc})
		p.early = p.early || n.base && p.q.verb == "show"
	}
	return nil
}
