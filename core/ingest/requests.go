package ingest

import (
	"fmt"
	"math"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// requests gathers the single requests of one run, where a file gives each with
// moments of one clock. A request is kept at about 200 bytes, and the moments of
// its chunks while there are less than maxGaps of them.
type requests struct {
	samples []core.Sample
	gaps    int // that are kept
	summed  int // requests whose gaps are not kept
	over    int // requests beyond maxRequests
	nowhere int // requests without a moment, which cannot stand among the others
}

// maxRequests bounds the requests of one run: about maxHeld with what holds them.
const maxRequests = maxHeld / 200

// add takes a request whose moments are since the epoch, or NoTime.
func (r *requests) add(s core.Sample) {
	switch {
	case len(r.samples) >= maxRequests:
		r.over++
		return
	case s.Sent == core.NoTime:
		r.nowhere++
		return
	}
	s = settled(s)
	switch {
	case len(s.Chunks) > 0 && r.gaps >= maxGaps:
		s.Chunks = nil
		r.summed++
	}
	r.gaps += len(s.Chunks)
	s.Index = len(r.samples)
	r.samples = append(r.samples, s)
}

// rounding is how far two roundings of one moment lie apart: a float64 holds
// nanoseconds since 1970 in steps of 256, and seconds no better.
const rounding = 2 * time.Microsecond

// settled makes moments equal that differ by rounding only, so that a last chunk
// does not seem to come after the answer's end.
func settled(s core.Sample) core.Sample {
	level := func(at *time.Duration, limit time.Duration) {
		if *at != core.NoTime && limit != core.NoTime && *at > limit && *at-limit < rounding {
			*at = limit
		}
	}
	level(&s.Last, s.End)
	level(&s.First, s.Last)
	for i := range s.Chunks {
		level(&s.Chunks[i], s.Last)
	}
	level(&s.Due, s.Sent)
	return s
}

// rebased gives the requests with moments from the first one sent, and when that
// was. The duration is, as AIPerf has it, from the first request that completed to
// the last answer: an error that comes after all answers adds nothing.
func (r *requests) rebased() (samples []core.Sample, began time.Time, duration time.Duration) {
	if len(r.samples) == 0 {
		return nil, time.Time{}, 0
	}
	first := r.samples[0].Sent
	from, to := time.Duration(math.MaxInt64), core.NoTime
	for _, s := range r.samples {
		first = min(first, s.Sent)
	}
	for i := range r.samples {
		s := &r.samples[i]
		for _, at := range []*time.Duration{&s.Due, &s.Sent, &s.First, &s.Last, &s.End} {
			if *at != core.NoTime {
				*at -= first
			}
		}
		for k := range s.Chunks {
			s.Chunks[k] -= first
		}
		if s.Outcome == core.OutcomeOK {
			from, to = min(from, s.Sent), max(to, s.Last, s.End)
		}
	}
	if first > 1e18 { // of 2001 or later; a smaller one is of a clock of its own
		began = time.Unix(0, int64(first)).UTC().Truncate(time.Millisecond)
	}
	if to > from {
		duration = to - from
	}
	return r.samples, began, duration
}

// give makes the requests the samples of a draft. Where the result itself has no
// figures, all are worked out of them.
func (r *requests) give(d *draft, whole bool) {
	if r.over > 0 {
		d.warn("%d requests after the first %d left out: a run of fewer fits", r.over, maxRequests)
	}
	if r.nowhere > 0 {
		d.warn("%d requests left out: they do not say when they were sent", r.nowhere)
	}
	samples, began, duration := r.rebased()
	if len(samples) == 0 {
		return
	}
	d.samples = samples
	if d.t.StartedAt.IsZero() {
		d.t.StartedAt = began
	}
	d.countErrors()
	figures := recompute(samples)
	if r.summed > 0 {
		d.warn("of %d requests the gaps between chunks are left out: the result has more than %d", r.summed, maxGaps)
		figures.dropGaps()
	}
	if partlyChunked(samples) {
		figures.dropGaps() // those of the few would pass for all
	}
	if whole {
		figures.rates(duration)
	}
	d.complete(figures)
	if whole {
		d.t.Extra["recomputed"] = core.String("all, of its requests")
	}
}

// partlyChunked: some answers of several tokens have the moments of their chunks
// and some have not.
func partlyChunked(samples []core.Sample) bool {
	with, without := false, false
	for _, s := range samples {
		if s.Outcome == core.OutcomeOK && s.OutputTokens > 1 {
			with, without = with || len(s.Chunks) > 0, without || len(s.Chunks) == 0
		}
	}
	return with && without
}

// rates adds what a run's duration makes of its counts.
func (r recomputed) rates(duration time.Duration) {
	f, s := r.figures, duration.Seconds()
	if s <= 0 || f["completed"] == 0 {
		return
	}
	f.Set("duration_s", s)
	f.Set("rps", f["completed"]/s)
	in, okIn := f["input_tokens"]
	out, okOut := f["output_tokens"]
	if okOut {
		f.Set("output_tps", out/s)
	}
	if okIn && okOut {
		f.Set("total_tps", (in+out)/s)
	}
}

// nanoseconds gives a moment since the epoch, or of another clock above 0.
func nanoseconds(v any) time.Duration {
	f, ok := number(v)
	if !ok || f <= 0 || f > 4e18 {
		return core.NoTime
	}
	return time.Duration(f)
}

// unixSeconds is nanoseconds of a moment in seconds.
func unixSeconds(v any) time.Duration {
	f, ok := number(v)
	if !ok || f <= 0 || f > 4e9 {
		return core.NoTime
	}
	return time.Duration(math.Round(f * 1e9))
}

// tokensOf gives a count of tokens, -1 where there is none.
func tokensOf(v any) int {
	if f, ok := number(v); ok && f >= 0 && f < 1e9 {
		return int(f)
	}
	return -1
}

// newRequest is a request of which nothing is known.
func newRequest() core.Sample {
	return core.Sample{Due: core.NoTime, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1}
}

// failed makes a request one that ended in an error.
func failed(s core.Sample, message string) core.Sample {
	s.Outcome, s.Chunks = core.OutcomeFailed, nil
	s.First, s.Last, s.OutputTokens = core.NoTime, core.NoTime, max(s.OutputTokens, 0)
	s.Error = oneLine(message)
	if s.Error == "" {
		s.Error = "no token in the answer"
	}
	return s
}

// gathering is a run whose requests are objects of one file.
type gathering struct {
	draft    *draft
	requests requests
	left     int // warm-up requests
}

// gather gives the run that a file's requests are of.
func (r *objectReader) gather(format, tool string, line int) *gathering {
	if r.run == nil || r.run.draft.format != format {
		r.gathered()
		r.out.begin()
		r.run = &gathering{draft: newDraft(format, tool, line)}
	}
	return r.run
}

// gathered ends the run whose requests came last.
func (r *objectReader) gathered() {
	run := r.run
	if r.run = nil; run == nil {
		return
	}
	if len(run.requests.samples) == 0 {
		r.out.leave(run.draft.line, fmt.Sprintf("%s: no request but %d of the warm-up", run.draft.format, run.left))
		return
	}
	if run.left > 0 {
		run.draft.extra("warmup_requests", core.Number(float64(run.left)))
	}
	run.requests.give(run.draft, true)
	run.draft.add(r.out, "")
}
