package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// otherLoads says that the recommendation holds at its own load only, where the
// objective leaves the load open and trials at others qualify, and names the best of
// each: a reader who serves another load must not take the one for the other.
func (b *builder) otherLoads() error {
	var conds []string
	if b.decideOn != "" {
		conds = append(conds, is("workload", b.decideOn))
	}
	a, err := b.ask("show count() as n, " + b.medians() + where(append(conds, b.scope, `status == "ok"`, b.obj.where)...) +
		" by model, config, setup, engine, " + strings.Join(loadAxes[:], ", ") + ", " + loadFields)
	if err != nil {
		return err
	}
	if err := b.readOptions(); err != nil {
		return err
	}
	var places []place
	for i := range a.Rows {
		s := b.setup(a, i)
		at := slices.IndexFunc(places, func(p place) bool { return p.label == s.load.String() })
		if at < 0 {
			at = len(places)
			places = append(places, place{label: s.load.String(), at: [2]core.Value{a.get(i, loadAxes[0]), a.get(i, loadAxes[1])}})
		}
		p := &places[at]
		if s.value.Kind != core.KindNumber || s.severity == core.SeverityVoid {
			continue
		}
		p.setups++
		p.winner = p.winner || s.config == b.winner.config
		if b.above(s.value, p.best.value) {
			p.best = s
		}
	}
	mine := b.winner.load.String()
	places = slices.DeleteFunc(places, func(p place) bool { return p.label == mine || p.setups == 0 })
	if len(places) == 0 {
		b.queries = b.queries[:len(b.queries)-1]
		return nil
	}
	slices.SortStableFunc(places, func(p, q place) int { return compareLoads(p.at, q.at) })
	b.add(block{notice: b.otherLoadsText(mine, places)})
	return nil
}

// place is one load and the best that qualifies there.
type place struct {
	label  string
	at     [2]core.Value // concurrency and request rate, for the order
	best   setup
	setups int  // that qualify
	winner bool // the recommendation among them
}

func (b *builder) otherLoadsText(mine string, places []place) text {
	const most = 12
	own, alone := 0, false
	for _, p := range places {
		if p.winner {
			own++
		}
	}
	among := fmt.Sprintf("those of the recommended configuration at %d of them", own)
	if own == 0 {
		among = "none of the recommended configuration"
	}
	t := strongText("This holds at one load only: ").code(first(mine, "unknown")).
		plain(fmt.Sprintf(". The objective names no one load, and trials at %s qualify, %s. The best at each, in %s: ",
			plural(len(places), "other load"), among, header(b.obj.name, b.unit())))
	for i, p := range places[:min(len(places), most)] {
		if i > 0 {
			t = t.plain("; ")
		}
		figure := " " + printed(p.best.value)
		if p.best.severity >= core.SeverityHard {
			figure += " (" + p.best.severity.String() + ")"
		}
		if p.setups == 1 {
			figure += " (alone)"
			alone = true
		}
		t = t.plain(first(p.label, "an unknown load") + " ").code(b.label(&p.best)).plain(figure)
	}
	if left := len(places) - most; left > 0 {
		t = t.plain(fmt.Sprintf("; and %s", plural(left, "more load")))
	}
	if alone {
		return t.plain(". Where it says alone, nothing else qualifies.")
	}
	return t.plain(".")
}

// readOptions finds the configurations that one option alone stands for.
func (b *builder) readOptions() error {
	if b.options != nil {
		return nil
	}
	a, err := b.ask("show count() as n" + where(b.scope, "known(option)", searched) + " by config, option")
	if err != nil {
		return err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives labels, no figures
	b.options = map[string]string{}
	for i := range a.Rows {
		config, option := a.text(i, "config"), a.text(i, "option")
		if _, several := b.options[config]; several {
			option = ""
		}
		b.options[config] = option
	}
	return nil
}

// label names a configuration where its loads stand beside those of others: by what it
// passes, else by its option, else by its hash.
func (b *builder) label(s *setup) string {
	return first(first(b.passed[s.config], b.options[s.config]), strings.TrimSpace(s.engine+" "+s.config))
}

// compareLoads orders by concurrency and then by request rate; unlimited lies above
// every number and an unknown one last.
func compareLoads(a, b [2]core.Value) int {
	for i := range a {
		switch x, y := a[i], b[i]; {
		case x.Kind == core.KindNumber && y.Kind == core.KindNumber:
			if x.Num != y.Num {
				return map[bool]int{true: -1, false: 1}[x.Num < y.Num]
			}
		case x.Kind == core.KindNumber:
			return -1
		case y.Kind == core.KindNumber:
			return 1
		}
	}
	return 0
}

// compareLabels puts loads that a table names in the order of their numbers, c=2 before
// c=16, and those without a limit last.
func compareLabels(a, b string) int {
	numbers := func(label string) (load [2]core.Value) {
		if label == (core.Load{Concurrency: core.Unlimited()}).Label() {
			return [2]core.Value{core.Unlimited(), core.Unlimited()}
		}
		for _, part := range strings.Fields(label) {
			for i, prefix := range []string{"c=", "rate="} {
				if n, ok := strings.CutPrefix(part, prefix); ok {
					load[i] = core.ParseValue(n)
				}
			}
		}
		return load
	}
	return cmp.Or(compareLoads(numbers(a), numbers(b)), cmp.Compare(a, b))
}
