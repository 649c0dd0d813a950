package chart

import (
	"math"
	"strconv"
	"strings"
)

// Number writes a figure for people, as pictures and reports show it: thousands
// marked, two decimals from 10 upward, four significant digits below, an exponent
// where a plain number would be unreadable. 11768.22 is "11,768.22".
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case a >= 1e12 || a < 1e-4:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case a >= 1e6:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 10:
		return thousands(trimZeros(strconv.FormatFloat(v, 'f', 2, 64)))
	}
	digits := 3 - int(math.Floor(math.Log10(a)))
	return trimZeros(strconv.FormatFloat(v, 'f', digits, 64))
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, dotted := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dotted {
		whole += "." + fraction
	}
	return sign + whole
}

// axis is a scale, linear or logarithmic, whose ends are ticks.
type axis struct {
	lo, hi float64
	ticks  []float64
	step   float64
	log    bool
}

// newAxis covers the values and zero with at most about want ticks at multiples
// of 1, 2 or 5 times a power of ten. It ends for every drawable input: the
// number of ticks is counted, never reached by adding a step that may be lost to
// rounding.
func newAxis(lo, hi float64, want int) axis {
	return newNearAxis(math.Min(lo, 0), math.Max(hi, 0), want)
}

// newNearAxis is newAxis without zero, for figures whose length means nothing.
func newNearAxis(lo, hi float64, want int) axis {
	if hi-lo < 1e-290 || hi-lo < math.Abs(hi)*1e-9 {
		hi = lo + math.Max(1, math.Abs(lo)*0.1)
	}
	step := roundStep((hi - lo) / float64(max(want, 2)))
	first, last := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
	a := axis{lo: first * step, hi: last * step, step: step}
	for i := 0; i <= int(last-first) && i < 64; i++ {
		a.ticks = append(a.ticks, (first+float64(i))*step)
	}
	return a
}

// roundStep is the smallest of 1, 2, 5 times a power of ten that is not below s.
func roundStep(s float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(s)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= s*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at is the place of v on the axis, 0 at lo and 1 at hi.
func (a axis) at(v float64) float64 {
	if a.log {
		if v <= 0 {
			return 0
		}
		return math.Min(math.Max(math.Log(v/a.lo)/math.Log(a.hi/a.lo), 0), 1)
	}
	return math.Min(math.Max((v-a.lo)/(a.hi-a.lo), 0), 1)
}

// newLogAxis covers positive values from a tick to a tick, at 1, 2 and 5 times the
// powers of ten or at fewer of these where they would be many.
func newLogAxis(lo, hi float64, want int) axis {
	a := axis{log: true}
	for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		a.ticks = nil
		for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)) && len(a.ticks) < 1000; e++ {
			for _, m := range steps {
				a.ticks = append(a.ticks, m*math.Pow(10, e))
			}
		}
		// The ends are the nearest ticks around the values.
		for len(a.ticks) > 2 && a.ticks[1] <= lo*(1+1e-9) {
			a.ticks = a.ticks[1:]
		}
		for n := len(a.ticks); n > 2 && a.ticks[n-2] >= hi*(1-1e-9); n-- {
			a.ticks = a.ticks[:n-1]
		}
		if len(a.ticks) <= want+4 {
			break
		}
	}
	a.lo, a.hi = a.ticks[0], a.ticks[len(a.ticks)-1]
	return a
}

// label writes a tick with as many decimals as the step needs.
func (a axis) label(v float64) string {
	if a.log {
		return Number(v)
	}
	m := math.Max(math.Abs(a.lo), math.Abs(a.hi))
	if m >= 1e7 || m < 1e-3 {
		return strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "e+", "e", 1)
	}
	decimals := max(0, -int(math.Floor(math.Log10(a.step)+1e-9)))
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return thousands(s)
}
