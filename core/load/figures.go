package load

import (
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// Figures computes what the samples of one trial say, under core field names and
// in their units. It is pure, and the order of the samples does not matter. A
// figure that the samples do not allow is absent, never 0.
//
// Counts: requested is all samples, of which completed, failed and incomplete.
// Token counts are sums over the completed and absent when one of them lacks its
// count, because a sum of a part would pass for the whole; cached_tokens takes a
// request without the detail as 0 once any gives it, since vLLM leaves it out at 0.
// duration_s runs from the first request sent to the last end of a request that
// completed or failed. success_rate is for core.Trial.Derive.
//
// Latencies are those of the completed requests. Percentiles are numpy's linear
// ones, std is the population's and absent for a single value. A request whose
// moments contradict each other (see Inverted) has no latency at all.
func Figures(samples []core.Sample) core.Figures {
	f := core.Figures{}
	completed := outcome(samples, core.OutcomeOK)
	f["requested"] = float64(len(samples))
	f["completed"] = float64(len(completed))
	f["failed"] = float64(len(outcome(samples, core.OutcomeFailed)))
	f["incomplete"] = float64(len(outcome(samples, core.OutcomeIncomplete)))

	tokenSums(f, completed)
	w, ok := measuredWindow(samples)
	if ok {
		f.Set("duration_s", w.length().Seconds())
	}
	if ok && len(completed) > 0 {
		rates(f, samples, w)
	}
	if ok {
		concurrencies(f, samples, w)
	}
	latencies(f, completed)
	return f
}

func outcome(samples []core.Sample, o core.Outcome) []core.Sample {
	var found []core.Sample
	for _, s := range samples {
		if s.Outcome == o {
			found = append(found, s)
		}
	}
	return found
}

func tokenSums(f core.Figures, completed []core.Sample) {
	for name, count := range map[string]func(core.Sample) int{
		"input_tokens":            func(s core.Sample) int { return s.InputTokens },
		"output_tokens":           func(s core.Sample) int { return s.OutputTokens },
		"requested_output_tokens": func(s core.Sample) int { return s.RequestedOutput },
	} {
		sum, all := 0, len(completed) > 0
		for _, s := range completed {
			sum += count(s)
			all = all && count(s) >= 0
		}
		if all {
			f[name] = float64(sum)
		}
	}
	cached, known := 0, false
	for _, s := range completed {
		if s.CachedTokens >= 0 {
			cached += s.CachedTokens
			known = true
		}
	}
	if known {
		f["cached_tokens"] = float64(cached)
	}
}

// span is a stretch of the trial's clock.
type span struct{ from, to time.Duration }

func (w span) length() time.Duration { return w.to - w.from }

// measuredWindow is what duration_s measures; ok is false when nothing was sent
// and ended, or took no time.
func measuredWindow(samples []core.Sample) (w span, ok bool) {
	w = span{core.NoTime, core.NoTime}
	for _, s := range samples {
		if s.Sent == core.NoTime {
			continue
		}
		if w.from == core.NoTime || s.Sent < w.from {
			w.from = s.Sent
		}
		if s.Outcome != core.OutcomeIncomplete && s.End != core.NoTime {
			w.to = max(w.to, s.End)
		}
	}
	return w, w.from != core.NoTime && w.to > w.from
}

// Inverted counts the completed samples whose moments contradict each other.
func Inverted(samples []core.Sample) int {
	n := 0
	for _, s := range samples {
		if s.Outcome == core.OutcomeOK && s.Inverted() {
			n++
		}
	}
	return n
}

// latencies adds the statistics of every latency that the completed requests have:
//
//	ttft      First - Sent
//	e2el      Last - Sent: to the last token, not to a usage chunk after it
//	tpot      (Last - First) / (OutputTokens - 1), of two tokens or more that did
//	          not all come in one chunk
//	icl       the gaps between a request's chunks, of all requests together
//	itl       the same of the requests that have one chunk a token
//	ttft_due  First - Due, e2el_due Last - Due, queue Sent - Due
func latencies(f core.Figures, completed []core.Sample) {
	ms := map[string][]float64{}
	add := func(name string, from, to time.Duration, per int) {
		if from != core.NoTime && to != core.NoTime {
			ms[name] = append(ms[name], float64(to-from)/float64(time.Millisecond)/float64(per))
		}
	}
	for _, s := range completed {
		if s.Inverted() {
			continue
		}
		add("ttft", s.Sent, s.First, 1)
		add("e2el", s.Sent, s.Last, 1)
		add("ttft_due", s.Due, s.First, 1)
		add("e2el_due", s.Due, s.Last, 1)
		add("queue", s.Due, s.Sent, 1)
		if s.OutputTokens >= 2 && s.Last > s.First {
			add("tpot", s.First, s.Last, s.OutputTokens-1)
		}
	}
	for name, values := range ms {
		statistics(f, name, values)
	}
	gaps(f, completed)
}

// gaps adds icl and itl. There may be millions of gaps, so one list of exactly
// their number serves both.
func gaps(f core.Figures, completed []core.Sample) {
	usable := func(s core.Sample) bool { return len(s.Chunks) > 1 && !s.Inverted() }
	n, single := 0, 0
	for _, s := range completed {
		if usable(s) {
			n += len(s.Chunks) - 1
			if len(s.Chunks) == s.OutputTokens {
				single += len(s.Chunks) - 1
			}
		}
	}
	values := make([]float64, 0, n)
	for _, name := range []string{"icl", "itl"} {
		if name == "icl" || single < n { // else they are the same gaps, sorted already
			values = values[:0]
			for _, s := range completed {
				if !usable(s) || name == "itl" && len(s.Chunks) != s.OutputTokens {
					continue
				}
				for i := 1; i < len(s.Chunks); i++ {
					values = append(values, float64(s.Chunks[i]-s.Chunks[i-1])/float64(time.Millisecond))
				}
			}
		}
		statistics(f, name, values)
	}
}

// statistics adds the fixed statistics of one latency; values is sorted by it.
func statistics(f core.Figures, latency string, values []float64) {
	set := func(stat string, v float64, ok bool) {
		if ok {
			f.Set(core.LatencyName(stat, latency), v)
		}
	}
	slices.Sort(values)
	mean, ok := stats.Mean(values)
	set("mean", mean, ok)
	std, ok := stats.PopulationStd(values)
	set("std", std, ok && len(values) > 1)
	for _, q := range []struct {
		stat string
		at   float64
	}{{"min", 0}, {"median", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}} {
		v, ok := stats.SortedQuantile(values, q.at)
		set(q.stat, v, ok)
	}
}
