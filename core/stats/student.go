package stats

import "math"

// StudentTail is P(|T| > t) for Student's t with the given degrees of freedom: the
// two-sided p-value of a statistic t. ok is false when freedom is not above 0 or
// t is NaN.
func StudentTail(t, freedom float64) (p float64, ok bool) {
	if !(freedom > 0) || math.IsNaN(t) {
		return 0, false
	}
	if math.IsInf(t, 0) {
		return 0, true
	}
	// P(|T| > t) is the regularized incomplete beta function at ν/(ν+t²) with
	// parameters ν/2 and 1/2 (Abramowitz and Stegun 26.7.1).
	return incompleteBeta(freedom/(freedom+t*t), freedom/2, 0.5), true
}

// StudentQuantile is the t that Student's distribution with the given degrees of
// freedom exceeds with probability 1-p: 0.975 gives the factor of a two-sided 95 %
// interval. ok is false when p lies outside 0…1 or freedom is not above 0.
func StudentQuantile(p, freedom float64) (t float64, ok bool) {
	if !(p > 0 && p < 1) || !(freedom > 0) || math.IsInf(freedom, 0) {
		return 0, false
	}
	if p < 0.5 {
		t, ok = StudentQuantile(1-p, freedom)
		return -t, ok
	}
	tail := 2 * (1 - p) // of both sides, which falls as t grows
	lo, hi := 0.0, 1.0
	for {
		if at, _ := StudentTail(hi, freedom); at <= tail || hi > 1e300 {
			break
		}
		lo, hi = hi, 2*hi
	}
	// Bisection halves the bracket until no float lies between. Newton's steps
	// would be fewer, but this is never asked in a loop and cannot leave its way.
	for {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			return finite(mid)
		}
		if at, _ := StudentTail(mid, freedom); at > tail {
			lo = mid
		} else {
			hi = mid
		}
	}
}

// incompleteBeta is the regularized incomplete beta function I_x(a, b), for a and b
// above 0 and x within 0…1.
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the fraction converges fast only on the other side
		return 1 - incompleteBeta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	return min(1, front/a*betaFraction(x, a, b))
}

// betaFraction is the continued fraction of the incomplete beta function (Abramowitz
// and Stegun 26.5.8), evaluated from the front by Lentz's method.
func betaFraction(x, a, b float64) float64 {
	const tiny = 1e-300
	keep := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/keep(1-(a+b)*x/(a+1))
	f := d
	for i := 1; i <= 10000; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/keep(1+even*d), keep(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/keep(1+odd*d), keep(1+odd/c)
		step := d * c
		f *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return f
}
