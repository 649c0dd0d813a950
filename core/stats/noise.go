package stats

import "math"

// Noise is how far repeats of one thing lie apart: the standard deviation of the
// natural logarithm of a figure, so that 0.01 is about 1 %, and the degrees of
// freedom that it was estimated with. The zero Noise is none.
type Noise struct {
	Std     float64
	Freedom int
}

// PooledNoise estimates one noise from several groups of repeats, each around its own
// mean: s² = Σ Σ (ln x - mean)² / Σ (n-1). It assumes that the groups differ in level
// but scatter alike, in proportion to their level. Groups of one value say nothing; a
// group with a value that is not above 0 is passed over. ok is false without a group
// that says something.
func PooledNoise(groups [][]float64) (n Noise, ok bool) {
	var squares []float64
	for _, g := range groups {
		logs, ok := logarithms(g)
		if !ok || len(g) < 2 {
			continue
		}
		mean, _ := Mean(logs)
		for _, l := range logs {
			squares = append(squares, (l-mean)*(l-mean))
		}
		n.Freedom += len(g) - 1
	}
	if n.Freedom == 0 {
		return Noise{}, false
	}
	n.Std = math.Sqrt(sum(squares) / float64(n.Freedom))
	return n, true
}

// logarithms is false when there is no value or one is not above 0 and finite.
func logarithms(xs []float64) ([]float64, bool) {
	if !usable(xs) {
		return nil, false
	}
	logs := make([]float64, len(xs))
	for i, x := range xs {
		if !(x > 0) {
			return nil, false
		}
		logs[i] = math.Log(x)
	}
	return logs, true
}

// Spread is max/min - 1 of values above 0: how far apart figures lie that ought to be
// one. ok is false for fewer than two values or one that is not above 0.
func Spread(xs []float64) (spread float64, ok bool) {
	if len(xs) < 2 || !usable(xs) {
		return 0, false
	}
	lo, hi := xs[0], xs[0]
	for _, x := range xs {
		lo, hi = min(lo, x), max(hi, x)
	}
	if !(lo > 0) {
		return 0, false
	}
	return finite(hi/lo - 1)
}
