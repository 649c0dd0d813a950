package load

import (
	"encoding/binary"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Schedule gives the moments at which n requests are due, as offsets from the
// start; n < 0 never ends. It is a pure function: equal loads (seed included)
// give equal moments.
//
// Without a finite request rate every offset is 0. With one, the gaps are drawn
// as vllm bench serve draws them: gamma distributed with shape b = burstiness
// and scale 1/(rate·b), so that their mean is 1/rate and their variance
// 1/(rate²·b). A burstiness of 1, or none given, is a Poisson process; unlimited
// burstiness is a constant gap. The first request too waits for its gap.
//
// For n ≥ 0 the offsets are stretched so that the last is exactly n/rate (vLLM
// since #21108): the offered rate is then the one asked for, at the price of the
// natural spread of a Poisson count. An endless schedule cannot be stretched. A
// rate or burstiness that is not above 0 has no arrivals.
func Schedule(load core.Load, n int) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		gaps, timed := arrivalGaps(load)
		if !timed {
			for i := 0; n < 0 || i < n; i++ {
				if !yield(0) {
					return
				}
			}
			return
		}
		if gaps == nil {
			return
		}
		scale := 1.0
		if n > 0 {
			// The gaps are drawn twice from the same seed, so that a long schedule
			// needs no memory.
			total, draw := 0.0, gaps()
			for range n {
				total += draw()
			}
			if total > 0 {
				scale = float64(n) / load.RequestRate.Num / total
			}
		}
		at, draw := 0.0, gaps()
		for i := 0; n < 0 || i < n; i++ {
			at += draw()
			if !yield(seconds(at * scale)) {
				return
			}
		}
	}
}

// arrivalGaps returns a maker of seeded gap sources, in seconds. timed is false
// when the load has no finite rate; the maker is nil when the rate or burstiness
// is not above 0.
func arrivalGaps(load core.Load) (maker func() func() float64, timed bool) {
	rate := load.RequestRate
	if rate.Kind != core.KindNumber || rate.IsUnlimited() {
		return nil, false
	}
	shape := 1.0
	if load.Burstiness.Kind == core.KindNumber {
		shape = load.Burstiness.Num
	}
	if !(rate.Num > 0) || !(shape > 0) {
		return nil, true
	}
	return func() func() float64 {
		if math.IsInf(shape, 1) {
			return func() float64 { return 1 / rate.Num }
		}
		r := stream(seedOf(load), arrivalStream, 0)
		return func() float64 { return gamma(r, shape) / (rate.Num * shape) }
	}, true
}

// seconds rounds to the nanosecond and stays within a Duration.
func seconds(s float64) time.Duration {
	ns := math.Round(s * float64(time.Second))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// gamma draws from the gamma distribution with scale 1 by Marsaglia and Tsang's
// method (ACM TOMS 26, 2000), which is exact and needs about one normal draw. A
// shape below 1 is drawn at shape+1 and multiplied by U^(1/shape).
func gamma(r *rand.Rand, shape float64) float64 {
	if shape == 1 {
		return r.ExpFloat64()
	}
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(1-r.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v * boost
		}
	}
}

// The streams keep random numbers of different use apart: changing how many one
// of them draws does not move the others.
const (
	arrivalStream uint64 = iota + 1
	shuffleStream
	promptStream
	prefixStream
	warmupStream
)

// stream is the random source of one use and position under a seed. ChaCha8 keys
// neighbouring positions independently, which a small generator seeded with
// neighbouring numbers does not promise.
func stream(seed, use uint64, position int) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], use)
	binary.LittleEndian.PutUint64(key[16:], uint64(position))
	return rand.New(rand.NewChaCha8(key))
}

// seedOf is the load's seed, 0 where none is given (as in vllm bench serve).
func seedOf(load core.Load) uint64 {
	if load.Seed.Kind != core.KindNumber || load.Seed.IsUnlimited() {
		return 0
	}
	return math.Float64bits(load.Seed.Num)
}
