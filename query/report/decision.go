package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// recommend writes the decision for the person who takes it: what to run, what it
// brings, and whether that can be told from noise.
func (b *builder) recommend() error {
	w, base := b.winner, b.baseline
	if err := b.voidNotice(); err != nil {
		return err
	}
	what := "Recommended: "
	if !b.left.empty() {
		what = "Recommended so far: "
	}
	lead := strongText(what).code(w.name())
	if w.passed != "" && w.passed != w.name() {
		lead = lead.plain(", that is ").code(w.passed)
	}
	lead = lead.plain(fmt.Sprintf(" (configuration %s, trial #%s): ", w.config, w.number)).strong(withUnit(w.value, b.unit()))
	if w.n > 1 {
		lead = lead.plain(fmt.Sprintf(", median of %d repeats (the trial itself: %s)", w.n, withUnit(w.single, b.unit())))
	}
	against := base != nil && base.config != w.config
	switch {
	case base == nil:
		lead = lead.plain(". No trial on this workload and load is of a configuration marked as baseline, so no gain is given.")
	case !against:
		lead = lead.plain(". That is the baseline itself: nothing that was tried is better.")
	default:
		lead = lead.plain(", ").strong(percent(gain(w.value, base.value, b.better()))).plain(" over the baseline's " + withUnit(base.value, b.unit()))
		if g := b.gainByDuration(w, base); g != "" {
			lead = lead.plain(" (" + g + " by duration)")
		}
		if base.fails() {
			lead = lead.plain(", which does not qualify")
		}
		lead = lead.plain(".")
	}
	b.add(block{paragraph: lead})
	b.failing("recommendation", w)
	if against {
		b.failing("baseline", base)
		b.noiseVerdict()
		b.add(block{table: b.decisionTable()})
		b.paidWith()
		b.elsewhere()
	}
	b.hardNotice()
	b.ties()
	return nil
}

// failing says that trials of a side of the decision do not pass the objective's
// condition: a baseline that breaks a limit is no alternative, and a gain over it is not
// one at equal limits.
func (b *builder) failing(side string, s *setup) {
	if !s.fails() {
		return
	}
	t := strongText("The " + side + " does not qualify: ").code(b.obj.where).plain(fmt.Sprintf(" does not hold of %d of its %s on this workload and load", s.n-s.qualified, plural(s.n, "trial")))
	for i, f := range b.obj.limits() {
		t = t.plain(fmt.Sprintf("%s %s %s", []string{"; it has", ","}[min(i, 1)], f.Name, withUnit(s.limits[i], f.Unit)))
	}
	b.add(block{notice: t.plain(".")})
}

// byDuration reports whether the rate recomputed from tokens and duration is a second
// opinion on the objective.
func (b *builder) byDuration() bool { return b.obj.value != "duration_tps" }

// gainByDuration is how much more tokens a second s gave than base; "" when that is not
// known or is the objective itself.
func (b *builder) gainByDuration(s, base *setup) string {
	if !b.byDuration() {
		return ""
	}
	return percent(gain(s.duration, base.duration, core.HigherBetter))
}

func (b *builder) decisionTable() *table {
	t := &table{columns: []column{{short: true}, {name: "configuration"}, {name: "load", short: true}, {name: "repeats", numeric: true}, {name: header(b.obj.name, b.unit()), numeric: true},
		{name: "gain", numeric: true}, {name: "gain by duration", numeric: true}}}
	for _, f := range b.obj.limits() {
		t.columns = append(t.columns, column{name: header(f.Name, f.Unit), numeric: true})
	}
	t.columns = append(t.columns, column{name: "success_rate", numeric: true}, column{name: "findings", numeric: true})
	line := func(role string, s *setup, gains ...string) row {
		r := row{cells: []text{plainText(role), codeText(s.name()), plainText(s.load.String()), plainText(fmt.Sprint(s.n)), b.marked(s.value, s.severity)}}
		for _, g := range append(gains, "", "")[:2] {
			r.cells = append(r.cells, plainText(g))
		}
		for _, v := range s.limits {
			r.cells = append(r.cells, number(v))
		}
		r.cells = append(r.cells, number(s.success), plainText(fmt.Sprint(s.findings)))
		return r
	}
	best := line("recommended", b.winner, percent(gain(b.winner.value, b.baseline.value, b.better())), b.gainByDuration(b.winner, b.baseline))
	best.best = true
	t.rows = []row{line("baseline", b.baseline), best}
	t.dropEmpty()
	return t
}

// marked is a figure with what the audit says against it.
func (b *builder) marked(v core.Value, s core.Severity) text {
	t := number(v)
	if s >= core.SeverityHard && v.Kind == core.KindNumber {
		t = t.plain(" (" + s.String() + ")")
	}
	return t
}

// noiseVerdict says whether the gain can be told from noise, and on what that rests.
func (b *builder) noiseVerdict() {
	c := b.verdict
	if c.Tier == "" || !(c.Ratio > 0) {
		return
	}
	switch c.Verdict {
	case stats.Worse: // the objective's condition keeps the baseline out, say
		b.add(block{notice: strongText("The recommendation is worse than the baseline, beyond noise. ").plain(b.intervalText() + b.noiseBasis() + ".")})
	case stats.Better:
		b.add(block{paragraph: strongText("The gain can be told from noise. ").plain(b.intervalText() + b.noiseBasis() + ".")})
	case stats.Same:
		b.add(block{notice: strongText("The gain does not matter. ").plain(b.intervalText() + b.noiseBasis() + ".")})
	default:
		t := strongText("The gain cannot be told from noise. ").plain(b.intervalText() + b.noiseBasis() + ".")
		b.add(block{notice: append(t, b.insideSpread()...)})
	}
}

// intervalText is "The interval of the gain is -1.96 % to +6.31 % (95 %), ".
func (b *builder) intervalText() string {
	c := b.verdict
	lo, hi := core.Number(c.Low), core.Number(c.High)
	one := core.Number(1)
	if b.better() == core.LowerBetter {
		lo, hi = hi, lo // the lower ratio is the greater gain
	}
	s := fmt.Sprintf("The interval of the gain is %s to %s", percent(gain(lo, one, b.better())), percent(gain(hi, one, b.better())))
	if c.Confidence > 0 {
		s += fmt.Sprintf(" at a confidence of %.3g %%", 100*c.Confidence)
	}
	return s + ", "
}

func (b *builder) noiseBasis() string {
	c := b.verdict
	switch c.Tier {
	case stats.TierRank:
		return fmt.Sprintf("by ranks of %d and %d repeats (p = %.2g among %s)", c.BaseN, c.N, c.P, plural(len(b.rivals)+1, "candidate"))
	case stats.TierPooled:
		return fmt.Sprintf("by the noise of repeats and inert twins: one measurement varies by %.2f %%, with %d degrees of freedom", 100*math.Expm1(b.scatter.noise.Std), b.scatter.noise.Freedom)
	}
	s := fmt.Sprintf("by an assumed noise of %.3g %%", 100*b.scatter.rules(stats.Rules{}).Tolerance)
	if b.scatter.spread > usualTolerance {
		return s + fmt.Sprintf(", the spread of repeats (%s)", numbersOf(b.measured, b.scatter.widest))
	}
	return s + ", since too little was repeated to measure it"
}

// insideSpread says that trials which ought to be equal lie as far apart as the gain.
func (b *builder) insideSpread() text {
	g := gain(b.winner.value, b.baseline.value, b.better())
	if b.scatter.widest == nil || math.Abs(g.Num) > b.scatter.spread {
		return nil
	}
	t := plainText(" " + percent(g) + " lies inside the spread of " + b.widestName() + ": " + percentOf(b.scatter.spread) + " between trials " + numbersOf(b.measured, b.scatter.widest))
	if b.byDuration() && b.byTime.widest != nil {
		d := gain(b.winner.duration, b.baseline.duration, core.HigherBetter)
		if d.Kind == core.KindNumber && math.Abs(d.Num) <= b.byTime.spread {
			t = t.plain(fmt.Sprintf("; by duration %s of %s", percent(d), percentOf(b.byTime.spread)))
		}
	}
	return t.plain(".")
}

// widestName says what kind of repeats the widest group is of.
func (b *builder) widestName() string {
	setups := map[string]bool{}
	for _, i := range b.scatter.widest {
		setups[b.measured.text(i, "setup")] = true
	}
	if len(setups) > 1 {
		return "inert twins (configurations that differ only in a limit of sequences which nothing reached)"
	}
	return "repeats of one configuration"
}

// percentOf writes a fraction that has no sign, "2.99 %".
func percentOf(f float64) string { return fmt.Sprintf("%.2f %%", 100*f) }

// paidWith names the figures that the gain made worse on the deciding workload, by more
// than their own noise.
func (b *builder) paidWith() {
	i := slices.IndexFunc(b.workloads, b.decides)
	if i < 0 {
		return
	}
	p := b.workloads[i]
	var parts []string
	for _, name := range b.figures {
		f, ok := core.LookupField(name)
		if !ok || f.Better == 0 || name == b.obj.value || max(b.severityOf(p.before, name), b.severityOf(p.after, name)) >= core.SeverityHard {
			continue
		}
		every := func(int) bool { return true }
		rules := scatterOf(b.measured, b.groups, name).rules(stats.Rules{Direction: stats.Direction(f.Better)})
		if stats.Compare(b.valuesWhere(b.baseline, name, every), b.valuesWhere(b.winner, name, every), rules).Verdict != stats.Worse {
			continue
		}
		before, after := b.sides.get(p.before, name), b.sides.get(p.after, name)
		g := gain(after, before, f.Better)
		parts = append(parts, fmt.Sprintf("%s %s to %s (%s)", name, printed(before), withUnit(after, f.Unit), percent(g)))
	}
	if len(parts) > 0 {
		b.add(block{paragraph: strongText("Paid for with: ").plain(strings.Join(parts, "; ") + ".")})
	}
}

// elsewhere names the gain on every other workload and load that both were measured on.
func (b *builder) elsewhere() {
	var parts []string
	for _, p := range b.workloads {
		if b.decides(p) {
			continue
		}
		g := gain(b.sides.get(p.after, "objective"), b.sides.get(p.before, "objective"), b.better())
		if g.Kind != core.KindNumber {
			continue
		}
		s := first(p.workload, "an unnamed workload")
		if b.manyLoadsOn(p.workload) {
			s += " at " + first(p.load, "an unknown load")
		}
		s += " " + brief(g)
		if b.differsByDuration(p) {
			s += " (" + brief(b.pairDuration(p)) + " by duration)"
		}
		if worst := b.pairSeverity(p); worst >= core.SeverityHard {
			s += ", " + worst.String()
		}
		parts = append(parts, s)
	}
	if len(parts) > 0 {
		b.add(block{paragraph: plainText("Elsewhere, recommended over baseline: " + strings.Join(parts, "; ") + ".")})
	}
}

// brief writes a fraction as "+46.8 %".
func brief(v core.Value) string {
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*v.Num), "-0.0 ", "+0.0 ", 1)
}

func (b *builder) manyLoadsOn(workload string) bool {
	n := 0
	for _, p := range b.workloads {
		if p.workload == workload {
			n++
		}
	}
	return n > 1
}

// voidNotice names a first row that may not decide.
func (b *builder) voidNotice() error {
	b.acceptedNotice()
	if err := b.acknowledgedNotice(); err != nil {
		return err
	}
	if b.voided == nil {
		return nil
	}
	n, _, v := b.figureOf(b.voided)
	t := strongText("A void figure does not decide. ").plain(fmt.Sprintf("Trial #%s ranks first with %s, but the audit voids this figure.", n, withUnit(v, b.unit())))
	if b.winner != nil {
		t = t.plain(fmt.Sprintf(" The best sound trial is #%s with %s; it stands in its place.", b.winner.number, withUnit(b.winner.single, b.unit())))
	}
	b.add(block{notice: t})
	return nil
}

// acceptedNotice names what the study accepts of the audit: a decision may then
// rest on what is not so elsewhere.
func (b *builder) acceptedNotice() {
	if b.def == nil || len(b.def.Accept) == 0 {
		return
	}
	var rules []string
	for _, id := range b.def.Accept {
		rules = append(rules, strings.TrimSpace(id+" "+b.opt.RuleTitles[id]))
	}
	b.add(block{notice: strongText("The study accepts " + strings.Join(rules, ", ") + ". ").plain("What the audit says by it bars no figure of this report.")})
}

// acknowledgedNotice names the grave findings on the trials of the decision that a
// person has acknowledged, with the reason: they bar nothing, and a reader must know.
func (b *builder) acknowledgedNotice() error {
	seen := map[string]bool{}
	for _, s := range []*setup{b.winner, b.baseline} {
		if s == nil || s.trial == "" {
			continue
		}
		d, err := b.details(s.trial)
		if err != nil {
			return err
		}
		for _, f := range d.Findings {
			if f.Counts() || f.Severity < core.SeverityHard || seen[f.Rule] || b.def != nil && slices.Contains(b.def.Accept, f.Rule) {
				continue
			}
			seen[f.Rule] = true
			b.add(block{notice: strongText("Acknowledged: " + strings.TrimSpace(f.Rule+" "+b.opt.RuleTitles[f.Rule]) + " (" + f.Severity.String() + "). ").
				plain("A person accepts what the audit says here, so that it bars nothing: " + f.Ack)})
		}
	}
	return nil
}

// hardNotice says when the audit doubts the figures that the decision rests on.
func (b *builder) hardNotice() {
	if sound := b.soundRow(); b.voided == nil && sound != nil {
		n, _, v := b.figureOf(sound)
		b.add(block{notice: strongText("The winning figure is in doubt: ").plain(fmt.Sprintf(
			"a hard finding of the audit touches it. The best sound trial is #%s with %s.", n, withUnit(v, b.unit())))})
	} else if b.voided == nil && b.winner.severity >= core.SeverityHard {
		b.add(block{notice: strongText("The winning figure is in doubt: ").plain("a " + b.winner.severity.String() + " finding of the audit touches it, and no sound row is left.")})
	}
	if base := b.baseline; base != nil && base.config != b.winner.config && base.severity >= core.SeverityHard {
		b.add(block{notice: strongText("The baseline's figure is in doubt: ").plain("a " + base.severity.String() + " finding of the audit touches it, so the gain must not be believed.")})
	}
}

// ties names the rows that stand beside the first: ties, or the next in rank where the
// objective asks for several.
func (b *builder) ties() {
	a := b.decision
	var list []text
	for i := range a.Rows {
		if i == b.topRow() {
			continue
		}
		n, id, v := b.figureOf(a.Rows[i])
		if id == b.winner.trial {
			continue
		}
		list = append(list, plainText(fmt.Sprintf("trial #%s, %s, configuration %s: %s", n, a.text(i, "engine"), a.text(i, "config"), withUnit(v, b.unit()))))
	}
	if list != nil {
		b.add(block{paragraph: plainText("Beside it stand, as ties or next in rank:")}, block{list: list})
	}
}

// commands gives both commands of the recommendation.
func (b *builder) commands() error {
	d, err := b.details(b.winner.trial)
	if err != nil {
		return err
	}
	if d.Serve != "" || d.Bench != "" {
		b.heading(3, "The recommendation as commands")
	}
	if d.Serve != "" {
		b.add(block{paragraph: plainText("Server command:")}, block{command: d.Serve})
	}
	if d.Bench != "" {
		b.add(block{paragraph: plainText("Benchmark command:")}, block{command: d.Bench})
	}
	return nil
}

// versions says what both sides ran on.
func (b *builder) versions() error {
	type side struct {
		role string
		*setup
	}
	sides := []side{{"recommended", b.winner}}
	if b.baseline != nil && b.baseline.config != b.winner.config {
		sides = []side{{"baseline", b.baseline}, {"recommended", b.winner}}
	}
	fields := []string{"engine", "engine_version", "image", "checkpoint", "weight_dtype", "kv_dtype", "gpu", "gpus", "driver", "tool", "tool_version"}
	t := &table{columns: []column{{short: true}}}
	for _, f := range fields {
		t.columns = append(t.columns, column{name: f, short: f == "engine_version" || f == "driver"})
	}
	for _, s := range sides {
		if s.trial == "" {
			continue
		}
		a, err := b.ask("show " + strings.Join(fields, ", ") + where(is("id", s.trial)))
		if err != nil {
			return err
		}
		if len(a.Rows) == 0 {
			continue
		}
		r := row{cells: []text{plainText(s.role)}}
		for _, f := range fields {
			r.cells = append(r.cells, plainText(a.text(0, f)))
		}
		t.rows = append(t.rows, r)
	}
	if t.dropEmpty(); len(t.rows) > 0 && len(t.columns) > 1 {
		b.heading(3, "Versions")
		b.add(block{table: t})
	}
	return nil
}
