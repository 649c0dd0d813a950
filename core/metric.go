package core

import (
	"maps"
	"math"
	"slices"
)

// Better says which direction of a metric is an improvement.
type Better int8

const (
	// NeitherBetter: the field describes, it is not ranked by itself.
	NeitherBetter Better = 0
	// HigherBetter: more is better (throughput, success rate).
	HigherBetter Better = 1
	// LowerBetter: less is better (latency, cost, energy).
	LowerBetter Better = -1
)

// Figures are the measured numbers of a trial by field name, in base units. A
// name that is absent was not measured; a figure is always finite.
type Figures map[string]float64

// Set records a figure, and drops one that is not finite: not measured.
func (f Figures) Set(name string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		delete(f, name)
		return
	}
	f[name] = v
}

// Value returns the figure or Missing.
func (f Figures) Value(name string) Value {
	v, ok := f[name]
	if !ok {
		return Missing()
	}
	return Number(v)
}

// Names returns the recorded names in order.
func (f Figures) Names() []string { return slices.Sorted(maps.Keys(f)) }

// ratio is a/b where both are known and b is not zero.
func (f Figures) ratio(a, b string) (float64, bool) {
	x, okx := f[a]
	y, oky := f[b]
	if !okx || !oky || y == 0 {
		return 0, false
	}
	return x / y, true
}
