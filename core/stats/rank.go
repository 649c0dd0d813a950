package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactLimit is how many values a side may have for the exact distribution of the
// rank sum. Beyond it the normal approximation is right to three digits.
const exactLimit = 25

// MannWhitney is the two-sided test of Mann and Whitney (1947) that two samples come
// from one distribution. u counts the pairs in which the value of a is the greater,
// ties as half; p is the probability of a u at least as far from n·m/2 when they do.
//
// Up to 25 values a side p is exact, also with ties: the distribution is that of the
// observed mid-ranks over all ways to deal them to both sides, not the tabulated one,
// which holds for distinct values only. p is twice the smaller tail, at most 1. Above
// that it is the normal approximation with continuity and tie correction.
//
// ok is false when a side is empty or a value is not finite. Samples in which all
// values are equal give p = 1.
func MannWhitney(a, b []float64) (u, p float64, ok bool) {
	if !usable(a) || !usable(b) {
		return 0, 0, false
	}
	ranks, ties := midRanks(a, b)
	n, m := len(a), len(b)
	sum := 0 // of the doubled ranks of a
	for _, r := range ranks[:n] {
		sum += r
	}
	u = float64(sum)/2 - float64(n*(n+1))/2
	if n <= exactLimit && m <= exactLimit {
		ways := rankSums(ranks, n)
		var below, above, all float64
		for s, w := range ways {
			all += w
			if s <= sum {
				below += w
			}
			if s >= sum {
				above += w
			}
		}
		return u, min(1, 2*min(below, above)/all), true
	}
	size := float64(n + m)
	nm := float64(n) * float64(m)
	variance := nm / 12 * (size + 1 - ties/(size*(size-1)))
	if variance <= 0 {
		return u, 1, true
	}
	z := max(0, math.Abs(u-nm/2)-0.5) / math.Sqrt(variance)
	return u, min(1, math.Erfc(z/math.Sqrt2)), true
}

// midRanks gives twice the mid-rank of every value of a and then of b, which makes
// them whole numbers, and Σ(t³-t) over the groups of t tied values.
func midRanks(a, b []float64) (doubled []int, ties float64) {
	all := slices.Concat(a, b)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(all[i], all[j]) })
	doubled = make([]int, len(all))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && all[order[j]] == all[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			doubled[k] = i + 1 + j // the mean of ranks i+1 … j, twice
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return doubled, ties
}

// rankSums counts, for each sum, the ways to choose n of the ranks with this sum.
func rankSums(ranks []int, n int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1) // by how many were chosen
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(n, i+1); k >= 1; k-- {
			for s := r; s <= total; s++ {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[n]
}

// ratioInterval is the interval of the factor by which values of b exceed those of a:
// between two of the ordered ratios of all pairs, those that Mann and Whitney's test
// does not reject at alpha (Moses 1965, Hodges and Lehmann 1963). It assumes that
// both distributions have one shape on a logarithmic scale. All values must be above
// 0 and neither side may have more than 25. confidence is what the ranks achieve: less
// than 1-alpha where even the widest interval is not that sure.
func ratioInterval(a, b []float64, alpha float64) (lo, hi, confidence float64) {
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	ranks := make([]int, len(a)+len(b))
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := rankSums(ranks, len(a))
	var all, below float64
	for _, w := range ways {
		all += w
	}
	least := len(a) * (len(a) + 1) / 2 // the smallest sum, u = 0
	k := 1
	for below = ways[least]; k < len(ratios)/2; k++ {
		if more := below + ways[least+k]; 2*more/all > alpha {
			break
		}
		below += ways[least+k]
	}
	return ratios[k-1], ratios[len(ratios)-k], max(0, 1-2*below/all)
}
