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
	// To over the run, as vllm bench serve ramps up; the load then has no rate of
	// its own. "" is none.
	Shape string
	From  float64 // requests per second
	To    float64
	// Opening is the time over which the slots of a closed loop open one by one,
	// so that its requests do not all begin at the same moment.
	Opening time.Duration
}

func (r Ramp) check(l core.Load) error {
	switch {
	case r.Shape != "" && r.Shape != "linear" && r.Shape != "exponential":
		return fmt.Errorf("ramp: shape: %w: %q; known: linear, exponential", core.ErrInvalid, r.Shape)
	case r.Shape != "" && (!(r.From > 0) || !(r.To > 0) || r.From > maxSetting || r.To > maxSetting):
		return fmt.Errorf("ramp: %w: from %g to %g; both must be above 0", core.ErrInvalid, r.From, r.To)
	case r.Shape != "" && l.RequestRate.Kind == core.KindNumber && !l.RequestRate.IsUnlimited():
		return fmt.Errorf("ramp: %w: the load has a request_rate already", core.ErrInvalid)
	case r.Opening < 0:
		return fmt.Errorf("ramp: opening: %w: %v", core.ErrInvalid, r.Opening)
	}
	return nil
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
