package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

func isNothing(err error) bool { return errors.Is(err, chart.ErrNothing) }

// tried is one option of a stage on the deciding workload, or a failure of it.
type tried struct {
	setup
	stage   string
	failure string     // status and class where nothing was measured
	first   core.Value // its first trial's number, for the order
}

// stages writes a table a stage and one picture of all of them.
func (b *builder) stages() error {
	all, measured, err := b.triedOptions()
	if err != nil || len(all) == 0 {
		return err
	}
	b.heading(2, "What was tried")
	b.add(block{paragraph: b.stageLegend()})
	order := b.stageNames(all)
	best := map[string]setup{} // by load, of everything that qualified in earlier stages
	for load, s := range b.baselines {
		best[load] = s
	}
	f := chart.Figure{Title: b.obj.name + " by option", Value: b.obj.name, Unit: b.unit(), Better: b.better(), Query: b.optionQuestion(b.obj.spread()),
		From: b.history, Notes: chart.Accounting(measured.Answer)[:1]}
	if b.decideOn != "" {
		f.Title += " on " + b.decideOn
	}
	for _, stage := range order {
		options := slices.DeleteFunc(slices.Clone(all), func(t tried) bool { return t.stage != stage })
		if len(order) > 1 || stage != "" {
			b.heading(3, stageTitle(stage))
		}
		b.add(block{table: b.stageTable(stage, options, best, len(order) > 1)})
		for _, t := range options {
			f.Bars = append(f.Bars, b.stageMark(t, len(order) > 1, manyLoads(all)))
			if t.failure == "" && t.qualified == t.n && t.severity < core.SeverityVoid && b.above(t.value, best[t.loadKey].value) {
				best[t.loadKey] = t.setup
			}
		}
	}
	if manyLoads(all) {
		slices.SortStableFunc(f.Bars, func(x, y chart.Mark) int { return compareLabels(x.Group, y.Group) })
	}
	return b.picture("stages.png", f, chart.Bar)
}

func (b *builder) stageLegend() text {
	t := plainText("Figures are of the workload ").code(b.decideOn)
	if b.decideOn == "" {
		t = plainText("Figures are of a workload that no trial with a result names")
	}
	if b.decideLoad != "" {
		t = t.plain(", at the load ").code(b.decideLoad)
	}
	t = t.plain("; with n above 1 they are medians of n repeats. ")
	if b.obj.where != "" {
		t = t.plain("Qualified counts the trials that pass ").code(b.obj.where).plain(". ")
	}
	return t.plain("Gains are positive where the objective became better, at the same load: over the baseline, and over the best qualified option of the stages before, each also by tokens over duration.")
}

func (b *builder) above(v, best core.Value) bool {
	if v.Kind != core.KindNumber {
		return false
	}
	return best.Kind != core.KindNumber || float64(b.better())*(v.Num-best.Num) > 0
}

// byOption tells options apart.
const byOption = " by stage, option, role, model, engine, config, setup, " + loadFields

// optionQuestion asks for columns of the measured options.
func (b *builder) optionQuestion(columns string) string {
	return "show " + columns + where(b.scope, b.decided(), `status == "ok"`) + byOption
}

// triedOptions asks for the measured options and adds those of which every trial
// failed. The answer is that of the measured ones.
func (b *builder) triedOptions() ([]tried, *rows, error) {
	a, err := b.ask(b.optionQuestion("count() as n, " + b.qualified() + b.medians()))
	if err != nil {
		return nil, nil, err
	}
	failed, err := b.ask("show count() as n, min(number) as number" + where(b.scope, b.decided(), `status in ["failed", "stopped", "aborted", "lost"]`, b.unlessAgain()) +
		byOption + ", status, failure")
	if err != nil {
		return nil, nil, err
	}
	read := func(a *rows, i int) tried {
		return tried{stage: a.text(i, "stage"), first: a.get(i, "number"), setup: b.setup(a, i)}
	}
	var all []tried
	for i := range a.Rows {
		all = append(all, read(a, i))
	}
	for i := range failed.Rows {
		t := read(failed, i)
		t.failure = failed.text(i, "status")
		if class := failed.text(i, "failure"); class != "" {
			t.failure += ": " + class
		}
		all = append(all, t)
	}
	all = b.atQualifiedLoads(all)
	slices.SortStableFunc(all, func(s, t tried) int { return int(s.first.Num - t.first.Num) })
	return all, a, nil
}

// atQualifiedLoads keeps the loads that the objective leaves open: where it asks
// for concurrency == 4, the other loads of a curve were not tried as options.
func (b *builder) atQualifiedLoads(all []tried) []tried {
	qualified := map[string]bool{}
	for _, t := range all {
		qualified[t.loadKey] = qualified[t.loadKey] || t.qualified > 0
	}
	if b.winner == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t tried) bool { return !qualified[t.loadKey] })
}

// stageNames gives the stages in the order of the study file, then of their first
// trials. The trials without a stage come first, then the baseline where no stage of
// the file tries it.
func (b *builder) stageNames(all []tried) []string {
	var names []string
	add := func(s string) {
		if !slices.Contains(names, s) && slices.ContainsFunc(all, func(t tried) bool { return t.stage == s }) {
			names = append(names, s)
		}
	}
	add("")
	if b.def != nil {
		tries := func(stage string) bool {
			return slices.ContainsFunc(b.def.Stages, func(s core.Stage) bool { return s.Name == stage })
		}
		for _, t := range all {
			if b.isBaseline(t) && !tries(t.stage) && t.role == string(core.RoleBaseline) {
				add(t.stage)
			}
		}
		for _, s := range b.def.Stages {
			add(s.Name)
		}
	}
	for _, t := range all {
		add(t.stage)
	}
	return names
}

func stageTitle(stage string) string { return first(stage, "without a stage") }

// changes says what an option changes, as the study file has it.
func (b *builder) changes(stage, option string) string {
	if b.def == nil {
		return ""
	}
	for _, s := range b.def.Stages {
		for _, o := range s.Try {
			if s.Name != stage || o.Name != option {
				continue
			}
			var parts []string
			for _, p := range [][2]string{{"engine", o.Change.Engine}, {"checkpoint", o.Change.Checkpoint}, {"revision", o.Change.Revision}} {
				if p[1] != "" {
					parts = append(parts, p[0]+"="+p[1])
				}
			}
			if len(o.Change.Knobs) > 0 {
				parts = append(parts, o.Change.Knobs.String())
			}
			return strings.Join(parts, " ")
		}
	}
	return ""
}

// manyLoads reports whether the options were measured at several loads, which must
// then be named and never be compared.
func manyLoads(options []tried) bool {
	return slices.ContainsFunc(options, func(t tried) bool { return t.loadKey != options[0].loadKey })
}

func (b *builder) stageTable(stage string, options []tried, best map[string]setup, several bool) *table {
	differs := slices.ContainsFunc(options, func(t tried) bool { c := b.changes(stage, t.option); return c != "" && c != t.option })
	loads := manyLoads(options)
	t := &table{columns: []column{{name: "option"}}}
	if differs {
		t.columns = append(t.columns, column{name: "what changed"})
	}
	if loads {
		t.columns = append(t.columns, column{name: "load", short: true})
	}
	t.columns = append(t.columns, column{name: "n", numeric: true}, column{name: "qualified", numeric: true}, column{name: header(b.obj.name, b.unit()), numeric: true},
		column{name: "gain over baseline", numeric: true}, column{name: "over baseline by duration", numeric: true},
		column{name: "gain over best before", numeric: true}, column{name: "over best before by duration", numeric: true}, column{name: "success_rate", numeric: true}, column{name: "findings", numeric: true}, column{name: "status"})
	for _, o := range options {
		r := row{best: b.isWinner(o), cells: []text{codeText(o.name())}}
		if differs {
			r.cells = append(r.cells, codeText(b.changes(stage, o.option)))
		}
		if loads {
			r.cells = append(r.cells, plainText(o.load.String()))
		}
		if o.failure != "" {
			r.cells = append(r.cells, plainText(fmt.Sprint(o.n)), nil, nil, nil, nil, nil, nil, nil, nil, strongText(o.failure))
		} else {
			var over, overTime, step, stepTime string
			if base, ok := b.baselines[o.loadKey]; ok && o.config != base.config {
				over, overTime = percent(gain(o.value, base.value, b.better())), b.gainByDuration(&o.setup, &base)
			}
			if before, ok := best[o.loadKey]; ok && several && !b.isBaseline(o) {
				step, stepTime = percent(gain(o.value, before.value, b.better())), b.gainByDuration(&o.setup, &before)
			}
			status := "ok"
			if o.fails() {
				status = "does not qualify"
			}
			if b.isBaseline(o) {
				status += ", baseline"
			}
			r.cells = append(r.cells, plainText(fmt.Sprint(o.n)), plainText(fmt.Sprint(o.qualified)), b.marked(o.value, o.severity), plainText(over), plainText(overTime), plainText(step), plainText(stepTime),
				number(o.success), plainText(fmt.Sprint(o.findings)), plainText(status))
		}
		t.rows = append(t.rows, r)
	}
	t.dropEmpty()
	return t
}

// isBaseline reports whether an option has the baseline's configuration.
func (b *builder) isBaseline(t tried) bool {
	base, ok := b.baselines[t.loadKey]
	return ok && t.config == base.config
}

func (b *builder) isWinner(t tried) bool {
	return b.winner != nil && t.failure == "" && t.hash == b.winner.hash && t.loadKey == b.winner.loadKey && t.option == b.winner.option
}

// stageMark is the bar of an option, grouped by load where there are several and
// by stage where there are several.
func (b *builder) stageMark(t tried, stages, loads bool) chart.Mark {
	m := withRepeats(chart.Mark{Label: t.name(), Value: t.value, Findings: t.findings, Void: t.severity == core.SeverityVoid}, t.n, t.low, t.high)
	switch {
	case loads: // what may be compared stands together
		m.Group = first(t.load.String(), "load unknown")
	case stages:
		m.Group = stageTitle(t.stage)
	}
	switch {
	case t.failure != "":
		m.Label += " (" + t.failure + ")"
	case b.isBaseline(t):
		m.Emphasis = chart.Baseline
	case b.isWinner(t):
		m.Emphasis = chart.Best
	}
	if t.failure == "" && t.fails() {
		m.Note = "does not qualify"
	} else if base, ok := b.baselines[t.loadKey]; ok && t.config != base.config {
		m.Note = percent(gain(t.value, base.value, b.better()))
	}
	return m
}

// withRepeats gives a bar that is the median of n repeats a whisker over them.
func withRepeats(m chart.Mark, n int, low, high core.Value) chart.Mark {
	if m.Value.Kind != core.KindNumber {
		return m
	}
	if m.N = n; n > 1 {
		m.Low, m.High = low, high
	}
	return m
}
