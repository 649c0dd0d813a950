package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// attributes are what a configuration chose, by field; what it leaves alone is absent.
// The engine is not among them: its knobs mean nothing to another one.
type attributes map[string]core.Value

// nested reports whether c chose all that a did, and more.
func (a attributes) nested(c attributes) bool {
	if len(a) >= len(c) {
		return false
	}
	for k, v := range a {
		if c[k] != v {
			return false
		}
	}
	return true
}

// to writes what changes from a to c: "checkpoint=Qwen/Qwen3-32B-FP8 tp=2 without pp".
func (a attributes) to(c attributes) (names string, n int) {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c)) {
		if a[k] != c[k] {
			parts = append(parts, strings.TrimPrefix(k, "passed.")+"="+c[k].String())
		}
	}
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if _, kept := c[k]; !kept {
			parts = append(parts, "without "+strings.TrimPrefix(k, "passed."))
		}
	}
	return strings.Join(parts, " "), len(parts)
}

// change is one configuration beside the one that it was added to.
type change struct {
	name          string
	n             int // choices that changed at once
	before, after setup
}

// singleChanges writes what each change brought, each against the nearest configuration
// that it was added to: one measured before it, whose choices are all among its own, with
// no other between them. One without such a configuration, as another engine is, is held
// against the baseline. Trials that only verify an earlier one take no part.
func (b *builder) singleChanges() error {
	if b.winner == nil {
		return nil
	}
	all, err := b.repeats(b.loadOfWinner(), searched)
	if err != nil {
		return err
	}
	list := b.changesAmong(b.oneSetupEach(all))
	if len(list) == 0 {
		return nil
	}
	const most = 60
	t := &table{columns: []column{{name: "change"}, {name: "added to"}, {name: "before", numeric: true}, {name: "after", numeric: true}, {name: "gain", numeric: true},
		{name: "gain by duration", numeric: true}, {name: "verdict", short: true}}}
	rules := b.scatter.rules(stats.Rules{Direction: stats.Direction(b.better())})
	for i, c := range list {
		if i == most {
			break
		}
		name := codeText(c.name)
		if c.n > 1 {
			name = name.plain(fmt.Sprintf(" (%d at once)", c.n))
		}
		verdict := verdictText(stats.Compare(b.searchedValues(&c.before), b.searchedValues(&c.after), rules).Verdict)
		if !b.qualifies(&c.after) {
			verdict += ", does not qualify"
		}
		t.rows = append(t.rows, row{best: c.after.hash == b.winner.hash, cells: []text{name, codeText(c.before.name()), b.marked(c.before.value, c.before.severity),
			b.marked(c.after.value, c.after.severity), plainText(percent(gain(c.after.value, c.before.value, b.better()))), plainText(b.gainByDuration(&c.after, &c.before)), plainText(verdict)}})
	}
	t.dropEmpty()
	b.heading(2, "What each change brought")
	about := plainText("Each against the nearest measured configuration that it was added to, in " + header(b.obj.name, b.unit()))
	if b.decideOn != "" {
		about = about.plain(" on ").code(b.decideOn)
	}
	if b.winner.load.Kind == core.KindText {
		about = about.plain(" at ").code(b.winner.load.Text)
	}
	about = about.plain("; medians where there are repeats. A change that was added to several stands once for each.")
	if len(list) > most {
		about = about.plain(fmt.Sprintf(" %d more are left out.", len(list)-most))
	}
	b.add(block{paragraph: about}, block{table: t})
	return nil
}

// oneSetupEach keeps one setup of each configuration at the winner's load: the winner's
// or the baseline's own, else the one with the most trials. They come in the order of
// their first trials.
func (b *builder) oneSetupEach(all []setup) []setup {
	byConfig := map[string]setup{}
	for _, s := range all {
		if s.loadKey != b.winner.loadKey || s.value.Kind != core.KindNumber {
			continue
		}
		best, ok := byConfig[s.config]
		decided := s.hash == b.winner.hash || b.baseline != nil && s.hash == b.baseline.hash
		if !ok || decided || s.n > best.n {
			byConfig[s.config] = s
		}
	}
	out := slices.Collect(maps.Values(byConfig))
	slices.SortFunc(out, func(s, t setup) int { return cmp.Compare(s.number.Num, t.number.Num) })
	return out
}

func (b *builder) changesAmong(all []setup) []change {
	var out []change
	for _, c := range all {
		var parents []setup
		for _, p := range all {
			if p.engine == c.engine && p.number.Num < c.number.Num && b.chose[p.config].nested(b.chose[c.config]) {
				parents = append(parents, p)
			}
		}
		nearest := slices.DeleteFunc(slices.Clone(parents), func(p setup) bool {
			return slices.ContainsFunc(parents, func(q setup) bool { return b.chose[p.config].nested(b.chose[q.config]) })
		})
		for _, p := range nearest {
			name, n := b.chose[p.config].to(b.chose[c.config])
			out = append(out, change{name, n, p, c})
		}
		if base := b.baselineAmong(all); len(parents) == 0 && base != nil && base.config != c.config {
			from, name, n := b.chose[base.config], "", 0
			if base.engine != c.engine {
				from, name, n = attributes{}, "engine="+c.engine, 1
			}
			more, k := from.to(b.chose[c.config])
			out = append(out, change{strings.TrimSpace(name + " " + more), n + k, *base, c})
		}
	}
	return out
}

// searched picks the trials of the search itself.
const searched = `missing(role) or role != "verification"`

// baselineAmong is the baseline as the search measured it.
func (b *builder) baselineAmong(all []setup) *setup {
	i := slices.IndexFunc(all, func(s setup) bool { return b.baseline != nil && s.config == b.baseline.config })
	if i < 0 {
		return nil
	}
	all[i].option = b.baseline.option
	return &all[i]
}

// searchedValues are valuesOf without the trials that verify.
func (b *builder) searchedValues(s *setup) []float64 {
	return b.valuesWhere(s, "objective", func(i int) bool { return b.measured.text(i, "role") != string(core.RoleVerification) })
}

// valuesOf are the objective's single values of a setup at its load; of one that does
// not qualify, its median alone.
func (b *builder) valuesOf(s *setup) []float64 {
	return b.valuesWhere(s, "objective", func(int) bool { return true })
}

func (b *builder) valuesWhere(s *setup, column string, ok func(row int) bool) (xs []float64) {
	for i := range b.measured.Rows {
		if v := b.measured.get(i, column); ok(i) && b.measured.text(i, "setup") == s.hash && loadKey(b.measured, i) == s.loadKey && v.Kind == core.KindNumber {
			xs = append(xs, v.Num)
		}
	}
	if xs == nil && column == "objective" && s.value.Kind == core.KindNumber {
		return []float64{s.value.Num}
	}
	return xs
}

// qualifies reports whether a trial of the setup passes the objective's condition.
func (b *builder) qualifies(s *setup) bool {
	return slices.ContainsFunc(b.measured.Rows, func(r []core.Value) bool { return r[b.measured.Column("setup")].Text == s.hash })
}
