package stats

import "math"

// Mean is the arithmetic mean, as numpy.mean gives it. ok is false without
// values or when one of them is not finite.
func Mean(xs []float64) (mean float64, ok bool) {
	if len(xs) == 0 {
		return 0, false
	}
	return finite(sum(xs) / float64(len(xs)))
}

// PopulationStd is the standard deviation with divisor n (numpy.std, ddof 0),
// which is what vllm bench and sglang.bench_serving report. One value has a
// deviation of 0; whether that is worth showing is the caller's choice.
func PopulationStd(xs []float64) (std float64, ok bool) {
	mean, ok := Mean(xs)
	if !ok {
		return 0, false
	}
	// The second pass over deviations keeps the digits that the textbook form
	// mean(x²) - mean(x)² loses for values that lie close together.
	squares := make([]float64, len(xs))
	for i, x := range xs {
		squares[i] = (x - mean) * (x - mean)
	}
	return finite(math.Sqrt(sum(squares) / float64(len(xs))))
}

// GeometricMean is exp(Σ w·ln x / Σ w), the weighted geometric mean. Weights nil
// means that all weigh the same. ok is false without values, when a value is not
// above 0, when a weight is negative or not finite, when no weight is above 0, or
// when the two slices differ in length.
func GeometricMean(xs, weights []float64) (mean float64, ok bool) {
	if len(xs) == 0 || (weights != nil && len(weights) != len(xs)) {
		return 0, false
	}
	logs := make([]float64, len(xs))
	total := float64(len(xs))
	if weights != nil {
		total = sum(weights)
	}
	for i, x := range xs {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		if !(x > 0) || !(w >= 0) {
			return 0, false
		}
		if w > 0 {
			logs[i] = w * math.Log(x)
		}
	}
	if !(total > 0) {
		return 0, false
	}
	return finite(math.Exp(sum(logs) / total))
}

// sum adds with Neumaier's compensation: a million latencies lose no digits and
// the result does not depend on their order in any printed place.
func sum(xs []float64) float64 {
	var total, lost float64
	for _, x := range xs {
		t := total + x
		if math.Abs(total) >= math.Abs(x) {
			lost += (total - t) + x
		} else {
			lost += (x - t) + total
		}
		total = t
	}
	return total + lost
}

func finite(x float64) (float64, bool) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
}
