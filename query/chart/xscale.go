package chart

import (
	"math"
	"time"
)

// xScale places the values of an ordered field.
type xScale struct {
	values []float64 // distinct, in order
	x0, x1 float64   // pixels of the first and the last value
	log    bool
	time   bool
	clock  bool     // all moments lie on one day, which the axis names
	names  []string // of the values 0, 1, 2 …, where places have names
}

// newXScale takes a logarithmic scale for positive values that span four doublings or
// more or each of which is about twice the one before it or more, as a sweep of
// concurrency does.
func newXScale(values []float64, x0, x1 float64, isTime bool) xScale {
	s := xScale{values: values, x0: x0, x1: x1, time: isTime}
	if n := len(values); isTime && n > 1 && math.Abs(values[0]) < 1e11 && math.Abs(values[n-1]) < 1e11 {
		s.clock = s.day(values[0]) == s.day(values[n-1])
	}
	if n := len(values); n >= 3 && !isTime && values[0] > 0 {
		doubles := true
		for i := 1; i < n; i++ {
			doubles = doubles && values[i]/values[i-1] >= 1.9
		}
		s.log = doubles || values[n-1]/values[0] >= 16
	}
	return s
}

func (s xScale) at(v float64) float64 {
	n := len(s.values)
	if n == 0 || s.values[0] == s.values[n-1] {
		return math.Round((s.x0 + s.x1) / 2)
	}
	lo, hi := s.values[0], s.values[n-1]
	if s.log {
		lo, hi, v = math.Log2(lo), math.Log2(hi), math.Log2(v)
	}
	// Halved, so that a span of the largest floats does not overflow.
	return math.Round(s.x0 + (v/2-lo/2)/(hi/2-lo/2)*(s.x1-s.x0))
}

type xTick struct {
	at    float64
	label string
}

// ticks names the measured values themselves where their labels have room, since
// a reader looks for the loads that were run; between many, it keeps those that
// do not touch.
func (s xScale) ticks(f face, size float64) []xTick {
	var ts []xTick
	candidates := s.values
	if !s.log && len(candidates) > 12 && s.names == nil {
		candidates = s.round()
	}
	free := math.Inf(-1)
	for i, v := range candidates {
		t := xTick{s.at(v), s.label(v)}
		half := f.width(t.label, size)/2 + size*0.4
		if t.at-half < free {
			// The last value ends the axis and matters more than the one before it.
			if i == len(candidates)-1 && len(ts) > 1 {
				ts[len(ts)-1] = t
			}
			continue
		}
		ts = append(ts, t)
		free = t.at + half
	}
	return ts
}

func (s xScale) label(v float64) string {
	if i := int(v); s.names != nil && i >= 0 && i < len(s.names) {
		return s.names[i]
	}
	if s.clock {
		at := time.Unix(int64(v), 0).UTC()
		for i := 1; i < len(s.values); i++ {
			if s.values[i]-s.values[i-1] < 60 {
				return at.Format("15:04:05")
			}
		}
		return at.Format("15:04")
	}
	if s.time {
		return clock(v)
	}
	return Number(v)
}

func (s xScale) day(v float64) string { return time.Unix(int64(v), 0).UTC().Format("2006-01-02") }

// clock writes a moment, without its time of day at midnight.
func clock(v float64) string {
	if math.Abs(v) > 1e11 {
		return Number(v)
	}
	at := time.Unix(int64(v), 0).UTC()
	if at.Hour() == 0 && at.Minute() == 0 {
		return at.Format("2006-01-02")
	}
	return at.Format("2006-01-02 15:04")
}

// round gives round values within the span of many measured ones.
func (s xScale) round() []float64 {
	lo, hi := s.values[0], s.values[len(s.values)-1]
	step := roundStep((hi/2 - lo/2) / 4)
	if s.time {
		step = roundTime((hi - lo) / 6)
	}
	if step == 0 || math.IsInf(step, 0) || math.IsNaN(step) {
		return []float64{lo, hi}
	}
	var out []float64
	first := math.Ceil(lo/step - 1e-9)
	for i := range 20 {
		v := (first + float64(i)) * step
		if v > hi {
			break
		}
		out = append(out, v)
	}
	return out
}

// roundTime is a span that people count in, not below s seconds.
func roundTime(s float64) float64 {
	const hour, day = 3600, 86400
	for _, step := range []float64{60, 300, 900, 1800, hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 3 * day, 5 * day, 7 * day, 14 * day, 30 * day, 90 * day} {
		if step >= s {
			return step
		}
	}
	return roundStep(s/(365*day)) * 365 * day
}
