package audit

import (
	"math"
	"strconv"
	"strings"
)

// num writes a figure for people: two decimals at most, three digits where it is small.
func num(v float64) string {
	if v == 0 || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a := math.Abs(v); a < 0.1 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// percent writes a share: "1.2 %".
func percent(share float64) string {
	p := 100 * share
	if math.Abs(p) >= 100 {
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
	if math.Abs(p) < 0.1 {
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// times writes a factor: "1.8 times".
func times(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64) + " times"
	}
	return strconv.FormatFloat(f, 'g', 3, 64) + " times"
}
