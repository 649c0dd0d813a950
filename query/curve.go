package query

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// curvePlan is a question along a curve: first, last, at or change.
type curvePlan struct {
	along *node
	cond  *node // of first and last
	value *node // of at and change
	shown []*node
	names []string // of shown
	key   []int    // columns that are equal on one curve

	later, mixed, open, never, between, doubt []string // what the reader must know
	single                                    int
}

// curve are the trials of one setup and workload, as a rule, in the order in which
// they came.
type curve struct {
	points  []point
	residue *residue
}

type point struct {
	x     core.Value
	row   []core.Value
	holds bool    // of first and last
	value float64 // of at and change
}

// level is one value of along with its points, in the fixed order.
type level struct {
	x      core.Value
	points []point
}

// What stands behind the two trials' kept columns in a row of a curve.
const (
	curveTrials   = iota // how many it stands for
	curveAt              // where the value is reached
	curveBefore          // the value at the two ends
	curveAfter           // …
	curveFindings        // of the trials named
	curveFailed          // repeats of them
	curveWidth
)

// curveVerb reads what stands behind the verb of a curve.
func (q *Query) curveVerb(c clause) (err error) {
	switch c.word {
	case "first", "last":
		q.cond, err = parseExpression(q.text, c.start, c.end, c.word)
		return err
	case "change":
		q.value, err = q.item(c, false)
		return err
	}
	e, err := parseExpression(q.text, c.start, c.end, c.word)
	if err != nil {
		return err
	}
	b, ok := e.root.(*ast.BinaryNode)
	if !ok || b.Operator != "==" {
		return e.errorf(e.off, "at wants a value and a number: at p99_ttft_ms == 200 along concurrency")
	}
	target := literalOf(b.Right)
	if target.Kind != core.KindNumber || target.IsUnlimited() {
		return e.errorf(e.start(b.Right), "at wants a number behind ==")
	}
	q.target = target.Num
	text := strings.TrimSpace(q.text[e.off:e.at(b)])
	q.value = item{&expression{query: q.text, off: e.off, text: text, root: b.Left}, text}
	return nil
}

// isCurve reports whether the verb asks along a curve.
func (q *Query) isCurve() bool {
	return q.verb == "first" || q.verb == "last" || q.verb == "at" || q.verb == "change"
}

func (p *plan) planCurve() error {
	q := p.q
	if !q.isCurve() {
		return nil
	}
	c := &curvePlan{}
	p.curve = c
	var err error
	if q.cond != nil {
		if c.cond, err = p.compiler(q.cond, q.verb).condition(q.cond.root); err != nil {
			return err
		}
		if !namesField(c.cond) {
			return q.cond.errorf(q.cond.off, "%s is the same for every trial", q.cond.text)
		}
		p.curveFigures(c.cond)
	} else {
		if c.value, err = p.compiler(q.value.expression, q.verb).number(q.value.root); err != nil {
			return err
		}
		if c.value.lit != nil {
			return q.value.errorf(q.value.off, "%s is the same for every trial", q.value.text)
		}
		p.typical = c.value
	}
	a := q.along
	if c.along, err = p.compiler(a.expression, "along").compile(a.root); err != nil {
		return err
	}
	switch t := c.along.typ; {
	case c.along.lit != nil:
		return a.errorf(a.off, "along %s: every trial has the same", a.text)
	case t == core.TextType || t == core.BoolType || t == core.VersionType && q.verb == "at":
		return a.errorf(a.off, "%s is %s: along wants a value with an order", a.text, kindName(t))
	}
	var fields []core.Field
	c.along.fields(func(f *core.Field) { fields = append(fields, *f) })
	for _, name := range curveKey(fields) {
		if name == "setup" && q.per != "" {
			name = q.per
		}
		c.key = append(c.key, p.column(name))
	}
	return nil
}

func namesField(n *node) bool {
	is := false
	n.fields(func(*core.Field) { is = true })
	return is
}

// curveFigures are the measured fields of a condition, which its rows show.
func (p *plan) curveFigures(n *node) {
	c := p.curve
	if n.field != nil && n.col >= 0 && n.field.Measured() && !slices.Contains(c.names, n.field.Name) {
		c.shown, c.names = append(c.shown, n), append(c.names, n.field.Name)
		if p.typical == nil && n.typ == core.NumberType {
			p.typical = n
		}
	}
	for _, kid := range n.kids {
		p.curveFigures(kid)
	}
}

// curveKey are the fields that are equal on one curve along values of the given
// fields: setup, workload and load, but not what the fields are a part of.
func curveKey(along []core.Field) []string {
	setup := []string{"setup"}
	asked := []string{"workload", "dataset", "input_len", "output_len", "ignore_eos", "turns"}
	load := []string{"concurrency", "request_rate", "burstiness"}
	drop := func(name string) { // a field that itself varies
		for _, list := range []*[]string{&setup, &asked, &load} {
			*list = slices.DeleteFunc(*list, func(s string) bool { return s == name })
		}
	}
	for _, f := range along {
		switch {
		case f.Measured():
			load = nil // a figure changes with the load
		case f.Group == core.GroupAsked:
			drop("workload")
		case inConfig(f.Name):
			setup = []string{"engine", "engine_version", "model", "checkpoint", "gpu"}
		case inSetup(f.Name) && setup[0] == "setup":
			setup = []string{"config", "engine_version", "gpu", "gpus"}
		}
	}
	for _, f := range along {
		drop(f.Name)
	}
	return slices.Concat(setup, asked, load)
}

// inConfig: a part of the configuration, or what follows from one.
func inConfig(name string) bool {
	switch name {
	case "tp", "pp", "dp", "ep", "gpus", "nodes", "weight_dtype", "kv_dtype", "spec_method":
		return true
	}
	return strings.HasPrefix(name, "args.") || strings.HasPrefix(name, "passed.")
}

// inSetup: a part of the setup beside the configuration.
func inSetup(name string) bool {
	switch name {
	case "engine_version", "image", "gpu", "power_limit_w", "driver", "tool", "tool_version":
		return true
	}
	return false
}

// place is where on the curve a row stands; ok is false where it has no place.
func (c *curvePlan) place(p *plan, row []core.Value) (x core.Value, ok bool) {
	x = c.along.val(row)
	switch x.Kind {
	case core.KindNumber:
		return x, true
	case core.KindText:
		return x, c.along.typ == core.VersionType && p.versions.parse(x.Text).ok
	}
	return x, false
}

// ready reports whether a row has all that the question needs.
func (c *curvePlan) ready(p *plan, row []core.Value) bool {
	if _, ok := c.place(p, row); !ok {
		return false
	}
	if c.cond != nil {
		return c.cond.cond(row) != undecided
	}
	v := c.value.val(row)
	return v.Kind == core.KindNumber && !v.IsUnlimited()
}

// why adds the columns that a row lacks.
func (c *curvePlan) why(p *plan, row []core.Value, add func(int)) {
	if _, ok := c.place(p, row); !ok {
		c.along.why(row, add)
		if c.along.col >= 0 {
			add(c.along.col)
		}
	}
	switch {
	case c.cond != nil:
		c.cond.why(row, add)
	case c.value.val(row).Kind != core.KindNumber:
		c.value.why(row, add)
		if c.value.col >= 0 {
			add(c.value.col)
		}
	}
}

// curveOf finds the curve of a row.
func (g *group) curveOf(p *plan, row []core.Value) *curve {
	var space [160]byte
	key := space[:0]
	for _, col := range p.curve.key {
		key = appendKey(key, row[col])
	}
	c := g.curves[string(key)]
	if c == nil {
		if g.curves == nil {
			g.curves = map[string]*curve{}
		}
		c = &curve{residue: p.newResidue()}
		g.curves[string(key)] = c
	}
	return c
}

func (c *curve) add(p *plan, row []core.Value) {
	at := point{row: p.keepRow(row)}
	at.x, _ = p.curve.place(p, row)
	if p.curve.cond != nil {
		at.holds = p.curve.cond.cond(row) == yes
	} else {
		at.value = p.curve.value.val(row).Num
	}
	c.points = append(c.points, at)
}

// levels sorts the points and unites those at one place.
func (c *curve) levels(p *plan) []level {
	order := func(a, b core.Value) int { return p.versions.sortValues(a, b, p.curve.along.typ, false) }
	slices.SortFunc(c.points, func(a, b point) int {
		if c := order(a.x, b.x); c != 0 {
			return c
		}
		return p.tieBreak(a.row, b.row)
	})
	var out []level
	for _, at := range c.points {
		if n := len(out); n > 0 && order(out[n-1].x, at.x) == 0 {
			out[n-1].points = append(out[n-1].points, at)
			continue
		}
		out = append(out, level{at.x, []point{at}})
	}
	return out
}
