package load

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Ramp makes a load grow to its level. The zero Ramp does nothing.
type Ramp struct {
	// Shape is "linear" or "exponential" for a request rate that goes from From to
	// To, the rate of the load, over the run, as vllm bench serve ramps up. "" is none.
	Shape string
	From  float64 // requests per second
	To    float64
	// Opening is the time over which the slots of a closed loop open one by one,
	// so that its requests do not all begin at the same moment.
	Opening time.Duration
}

// The parameters of a workload by which its load grows, and a trace is played faster.
const (
	rampParam    = "ramp"      // linear or exponential: the rate grows to that of the load …
	fromParam    = "ramp_from" // … from so many requests a second
	openingParam = "opening_s" // seconds over which the slots of a closed loop open
	speedParam   = "speed"     // of a trace; 1 is as recorded
)

// rampOf reads how a load grows.
func rampOf(w core.Workload, l core.Load) (Ramp, error) {
	var r Ramp
	if shape, given := w.Params[rampParam]; given {
		if r.Shape = shape.String(); r.Shape != "linear" && r.Shape != "exponential" {
			return Ramp{}, fmt.Errorf("workload: %s: %w: %q; known: linear, exponential", rampParam, core.ErrInvalid, r.Shape)
		}
		if l.RequestRate.Kind != core.KindNumber || l.RequestRate.IsUnlimited() {
			return Ramp{}, fmt.Errorf("workload: %s: %w: it needs the rate to which it goes, in the load", rampParam, core.ErrInvalid)
		}
		r.To = l.RequestRate.Num
	}
	if _, given := w.Params[fromParam]; given != (r.Shape != "") {
		return Ramp{}, fmt.Errorf("workload: %s: %w: %s and %s go together", rampParam, core.ErrInvalid, rampParam, fromParam)
	}
	var err error
	if r.From, err = positive(w.Params, fromParam); err != nil {
		return Ramp{}, err
	}
	opening, err := positive(w.Params, openingParam)
	if err != nil {
		return Ramp{}, err
	}
	r.Opening = seconds(opening)
	return r, nil
}

// positive reads a parameter that is a number above 0; 0 where there is none.
func positive(params core.Knobs, name string) (float64, error) {
	v, given := params[name]
	if given && (v.Kind != core.KindNumber || !(v.Num > 0) || v.Num > maxSetting) {
		return 0, fmt.Errorf("workload: %s: %w: %q is not a number above 0", name, core.ErrInvalid, v)
	}
	return v.Num, nil
}

// RampSchedule gives the moments at which n requests are due under a ramp, as
// Schedule does. For n ≥ 0 request i has the rate at i/(n-1) of the way; an
// endless schedule goes by time, over the length of the window, and keeps To after
// it. Gaps are drawn at the rate of their request with the load's burstiness, and
// are not stretched (as in vllm bench serve).
func RampSchedule(r Ramp, load core.Load, n int, window time.Duration) iter.Seq[time.Duration] {
	rate := func(share float64) float64 {
		share = min(max(share, 0), 1)
		if r.Shape == "exponential" {
			return r.From * math.Pow(r.To/r.From, share)
		}
		return r.From + (r.To-r.From)*share
	}
	return func(yield func(time.Duration) bool) {
		unit := load
		unit.RequestRate = core.Number(1)
		gaps, _ := arrivalGaps(unit)
		if gaps == nil || !(r.From > 0) || !(r.To > 0) {
			return
		}
		at, draw := 0.0, gaps()
		for i := 0; n < 0 || i < n; i++ {
			share := 0.0
			switch {
			case n > 1:
				share = float64(i) / float64(n-1)
			case n < 0 && window > 0:
				share = at / window.Seconds()
			}
			at += draw() / rate(share)
			if !yield(seconds(at)) {
				return
			}
		}
	}
}
