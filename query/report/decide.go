package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

// repeats asks for the setups of the deciding workload that pass some conditions: the
// trials of one setup at one load are repeats, and their figures are medians.
func (b *builder) repeats(conds ...string) ([]setup, error) {
	a, err := b.ask("show count() as n, " + b.qualified() + b.medians() + where(append([]string{b.scope, b.decided(), `status == "ok"`}, conds...)...) +
		" by model, config, setup, engine, " + loadFields)
	if err != nil {
		return nil, err
	}
	var out []setup
	for i := range a.Rows {
		out = append(out, b.setup(a, i))
	}
	return out, nil
}

// qualified is the column that counts the trials which pass the objective's condition.
func (b *builder) qualified() string {
	if b.obj.where == "" {
		return "count() as qualified, "
	}
	return "count(" + b.obj.where + ") as qualified, "
}

// spread are the columns of the objective's median and of how far its repeats reach.
func (o objective) spread() string {
	return fmt.Sprintf("median(%[1]s) as objective, min(%[1]s) as lowest, max(%[1]s) as highest", o.value)
}

// medians are the columns of a setup's figures over its repeats: medians, how far the
// objective's reach, the worst of findings and severities.
func (b *builder) medians() string {
	s := b.obj.spread() + ", median(duration_tps) as duration, median(success_rate) as success_rate, " +
		"median(output_tps) as output_tps, median(gpus) as gpus, max(findings) as findings, min(number) as number"
	if _, ok := core.LookupField("severity." + b.obj.value); ok {
		s += ", max(severity." + b.obj.value + ") as severity"
	}
	for _, f := range b.obj.limits() {
		s += ", median(" + f.Name + ") as " + limitColumn(f)
	}
	return s
}

// decide settles the winner of the objective on the deciding workload and the baseline
// at the same load, and writes the decision.
func (b *builder) decide() error {
	a, err := b.ask(b.obj.ask(b.scope, b.decided()))
	if err != nil {
		return err
	}
	b.decision = a
	if a.Column(b.obj.name) < 0 {
		return fmt.Errorf("objective %q: %w: the answer has no column %q", a.Query, core.ErrInvalid, b.obj.name)
	}
	b.heading(2, "Decision")
	if b.simulated == simulatedNote || slices.ContainsFunc(a.Warnings, func(w query.Warning) bool { return w.Code == "simulated" }) {
		b.add(block{notice: strongText("Simulated. ").plain("Every figure comes from a simulator: no GPU was measured and no price was paid.")})
	}
	b.add(block{paragraph: b.asked()})
	if len(a.Rows) == 0 {
		b.add(block{notice: strongText("No trial qualifies. ").plain("Nothing is recommended; what was left out and why stands below.")})
		if err := b.pickBaseline(); err != nil {
			return err
		}
		return b.findUnfinished()
	}
	if err := b.pickWinner(); err != nil {
		return err
	}
	if err := b.pickBaseline(); err != nil {
		return err
	}
	if b.winner == nil {
		if err := b.voidNotice(); err != nil {
			return err
		}
		b.add(block{notice: strongText("Nothing is recommended. ").plain("No trial that qualifies has a figure which may be believed.")})
		return b.findUnfinished()
	}
	if err := b.measureNoise(); err != nil {
		return err
	}
	if err := b.findUnfinished(); err != nil {
		return err
	}
	if err := b.readPairs(); err != nil {
		return err
	}
	for _, step := range []func() error{b.recommend, b.otherLoads, b.cost, b.quality, b.otherwise, b.commands, b.versions} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// asked says which question decides.
func (b *builder) asked() text {
	t := plainText("Objective: ").code(b.obj.ask())
	switch {
	case b.decideOn != "":
		t = t.plain(", decided on the workload ").code(b.decideOn)
	case b.decideLoad != "":
		t = t.plain(", decided")
	}
	if b.decideLoad != "" {
		t = t.plain(" at the load ").code(b.decideLoad)
	}
	if b.def == nil && b.decided() != "" && (b.opt.DecideOn == "" || b.decideLoad != "") {
		t = t.plain(", which has the most measured trials")
	}
	t = t.plain(".")
	if b.decideOn == "" && b.life.count(0, "ok") > 0 {
		t = t.plain(" No trial with a result names its workload, so they are taken to have one.")
	}
	return t
}

// topRow is the row that decides: the first, or of several groups the best of them.
func (b *builder) topRow() int {
	top := 0
	if len(b.decision.Groups) < 2 {
		return top
	}
	for i := range b.decision.Rows {
		if v := b.decision.get(i, b.obj.name); b.above(v, b.decision.get(top, b.obj.name)) {
			top = i
		}
	}
	return top
}

// soundRow is the best row that may be believed where the deciding one must not be.
func (b *builder) soundRow() []core.Value {
	if b.decision.SoundWinner != nil {
		return b.decision.SoundWinner
	}
	top := b.topRow()
	for _, g := range b.decision.Groups {
		if g.First <= top && top < g.Last {
			return g.Sound
		}
	}
	return nil
}

// figureOf reads one row of the decision.
func (b *builder) figureOf(row []core.Value) (number, id string, value core.Value) {
	get := func(name string) core.Value {
		if i := b.decision.Column(name); i >= 0 {
			return row[i]
		}
		return core.Missing()
	}
	return get("number").String(), get("id").String(), get(b.obj.name)
}

// severityAt is that of the worst finding on the ranked figure of a row.
func (b *builder) severityAt(row int) core.Severity {
	if row < len(b.decision.Severity) {
		return b.decision.Severity[row]
	}
	return 0
}

// pickWinner takes the deciding row, unless its figure is void: such a figure may not
// decide, and the best sound row stands in its place.
func (b *builder) pickWinner() error {
	top := b.topRow()
	row := b.decision.Rows[top]
	if sound := b.soundRow(); b.severityAt(top) == core.SeverityVoid {
		b.voided = row
		if sound == nil {
			return nil
		}
		row = sound
	}
	_, id, value := b.figureOf(row)
	one, err := b.ask("show config, setup, model, engine, option, role, success_rate, findings, number, " + loadFields + " where " + is("id", id))
	if err != nil {
		return err
	}
	if len(one.Rows) != 1 {
		return fmt.Errorf("trial %s: %w: the history changed while it was read", id, core.ErrConflict)
	}
	w := b.setup(one, 0)
	w.trial, w.n, w.value, w.single = id, 1, value, value
	b.winner = &w
	all, err := b.repeats(is("setup", w.hash))
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.loadKey == w.loadKey && s.n > 1 {
			b.winner.n, b.winner.value, b.winner.success, b.winner.findings = s.n, s.value, s.success, s.findings
		}
		if s.loadKey == w.loadKey {
			b.winner.duration, b.winner.outputTPS, b.winner.gpus, b.winner.severity = s.duration, s.outputTPS, s.gpus, s.severity
			b.winner.qualified, b.winner.limits = s.qualified, s.limits
		}
	}
	return nil
}

// pickBaseline finds the configuration that trials are marked with as baseline,
// wherever they were measured, and takes its figures of the winner's model and
// load; those of any load where there is no winner.
func (b *builder) pickBaseline() error {
	marked, err := b.ask("show count() as n" + where(b.scope, first(b.opt.Baseline, `role == "baseline"`)) + " by config")
	if err != nil {
		return err
	}
	config, most := "", 0
	for i := range marked.Rows {
		if n := marked.count(i, "n"); n > most {
			config, most = marked.text(i, "config"), n
		}
	}
	b.baselines = map[string]setup{}
	if config == "" {
		return nil
	}
	if n := len(marked.distinct("config")); n > 1 {
		b.add(block{notice: strongText("Several baselines: ").plain(fmt.Sprintf(
			"trials of %d configurations are marked as baseline; the one with the most trials is taken, %s.", n, config))})
	}
	all, err := b.repeats(is("config", config))
	if err != nil {
		return err
	}
	for _, s := range all {
		if b.winner != nil && s.model != b.winner.model {
			continue
		}
		if _, ok := b.baselines[s.loadKey]; !ok {
			b.baselines[s.loadKey] = s
		}
		if b.baseline == nil && (b.winner == nil || s.loadKey == b.winner.loadKey) {
			b.baseline = &s
		}
	}
	if b.baseline == nil || b.baseline.number.IsMissing() {
		return nil
	}
	one, err := b.ask("show id, option, role" + where(b.scope, "number == "+b.baseline.number.String()))
	if err != nil || len(one.Rows) == 0 {
		return err
	}
	b.baseline.trial, b.baseline.option, b.baseline.role = one.text(0, "id"), one.text(0, "option"), one.text(0, "role")
	return nil
}

// better is the direction of the objective: the field's own, else the verb's.
func (b *builder) better() core.Better {
	if c := b.decision.column(b.obj.name); c.Better != 0 {
		return c.Better
	}
	if b.obj.verb == "min" {
		return core.LowerBetter
	}
	return core.HigherBetter
}

func (b *builder) unit() string { return b.decision.column(b.obj.name).Unit }

func header(name, unit string) string {
	if unit == "" || strings.HasSuffix(name, "_"+unit) {
		return name // mean_ttft_ms says its unit
	}
	return name + ", " + unit
}

// fails reports whether some of a setup's trials do not pass the objective's condition.
func (s *setup) fails() bool { return s.qualified < s.n }

func (s *setup) name() string {
	switch {
	case s.option != "" && (s.role != string(core.RoleVerification) || s.passed == ""):
		return s.option
	case s.passed != "":
		return s.passed // of a verification the option says no more than that
	}
	return strings.TrimSpace(s.engine + " " + s.config)
}

func withUnit(v core.Value, unit string) string {
	if v.Kind != core.KindNumber {
		return "unknown"
	}
	return strings.TrimSpace(chart.Number(v.Num) + " " + unit)
}
