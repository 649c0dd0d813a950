package ingest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// detail reads the per-request lists of a result into samples, and works out the
// figures that the result itself lacks. The lists hold a zero for a request that
// failed; it is neither a latency nor a length. Without start_times every sample
// counts from its own start, which extra.sample_times says.
func (d *draft) detail(o *object) {
	l := lists{
		in: floats(o.vals["input_lens"]), out: floats(o.vals["output_lens"]), ttft: floats(o.vals["ttfts"]),
		latency: floats(o.vals["latencies"]), start: floats(o.vals["start_times"]), queue: floats(o.vals["queue_times"]),
		cached: floats(o.vals["cached_tokens"]),
	}
	if l.latency == nil {
		l.latency = floats(o.vals["e2els"])
	}
	l.itl, _ = o.vals["itls"].([]any)
	l.errors = errorTexts(o.vals["errors"])
	n := max(len(l.out), len(l.ttft))
	if n == 0 {
		return
	}
	for name, length := range map[string]int{
		"input_lens": len(l.in), "output_lens": len(l.out), "ttfts": len(l.ttft), "latencies": len(l.latency), "start_times": len(l.start),
		"queue_times": len(l.queue), "itls": len(l.itl), "errors": len(l.errors), "cached_tokens": len(l.cached),
	} {
		if length != 0 && length != n {
			d.warn("per-request lists left out: %s has %d entries where others have %d", name, length, n)
			return
		}
	}
	origin := math.Inf(1)
	for _, at := range l.start {
		origin = min(origin, at)
	}
	for i := range n {
		d.samples = append(d.samples, l.sample(i, origin))
	}
	if l.start == nil {
		d.extra("sample_times", core.String("relative"))
	}
	d.countErrors()
	r := recompute(d.samples)
	if n := l.summed(); n > 0 {
		d.warn("of %d requests the gaps between chunks are kept as their sum only: the result has more than %d", n, maxGaps)
		r.dropGaps()
	}
	d.complete(r)
}

// lists are the columns of a result's requests; nil where a column is absent.
type lists struct {
	in, out, ttft, latency, start, queue, cached []float64
	itl                                          []any
	errors                                       []string
}

func (l lists) sample(i int, origin float64) core.Sample {
	s := core.Sample{Index: i, Due: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: countAt(l.in, i), CachedTokens: countAt(l.cached, i), OutputTokens: countAt(l.out, i), RequestedOutput: -1}
	if l.start != nil {
		s.Sent = seconds(l.start[i] - origin)
	}
	if l.errors != nil {
		s.Error = l.errors[i]
	}
	ttft := valueAt(l.ttft, i)
	answered := s.OutputTokens != 0 && (l.out != nil || ttft != 0)
	if s.Error != "" || !answered {
		s.Outcome = core.OutcomeFailed
		s.OutputTokens = max(s.OutputTokens, 0)
		if s.Error == "" {
			s.Error = "no token in the answer"
		}
		if latency := valueAt(l.latency, i); latency > 0 && s.Sent != core.NoTime {
			s.End = offset(s.Sent, latency)
		}
		return s
	}
	if l.queue != nil && s.Sent != core.NoTime {
		s.Due = offset(s.Sent, -l.queue[i])
	}
	if l.ttft != nil {
		s.First = offset(s.Sent, ttft)
	}
	if sum, only := l.gapSum(i); only {
		s.Last = offset(s.First, sum)
	} else if l.itl != nil && s.First != core.NoTime {
		gaps := floats(l.itl[i])
		at := s.First
		s.Chunks = append(make([]time.Duration, 0, len(gaps)+1), at)
		for _, gap := range gaps {
			if at = offset(at, gap); at == core.NoTime {
				s.Chunks = nil
				break
			}
			s.Chunks = append(s.Chunks, at)
		}
		s.Last = at
	}
	if l.latency != nil {
		s.Last = offset(s.Sent, l.latency[i])
	}
	s.End = s.Last
	return s
}

// gapSum is the sum of a request's gaps, where that is all that is known of them.
func (l lists) gapSum(i int) (sum float64, only bool) {
	if l.itl == nil {
		return 0, false
	}
	sum, only = l.itl[i].(float64)
	return sum, only
}

// summed counts the requests whose gaps are known by their sum only.
func (l lists) summed() int {
	n := 0
	for i := range l.itl {
		if _, only := l.gapSum(i); only {
			n++
		}
	}
	return n
}

// floats gives a list of numbers, with NaN for what is none; nil for no list.
func floats(v any) []float64 {
	switch v := v.(type) {
	case []float64:
		return v
	case []any:
		out := make([]float64, len(v))
		for i, e := range v {
			f, ok := number(e)
			if !ok {
				f = math.NaN()
			}
			out[i] = f
		}
		return out
	}
	return nil
}

func valueAt(list []float64, i int) float64 {
	if list == nil {
		return math.NaN()
	}
	return list[i]
}

func countAt(list []float64, i int) int {
	if f := valueAt(list, i); f >= 0 && f < 1e9 {
		return int(f)
	}
	return -1
}

// seconds gives a duration, NoTime for what is no possible one.
func seconds(s float64) time.Duration {
	if !(math.Abs(s) < 1e8) {
		return core.NoTime
	}
	return time.Duration(math.Round(s * 1e9))
}

func offset(from time.Duration, s float64) time.Duration {
	d := seconds(s)
	if from == core.NoTime || d == core.NoTime {
		return core.NoTime
	}
	return from + d
}

// errorTexts gives the error of each request on one line, "" for none.
func errorTexts(v any) []string {
	switch v := v.(type) {
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			if s, ok := e.(string); ok {
				out[i] = oneLine(s)
			}
		}
		return out
	case []float64:
		return make([]string, len(v))
	}
	return nil
}

// oneLine makes the text of an error fit to be kept.
func oneLine(s string) string {
	return maskSecrets(clip(strings.Join(strings.Fields(s), " "), 300))
}

var errorClass = regexp.MustCompile(`\b[A-Z]\w*(?:Error|Exception|Timeout)\b`)

// countErrors names the kinds of errors and how often each came.
func (d *draft) countErrors() {
	kinds := map[string]int{}
	for _, s := range d.samples {
		if s.Outcome != core.OutcomeFailed {
			continue
		}
		kind := errorClass.FindString(s.Error)
		if kind == "" {
			kind = clip(s.Error, 60)
		}
		kinds[kind]++
	}
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		if kinds[a] != kinds[b] {
			return kinds[b] - kinds[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names[:min(5, len(names))] {
		parts = append(parts, fmt.Sprintf("%s ×%d", name, kinds[name]))
	}
	if len(parts) > 0 {
		d.extra("errors", core.String(strings.Join(parts, "; ")))
	}
}

// recomputed are figures of the samples.
type recomputed struct {
	figures core.Figures
	invalid int // requests whose moments contradict each other
}

// recompute works out counts and latencies by the definitions of vllm bench: of
// completed requests only, percentiles interpolated, the population's deviation,
// no time per output token for one token. Requests whose moments contradict each
// other (a first token before the request or after its end) have no latency.
//
// Note: core/load has the same for its own samples; readers may import only core.
func recompute(samples []core.Sample) recomputed {
	out := recomputed{figures: core.Figures{}}
	ms := map[string][]float64{}
	add := func(name string, from, to time.Duration, per int) {
		if from != core.NoTime && to != core.NoTime {
			ms[name] = append(ms[name], float64(to-from)/1e6/float64(per))
		}
	}
	tokens := map[string]int{}
	known := map[string]bool{"input_tokens": true, "output_tokens": true}
	for _, s := range samples {
		switch s.Outcome {
		case core.OutcomeOK:
		case core.OutcomeIncomplete:
			out.figures["incomplete"]++
			continue
		default:
			out.figures["failed"]++
			continue
		}
		out.figures["completed"]++
		for name, n := range map[string]int{"input_tokens": s.InputTokens, "output_tokens": s.OutputTokens} {
			tokens[name] += n
			known[name] = known[name] && n >= 0
		}
		if s.Inverted() {
			out.invalid++
			continue
		}
		add("ttft", s.Sent, s.First, 1)
		add("e2el", s.Sent, s.Last, 1)
		if s.OutputTokens >= 2 {
			add("tpot", s.First, s.Last, s.OutputTokens-1)
		}
		gaps := "icl"
		if len(s.Chunks) == s.OutputTokens {
			gaps = "itl"
		}
		for i := 1; i < len(s.Chunks); i++ {
			add(gaps, s.Chunks[i-1], s.Chunks[i], 1)
		}
	}
	if _, any := out.figures["failed"]; !any {
		out.figures["failed"] = 0
	}
	for name, n := range tokens {
		if known[name] {
			out.figures[name] = float64(n)
		}
	}
	// Where some requests have a chunk a token and some have not, the gaps of the
	// few would pass for all.
	if len(ms["icl"]) > 0 {
		delete(ms, "itl")
	}
	for name, values := range ms {
		statistics(out.figures, name, values)
	}
	return out
}

// dropGaps leaves out what was worked out of the gaps of some requests only.
func (r recomputed) dropGaps() {
	for name := range r.figures {
		if strings.HasSuffix(name, "_itl_ms") || strings.HasSuffix(name, "_icl_ms") {
			delete(r.figures, name)
		}
	}
}

// statistics adds the fixed statistics of one latency; values is sorted by it.
func statistics(f core.Figures, latency string, values []float64) {
	slices.Sort(values)
	n := float64(len(values))
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	f.Set(core.LatencyName("mean", latency), sum/n)
	f.Set(core.LatencyName("std", latency), math.Sqrt(squares/n))
	for stat, q := range map[string]float64{"min": 0, "median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1} {
		at := q * (n - 1)
		low := int(at)
		high := min(low+1, len(values)-1)
		f.Set(core.LatencyName(stat, latency), values[low]+(values[high]-values[low])*(at-float64(low)))
	}
}

// complete adds the figures that the result lacks and names them in
// extra.recomputed. A figure that the result gives stays as it is; where some
// requests cannot be right, what the others say stands beside it.
func (d *draft) complete(r recomputed) {
	var added []string
	completed, given := d.t.Figures["completed"]
	agree := !given || completed == r.figures["completed"]
	if !agree {
		// An answer without a token is a success to some tools.
		d.warn("the lists give %v completed requests, the result %v: the result counts", r.figures["completed"], completed)
	}
	for _, name := range r.figures.Names() {
		if _, given := d.t.Figures[name]; given {
			continue
		}
		if name == "failed" && !agree {
			continue
		}
		if name == "failed" && d.t.Load.NumPrompts.Kind == core.KindNumber && d.t.Load.NumPrompts.Num != float64(len(d.samples)) {
			continue // the lists are not of all requests
		}
		d.t.Figures.Set(name, r.figures[name])
		added = append(added, name)
	}
	if r.invalid > 0 {
		d.extra("invalid_requests", core.Number(float64(r.invalid)))
		for _, name := range []string{"mean_ttft_ms", "mean_tpot_ms"} {
			if v, ok := r.figures[name]; ok {
				d.extra("valid_"+name, core.Number(v))
			}
		}
		d.warn("%d requests with negative or inverted times: no figure of ours counts them, those of the file may", r.invalid)
	}
	if len(added) > 0 {
		d.recomputedToo(added...)
	}
}
