package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query/chart"
)

// Curves in a picture beside those of the baseline and the recommendation, and in a table.
const (
	mostOthers = 4
	mostTabled = 20
)

// curves writes every load of every configuration for each workload on which one was
// measured at three or more, since the decision names one load. Table and picture are
// made of the same rows.
func (b *builder) curves() error {
	if err := b.readOptions(); err != nil {
		return err
	}
	columns := []string{"workload", "config", "setup", "engine", "option", "launch", "load", loadAxes[0], loadAxes[1], "burstiness", "status", "failure", "findings"}
	for _, f := range b.tabled() {
		if f == "objective" {
			f = b.obj.value
		} else {
			columns = append(columns, f)
		}
		if s, ok := core.LookupField("severity." + f); ok {
			columns = append(columns, s.Name+" as severity_"+f)
		}
	}
	a, err := b.ask("show " + strings.Join(columns, ", ") + ", " + b.obj.value + " as objective" +
		where(b.scope, `status in ["ok", "failed", "stopped", "aborted", "lost"]`, b.unlessAgain()) + " order by number")
	if err != nil {
		return err
	}
	var workloads []string
	for i := range a.Rows {
		if w := a.text(i, "workload"); !slices.Contains(workloads, w) {
			workloads = append(workloads, w)
		}
	}
	order := b.workloadOrder()
	slices.SortStableFunc(workloads, func(v, w string) int { return order(v) - order(w) })
	titled, n := false, 0
	for _, w := range workloads {
		along, list := b.curveAxis(a, w)
		if along == "" {
			continue
		}
		if n++; !titled {
			b.heading(2, "Over the load")
			titled = true
		}
		if err := b.overLoad(a, w, along, list, n); err != nil {
			return err
		}
	}
	if !titled {
		b.queries = b.queries[:len(b.queries)-1]
	}
	return nil
}

// tabled are the figures of the tables over the load.
func (b *builder) tabled() []string {
	return slices.DeleteFunc([]string{"objective", "success_rate", "mean_ttft_ms", "mean_tpot_ms"}, func(f string) bool { return f == b.obj.value })
}

// curveAxis is the field of which a curve has most values, three or more, and the curves
// along it; "" where none has. Baseline and recommendation come first, then the best.
func (b *builder) curveAxis(a *rows, workload string) (string, []*curve) {
	axis, most, curves := "", 2, []*curve(nil)
	for _, along := range loadAxes {
		list := b.curvesOf(a, workload, along)
		for _, c := range list {
			if n := c.places(along); n > most {
				axis, most, curves = along, n, list
			}
		}
	}
	slices.SortStableFunc(curves, func(c, d *curve) int {
		switch {
		case b.rankOf(c.config) != b.rankOf(d.config):
			return b.rankOf(c.config) - b.rankOf(d.config)
		case b.above(c.best, d.best):
			return -1
		case b.above(d.best, c.best):
			return 1
		}
		return 0
	})
	return axis, curves
}

// overLoad writes the curves of one workload.
func (b *builder) overLoad(a *rows, workload, along string, list []*curve, n int) error {
	all := len(list)
	about := plainText("Every load of every configuration")
	if workload != "" {
		about = about.plain(" on the workload ").code(workload)
	}
	about = about.plain("; with n above 1 the figures are medians of n repeats.")
	if all > mostTabled {
		about = about.plain(fmt.Sprintf(" The table has the best %d of %d curves, baseline and recommendation first.", mostTabled, all))
		list = list[:mostTabled]
	}
	b.add(block{paragraph: about}, block{table: b.loadTable(a, list, along)})

	f := chart.Figure{Title: b.obj.name + " over " + along, Value: b.obj.name, Unit: b.unit(), Better: b.better(), X: along,
		XUnit: a.column(along).Unit, From: b.history}
	on := ""
	if workload != "" {
		f.Title = b.obj.name + " on " + workload
		on = is("workload", workload)
	}
	f.Query = "show config, " + along + ", " + b.obj.value + where(b.scope, on)
	others := 0
	for _, c := range list {
		name := c.name
		switch role := b.roleIn(c.config); {
		case role != "":
			name += " (" + role + ")"
		case others == mostOthers:
			continue
		default:
			others++
		}
		line := chart.Series{Name: name}
		for _, s := range c.stops {
			for _, i := range slices.Concat(s.measured, s.failed) {
				line.Points = append(line.Points, b.loadPointOf(a, i, along))
			}
		}
		f.Series = append(f.Series, line)
	}
	if len(f.Series) < all {
		f.Notes = append(f.Notes, fmt.Sprintf("drawn: %d of %d curves", len(f.Series), all))
	}
	return b.picture(fmt.Sprintf("curve-%d.png", n), f, chart.Lines)
}

func (b *builder) loadPointOf(a *rows, i int, along string) chart.Point {
	p := chart.Point{X: a.get(i, along), Findings: a.count(i, "findings")}
	if measuredOK(a, i) {
		p.Y = a.get(i, "objective")
		p.Void = core.Severity(a.count(i, "severity_"+b.obj.value)) == core.SeverityVoid
	}
	return p
}

// roleIn is what a configuration is to the decision, "" for nothing.
func (b *builder) roleIn(config string) string {
	switch {
	case b.winner != nil && b.baseline != nil && b.winner.config == config && b.baseline.config == config:
		return "baseline, recommended"
	case b.baseline != nil && b.baseline.config == config:
		return "baseline"
	case b.winner != nil && b.winner.config == config:
		return "recommended"
	}
	return ""
}

// loadTable has a row for every load of every curve.
func (b *builder) loadTable(a *rows, list []*curve, along string) *table {
	figures := b.tabled()
	t := &table{columns: []column{{name: "configuration"}, {short: true}, {name: header(along, a.column(along).Unit), numeric: true}, {name: "load", short: true}, {name: "n", numeric: true}}}
	for _, f := range figures {
		name := f
		if f == "objective" {
			name = b.obj.name
		}
		t.columns = append(t.columns, column{name: header(name, a.column(f).Unit), numeric: true})
	}
	t.columns = append(t.columns, column{name: "each of " + b.obj.name}, column{name: "without a result"})
	both := severalOf(a, list, loadAxes[0]) && severalOf(a, list, loadAxes[1])
	for _, c := range list {
		role := b.roleIn(c.config)
		for _, s := range c.stops {
			at := slices.Concat(s.measured, s.failed)[0]
			load := a.text(at, "load")
			if !both {
				load = "" // the column before says it
			}
			r := row{best: strings.Contains(role, "recommended"), cells: []text{codeText(c.name), plainText(role),
				plainText(first(a.text(at, along), "unknown")), plainText(load), plainText(fmt.Sprint(len(s.measured)))}}
			for _, f := range figures {
				v, worst := b.typical(a, s.measured, f)
				r.cells = append(r.cells, b.marked(v, worst))
			}
			t.rows = append(t.rows, row{best: r.best, cells: append(r.cells, plainText(eachOf(a, s.measured)), strongText(s.failure(a)))})
		}
	}
	t.dropEmpty()
	return t
}

// severalOf reports whether trials of the curves differ in a field of the load.
func severalOf(a *rows, list []*curve, axis string) bool {
	seen := map[core.Value]bool{}
	for _, c := range list {
		for _, s := range c.stops {
			for _, i := range slices.Concat(s.measured, s.failed) {
				seen[a.get(i, axis)] = true
			}
		}
	}
	return len(seen) > 1
}

// typical is the median of a figure over repeats, and the worst finding on it.
func (b *builder) typical(a *rows, trials []int, figure string) (core.Value, core.Severity) {
	name := figure
	if figure == "objective" {
		name = b.obj.value
	}
	var xs []float64
	var worst core.Severity
	for _, i := range trials {
		if v := a.get(i, figure); v.Kind == core.KindNumber && !v.IsUnlimited() {
			xs = append(xs, v.Num)
			worst = max(worst, core.Severity(a.count(i, "severity_"+name)))
		}
	}
	m, ok := stats.Median(xs)
	if !ok {
		return core.Missing(), 0
	}
	return core.Number(m), worst
}

// eachOf lists the objective of repeats, of many only the ends: the picture has them all.
func eachOf(a *rows, trials []int) string {
	var xs []float64
	for _, i := range trials {
		if v := a.get(i, "objective"); v.Kind == core.KindNumber {
			xs = append(xs, v.Num)
		}
	}
	if len(xs) < 2 {
		return ""
	}
	if len(xs) > 6 {
		return printed(core.Number(slices.Min(xs))) + " to " + printed(core.Number(slices.Max(xs)))
	}
	var parts []string
	for _, x := range xs {
		parts = append(parts, printed(core.Number(x)))
	}
	return strings.Join(parts, "; ")
}
