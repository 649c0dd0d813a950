package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// warnings gathers what the reader must know, in a fixed order.
func (e *evaluation) warnings(a *Answer, t *tally, notes *assertions, groups, shown []*group, dropped int, simulated bool) []Warning {
	p := e.p
	out := a.Warnings
	warn := func(code, format string, args ...any) {
		out = append(out, Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if a.Considered == 0 {
		out = append(out, e.nothingQualifies(t))
	}
	switch sim, all := a.Simulated(); {
	case simulated:
		warn("simulated", "only simulated trials qualify: %s", trials(a.Considered))
	case sim == 0 || p.asked["simulated"]:
	case sim == all:
		warn("simulated", "only simulated trials qualify: %s", trials(sim))
	default:
		warn("simulated", "only simulated trials qualify for %s", p.groupNames(a.Groups, func(g Group) bool { return g.Simulated }))
	}
	out = append(out, t.undecidedWarnings()...)
	out = append(out, p.requests.warnings()...)
	if dropped > 0 {
		warn("having", "%s left out by having", plural(dropped, "group"))
	}
	if a.EmptyGroups > 0 {
		warn("empty_group", "nothing qualifies for %s", p.groupNames(a.Groups, func(g Group) bool { return g.Empty }))
	}
	if p.over != nil {
		out = append(out, p.memberWarnings(groups)...)
	}
	out = append(out, p.curveWarnings()...)
	if p.noise != nil && a.Considered > 0 {
		out = append(out, p.noiseWarning(shown))
	}
	out = append(out, p.repeatWarnings(shown)...)
	if p.vs != nil && p.over == nil {
		if n := p.withoutBaseline(shown); n > 0 {
			warn("no_baseline", "%s without a baseline: no trial where %s has the same %s",
				plural(n, "row"), p.q.vs.text, p.versusKeys())
		}
		out = append(out, p.baselineWarnings(shown)...)
	}
	for i, agg := range p.aggregates {
		passed, all := 0, 0
		for _, g := range shown {
			passed += g.gathered[i].passedOver(agg)
			all += g.taken
		}
		if passed > 0 {
			what := "trial"
			if p.q.per != "" {
				what = p.q.per
			}
			warn("missing", "%s: %d of %s lack a value and do not count", agg.text, passed, plural(all, what))
		}
	}
	out = append(out, p.restsWarnings(shown)...)
	out = append(out, p.soundWarnings(shown)...)
	out = append(out, p.noteWarnings(shown)...)
	if col := a.Column("findings"); col >= 0 && (len(p.goals) > 0 || p.curve != nil) {
		out = append(out, findingWarnings(a, col)...)
	}
	return append(out, notes.warnings()...)
}

// nothingQualifies says what keeps most trials out and which comes nearest.
func (e *evaluation) nothingQualifies(t *tally) Warning {
	w := Warning{Code: "no_trial", Message: "no trial qualifies"}
	worst := -1
	for i, m := range e.misses {
		if m.trials > 0 && (worst < 0 || m.trials > e.misses[worst].trials) {
			worst = i
		}
	}
	switch {
	case e.trials == 0:
		w.Message += ": the history holds no trial"
		w.Hint = "sweepbook where prints which history was read"
	case e.status == e.trials:
		var parts []string
		for _, s := range slices.Sorted(maps.Keys(e.statuses)) {
			parts = append(parts, fmt.Sprintf("%d %s", e.statuses[s], s))
		}
		w.Message += fmt.Sprintf(": none of %s has status ok (%s)", trials(e.trials), strings.Join(parts, ", "))
	case worst >= 0:
		c, m := e.p.where[worst], e.misses[worst]
		w.Message += fmt.Sprintf(": %s is false for %d of %s", c.text, m.trials, trials(e.trials))
		if meant := m.meant(c); meant != "" {
			w.Message += "; there is " + meant
		}
		e.addAlone(&w, worst)
		e.addNearest(&w)
	case t.undecided > 0:
		w.Message += fmt.Sprintf(": what it asks for is unknown for %d of %s", t.undecided, trials(e.trials))
	}
	return w
}

// addAlone says which other condition keeps out most of the trials that fail nothing
// else.
func (e *evaluation) addAlone(w *Warning, worst int) {
	alone := -1
	for i, m := range e.misses {
		if i != worst && m.alone > 0 && (alone < 0 || m.alone > e.misses[alone].alone) {
			alone = i
		}
	}
	if alone < 0 {
		return
	}
	fail := "fail"
	if e.misses[alone].alone == 1 {
		fail = "fails"
	}
	w.Message += fmt.Sprintf("; %s %s only %s", trials(e.misses[alone].alone), fail, e.p.where[alone].text)
	if meant := e.misses[alone].meant(e.p.where[alone]); meant != "" {
		w.Message += ", where there is " + meant
	}
}

// addNearest names the trial that fails one condition only, and that by least.
func (e *evaluation) addNearest(w *Warning) {
	for i, m := range e.misses {
		if m.nearest == nil {
			continue
		}
		c := e.p.where[i]
		for _, kid := range c.kids {
			if kid.col >= 0 {
				w.Message += fmt.Sprintf("; the nearest is trial %s with %s = %s", e.p.trialName(m.nearest),
					e.p.columns[kid.col], printed(m.nearest[kid.col], kid.typ))
				return
			}
		}
	}
}

// undecidedWarnings names each field that kept trials out.
func (t *tally) undecidedWarnings() []Warning {
	var out []Warning
	for _, name := range slices.Sorted(maps.Keys(t.reasons)) {
		n := t.reasons[name]
		if name == "success_rate" && t.unasked > 0 {
			out = append(out, Warning{
				Code: "undecided",
				Message: fmt.Sprintf("%s left out: success_rate is unknown, because the number of requests asked is stated nowhere",
					trials(t.unasked)),
				Hint: "if you know that every request was answered: sweepbook set 'requested=completed where " + strings.ReplaceAll(t.unaskedCondition(), "'", `'\''`) + "'",
			})
			n -= t.unasked
		}
		if n > 0 {
			w := Warning{Code: "undecided", Message: fmt.Sprintf("%s left out: %s is unknown", trials(n), name)}
			if strings.HasPrefix(name, "usd_") {
				w.Hint = "a study states its price as hardware.usd_per_gpu_hour; another is an expression: 2.50 * gpus / 3600 / output_tps * 1e6"
			}
			out = append(out, w)
		}
	}
	return out
}

// unaskedCondition is a condition that finds the trials whose number of requests
// is unknown.
func (t *tally) unaskedCondition() string {
	var studies []string
	for v := range t.studies {
		if v.Kind != core.KindText {
			return "missing(requested)"
		}
		studies = append(studies, strconv.Quote(v.Text))
	}
	slices.Sort(studies)
	switch len(studies) {
	case 0:
		return "missing(requested)"
	case 1:
		return "study == " + studies[0] + " and missing(requested)"
	}
	return "study in [" + strings.Join(studies, ", ") + "] and missing(requested)"
}

// groupNames lists up to five of some groups, by their keys.
func (p *plan) groupNames(groups []Group, some func(Group) bool) string {
	var names []string
	for _, g := range groups {
		if some(g) {
			names = append(names, p.keyText(g.Key))
		}
	}
	const most = 5
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %s", strings.Join(names[:most], "; "), plural(n-most, "more group"))
	}
	return strings.Join(names, "; ")
}

// keyText is a group's key as a message calls it.
func (p *plan) keyText(key []core.Value) string {
	var parts []string
	for i, v := range key {
		text := printed(v, p.by[i].typ).String()
		if v.IsMissing() {
			text = "unknown"
		}
		parts = append(parts, p.q.by[i].name+" "+text)
	}
	return strings.Join(parts, ", ")
}

// withoutBaseline counts the rows for which no baseline was found.
func (p *plan) withoutBaseline(shown []*group) int {
	n := 0
	for _, g := range shown {
		for _, row := range g.list.rows {
			if row != nil && p.vs.found[p.versusKey(row)] == nil {
				n++
			}
		}
	}
	return n
}

func (p *plan) versusKeys() string {
	if p.q.on == nil {
		return "model, workload and load"
	}
	var names []string
	for _, it := range p.q.on {
		names = append(names, it.text)
	}
	return strings.Join(names, ", ")
}

// findingWarnings points at winners whose ranked figures the audit asks to look at.
func findingWarnings(a *Answer, col int) []Warning {
	number := a.Column("number")
	var names []string
	for i, row := range a.Rows {
		// What touches other figures than the ranked ones, or only informs, stays in
		// the column: a warning for every answer would be read by nobody.
		touched := i < len(a.Severity) && a.Severity[i] >= core.SeverityNote
		if touched && row[col].Kind == core.KindNumber && row[col].Num > 0 && number >= 0 {
			names = append(names, row[number].String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Warning{{Code: "findings", Message: listTrials(names) + ": the audit has findings on the ranked figure",
		Hint: "sweepbook audit lists which figures they touch"}}
}

func limitWarning(shown, all int) Warning {
	return Warning{Code: "limit", Message: fmt.Sprintf("showing %d of %s", shown, plural(all, "row"))}
}

func trials(n int) string { return plural(n, "trial") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
