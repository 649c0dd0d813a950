package load

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// rates adds the figures per second. There is at least one completed request.
//
//	rps                completed / duration_s
//	output_tps         output_tokens / duration_s; input_tps and total_tps likewise
//	computed_tps       (input_tokens - cached_tokens + output_tokens) / duration_s
//	peak_output_tps    most tokens in any second of the window, counted from its start
//	steady_output_tps  tokens per second while the load was full
//
// Tokens of requests that failed or were cut off are work that is not in the
// first four, as in vllm bench serve; peak and steady count them.
func rates(f core.Figures, samples []core.Sample, w span) {
	d := w.length().Seconds()
	f.Set("rps", f["completed"]/d)
	in, okIn := f["input_tokens"]
	out, okOut := f["output_tokens"]
	cached, okCached := f["cached_tokens"]
	if okIn {
		f.Set("input_tps", in/d)
	}
	if okOut {
		f.Set("output_tps", out/d)
	}
	if okIn && okOut {
		f.Set("total_tps", (in+out)/d)
	}
	if okIn && okOut && okCached {
		f.Set("computed_tps", (in-cached+out)/d)
	}
	each, ok := tokensPerChunk(samples)
	if !ok {
		return
	}
	arrived := arrivals(samples, each)
	// A window of little more than a second has a last bucket that is mostly
	// outside of it; a peak below the mean would only show that.
	if peak := peakSecond(arrived, w); d >= 1 && peak >= f["output_tps"] {
		f.Set("peak_output_tps", peak)
	}
	if full, ok := fullLoad(samples, w); ok {
		f.Set("steady_output_tps", tokensWithin(arrived, full)/full.length().Seconds())
	}
}

// tokensPerChunk is the mean of the completed requests, which chunks of other
// requests, whose usage never came, are taken to hold. ok is false when a
// completed request lacks chunks or its token count.
func tokensPerChunk(samples []core.Sample) (each float64, ok bool) {
	chunks, tokens := 0, 0
	for _, s := range samples {
		if s.Outcome != core.OutcomeOK {
			continue
		}
		if len(s.Chunks) == 0 || s.OutputTokens < 0 {
			return 0, false
		}
		chunks += len(s.Chunks)
		tokens += s.OutputTokens
	}
	return float64(tokens) / float64(chunks), chunks > 0
}

// arrivals gives when chunks came and the tokens that they are taken to hold: those
// of a completed request are spread evenly over its chunks.
func arrivals(samples []core.Sample, mean float64) iter.Seq2[time.Duration, float64] {
	return func(yield func(time.Duration, float64) bool) {
		for _, s := range samples {
			each := mean
			if s.Outcome == core.OutcomeOK {
				each = float64(s.OutputTokens) / float64(len(s.Chunks))
			}
			for _, at := range s.Chunks {
				if !yield(at, each) {
					return
				}
			}
		}
	}
}

// peakSecond is the highest token count of the seconds [0,1), [1,2), … of the
// window. vllm bench serve counts chunks instead, whose peak lies below the mean
// under speculative decoding.
func peakSecond(arrived iter.Seq2[time.Duration, float64], w span) float64 {
	seconds := make([]float64, int(w.length()/time.Second)+1)
	for at, tokens := range arrived {
		if at >= w.from && at <= w.to {
			seconds[int((at-w.from)/time.Second)] += tokens
		}
	}
	return slices.Max(seconds)
}

func tokensWithin(arrived iter.Seq2[time.Duration, float64], w span) float64 {
	sum := 0.0
	for at, tokens := range arrived {
		if at >= w.from && at < w.to {
			sum += tokens
		}
	}
	return sum
}

// change is one request coming or going.
type change struct {
	at time.Duration
	by int
}

// flights lists when requests came and went, in time order. One that goes at the
// moment at which another comes goes first: it made room for it.
func flights(samples []core.Sample, w span) []change {
	var changes []change
	for _, s := range samples {
		if s.Sent == core.NoTime || s.End == core.NoTime || s.Sent >= w.to {
			continue
		}
		changes = append(changes, change{s.Sent, 1}, change{min(max(s.Sent, s.End), w.to), -1})
	}
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			if a.at < b.at {
				return -1
			}
			return 1
		}
		return a.by - b.by
	})
	return changes
}

// concurrencies adds the requests in flight that were observed, from sent to end:
// the exact highest number, and the mean over the window. Unlike counts by whole
// seconds the peak cannot exceed a limit that was kept.
func concurrencies(f core.Figures, samples []core.Sample, w span) {
	now, peak := 0, 0
	busy := 0.0
	last := w.from
	for _, c := range flights(samples, w) {
		busy += float64(now) * (c.at - last).Seconds()
		last = c.at
		now += c.by
		peak = max(peak, now)
	}
	if peak > 0 {
		f.Set("peak_concurrency", float64(peak))
		f.Set("mean_concurrency", busy/w.length().Seconds())
	}
}

// full is the share of the peak concurrency at which a load counts as full, and
// the shortest stretch that says anything.
const (
	fullShare   = 0.9
	fullAtLeast = time.Second
)

// fullLoad is the stretch from the first to the last moment at which at least nine
// tenths of the peak concurrency were in flight: the window without its ramp and
// its drain. ok is false when that is shorter than a second or than a tenth of the
// window, as when all requests come at once and the load only falls.
func fullLoad(samples []core.Sample, w span) (full span, ok bool) {
	changes := flights(samples, w)
	peak, now := 0, 0
	for _, c := range changes {
		now += c.by
		peak = max(peak, now)
	}
	enough := int(math.Ceil(fullShare * float64(peak)))
	full = span{core.NoTime, core.NoTime}
	now = 0
	for _, c := range changes {
		before := now
		now += c.by
		if now >= enough && full.from == core.NoTime {
			full.from = c.at
		}
		if before >= enough {
			full.to = c.at
		}
	}
	if full.from == core.NoTime || full.to == core.NoTime {
		return span{}, false
	}
	return full, full.length() >= fullAtLeast && full.length() >= w.length()/10
}
