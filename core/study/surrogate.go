package study

import "math"

// surrogate guesses what configurations give that were not measured, from those that
// were: a Gaussian process over the levels of a matrix. It takes the logarithm of the
// figure to be a sum of one term for each axis and one for each pair of axes, and two
// levels to have no more to do with each other than any others: no order of values, no
// distance.
type surrogate struct {
	// own and pair are the variances of the terms of one axis and of two.
	own, pair float64

	at      [][]int
	mean    float64
	factor  [][]float64 // lower Cholesky factor of the covariance of what was measured
	weights []float64   // inverse covariance times what lies beyond the mean
}

// seenAt is what was measured at a place of the matrix: the mean of logarithms, and
// the variance of that mean by the noise.
type seenAt struct {
	at       []int
	log      float64
	variance float64
	place    int // in the matrix
}

// covariance is that of two places.
func (s *surrogate) covariance(a, b []int) float64 {
	same := 0.0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return s.own*same + s.pair*same*(same-1)/2
}

// fit takes over what was measured, at least once. It returns the logarithm of the
// likelihood of it, by which settings of the surrogate can be compared.
func (s *surrogate) fit(seen []seenAt) float64 {
	n := len(seen)
	s.at, s.factor = nil, make([][]float64, n)
	for i, x := range seen {
		s.at = append(s.at, x.at)
		s.factor[i] = make([]float64, i+1)
		for j := range i + 1 {
			sum := s.covariance(x.at, seen[j].at)
			if i == j {
				sum += x.variance + 1e-9
			}
			for k := range j {
				sum -= s.factor[i][k] * s.factor[j][k]
			}
			if i == j {
				s.factor[i][i] = math.Sqrt(max(sum, 1e-12))
			} else {
				s.factor[i][j] = sum / s.factor[j][j]
			}
		}
	}
	// The level of everything is not known: its best guess given the covariances.
	ones, logs := make([]float64, n), make([]float64, n)
	for i, x := range seen {
		ones[i], logs[i] = 1, x.log
	}
	s.forward(ones)
	s.forward(logs)
	up, down := 0.0, 0.0
	for i := range ones {
		up, down = up+ones[i]*logs[i], down+ones[i]*ones[i]
	}
	s.mean = up / down
	likelihood := -0.5 * math.Log(down)
	for i := range logs {
		logs[i] -= s.mean * ones[i]
		likelihood -= 0.5*logs[i]*logs[i] + math.Log(s.factor[i][i])
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			logs[i] -= s.factor[k][i] * logs[k]
		}
		logs[i] /= s.factor[i][i]
	}
	s.weights = logs
	return likelihood
}

// fitted is a surrogate with the settings that suit what was measured. Few points say
// little of the settings: ten percent for a value, and an eighth of that variance for
// two together, are held on to until they say otherwise.
func fitted(seen []seenAt) *surrogate {
	var best *surrogate
	most := math.Inf(-1)
	for _, own := range []float64{0.05, 0.1, 0.2} {
		for _, pair := range []float64{0.05, 0.125, 0.4} {
			s := &surrogate{own: own * own, pair: own * own * pair}
			away, off := math.Log(own/0.1)/0.5, math.Log(pair/0.125)
			if likely := s.fit(seen) - (away*away+off*off)/2; likely > most {
				best, most = s, likely
			}
		}
	}
	return best
}

// forward solves the lower factor for a vector, in place.
func (s *surrogate) forward(v []float64) {
	for i := range v {
		for k := range i {
			v[i] -= s.factor[i][k] * v[k]
		}
		v[i] /= s.factor[i][i]
	}
}

// guess is what a place gives, as a logarithm, and the standard deviation of that.
func (s *surrogate) guess(at []int) (mean, std float64) {
	covariances := make([]float64, len(s.at))
	mean = s.mean
	for i, x := range s.at {
		covariances[i] = s.covariance(at, x)
		mean += covariances[i] * s.weights[i]
	}
	variance := s.covariance(at, at)
	s.forward(covariances)
	for _, c := range covariances {
		variance -= c * c
	}
	return mean, math.Sqrt(max(variance, 0))
}

// expectedGain is by how much a guess is expected to exceed the best so far, where it
// does, on the scale of logarithms.
func expectedGain(mean, std, best float64) float64 {
	if std == 0 {
		return max(mean-best, 0)
	}
	z := (mean - best) / std
	return (mean-best)*0.5*math.Erfc(-z/math.Sqrt2) + std*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}
