package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/sweepbook/sweepbook/core"
)

// requests is what a plan asks of the single requests of trials: its calls of
// attained and goodput. A trial's samples are read when the value of a call is first
// wanted of its row, all calls are answered in one pass over them, and the results
// stay in the row: what the other conditions leave out is never read.
type requests struct {
	conds []*requestCondition
	calls []requestCall
	read  int // column: true once the results stand in the row
	// source gives the samples of a trial; nil before the run.
	source func(id core.ID) ([]core.Sample, error)
	chunks bool  // a condition needs the moments of chunks
	err    error // the first failure to read

	answers map[int64][]core.Value // of the calls, by trial, where rows are packed and unpacked

	seen    trialSet // whose samples were asked for
	without int      // of those, trials that have none
}

// requestCondition is a condition about one request, evaluated on a row of its fields.
type requestCondition struct {
	text   string
	name   string // of the first call, for messages
	node   *node
	fields []core.RequestField
	row    []core.Value

	good, open  int // requests of the trial at hand for which it holds, is undecided
	unknown     int // requests in all for which it was undecided beside decided ones
	unknownFrom int // trials that they belong to
	blind       int // trials of which it was undecided for all completed requests
}

// requestCall is one value made of a condition.
type requestCall struct {
	text     string
	cond     *requestCondition
	col      int // of the result
	duration int // column of the trial's duration; -1 for attained
}

// overRequests compiles attained(condition) and goodput(condition).
func (c *compiler) overRequests(name string, arg ast.Node, off int) (*node, error) {
	text := name + "(" + arg.String() + ")"
	if c.group != nil && c.inside == "" {
		return nil, c.errorf(off, "%s stands for one trial: use median(%s)", name, text)
	}
	cond, err := c.requestCondition(name, arg)
	if err != nil {
		return nil, err
	}
	p := c.plan
	r := p.requests
	i := slices.IndexFunc(r.calls, func(call requestCall) bool { return call.text == text })
	if i < 0 {
		call := requestCall{text: text, cond: cond, col: p.worked(text), duration: -1}
		if name == "goodput" {
			call.duration = p.column("duration_s")
		}
		i = len(r.calls)
		r.calls = append(r.calls, call)
		p.asked[text] = true
	}
	col := r.calls[i].col
	out := valueNode(core.NumberType, func(row []core.Value) core.Value {
		p.askRequests(row)
		return row[col]
	})
	f := core.Field{Name: text, Type: core.NumberType, Better: core.HigherBetter, Group: core.GroupRates, Doc: "share of the requests for which it holds"}
	if name == "goodput" {
		f.Unit, f.Doc = "req/s", "requests per second for which it holds"
	}
	out.field, out.col, out.reads = &f, col, true
	return out, nil
}

// requestCondition compiles the condition, once for equal ones.
func (c *compiler) requestCondition(name string, arg ast.Node) (*requestCondition, error) {
	p := c.plan
	if p.requests == nil {
		p.requests = &requests{read: p.worked("samples read")}
	}
	text := arg.String()
	cond := &requestCondition{text: text, name: name}
	inner := *c
	inner.group, inner.aliases, inner.inside, inner.request = nil, nil, name, cond
	var err error
	if cond.node, err = inner.condition(arg); err != nil {
		return nil, err
	}
	if len(cond.fields) == 0 {
		return nil, c.errorf(c.start(arg), "%s is the same for every request: name a figure of one, such as ttft_ms", arg)
	}
	r := p.requests
	if i := slices.IndexFunc(r.conds, func(o *requestCondition) bool { return o.text == text }); i >= 0 {
		return r.conds[i], nil
	}
	cond.row = make([]core.Value, len(cond.fields))
	for _, f := range cond.fields {
		r.chunks = r.chunks || f.Chunks
	}
	r.conds = append(r.conds, cond)
	return cond, nil
}

// requestField compiles a name inside attained or goodput.
func (c *compiler) requestField(name string, off int) (*node, error) {
	cond := c.request
	col := slices.IndexFunc(cond.fields, func(f core.RequestField) bool { return f.Name == name })
	if col < 0 {
		f, ok := core.LookupRequestField(name)
		if !ok {
			return nil, c.unknownRequestField(name, off)
		}
		col = len(cond.fields)
		cond.fields = append(cond.fields, f)
	}
	f := cond.fields[col]
	n := valueNode(core.NumberType, func(row []core.Value) core.Value { return row[col] })
	n.field = &core.Field{Name: f.Name, Type: core.NumberType, Unit: f.Unit, Better: f.Better, Group: core.GroupLatency, Doc: f.Doc}
	n.col = col
	return n, nil
}

func (c *compiler) unknownRequestField(name string, off int) error {
	var names []string
	for _, f := range core.RequestFields() {
		names = append(names, f.Name)
	}
	e := c.errorf(off, "unknown figure %q of a request", name)
	if _, ok := core.LookupField(name); ok {
		e.Msg = fmt.Sprintf("%s is of a whole trial, and inside %s stand figures of one request", name, c.inside)
	}
	// A statistic of a trial is most likely meant as the figure itself.
	for _, n := range names {
		if strings.HasSuffix(name, "_"+n) {
			e.Near = append(e.Near, n)
		}
	}
	for _, n := range core.NearestNames(name, names) {
		if !slices.Contains(e.Near, n) && len(e.Near) < 3 {
			e.Near = append(e.Near, n)
		}
	}
	if len(e.Near) == 0 {
		e.Msg += ": " + strings.Join(names, " ")
	}
	return e
}

// aroundRequests visits the nodes of a tree that do not stand inside attained or
// goodput, in the order of ast.Walk.
func aroundRequests(root ast.Node, visit func(ast.Node)) {
	inside := map[ast.Node]bool{}
	ast.Walk(&root, visitor(func(n ast.Node) {
		call, ok := n.(*ast.CallNode)
		if !ok {
			return
		}
		if callee, ok := call.Callee.(*ast.IdentifierNode); ok && ofRequests(callee.Value) {
			for i := range call.Arguments {
				ast.Walk(&call.Arguments[i], visitor(func(n ast.Node) { inside[n] = true }))
			}
		}
	}))
	ast.Walk(&root, visitor(func(n ast.Node) {
		if !inside[n] {
			visit(n)
		}
	}))
}

// ofRequests reports whether a function's condition is about single requests.
func ofRequests(function string) bool { return function == "attained" || function == "goodput" }
