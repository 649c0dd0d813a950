package stats

import "math"

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
