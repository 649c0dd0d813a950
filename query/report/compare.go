package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
)

// CompareOptions say how two sides are compared. The zero CompareOptions are valid.
type CompareOptions struct {
	// Along is the field of a curve, "concurrency" or "request_rate": trials are then
	// matched by it alone, beside the workload. "" matches by the load's label.
	Along string
	// Metrics are the only ones to compare; none is every one that both sides have.
	Metrics []string
	// Rules are those of core/stats. Direction and Noise follow from metric and history.
	Rules stats.Rules
	Now   time.Time // what now() means in a condition; zero is the clock's
}

// Compare compares the trials of b with those of a. Only trials with status ok take
// part, each on the workload and load that both sides have; where each side has but one
// and they are not the same, these are compared all the same, with a warning. The noise
// of a comparison with fewer than 4 trials a side is taken from all repeats and inert
// twins that the history has of the same model, workload and tool.
//
// The error wraps core.ErrNotFound when a side names no trial with a result, or the
// sides have nothing in common; query.IsUsage tells a mistake in a condition.
func Compare(ctx context.Context, src query.Source, a, b Side, opt CompareOptions) (*Comparison, error) {
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	names, err := src.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare: read names: %w", err)
	}
	metrics, err := comparableFields(names, opt.Metrics)
	if err != nil {
		return nil, err
	}
	if opt.Along != "" {
		if f, ok := core.LookupField(opt.Along); !ok || f.Group != core.GroupLoad || f.Type != core.NumberType {
			return nil, fmt.Errorf("compare: %w: along %q: want a number that sets the load, such as concurrency or request_rate", core.ErrInvalid, opt.Along)
		}
	}
	c := &comparer{ctx: ctx, src: src, opt: opt, metrics: metrics, knobs: names.Knobs,
		out: Comparison{Metrics: []Compared{}, Differences: []Difference{}, Warnings: []string{}}}
	columns := c.columns()
	if c.a, err = a.read(ctx, src, opt.Now, columns); err != nil {
		return nil, err
	}
	if c.b, err = b.read(ctx, src, opt.Now, columns); err != nil {
		return nil, err
	}
	pairs, err := c.match()
	if err != nil {
		return nil, err
	}
	if err := c.readNoise(pairs); err != nil {
		return nil, err
	}
	c.out.History = c.a.History
	for _, p := range pairs {
		c.compare(p)
	}
	c.out.A, c.out.B = c.sideOf(c.a, pairs, func(p pointPair) loadPoint { return p.a }), c.sideOf(c.b, pairs, func(p pointPair) loadPoint { return p.b })
	if opt.Along != "" {
		c.out.Along = alongs(opt.Along, c.out.Metrics)
	}
	c.out.Differences = c.differences(pairs)
	c.warn(pairs)
	return &c.out, nil
}

// comparer holds what one call of Compare has read.
type comparer struct {
	ctx     context.Context //nolint:containedctx // a comparer lives within one call of Compare
	src     query.Source
	opt     CompareOptions
	metrics []core.Field
	knobs   []string
	a, b    *side
	// noise of each metric, by workload: see readNoise
	noise map[string]map[string]scatter
	out   Comparison
}

// pointPair is one workload and load of both sides.
type pointPair struct{ a, b loadPoint }

// comparableFields lists the fields that can be compared, in the order of the documentation.
func comparableFields(names core.Names, only []string) ([]core.Field, error) {
	var out []core.Field
	for _, name := range only {
		f, ok := core.LookupField(name)
		if !ok {
			return nil, fmt.Errorf("compare: %w", core.CheckFieldName(name))
		}
		if !f.Measured() || f.Type != core.NumberType {
			return nil, fmt.Errorf("compare: %w: %q is no measured figure", core.ErrInvalid, name)
		}
		out = append(out, f)
	}
	if len(only) > 0 {
		return out, nil
	}
	add := func(f core.Field, ok bool) {
		if ok && !slices.ContainsFunc(out, func(o core.Field) bool { return o.Name == f.Name }) {
			out = append(out, f)
		}
	}
	for _, f := range core.Fields() {
		add(f, f.Measured() && f.Type == core.NumberType && f.Name != "findings")
		if f.Group == core.GroupRates {
			add(core.LookupField(f.Name + "_per_gpu"))
		}
	}
	for _, name := range slices.Sorted(slices.Values(names.Figures)) {
		add(core.LookupField(name))
	}
	for _, name := range names.Quality {
		if plainName(name) {
			add(core.LookupField("quality." + name))
		}
	}
	return out, nil
}

func (c *comparer) columns() []string {
	columns := []string{"number", "id", "status", "config", "setup", "load"}
	add := func(name string) {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	for _, d := range c.differenceFields() {
		add(d.field)
	}
	for _, name := range []string{"completed", "requested", "incomplete", "mean_input_len", "mean_output_len", "accept_len"} {
		add(name)
	}
	for _, m := range c.metrics {
		add(m.Name)
		add("severity." + m.Name)
	}
	return columns
}

// match pairs the load points of both sides.
func (c *comparer) match() ([]pointPair, error) {
	as, bs := c.a.points(c.opt.Along), c.b.points(c.opt.Along)
	var pairs []pointPair
	var left []string
	for _, x := range as {
		if i := slices.IndexFunc(bs, func(y loadPoint) bool { return y.key() == x.key() }); i >= 0 {
			pairs = append(pairs, pointPair{x, bs[i]})
		} else {
			left = append(left, "A alone has "+x.label())
		}
	}
	for _, y := range bs {
		if !slices.ContainsFunc(as, func(x loadPoint) bool { return x.key() == y.key() }) {
			left = append(left, "B alone has "+y.label())
		}
	}
	switch {
	case len(pairs) == 0 && len(as) == 1 && len(bs) == 1 && c.opt.Along == "":
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("A was measured on %s, B on %s: their figures do not compare", as[0].label(), bs[0].label()))
		pairs = []pointPair{{as[0], bs[0]}}
	case len(pairs) == 0:
		return nil, fmt.Errorf("compare: %w: no workload and load has a trial on both sides: %s", core.ErrNotFound, strings.Join(left, "; "))
	case len(left) > 0:
		c.out.Warnings = append(c.out.Warnings, "not compared: "+shortList(left, 6))
	}
	slices.SortStableFunc(pairs, func(p, q pointPair) int {
		if d := cmp.Compare(p.a.workload, q.a.workload); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(p.a.along.Num, q.a.along.Num), cmp.Compare(p.a.concurrency.Num, q.a.concurrency.Num), cmp.Compare(p.a.rate.Num, q.a.rate.Num))
	})
	return pairs, nil
}

func (c loadPoint) label() string {
	return strings.TrimSpace(first(c.workload, "an unnamed workload") + " at " + first(c.load, "an unknown load"))
}

func shortList(list []string, most int) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, "; ")
}

// compare adds the metrics of one load point.
func (c *comparer) compare(p pointPair) {
	gpus := append(c.a.distinctOf(p.a.rows, "gpus"), c.b.distinctOf(p.b.rows, "gpus")...)
	oneCount := !slices.ContainsFunc(gpus, func(n core.Value) bool { return n != gpus[0] })
	for _, m := range c.metrics {
		a, b := c.a.values(p.a.rows, m.Name), c.b.values(p.b.rows, m.Name)
		// With as many GPUs on both sides, a rate for each of them says nothing more.
		again := oneCount && len(c.opt.Metrics) == 0 && strings.HasSuffix(m.Name, "_per_gpu")
		if len(a) == 0 || len(b) == 0 || again {
			continue
		}
		load := p.a.load
		if p.b.load != load {
			load += " / " + p.b.load
		}
		workload := p.a.workload
		if p.b.workload != workload {
			workload += " / " + p.b.workload
		}
		c.out.Metrics = append(c.out.Metrics, Compared{Workload: workload, Load: load, At: p.a.along, Metric: m.Name, Unit: m.Unit, Better: m.Better,
			Comparison: c.judge(m, p, a, b), SeverityA: c.a.severity(p.a.rows, m.Name), SeverityB: c.b.severity(p.b.rows, m.Name)})
	}
}

// judge picks the way in which a metric is compared.
func (c *comparer) judge(m core.Field, p pointPair, a, b []float64) stats.Comparison {
	rules := c.opt.Rules
	rules.Direction = stats.Direction(m.Better)
	rules = c.noise[p.a.workload][m.Name].rules(rules)
	switch {
	case m.Name == "success_rate":
		goodA, nA := c.a.answered(p.a.rows)
		goodB, nB := c.b.answered(p.b.rows)
		if nA > 0 && nB > 0 {
			return stats.CompareShares(goodA, nA, goodB, nB)
		}
		return stats.CompareExactly(a, b, rules.Direction)
	case counted(m):
		return stats.CompareExactly(a, b, rules.Direction)
	case strings.HasPrefix(m.Name, "quality."):
		// A quality figure belongs to a setup: the trials that carry it repeat nothing.
		slices.Sort(a)
		slices.Sort(b)
		rules.Noise, rules.Tolerance = stats.Noise{}, qualityTolerance
		return stats.Compare(slices.Compact(a), slices.Compact(b), rules)
	}
	return stats.Compare(a, b, rules)
}

// qualityTolerance is taken for the noise of an accuracy figure.
const qualityTolerance = 0.01

// counted: the field counts something, so that any difference is one.
func counted(m core.Field) bool {
	return m.Group == core.GroupCounts && m.Name != "duration_s" || m.Name == "preemptions"
}

// answered sums completed requests and those that should have been.
func (s *side) answered(rows []int) (good, all int) {
	for _, i := range rows {
		completed, requested := s.value(i, "completed"), s.value(i, "requested")
		if completed.Kind != core.KindNumber || requested.Kind != core.KindNumber {
			return 0, 0
		}
		good += int(completed.Num)
		all += int(requested.Num) - int(s.value(i, "incomplete").Num)
	}
	return good, all
}

// readNoise pools, for each metric, the scatter of all repeats and twins that the history
// has of the compared models and workloads with the same tools. It is needed only where a
// side has too few trials to speak for itself.
func (c *comparer) readNoise(pairs []pointPair) error {
	few := slices.ContainsFunc(pairs, func(p pointPair) bool { return min(len(p.a.rows), len(p.b.rows)) < 4 })
	if !few || len(c.metrics) == 0 {
		return nil
	}
	conds := []string{`status == "ok"`}
	for _, field := range []string{"workload", "model", "tool"} {
		var quoted []string
		for _, s := range []*side{c.a, c.b} {
			for _, v := range s.distinct(field) {
				if q := fmt.Sprintf("%q", v); !slices.Contains(quoted, q) {
					quoted = append(quoted, q)
				}
			}
		}
		if len(quoted) > 0 {
			conds = append(conds, field+" in ["+strings.Join(quoted, ", ")+"]")
		}
	}
	fields := twinFields(c.knobs)
	columns := slices.Clone(fields)
	for _, m := range c.metrics {
		if !counted(m) && !strings.HasPrefix(m.Name, "quality.") && !slices.Contains(columns, m.Name) {
			columns = append(columns, m.Name)
		}
	}
	a, err := ask(c.ctx, c.src, "show "+strings.Join(columns, ", ")+where(conds...), c.opt.Now)
	if err != nil {
		return fmt.Errorf("compare: noise of repeats: %w", err)
	}
	byWorkload := map[string][][]int{}
	for _, g := range twins(a, fields) {
		w := a.text(g[0], "workload")
		byWorkload[w] = append(byWorkload[w], g)
	}
	c.noise = map[string]map[string]scatter{}
	for w, groups := range byWorkload {
		c.noise[w] = map[string]scatter{}
		for _, m := range c.metrics {
			c.noise[w][m.Name] = scatterOf(a, groups, m.Name)
		}
	}
	return nil
}

func (c *comparer) sideOf(s *side, pairs []pointPair, of func(pointPair) loadPoint) ComparedSide {
	out := ComparedSide{Name: s.name, Condition: s.condition, Failed: s.failed}
	for _, p := range pairs {
		for _, i := range of(p).rows {
			out.Trials = append(out.Trials, int64(s.value(i, "number").Num))
		}
	}
	slices.Sort(out.Trials)
	return out
}
