package load

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// plan is a load with every limit resolved to a plain number.
type plan struct {
	limit  int           // requests in flight at most; 0 is no limit
	rate   float64       // requests due per second; 0 is no schedule
	count  int           // requests to send; -1 is as many as the window takes
	window time.Duration // length of the measured window; 0 is no limit
	warmup int           // requests before it

	turns     int  // of a conversation; 1 for single requests
	scheduled bool // requests are due by a rate or a trace
	ramp      Ramp
	speed     float64 // of a trace; 0 is 1
}

// closed reports whether the next request is due when another ends, rather than
// by a schedule.
func (p plan) closed() bool { return !p.scheduled && p.limit > 0 }

// starts is how many jobs there are to start: requests, or conversations.
func (p plan) starts() int {
	if p.count < 0 {
		return -1
	}
	return (p.count + p.turns - 1) / p.turns
}

// planOf checks a load. A setting that is missing or unlimited limits nothing.
func planOf(l core.Load, warmup int) (plan, error) {
	p := plan{count: -1, warmup: max(0, warmup), turns: 1}
	if v, set, err := limit("concurrency", l.Concurrency, 1, true); err != nil {
		return plan{}, err
	} else if set {
		p.limit = int(v)
	}
	if v, set, err := limit("num_prompts", l.NumPrompts, 1, true); err != nil {
		return plan{}, err
	} else if set {
		p.count = int(v)
	}
	if v, set, err := limit("request_rate", l.RequestRate, 1e-9, false); err != nil {
		return plan{}, err
	} else if set {
		p.rate, p.scheduled = v, true
	}
	if v, set, err := limit("duration_s", l.DurationS, 1e-3, false); err != nil {
		return plan{}, err
	} else if set {
		p.window = time.Duration(v * float64(time.Second))
	}
	if _, _, err := limit("burstiness", l.Burstiness, 1e-3, false); err != nil {
		return plan{}, err
	}
	return p, nil
}

// schedule gives the moments at which requests, or conversations, are due.
func (p *plan) schedule(l core.Load, prompts Prompts) (iter.Seq[time.Duration], error) {
	p.turns = max(1, prompts.Turns)
	if prompts.Due != nil {
		if p.rate > 0 {
			return nil, fmt.Errorf("load: request_rate: %w: a trace has its own moments", core.ErrInvalid)
		}
		if p.count < 0 || p.count > prompts.Distinct {
			p.count = prompts.Distinct
		}
		speed := p.speed
		if speed == 0 {
			speed = 1
		}
		n := p.count
		return func(yield func(time.Duration) bool) {
			for i := 0; i < n && yield(seconds(prompts.Due(i).Seconds()/speed)); i++ {
			}
		}, nil
	}
	if p.ramp.Shape != "" {
		ramp := p.ramp
		ramp.From, ramp.To = ramp.From/float64(p.turns), ramp.To/float64(p.turns)
		return RampSchedule(ramp, l, p.starts(), p.window), nil
	}
	// The rate is one of requests; a conversation brings several.
	if p.rate > 0 {
		l.RequestRate.Num /= float64(p.turns)
	}
	return Schedule(l, p.starts()), nil
}

// burst is how many requests may be sent at the very start.
func (p plan) burst() int {
	switch {
	case p.scheduled || p.ramp.Opening > 0:
		return 1
	case p.limit == 0:
		return p.starts()
	case p.count < 0:
		return p.limit
	}
	return min(p.limit, p.starts())
}

// ends reports a load that would never end or begin everything at once for ever.
func (p plan) ends() error {
	switch {
	case p.count < 0 && p.window == 0:
		return fmt.Errorf("load: %w: it has no end; give num_prompts or duration_s", core.ErrInvalid)
	case p.count < 0 && p.limit == 0 && !p.scheduled:
		return fmt.Errorf("load: %w: endless requests all at once; give concurrency, request_rate or num_prompts", core.ErrInvalid)
	}
	return nil
}

// maxSetting keeps counts within an int and seconds within a Duration; it is far
// above what any benchmark needs.
const maxSetting = 1e9

func limit(name string, v core.Value, least float64, whole bool) (x float64, set bool, err error) {
	switch {
	case v.IsMissing() || v.Kind == core.KindUnset || v.IsUnlimited():
		return 0, false, nil
	case v.Kind != core.KindNumber:
		return 0, false, fmt.Errorf("load: %s: %w: %q is not a number", name, core.ErrInvalid, v)
	case whole && (v.Num != math.Trunc(v.Num) || v.Num < least):
		return 0, false, fmt.Errorf("load: %s: %w: %s is not a whole number of at least %g", name, core.ErrInvalid, v, least)
	case !(v.Num >= least):
		return 0, false, fmt.Errorf("load: %s: %w: %s is below %g", name, core.ErrInvalid, v, least)
	case v.Num > maxSetting:
		return 0, false, fmt.Errorf("load: %s: %w: %s is above %g; for no limit say unlimited", name, core.ErrInvalid, v, float64(maxSetting))
	}
	return v.Num, true, nil
}
