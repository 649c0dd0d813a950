package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// unfinished is what a study plans and has not measured: it was stopped, its budget
// ended it, or it is still running. The history does not say which of these it is.
type unfinished struct {
	untried    []planned
	draws      int      // configurations that a random search has still to draw
	unverified []string // "winner on long"
	cut        []string // numbers of trials without a result, of options that have another
}

func (u *unfinished) empty() bool {
	return len(u.untried) == 0 && u.draws == 0 && len(u.unverified) == 0 && len(u.cut) == 0
}

// begun are the trials of a study by what became of them.
type begun struct {
	settled map[string]bool     // configurations, and each of them at its spots: see at
	options map[string][]string // settled, by stage
	cut     []cutShort
	again   []string // numbers of trials that were cut short and measured again since
}

// cutShort is a trial that ended without telling anything of its configuration.
type cutShort struct{ number, stage, option string }

// at is a configuration, or an option of the verification, at a spot of which the load
// may be left open.
func (s spot) at(who string) string { return fmt.Sprintf("%q on %q at %q", who, s.workload, s.load) }

// findUnfinished compares the definition with the trials. Nothing is said of an imported
// study, nor of the draws of a search that the definition does not list.
func (b *builder) findUnfinished() error {
	if b.def == nil {
		return nil
	}
	done := b.begun
	var err error
	if b.left.untried, err = b.untried(done); err != nil {
		return err
	}
	if s := b.def.Search; s.Strategy == core.StrategyRandom {
		b.left.draws = b.undrawn(done)
	}
	b.left.unverified = b.unverified(done)
	for _, c := range done.cut {
		if !slices.ContainsFunc(b.left.untried, func(p planned) bool { return p.stage == c.stage && named(p, c.option) }) {
			b.left.cut = append(b.left.cut, c.number)
		}
	}
	if !b.left.empty() {
		notice := block{notice: b.unfinishedNotice()}
		b.r.blocks = slices.Insert(b.r.blocks, 1, notice) // below the title: before anything is recommended
	}
	return nil
}

// cut picks the trials that a resumed study measures again.
const cut = `status in ["planned", "launching", "running", "aborted", "lost"]`

// readBegun asks which trials have told something of their configuration.
func (b *builder) readBegun() error {
	if b.def == nil {
		// A history may be long, and without a definition only these matter.
		a, err := b.ask("show count() as n" + where(b.scope, cut))
		if err != nil {
			return err
		}
		b.queries = b.queries[:len(b.queries)-1]
		if len(a.Rows) == 0 || a.count(0, "n") == 0 {
			return nil
		}
	}
	a, err := b.ask("show number, stage, option, config, workload, repeat, " + cut + " as cut, " + loadFields + where(b.scope, `status != "retracted"`) + " order by number")
	if err != nil {
		return err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives names, no figures
	done := begun{settled: map[string]bool{}, options: map[string][]string{}}
	trial := func(i int) string {
		return spot{a.text(i, "workload"), loadKey(a, i)}.at(a.text(i, "config")) + " repeat " + a.text(i, "repeat")
	}
	cut := func(i int) bool { return a.get(i, "cut").True() }
	last := map[string]int{} // row that settled a trial
	for i := range a.Rows {
		if cut(i) {
			continue
		}
		config, stage, option := a.text(i, "config"), a.text(i, "stage"), a.text(i, "option")
		done.options[stage] = append(done.options[stage], option)
		done.settled[config], last[trial(i)] = true, i
		who := []string{config}
		if stage == verification {
			who = append(who, option)
		}
		for _, w := range who {
			done.settled[spot{a.text(i, "workload"), a.text(i, "load")}.at(w)] = true
			done.settled[spot{workload: a.text(i, "workload")}.at(w)] = true
		}
	}
	for i := range a.Rows {
		switch {
		case !cut(i):
		case last[trial(i)] > i:
			done.again = append(done.again, a.text(i, "number"))
		default:
			done.cut = append(done.cut, cutShort{a.text(i, "number"), a.text(i, "stage"), a.text(i, "option")})
		}
	}
	b.begun = done
	return nil
}

// unlessAgain is the condition that leaves out trials which were cut short and measured
// again since: of them nothing is missing. It is "" where there are none.
func (b *builder) unlessAgain() string {
	if len(b.begun.again) == 0 {
		return ""
	}
	return "number not in [" + strings.Join(b.begun.again, ", ") + "]"
}

// untried lists the alternatives of which no trial has ended and that equal nothing
// which was measured, be it laid over the baseline or over what earlier stages chose. A
// stage with a condition is passed over where a later one was tried, or where all before
// it was and the condition does not hold of the best.
func (b *builder) untried(done begun) ([]planned, error) {
	var out []planned
	known := b.knownConfigs(done)
	skipped := map[string]bool{}
	for _, p := range b.plannedOptions() {
		if skipped[p.stage] || slices.ContainsFunc(done.options[p.stage], func(o string) bool { return named(p, o) }) ||
			done.settled[b.base().With(p.change).Hash()] || slices.ContainsFunc(known, func(c core.Config) bool { return has(c, p.change) }) {
			continue
		}
		if p.when != "" && len(done.options[p.stage]) == 0 {
			holds, err := b.mayCome(p, done, len(out) > 0)
			if err != nil {
				return nil, err
			}
			if skipped[p.stage] = !holds; !holds {
				continue
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// mayCome reports whether a stage with a condition is still to be tried.
func (b *builder) mayCome(p planned, done begun, before bool) (bool, error) {
	i := slices.IndexFunc(b.def.Stages, func(s core.Stage) bool { return s.Name == p.stage })
	for _, later := range b.def.Stages[i+1:] {
		if len(done.options[later.Name]) > 0 {
			return false, nil
		}
	}
	switch {
	case len(done.options[verification]) > 0:
		return false, nil
	case before:
		return true, nil // what it will be asked of is not known yet
	case b.winner == nil:
		return false, nil
	}
	a, err := b.ask("show number" + where(is("id", b.winner.trial), "("+p.when+")"))
	if query.IsUsage(err) {
		return false, nil // written in an older language
	}
	if err != nil {
		return false, err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives no figure
	return len(a.Rows) > 0, nil
}

// verification is the stage in which baseline and winner are measured on every workload.
const verification = "verification"

// unverified lists what the definition asks to be verified and nobody measured. What
// cannot be told from the recommendation may be what the study itself took as its winner.
func (b *builder) unverified(done begun) []string {
	if b.winner == nil {
		return nil
	}
	spots := b.spotsToVerify()
	var out []string
	for _, name := range b.def.Verify.Configs {
		who := []string{name, b.base().Hash()}
		if name == "winner" {
			who = []string{name, b.winner.config}
			for _, s := range b.tied {
				who = append(who, s.config)
			}
		} else if b.baseline != nil {
			who = append(who, b.baseline.config)
		}
		for _, s := range spots {
			if slices.ContainsFunc(who, func(w string) bool { return done.settled[s.at(w)] }) {
				continue
			}
			on := name + " on " + s.workload
			if slices.ContainsFunc(spots, func(t spot) bool { return t.workload == s.workload && t != s }) {
				on += " at " + s.load
			}
			out = append(out, on)
		}
	}
	return out
}

// spotsToVerify are the workloads that a definition verifies, with each of their loads.
func (b *builder) spotsToVerify() []spot {
	var out []spot
	for _, w := range b.def.Workloads {
		name := w.Workload.Label()
		if !slices.Contains(b.def.Verify.Workloads, "all") && !slices.Contains(b.def.Verify.Workloads, w.Workload.Name) {
			continue
		}
		for _, l := range w.Loads {
			out = append(out, spot{name, l.Label()})
		}
		if len(w.Loads) == 0 {
			out = append(out, spot{workload: name})
		}
	}
	return out
}

// unfinishedNotice stands above everything else.
func (b *builder) unfinishedNotice() text {
	t := strongText("UNFINISHED: ")
	for i, part := range b.leftParts(6) {
		if i > 0 {
			t = t.plain("; ")
		}
		t = append(t, part...)
	}
	t = t.plain(". The study ended early or is still running, and what follows rests on what was measured so far; ")
	return t.code("sweepbook run").plain(" with the study file goes on.")
}

// leftParts says what is left, at most so many names of each kind.
func (b *builder) leftParts(most int) []text {
	var parts []text
	if list := b.left.untried; len(list) > 0 {
		t := plainText("untried: ")
		for i, p := range list[:min(len(list), most)] {
			if i > 0 {
				t = t.plain(", ")
			}
			t = t.code(p.option).plain(" (" + p.stage)
			if p.when != "" {
				t = t.plain(", when ").code(p.when)
			}
			t = t.plain(")")
		}
		if n := len(list) - most; n > 0 {
			t = t.plain(fmt.Sprintf(" and %d more", n))
		}
		parts = append(parts, t)
	}
	if n := b.left.draws; n > 0 {
		parts = append(parts, plainText("untried: "+plural(n, "configuration")+" of those that are drawn"))
	}
	some := func(what string, list []string) {
		if len(list) == 0 {
			return
		}
		s := strings.Join(list[:min(len(list), most)], ", ")
		if n := len(list) - most; n > 0 {
			s += fmt.Sprintf(" and %d more", n)
		}
		parts = append(parts, plainText(what+s))
	}
	some("not verified: ", b.left.unverified)
	numbers := make([]string, len(b.left.cut))
	for i, n := range b.left.cut {
		numbers[i] = "#" + n
	}
	some("without a result yet: trial ", numbers)
	return parts
}
