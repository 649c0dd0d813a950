package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// compared are the figures of the before/after table, where they are known.
var compared = []string{"total_tps", "duration_tps", "output_tps", "mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "mean_e2el_ms", "success_rate"}

// pair is what one workload at one load gave before and after.
type pair struct {
	workload, load string
	before, after  int // rows of the answer, -1 for none
}

// readPairs asks for baseline and winner on every workload and load that both have a
// trial on.
func (b *builder) readPairs() error {
	if b.baseline == nil || b.winner == nil || b.baseline.config == b.winner.config {
		return nil
	}
	ask := "show count() as n, min(number) as number, max(findings) as findings, " + b.obj.spread()
	b.figures = []string{"objective"}
	for _, f := range compared {
		if f != b.obj.value {
			b.figures = append(b.figures, f)
			ask += ", median(" + f + ") as " + f
		}
	}
	for _, f := range append([]string{b.obj.value}, compared...) {
		field, ok := core.LookupField("severity." + f)
		name := strings.Replace(field.Name, ".", "_", 1)
		if ok && !strings.Contains(ask, " as "+name+",") && !strings.HasSuffix(ask, " as "+name) {
			ask += ", max(" + field.Name + ") as " + name
		}
	}
	a, err := b.ask(b.pairQuestion(strings.TrimPrefix(ask, "show ")))
	if err != nil {
		return err
	}
	b.sides, b.workloads = a, b.pairs(a)
	return nil
}

// pairQuestion asks for columns of baseline and winner on every workload and load.
func (b *builder) pairQuestion(columns string) string {
	return "show " + columns + where(b.scope, `status == "ok"`, fmt.Sprintf("config in [%q, %q]", b.baseline.config, b.winner.config)) +
		" by workload, " + loadFields + ", config, setup"
}

// beforeAfter writes baseline against winner on every workload and load that both
// have a trial on.
func (b *builder) beforeAfter() error {
	if b.sides == nil {
		return nil
	}
	pairs := b.workloads
	b.heading(2, "Before and after")
	if len(pairs) == 0 {
		b.add(block{paragraph: plainText("No workload and load has a trial of both the baseline and the recommended configuration.")})
		return nil
	}
	b.add(block{table: b.pairTable(b.sides, pairs, b.figures)})
	about := text{}
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.load != pairs[0].load }) && pairs[0].load != "" {
		about = about.plain("The load is always ").code(pairs[0].load).plain(". ")
	}
	b.add(block{paragraph: about.plain("A row with n = 1 is one trial; with n above 1 each figure is the median of n repeats by itself. Gain is positive where the figure became better.")})
	b.twoGains()
	return b.pairChart(b.sides, pairs, "objective")
}

// twoGains says where the gain of the printed rate is not that of tokens over duration.
func (b *builder) twoGains() {
	var list []text
	for _, p := range b.workloads {
		if !b.differsByDuration(p) {
			continue
		}
		g := gain(b.sides.get(p.after, "objective"), b.sides.get(p.before, "objective"), b.better())
		t := plainText(first(p.workload, "a workload without a name") + ", " + first(p.load, "unknown load") + ": ").strong(fmt.Sprintf("%s is %s by duration", percent(g), percent(b.pairDuration(p))))
		if worst := b.pairSeverity(p); worst >= core.SeverityHard {
			t = t.plain(fmt.Sprintf("; a %s finding touches %s", worst, b.obj.name))
		}
		list = append(list, t.plain("."))
	}
	if list != nil {
		b.add(block{paragraph: plainText("Tokens over duration give another gain than " + b.obj.name + " on:")}, block{list: list})
	}
}

// pairDuration is the gain by tokens over duration.
func (b *builder) pairDuration(p pair) core.Value {
	return gain(b.sides.get(p.after, "duration_tps"), b.sides.get(p.before, "duration_tps"), core.HigherBetter)
}

// differsByDuration: the objective is a rate, and its gain is a tenth of a percent or
// more from the gain by duration.
func (b *builder) differsByDuration(p pair) bool {
	if f, ok := core.LookupField(b.obj.value); !ok || f.Group != core.GroupRates || !b.byDuration() {
		return false
	}
	g, d := gain(b.sides.get(p.after, "objective"), b.sides.get(p.before, "objective"), b.better()), b.pairDuration(p)
	return g.Kind == core.KindNumber && d.Kind == core.KindNumber && abs(g.Num-d.Num) >= 0.001
}

// decides reports whether the decision was made on the workload and load of a pair.
func (b *builder) decides(p pair) bool {
	return p.workload == b.decideOn && loadKey(b.sides, p.after) == b.winner.loadKey
}

// pairSeverity is that of the worst finding on the objective of either side.
func (b *builder) pairSeverity(p pair) core.Severity {
	return max(b.severityOf(p.before, b.obj.value), b.severityOf(p.after, b.obj.value))
}

func (b *builder) severityOf(row int, figure string) core.Severity {
	return core.Severity(b.sides.count(row, "severity_"+figure))
}

// pairs matches the rows of both configurations. Where one has several setups on
// a workload, those of the decision are taken.
func (b *builder) pairs(a *rows) []pair {
	var ps []pair
	at := map[string]int{}
	for i := range a.Rows {
		key := fmt.Sprintf("%q %q", a.text(i, "workload"), loadKey(a, i))
		k, ok := at[key]
		if !ok {
			k = len(ps)
			at[key] = k
			ps = append(ps, pair{a.text(i, "workload"), a.text(i, "load"), -1, -1})
		}
		side, decided := &ps[k].before, b.baseline.hash
		if a.text(i, "config") == b.winner.config {
			side, decided = &ps[k].after, b.winner.hash
		}
		if *side < 0 || a.text(i, "setup") == decided {
			*side = i
		}
	}
	ps = slices.DeleteFunc(ps, func(p pair) bool { return p.before < 0 || p.after < 0 })
	order := b.workloadOrder()
	slices.SortStableFunc(ps, func(p, q pair) int {
		return cmp.Or(order(p.workload)-order(q.workload), cmp.Compare(p.workload, q.workload), compareLabels(p.load, q.load))
	})
	return ps
}

// workloadOrder is that of the study file, the deciding workload first where
// there is none.
func (b *builder) workloadOrder() func(string) int {
	return func(name string) int {
		if b.def != nil {
			for i, w := range b.def.Workloads {
				if w.Workload.Label() == name {
					return i
				}
			}
			return len(b.def.Workloads)
		}
		if name == b.decideOn {
			return 0
		}
		return 1
	}
}

func (b *builder) pairTable(a *rows, pairs []pair, names []string) *table {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !a.known(n) })
	t := &table{columns: []column{{name: "workload", short: true}, {name: "load", short: true}, {short: true}, {name: "n", numeric: true}}}
	for _, n := range names {
		label := n
		if n == "objective" {
			label = b.obj.name
		}
		t.columns = append(t.columns, column{name: header(label, a.column(n).Unit), numeric: true})
	}
	for _, p := range pairs {
		for _, side := range []struct {
			name string
			row  int
			best bool
		}{{"baseline", p.before, false}, {"recommended", p.after, true}} {
			r := row{best: side.best, cells: []text{plainText(p.workload), plainText(p.load), plainText(side.name), plainText(a.text(side.row, "n"))}}
			for _, n := range names {
				figure := n
				if n == "objective" {
					figure = b.obj.value
				}
				r.cells = append(r.cells, b.marked(a.get(side.row, n), b.severityOf(side.row, figure)))
			}
			t.rows = append(t.rows, r)
		}
		r := row{cells: []text{plainText(p.workload), plainText(p.load), plainText("gain"), nil}}
		for _, n := range names {
			r.cells = append(r.cells, plainText(percent(gain(a.get(p.after, n), a.get(p.before, n), b.direction(a, n)))))
		}
		t.rows = append(t.rows, r)
	}
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.load != pairs[0].load }) {
		for i := range t.rows {
			t.rows[i].cells[1] = nil // the sentence below names it
		}
	}
	t.dropEmpty()
	return t
}

// direction is that of a column, of the objective the objective's own.
func (b *builder) direction(a *rows, name string) core.Better {
	if name == "objective" || name == b.obj.value {
		return b.better()
	}
	return a.column(name).Better
}

func (b *builder) pairChart(a *rows, pairs []pair, name string) error {
	loads := map[string]int{}
	for _, p := range pairs {
		loads[p.workload]++
	}
	f := chart.Figure{Title: "Baseline and recommended configuration by workload", Value: b.obj.name, Unit: b.unit(), Better: b.better(),
		Query: b.pairQuestion(b.obj.spread()), From: b.history, Notes: chart.Accounting(a.Answer)[:1]}
	for _, p := range pairs {
		group := first(p.workload, "workload unknown")
		if loads[p.workload] > 1 {
			group += ", " + first(p.load, "load unknown")
		}
		before, after := a.get(p.before, name), a.get(p.after, name)
		mark := func(m chart.Mark, row int) chart.Mark {
			m.Group, m.Findings, m.Void = group, a.count(row, "findings"), b.severityOf(row, b.obj.value) == core.SeverityVoid
			return withRepeats(m, a.count(row, "n"), a.get(row, "lowest"), a.get(row, "highest"))
		}
		base := chart.Mark{Label: "baseline", Value: before, Emphasis: chart.Baseline}
		if b.decides(p) && b.baseline.fails() {
			base.Note = "does not qualify"
		}
		f.Bars = append(f.Bars, mark(base, p.before),
			mark(chart.Mark{Label: "recommended", Value: after, Emphasis: chart.Best, Note: percent(gain(after, before, b.better()))}, p.after))
	}
	return b.picture("before-after.png", f, chart.Bar)
}

// picture draws a figure into the report, which says whether it was simulated; one that
// holds no value is left out.
func (b *builder) picture(file string, f chart.Figure, draw func(chart.Figure) ([]byte, error)) error {
	if b.simulated != "" {
		f.Notes = append([]string{b.simulated}, f.Notes...)
	}
	data, err := draw(f)
	if isNothing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	b.r.Charts[file], b.r.figures[file] = data, f
	b.add(block{image: &image{file: file, alt: f.Title + ": " + header(f.Value, f.Unit)}})
	return nil
}
