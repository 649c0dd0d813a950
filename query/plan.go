package query

import (
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
	index   map[string]int
	asked   map[string]bool // fields that the query names

	where      []conjunct
	by         []*node
	goals      []rankedGoal
	prefer     []rankedGoal
	grouped    bool // show of aggregates, or count: one row a group
	aggregates []*aggregate
	having     *node
	order      []orderKey
	vs         *versus
	outputs    []output

	okOnly bool // only trials with status ok take part
	split  bool // simulated trials stand apart
	// early says that a baseline is needed before the last row was read.
	early bool

	// Columns that the evaluation itself needs; -1 where it does not.
	status, simulated, started, id, number, asserted, requested, study int

	keep    int // a kept row needs only the columns before this one
	residue []residueField
}

type conjunct struct {
	*node
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
	}
	return i
}

// plan checks the query and compiles it.
func (q *Query) plan(names core.Names, now time.Time) (*plan, error) {
	p := &plan{q: q, names: names, now: now, versions: versions{}, index: map[string]int{}, asked: map[string]bool{},
		status: -1, simulated: -1, requested: -1, study: -1}
	if q.vs != nil {
		p.vs = &versus{found: map[string]*baseline{}}
	}
	// In reading order, so that the first mistake is the one reported.
	steps := []func() error{p.planGoals, p.planBy, p.planShow, p.planWhere, p.planVersus, p.planGroups, p.planOrder, p.planRest}
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
		c := conjunct{node: n, text: part.String(), filter: true}
		n.fields(func(f *core.Field) { c.filter = c.filter && !f.Measured() })
		p.where = append(p.where, c)
		p.early = p.early || n.base
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
	ast.Walk(&n, visitor(func(n ast.Node) {
		call, ok := n.(*ast.CallNode)
		if !ok {
			return
		}
		if callee, ok := call.Callee.(*ast.IdentifierNode); ok {
			f, known := lookupFunction(callee.Value)
			found = found || known && f.aggregate && (f.most >= 0 || len(call.Arguments) == 1)
		}
	}))
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
	}
	for _, agg := range p.aggregates {
		p.early = p.early || agg.arg != nil && agg.arg.base
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

// tail are the columns behind the value in the rows of max, min and pareto.
var tail = []string{"number", "id", "study", "engine", "model", "workload", "config", "n", "findings"}

// planRest settles who takes part and asks for the columns that the evaluation
// itself needs, those of the residue last.
func (p *plan) planRest() error {
	ranks := len(p.goals) > 0
	p.okOnly = ranks && !p.asked["status"]
	p.split = ranks && !p.asked["simulated"]
	if ranks {
		if err := p.rankOutputs(); err != nil {
			return err
		}
	}
	if p.q.verb == "count" {
		p.outputs = append(p.outputs, output{Column{Name: "count", Type: core.NumberType},
			func(g *group, _ []core.Value) core.Value { return core.Number(float64(g.considered)) }})
	}
	if p.vs != nil {
		if len(p.vs.exprs) == 0 {
			return syntaxError(p.q.text, p.q.vs.off, "vs changes nothing: name base(x) or gain in a column")
		}
		p.vs.okOnly, p.vs.split = !p.asked["status"], !p.asked["simulated"]
	}
	if p.okOnly || (p.vs != nil && p.vs.okOnly) {
		p.status = p.column("status")
	}
	if p.split || (p.vs != nil && p.vs.split) {
		p.simulated = p.column("simulated")
	}
	p.started, p.id, p.number = p.column("started_at"), p.column("id"), p.column("number")
	p.asserted = p.column("asserted")
	if p.asked["success_rate"] {
		p.requested, p.study = p.column("requested"), p.column("study")
	}
	p.keep = len(p.columns)
	if ranks || (p.grouped && p.q.verb == "show") {
		p.planResidue()
	}
	return nil
}

func (p *plan) rankOutputs() error {
	for i, g := range p.q.goals {
		n := p.goals[i]
		p.outputs = append(p.outputs, output{describe(g.name, n.node, g.better),
			func(_ *group, row []core.Value) core.Value { return n.val(row) }})
	}
	if p.vs != nil {
		if err := p.versusOutputs(); err != nil {
			return err
		}
	}
	for _, name := range tail {
		if slices.ContainsFunc(p.outputs, func(o output) bool { return o.Name == name }) {
			continue
		}
		if name == "n" { // the trials that a row stands for
			p.outputs = append(p.outputs, output{Column{Name: "n", Type: core.NumberType},
				func(*group, []core.Value) core.Value { return core.Number(1) }})
			continue
		}
		f, _ := core.LookupField(name)
		col := p.column(name)
		p.outputs = append(p.outputs, output{Column{Name: name, Unit: f.Unit, Type: f.Type, Better: f.Better},
			func(_ *group, row []core.Value) core.Value { return row[col] }})
	}
	return nil
}
