package audit

import "math"

// interval is what is known of a positive figure that was printed rounded.
type interval struct{ lo, hi float64 }

// exactly is a figure without rounding: a count, a full float.
func exactly(v float64) interval { return interval{v, v} }

// rounded is a figure that was printed to within half.
func rounded(v, half float64) interval { return interval{max(0, v-half), v + half} }

// over divides; a divisor that may be 0 leaves no upper end.
func (a interval) over(b interval) interval {
	hi := math.Inf(1)
	if b.lo > 0 {
		hi = a.hi / b.lo
	}
	return interval{a.lo / b.hi, hi}
}

// gap is how far two intervals lie apart, as a share of the middle of b; 0 where
// they overlap.
func (a interval) gap(b interval) float64 {
	apart := max(a.lo-b.hi, b.lo-a.hi, 0)
	middle := (b.lo + b.hi) / 2
	if apart == 0 || middle <= 0 || math.IsInf(middle, 0) {
		return 0
	}
	return apart / middle
}
