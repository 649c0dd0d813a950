package report

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// repeats asks for the setups of the deciding workload that pass a condition: the
// trials of one setup at one load are repeats, and their figures are medians.
func (b *builder) repeats(cond string) ([]setup, error) {
	a, err := b.ask("show count() as n, median(" + b.obj.value + ") as objective, median(success_rate) as success_rate, " +
		"max(findings) as findings, min(number) as number" +
		where(b.scope, b.decided(), `status == "ok"`, cond) + " by model, config, setup, engine, " + loadFields)
	if err != nil {
		return nil, err
	}
	var out []setup
	for i := range a.Rows {
		out = append(out, b.setup(a, i))
	}
	return out, nil
}

// decide writes the recommendation: the winner of the objective on the deciding
// workload, beside the baseline at the same load.
func (b *builder) decide() error {
	a, err := b.ask(b.obj.ask(b.scope, b.decided()))
	if err != nil {
		return err
	}
	b.decision = a
	if a.Column(b.obj.name) < 0 {
		return fmt.Errorf("objective %q: %w: the answer has no column %q", a.Query, core.ErrInvalid, b.obj.name)
	}
	b.heading(2, "Recommendation")
	asked := plainText("Objective: ").code(b.obj.ask())
	if b.decideOn != "" {
		asked = asked.plain(", decided on the workload ").code(b.decideOn)
		if b.decideLoad != "" {
			asked = asked.plain(" at the load ").code(b.decideLoad)
		}
		if b.def == nil && (b.opt.DecideOn == "" || b.decideLoad != "") {
			asked = asked.plain(", which has the most measured trials")
		}
	}
	b.add(block{paragraph: asked.plain(".")})
	if len(a.Rows) == 0 {
		b.add(block{notice: strongText("No trial qualifies. ").plain("Nothing is recommended; what was left out and why stands below.")})
		return b.pickBaseline()
	}
	if err := b.pickWinner(); err != nil {
		return err
	}
	if err := b.pickBaseline(); err != nil {
		return err
	}
	b.recommend()
	if err := b.commands(); err != nil {
		return err
	}
	b.ties()
	return nil
}

func (b *builder) pickWinner() error {
	id := b.decision.text(0, "id")
	one, err := b.ask("show config, setup, model, engine, option, role, success_rate, findings, number, " + loadFields + " where " + is("id", id))
	if err != nil {
		return err
	}
	if len(one.Rows) != 1 {
		return fmt.Errorf("trial %s: %w: the history changed while it was read", id, core.ErrConflict)
	}
	w := b.setup(one, 0)
	w.trial, w.n, w.value = id, 1, b.decision.get(0, b.obj.name)
	b.winner = &w
	all, err := b.repeats(is("setup", w.hash))
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.loadKey == w.loadKey && s.n > 1 {
			b.winner.n, b.winner.value, b.winner.success, b.winner.findings = s.n, s.value, s.success, s.findings
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

func (s *setup) name() string {
	switch {
	case s.option != "" && (s.role != string(core.RoleVerification) || s.passed == ""):
		return s.option
	case s.passed != "":
		return s.passed // of a verification the option says no more than that
	}
	return strings.TrimSpace(s.engine + " " + s.config)
}

func (b *builder) recommend() {
	w, base := b.winner, b.baseline
	lead := strongText("Recommended: ").code(w.name())
	if w.passed != "" && w.passed != w.name() {
		lead = lead.plain(", that is ").code(w.passed)
	}
	lead = lead.plain(fmt.Sprintf(" (configuration %s, trial #%s): ", w.config, w.number)).strong(withUnit(w.value, b.unit()))
	if w.n > 1 {
		lead = lead.plain(fmt.Sprintf(", median of %d repeats (the trial itself: %s)", w.n, withUnit(b.decision.get(0, b.obj.name), b.unit())))
	}
	switch {
	case base == nil:
		lead = lead.plain(". No trial on this workload and load is of a configuration marked as baseline, so no gain is given.")
	case base.config == w.config:
		lead = lead.plain(". That is the baseline itself: nothing that was tried is better.")
	default:
		lead = lead.plain(fmt.Sprintf(", %s over the baseline's %s.", percent(gain(w.value, base.value, b.better())), withUnit(base.value, b.unit())))
	}
	b.add(block{paragraph: lead})
	if base == nil || base.config == w.config {
		return
	}
	t := &table{columns: []column{{short: true}, {name: "configuration"}, {name: "load", short: true}, {name: "repeats", numeric: true}, {name: header(b.obj.name, b.unit()), numeric: true},
		{name: "gain", numeric: true}, {name: "success_rate", numeric: true}, {name: "findings", numeric: true}}}
	line := func(role string, s *setup, g string) row {
		return row{cells: []text{plainText(role), codeText(s.name()), plainText(s.load.String()), plainText(fmt.Sprint(s.n)), number(s.value),
			plainText(g), number(s.success), plainText(fmt.Sprint(s.findings))}}
	}
	best := line("recommended", w, percent(gain(w.value, base.value, b.better())))
	best.best = true
	t.rows = []row{line("baseline", base, ""), best}
	b.add(block{table: t})
}

func withUnit(v core.Value, unit string) string {
	if v.Kind != core.KindNumber {
		return "unknown"
	}
	return strings.TrimSpace(chart.Number(v.Num) + " " + unit)
}

func (b *builder) commands() error {
	d, err := b.details(b.winner.trial)
	if err != nil {
		return err
	}
	if d.Serve != "" {
		b.add(block{paragraph: plainText("Server command:")}, block{command: d.Serve})
	}
	if d.Bench != "" {
		b.add(block{paragraph: plainText("Benchmark command:")}, block{command: d.Bench})
	}
	return nil
}

// ties names the trials that do as well, and the best sound one when the winner's
// figure is in doubt.
func (b *builder) ties() {
	a := b.decision
	if s := a.SoundWinner; s != nil {
		one := *a.Answer
		one.Rows = append(one.Rows[:0:0], s)
		r := &rows{&one}
		b.add(block{notice: strongText("The winning figure is in doubt: ").plain(fmt.Sprintf(
			"an audit finding touches it. The best sound trial is #%s with %s.", r.text(0, "number"), withUnit(r.get(0, b.obj.name), b.unit())))})
	}
	if len(a.Rows) < 2 {
		return
	}
	var list []text
	for i := 1; i < len(a.Rows); i++ {
		list = append(list, plainText(fmt.Sprintf("trial #%s, %s, configuration %s: %s", a.text(i, "number"), a.text(i, "engine"), a.text(i, "config"),
			withUnit(a.get(i, b.obj.name), b.unit()))))
	}
	b.add(block{paragraph: plainText("Beside it stand, as ties or next in rank:")}, block{list: list})
}
