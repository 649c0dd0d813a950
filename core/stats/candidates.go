package stats

import (
	"fmt"
	"slices"
)

// Candidates compares several samples with one base, the best of k with the other
// k-1 for example. The p-values are adjusted by Holm's method, so that the chance of
// any false difference among them stays below Alpha; each interval is still that of
// its own pair. Where too few values make a difference impossible to detect among so
// many, a warning says so.
func Candidates(base []float64, values [][]float64, rules Rules) []Comparison {
	rules = rules.filled()
	out := make([]Comparison, len(values))
	var tested []int
	var ps []float64
	for i, v := range values {
		out[i] = Compare(base, v, rules)
		if out[i].Tier == TierRank || out[i].Tier == TierPooled {
			tested = append(tested, i)
			ps = append(ps, out[i].P)
		}
	}
	for k, p := range Holm(ps) {
		c := &out[tested[k]]
		c.P = p
		c.judge(rules)
		if least := leastRankP(c.BaseN, c.N) * float64(len(ps)); c.Tier == TierRank && least > rules.Alpha {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%d and %d values cannot tell one of %d candidates from the rest", c.BaseN, c.N, len(ps)))
		}
	}
	return out
}

// leastRankP is the smallest two-sided p that n and m distinct values can have.
func leastRankP(n, m int) float64 {
	p := 2.0
	for i := 1; i <= min(n, m); i++ {
		p *= float64(i) / float64(max(n, m)+i)
	}
	return min(1, p)
}

// Holm adjusts p-values of several tests (Holm 1979): the smallest is multiplied by
// their number, the next by one less, and so on, never below an earlier one and at
// most 1. The result is in the order of ps, which is not changed.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case ps[i] < ps[j]:
			return -1
		case ps[i] > ps[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	last := 0.0
	for rank, i := range order {
		last = min(1, max(last, ps[i]*float64(len(ps)-rank)))
		out[i] = last
	}
	return out
}

// CompareExactly compares medians of what is counted and has no noise: any difference
// is one.
func CompareExactly(base, value []float64, d Direction) Comparison {
	c := Comparison{Tier: TierExact, BaseN: len(base), N: len(value), P: 1, Verdict: CannotTell}
	var ok, too bool
	c.Base, ok = Median(base)
	c.Value, too = Median(value)
	if !ok || !too {
		c.Warnings = append(c.Warnings, "no values to compare, or one is not finite")
		return c
	}
	if c.Base > 0 && c.Value > 0 {
		c.Ratio = c.Value / c.Base
		c.Low, c.High, c.Confidence = c.Ratio, c.Ratio, 1
	}
	c.Verdict = Same
	if c.Base != c.Value {
		c.Verdict = d.verdict(c.Base, c.Value)
	}
	return c
}

// CompareShares compares good of n events on both sides, of which more is better:
// success rates. The verdict is Same where the shares are equal, better or worse where
// Wilson's intervals at 95 % do not overlap, else CannotTell.
// Low and High enclose the ratio as far as both intervals do.
func CompareShares(goodBase, nBase, good, n int) Comparison {
	c := Comparison{Tier: TierCounted, BaseN: nBase, N: n, P: 1, Verdict: CannotTell}
	lowA, highA, ok := Wilson(goodBase, nBase, Z95)
	lowB, highB, too := Wilson(good, n, Z95)
	if !ok || !too {
		c.Warnings = append(c.Warnings, "no counts to compare")
		return c
	}
	c.Base, c.Value = float64(goodBase)/float64(nBase), float64(good)/float64(n)
	if goodBase > 0 && good > 0 {
		c.Ratio, c.Low, c.High, c.Confidence = c.Value/c.Base, lowB/highA, highB/lowA, 0.95*0.95
	}
	switch {
	case c.Base == c.Value:
		c.Verdict = Same
	case lowB > highA:
		c.Verdict = Better
	case highB < lowA:
		c.Verdict = Worse
	}
	return c
}
