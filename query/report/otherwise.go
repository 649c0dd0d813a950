package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// otherwise lists what would change the decision: other questions that have another
// winner, rivals within the noise, and what is not known.
func (b *builder) otherwise() error {
	var list []text
	if len(b.tied) > 0 {
		t := plainText(fmt.Sprintf("Repetition: %s cannot be told from the recommendation (", plural(len(b.tied), "other configuration")))
		for i, s := range b.tied {
			if i == 4 {
				t = t.plain(fmt.Sprintf(", and %d more", len(b.tied)-4))
				break
			}
			if i > 0 {
				t = t.plain(", ")
			}
			t = t.code(s.name()).plain(" " + printed(s.value))
		}
		t = t.plain(fmt.Sprintf("). Of %d that are equal the best leads by about %s by luck alone, and the recommendation was chosen on these figures. ", len(b.tied)+1, percentOf(b.luck())))
		if b.def != nil {
			list = append(list, t.code("sweepbook confirm").plain(" with the study file measures them again in turns, which takes the luck away."))
		} else {
			list = append(list, t.plain("Repeat them with it, interleaved, at least 4 times each."))
		}
	}
	for _, o := range b.otherQuestions() {
		t, err := b.otherWinner(o)
		if err != nil {
			return err
		}
		if t != nil {
			list = append(list, t)
		}
	}
	for _, p := range b.workloads {
		v, base := b.sides.get(p.after, "objective"), b.sides.get(p.before, "objective")
		if g := gain(v, base, b.better()); g.Kind == core.KindNumber && g.Num < 0 {
			list = append(list, plainText(fmt.Sprintf("Weight on the workload %s at %s, where the recommendation is worse than the baseline: %s.",
				first(p.workload, "without a name"), first(p.load, "an unknown load"), percent(g))))
		}
	}
	if b.qualityUnknown {
		list = append(list, plainText("A quality figure below what is acceptable: none has been attached."))
	}
	if t := b.successBound(); t != nil {
		list = append(list, t)
	}
	if len(list) > 0 {
		b.heading(3, "What would change the decision")
		b.add(block{list: list})
	}
	return nil
}

// luck is the share by which the figure of the best of the tied configurations is
// expected to exceed what it truly gives, were they all equal: the greatest of as many
// normal values (Blom's approximation), for the noise of a winner's repeats. The median
// of several is taken as their mean, which makes it smaller rather than greater.
func (b *builder) luck() float64 {
	std := b.scatter.noise.Std
	if b.scatter.noise.Freedom < stats.MinFreedom {
		std = b.scatter.rules(stats.Rules{}).Tolerance
	}
	m := float64(len(b.tied) + 1)
	greatest := math.Sqrt2 * math.Erfinv(2*(m-0.375)/(m+0.25)-1)
	return math.Expm1(greatest * std / math.Sqrt(float64(max(1, b.winner.n))))
}

// other is a question beside the objective.
type other struct {
	why         string
	verb, value string
	conditions  []string
}

func (b *builder) otherQuestions() []other {
	var out []other
	if b.byDuration() {
		out = append(out, other{"Throughput by duration", "max", "duration_tps", []string{b.obj.where}})
	}
	for _, l := range [][2]string{{"Mean time per output token", "mean_tpot_ms"}, {"Mean time to first token", "mean_ttft_ms"}, {"Mean end-to-end latency", "mean_e2el_ms"}, {"Mean end-to-end latency (estimated)", "est_e2el_ms"}} {
		if l[1] != b.obj.value {
			out = append(out, other{l[0], "min", l[1], []string{b.obj.where}})
		}
	}
	if b.obj.where != "" {
		out = append(out, other{"Without the condition " + b.obj.where + ", the objective", b.obj.verb, b.obj.value, nil})
	}
	return out
}

// otherWinner is nil when the recommendation wins there too or the figure is not known. A
// figure with a void or hard finding wins nothing. Medians stand against medians: the
// luckiest of a rival's repeats says nothing against the recommendation's middle one.
func (b *builder) otherWinner(o other) (text, error) {
	conditions := append([]string{b.scope, b.decided(), `status == "ok"`, b.loadOfWinner()}, o.conditions...)
	if f, ok := core.LookupField(o.value); ok && f.Measured() {
		conditions = append(conditions, fmt.Sprintf("sound(%s)", o.value))
	}
	a, err := b.ask("show median(" + o.value + ") as figure, count() as n" + where(conditions...) + " by config, setup")
	if err != nil {
		return nil, err
	}
	better := core.HigherBetter
	if o.verb == "min" {
		better = core.LowerBetter
	}
	best, mine := -1, -1
	for i := range a.Rows {
		v := a.get(i, "figure")
		if v.Kind != core.KindNumber {
			continue
		}
		if a.text(i, "setup") == b.winner.hash {
			mine = i
		}
		if best < 0 || float64(better)*(v.Num-a.get(best, "figure").Num) > 0 {
			best = i
		}
	}
	// Without a figure the recommendation's own is not known or must not be believed.
	if mine < 0 || a.text(best, "config") == b.winner.config || a.get(best, "figure") == a.get(mine, "figure") {
		b.queries = b.queries[:len(b.queries)-1]
		return nil, nil
	}
	figure := func(i int) string {
		s := withUnit(a.get(i, "figure"), a.column("figure").Unit)
		if n := a.count(i, "n"); n > 1 {
			s += fmt.Sprintf(", median of %d repeats", n)
		}
		return s
	}
	return plainText(o.why + ": ").code(b.configName(a.text(best, "config"))).plain(" wins with " + figure(best) + "; the recommendation has " + figure(mine) + "."), nil
}

// loadOfWinner is the condition that picks the winner's load, "" where the decision is
// made at one load anyway.
func (b *builder) loadOfWinner() string {
	if b.decideLoad != "" {
		return ""
	}
	return b.sameLoad(b.winner)
}

// configName names a configuration by what it passes, where that tells it apart.
func (b *builder) configName(config string) string {
	for _, s := range append(append([]setup{}, b.rivals...), *b.winner) {
		if s.config == config {
			return s.name()
		}
	}
	return strings.TrimSpace(first(b.passed[config], config))
}

// successBound says how far "no request failed" reaches.
func (b *builder) successBound() text {
	i := b.measuredRow(b.winner.number)
	if i < 0 || b.winner.success.Num != 1 || b.winner.success.Kind != core.KindNumber {
		return nil
	}
	n := b.measured.get(i, "completed")
	rate, ok := stats.FailureBound(int(n.Num)*b.winner.n, 0.95)
	if n.Kind != core.KindNumber || !ok {
		return nil
	}
	decimals := max(2, 1-int(math.Floor(math.Log10(100*rate))))
	return plainText(fmt.Sprintf("Failures rarer than %.*f %%: %s requests without one do not exclude them (at 95 %%).", decimals, 100*rate, printed(core.Number(n.Num*float64(b.winner.n)))))
}

func (b *builder) measuredRow(number core.Value) int {
	for i := range b.measured.Rows {
		if b.measured.get(i, "number") == number {
			return i
		}
	}
	return -1
}
