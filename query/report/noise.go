package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// measureNoise reads what repeats and inert twins of the deciding workload say of its
// noise, compares the winner with the baseline, and finds who cannot be told from it.
func (b *builder) measureNoise() error {
	fields := twinFields(b.names.Knobs)
	columns := append(slices.Clone(fields), "number", "config", "role", "completed")
	for _, f := range compared {
		if f != b.obj.value || f == "duration_tps" {
			columns = append(columns, f)
		}
	}
	a, err := b.ask("show " + strings.Join(columns, ", ") + ", " + b.obj.value + " as objective" +
		where(b.scope, b.decided(), `status == "ok"`, b.obj.where) + " order by number")
	if err != nil {
		return err
	}
	b.measured, b.groups = a, twins(a, fields)
	b.scatter, b.byTime = scatterOf(a, b.groups, "objective"), scatterOf(a, b.groups, "duration_tps")
	won := b.valuesOf(b.winner)
	all, err := b.repeats(b.obj.where)
	if err != nil {
		return err
	}
	var values [][]float64
	for _, s := range all {
		if s.loadKey != b.winner.loadKey || s.hash == b.winner.hash {
			continue
		}
		if xs := b.valuesOf(&s); len(xs) > 0 {
			b.rivals = append(b.rivals, s)
			values = append(values, xs)
		}
	}
	rules := b.scatter.rules(stats.Rules{Direction: stats.Direction(b.better())})
	against := stats.Candidates(won, values, rules)
	for i, c := range against {
		// One that is told apart is worse; a median of few repeats may rank a rival
		// above the winner, and then it is not worse either.
		if c.Verdict != stats.Worse {
			b.tied = append(b.tied, b.rivals[i])
		}
	}
	slices.SortStableFunc(b.tied, func(s, t setup) int { return int(b.better()) * cmp.Compare(t.value.Num, s.value.Num) })
	if b.baseline == nil || b.baseline.config == b.winner.config {
		return nil
	}
	b.verdict = stats.Compare(b.valuesOf(b.baseline), won, rules)
	if i := slices.IndexFunc(b.rivals, func(s setup) bool { return s.hash == b.baseline.hash }); i >= 0 {
		// The winner was chosen among several, so its lead counts as one of as many tests.
		b.verdict.P = against[i].P
		switch against[i].Verdict {
		case stats.Worse:
			b.verdict.Verdict = stats.Better
		case stats.Better:
			b.verdict.Verdict = stats.Worse
		default:
			b.verdict.Verdict = against[i].Verdict
		}
	}
	return nil
}

// noise lists the groups of trials that ought to be equal.
func (b *builder) noise() error {
	if b.winner == nil {
		return nil
	}
	b.heading(2, "Noise")
	about := plainText("Trials that repeat each other, or differ only in a limit of sequences that nothing reached, ought to give one figure. ")
	if len(b.scatter.groups) == 0 {
		b.add(block{paragraph: about.plain(fmt.Sprintf("This workload has no two such trials, so the noise is not known and %.3g %% is assumed. ", 100*usualTolerance)).
			plain("To measure it, repeat some configurations, interleaved with each other.")})
		return nil
	}
	t := &table{columns: []column{{name: "trials"}, {name: "n", numeric: true}, {name: "lowest", numeric: true}, {name: "highest", numeric: true},
		{name: "spread of " + b.obj.name, numeric: true}, {name: "spread by duration", numeric: true}, {name: "what differs"}}}
	for _, g := range b.scatter.groups {
		xs, ds := b.numbers(g, "objective"), b.numbers(g, "duration_tps")
		spread, _ := stats.Spread(xs)
		cells := []text{plainText(numbersOf(b.measured, g)), plainText(fmt.Sprint(len(xs))), number(core.Number(slices.Min(xs))), number(core.Number(slices.Max(xs))), plainText(percentOf(spread)), nil, b.twinText(g)}
		if d, ok := stats.Spread(ds); ok && b.byDuration() {
			cells[5] = plainText(percentOf(d))
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	t.dropEmpty()
	n := b.scatter.noise
	about = about.plain(fmt.Sprintf("They lie up to %s apart. ", percentOf(b.scatter.spread)))
	if n.Freedom >= stats.MinFreedom {
		about = about.plain(fmt.Sprintf("Pooled, the logarithm of one measurement has a standard deviation of %.4f with %d degrees of freedom.", n.Std, n.Freedom))
	} else {
		about = about.plain(fmt.Sprintf("They give %s of freedom, too few to pool (%d are needed), so a noise of %s is assumed.", plural(n.Freedom, "degree"), stats.MinFreedom,
			percentOf(b.scatter.rules(stats.Rules{}).Tolerance)))
	}
	b.add(block{paragraph: about}, block{table: t})
	return nil
}

func (b *builder) numbers(group []int, column string) (xs []float64) {
	for _, i := range group {
		if v := b.measured.get(i, column); v.Kind == core.KindNumber {
			xs = append(xs, v.Num)
		}
	}
	return xs
}

// twinText says in what the trials of a group differ.
func (b *builder) twinText(group []int) text {
	var limits []string
	for _, i := range group {
		if s := b.measured.text(i, "args."+seqsKnob); !slices.Contains(limits, s) {
			limits = append(limits, s)
		}
	}
	if len(limits) < 2 {
		return plainText("nothing: repeats")
	}
	return codeText(seqsKnob + ": " + strings.Join(limits, ", "))
}
