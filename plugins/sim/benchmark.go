package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// shortestIdle is the least real time for which a stream may stand still. At a
// high time_scale a share of a second would fail requests because this machine
// was busy, not because the simulated one was.
const shortestIdle = time.Second

// Benchmark implements core.Engine with Sweepbook's own ruler.
//
// At a time_scale other than 1 the ruler is asked in real time and answers in
// simulated time: rates are multiplied by the scale, limits of time are divided
// by it, and every moment of a sample is multiplied. What the machine itself
// takes (HTTP, scheduling) is multiplied too, so a high scale makes latencies a
// little longer than they are at 1.
func (a *adapter) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	scale := 1.0
	if v, ok := req.Config.Knobs["time_scale"]; ok {
		if v.Kind != core.KindNumber || !(v.Num > 0) || v.IsUnlimited() {
			return fmt.Errorf("benchmark sim: knob \"time_scale\": %w: want a number above 0, got %s", core.ErrInvalid, describe(v))
		}
		scale = v.Num
	}
	if scale == 1 {
		return a.ruler(ctx, req, sink)
	}
	return a.ruler(ctx, realTime(req, scale), simulatedTime{sink, scale})
}

// realTime is the request as it must be asked of a server that runs so many
// times faster.
func realTime(req core.BenchmarkRequest, scale float64) core.BenchmarkRequest {
	if rate := &req.Load.RequestRate; rate.Kind == core.KindNumber {
		rate.Num *= scale
	}
	if limit := &req.Load.DurationS; limit.Kind == core.KindNumber {
		limit.Num /= scale
	}
	if req.RequestTimeout > 0 {
		req.RequestTimeout = max(time.Duration(float64(req.RequestTimeout)/scale), min(req.RequestTimeout, shortestIdle))
	}
	if req.IdleTimeout > 0 {
		req.IdleTimeout = max(time.Duration(float64(req.IdleTimeout)/scale), min(req.IdleTimeout, shortestIdle))
	}
	return req
}

// simulatedTime turns the moments of samples into simulated ones.
type simulatedTime struct {
	core.Sink
	scale float64
}

// Samples implements core.Sink. The batch belongs to the caller, so it is copied.
func (s simulatedTime) Samples(batch []core.Sample) error {
	out := make([]core.Sample, len(batch))
	for i, sample := range batch {
		for _, moment := range []*time.Duration{&sample.Due, &sample.Sent, &sample.First, &sample.Last, &sample.End} {
			*moment = s.moment(*moment)
		}
		chunks := make([]time.Duration, len(sample.Chunks))
		for j, c := range sample.Chunks {
			chunks[j] = s.moment(c)
		}
		if sample.Chunks != nil {
			sample.Chunks = chunks
		}
		out[i] = sample
	}
	return s.Sink.Samples(out)
}

// moment leaves a moment that never came alone.
func (s simulatedTime) moment(d time.Duration) time.Duration {
	if d == core.NoTime {
		return d
	}
	return time.Duration(float64(d) * s.scale)
}
