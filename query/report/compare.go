package report

import (
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// compared are the figures of the before/after table, where they are known.
var compared = []string{"total_tps", "output_tps", "mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "success_rate"}

// pair is what one workload at one load gave before and after.
type pair struct {
	workload, load string
	before, after  int // rows of the answer, -1 for none
}

// beforeAfter writes baseline against winner on every workload and load that both
// have a trial on.
func (b *builder) beforeAfter() error {
	if b.baseline == nil || b.winner == nil || b.baseline.config == b.winner.config {
		return nil
	}
	figures := compared
	if !slices.Contains(figures, b.obj.value) {
		figures = append([]string{b.obj.value}, figures...)
	}
	ask := "show count() as n, max(findings) as findings"
	var names []string
	for i, f := range figures {
		name := f
		if f == b.obj.value && f != b.obj.name || i == 0 && !slices.Contains(compared, f) {
			name = "objective"
		}
		names = append(names, name)
		ask += ", median(" + f + ") as " + name
	}
	a, err := b.ask(ask + where(b.scope, `status == "ok"`, fmt.Sprintf("config in [%q, %q]", b.baseline.config, b.winner.config)) +
		" by workload, " + loadFields + ", config, setup")
	if err != nil {
		return err
	}
	pairs := b.pairs(a)
	b.heading(2, "Before and after")
	if len(pairs) == 0 {
		b.add(block{paragraph: plainText("No workload and load has a trial of both the baseline and the recommended configuration.")})
		return nil
	}
	b.add(block{table: b.pairTable(a, pairs, names)})
	about := text{}
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.load != pairs[0].load }) && pairs[0].load != "" {
		about = about.plain("The load is always ").code(pairs[0].load).plain(". ")
	}
	b.add(block{paragraph: about.plain("Every row is one trial, or of n repeats the median of each figure by itself. Gain is positive where the figure became better.")})
	name := "objective"
	if i := slices.Index(figures, b.obj.value); i >= 0 {
		name = names[i]
	}
	return b.pairChart(a, pairs, name)
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
	slices.SortStableFunc(ps, func(p, q pair) int { return order(p.workload) - order(q.workload) })
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
				r.cells = append(r.cells, number(a.get(side.row, n)))
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
		Query: a.Query, From: b.history, Notes: chart.Accounting(a.Answer)}
	for _, p := range pairs {
		group := first(p.workload, "workload unknown")
		if loads[p.workload] > 1 {
			group += ", " + first(p.load, "load unknown")
		}
		before, after := a.get(p.before, name), a.get(p.after, name)
		f.Bars = append(f.Bars,
			chart.Mark{Group: group, Label: "baseline", Value: before, Emphasis: chart.Baseline, Findings: a.count(p.before, "findings")},
			chart.Mark{Group: group, Label: "recommended", Value: after, Emphasis: chart.Best, Findings: a.count(p.after, "findings"),
				Note: percent(gain(after, before, b.better()))})
	}
	return b.picture("before-after.png", f, chart.Bar)
}

// picture draws a figure into the report; one that holds no value is left out.
func (b *builder) picture(file string, f chart.Figure, draw func(chart.Figure) ([]byte, error)) error {
	data, err := draw(f)
	if isNothing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	b.r.Charts[file] = data
	b.add(block{image: &image{file: file, alt: f.Title + ": " + header(f.Value, f.Unit)}})
	return nil
}
