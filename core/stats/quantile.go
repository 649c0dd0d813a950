package stats

import (
	"math"
	"slices"
)

// Quantile is the q-quantile (0 ≤ q ≤ 1) with linear interpolation between the
// two nearest ranks: position (n-1)·q of the sorted values. That is numpy's
// default method "linear" (Hyndman and Fan 1996, type 7), which vllm bench and
// sglang.bench_serving use. xs is not changed. ok is false without values, when
// one is not finite, or for a q outside the range.
func Quantile(xs []float64, q float64) (value float64, ok bool) {
	if !usable(xs) {
		return 0, false
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return SortedQuantile(sorted, q)
}

// SortedQuantile is Quantile for values that are finite and already ascending,
// which is not checked: several quantiles of one sample then sort it once.
func SortedQuantile(sorted []float64, q float64) (value float64, ok bool) {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return 0, false
	}
	position := float64(len(sorted)-1) * q
	below := math.Floor(position)
	lo := sorted[int(below)]
	hi := sorted[min(int(below)+1, len(sorted)-1)]
	t := position - below
	// numpy measures from the nearer end, so that t = 1 gives hi exactly; doing
	// the same keeps results equal to the last bit.
	if t >= 0.5 {
		return finite(hi - (hi-lo)*(1-t))
	}
	return finite(lo + (hi-lo)*t)
}

// Median is the 0.5-quantile.
func Median(xs []float64) (median float64, ok bool) { return Quantile(xs, 0.5) }

func usable(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return len(xs) > 0
}
