package stats

import (
	"math"
	"slices"
)

// Z95 is the two-sided 95 % point of the normal distribution, for Wilson.
const Z95 = 1.959963984540054

// Wilson is the score interval of a proportion (Wilson 1927): the success rates
// that good of n trials do not contradict at the confidence whose two-sided normal
// point is z. Unlike the textbook interval it stays within [0, 1] and does not
// shrink to a point when good is 0 or n, so that 5 of 5 does not claim certainty.
// It assumes independent trials. ok is false when n < 1, good lies outside
// 0…n, or z is not above 0.
func Wilson(good, n int, z float64) (lo, hi float64, ok bool) {
	if n < 1 || good < 0 || good > n || !(z > 0) || math.IsInf(z, 0) {
		return 0, 0, false
	}
	p, size, z2 := float64(good)/float64(n), float64(n), z*z
	centre := (p + z2/(2*size)) / (1 + z2/size)
	half := z / (1 + z2/size) * math.Sqrt(p*(1-p)/size+z2/(4*size*size))
	lo, hi = max(0, centre-half), min(1, centre+half)
	// At the ends the bound is exact by algebra; rounding must not move it.
	if good == 0 {
		lo = 0
	}
	if good == n {
		hi = 1
	}
	return lo, hi, true
}

// MedianInterval is an interval of the median that assumes nothing of the
// distribution: between two order statistics, symmetric in rank, that enclose the
// median with at least the confidence asked for. achieved is the confidence that it
// has, which is less than asked where even the range of all values is not that sure:
// below 6 values for 0.95. ok is false without values, when one is not finite, or for
// a confidence outside 0…1.
func MedianInterval(xs []float64, confidence float64) (lo, hi, achieved float64, ok bool) {
	if !usable(xs) || !(confidence > 0 && confidence < 1) {
		return 0, 0, 0, false
	}
	n := len(xs)
	k, outside := 1, math.Exp2(-float64(n)) // P(B ≤ k-1) for B heads of n throws of a coin
	for ; k < n/2; k++ {
		ways := binomialHalf(n, k)
		if 2*(outside+ways) > 1-confidence {
			break
		}
		outside += ways
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return sorted[k-1], sorted[n-k], max(0, 1-2*outside), true
}

// binomialHalf is the probability of k heads in n throws of a coin.
func binomialHalf(n, k int) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(a - b - c - float64(n)*math.Ln2)
}

// FailureBound is the highest failure rate that n successes in a row do not
// contradict: at a true rate above it, so many successes would come with a probability
// below 1-confidence. 50 of 50 at 0.95 allows 5.8 %. ok is false when n < 1 or the
// confidence lies outside 0…1.
func FailureBound(n int, confidence float64) (rate float64, ok bool) {
	if n < 1 || !(confidence > 0 && confidence < 1) {
		return 0, false
	}
	return -math.Expm1(math.Log1p(-confidence) / float64(n)), true
}
