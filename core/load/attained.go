package load

import (
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// SampleFigures are the figures of one completed request, in the units of the
// trial's figures. A figure that the request does not have is missing.
type SampleFigures struct {
	TTFT    core.Value // ttft_ms
	TPOT    core.Value // tpot_ms
	E2EL    core.Value // e2el_ms
	TTFTDue core.Value // ttft_due_ms
	E2ELDue core.Value // e2el_due_ms
	Queue   core.Value // queue_ms
	MaxICL  core.Value // max_icl_ms, the longest gap between two chunks
	MeanICL core.Value // icl_ms, the mean gap

	InputTokens     core.Value // input_tokens
	CachedTokens    core.Value // cached_tokens
	OutputTokens    core.Value // output_tokens
	RequestedOutput core.Value // requested_output_tokens
}

// SampleFieldNames lists what SampleFigures.Value knows, in the order of the fields.
func SampleFieldNames() []string {
	return []string{"ttft_ms", "tpot_ms", "e2el_ms", "ttft_due_ms", "e2el_due_ms", "queue_ms", "max_icl_ms", "icl_ms",
		"input_tokens", "cached_tokens", "output_tokens", "requested_output_tokens"}
}

// Value gives a figure by its name; known is false for a name that is none.
func (f *SampleFigures) Value(name string) (v core.Value, known bool) {
	switch name {
	case "ttft_ms":
		return f.TTFT, true
	case "tpot_ms":
		return f.TPOT, true
	case "e2el_ms":
		return f.E2EL, true
	case "ttft_due_ms":
		return f.TTFTDue, true
	case "e2el_due_ms":
		return f.E2ELDue, true
	case "queue_ms":
		return f.Queue, true
	case "max_icl_ms":
		return f.MaxICL, true
	case "icl_ms":
		return f.MeanICL, true
	case "input_tokens":
		return f.InputTokens, true
	case "cached_tokens":
		return f.CachedTokens, true
	case "output_tokens":
		return f.OutputTokens, true
	case "requested_output_tokens":
		return f.RequestedOutput, true
	}
	return core.Missing(), false
}

// FiguresOf computes the figures of one request by the definitions of Figures. A
// request that did not complete, or whose moments contradict each other, has none
// but its token counts.
func FiguresOf(s core.Sample) SampleFigures {
	count := func(n int) core.Value {
		if n < 0 {
			return core.Missing()
		}
		return core.Number(float64(n))
	}
	f := SampleFigures{InputTokens: count(s.InputTokens), CachedTokens: count(s.CachedTokens),
		OutputTokens: count(s.OutputTokens), RequestedOutput: count(s.RequestedOutput)}
	if s.Outcome != core.OutcomeOK || inverted(s) {
		return f
	}
	ms := func(from, to time.Duration, per int) core.Value {
		if from == core.NoTime || to == core.NoTime {
			return core.Missing()
		}
		return core.Number(float64(to-from) / float64(time.Millisecond) / float64(per))
	}
	f.TTFT, f.E2EL = ms(s.Sent, s.First, 1), ms(s.Sent, s.Last, 1)
	f.TTFTDue, f.E2ELDue, f.Queue = ms(s.Due, s.First, 1), ms(s.Due, s.Last, 1), ms(s.Due, s.Sent, 1)
	if s.OutputTokens >= 2 && s.First != core.NoTime && s.Last > s.First {
		f.TPOT = ms(s.First, s.Last, s.OutputTokens-1)
	}
	if n := len(s.Chunks); n >= 2 {
		f.MeanICL = ms(s.Chunks[0], s.Chunks[n-1], n-1)
		longest := time.Duration(0)
		for i := 1; i < n; i++ {
			longest = max(longest, s.Chunks[i]-s.Chunks[i-1])
		}
		f.MaxICL = ms(0, longest, 1)
	}
	return f
}

// Attained gives the share of the n requests for which ok holds. Requests that
// failed are among the n and never good; those that the run's own limit cut off
// are not among them. It is 0 of 0 where there is no request.
func Attained(samples []core.Sample, ok func(s SampleFigures) bool) (share float64, n int) {
	good := 0
	for _, s := range samples {
		if s.Outcome == core.OutcomeIncomplete {
			continue
		}
		n++
		if s.Outcome == core.OutcomeOK && ok(FiguresOf(s)) {
			good++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return float64(good) / float64(n), n
}

// Within gives the condition that a request keeps to upper limits by figure name
// (ttft_ms, tpot_ms, e2el_ms, …), as vllm bench serve's --goodput: a value at its
// limit is within. A request whose TPOT is undefined, because it has one token or got
// all of them in one chunk, keeps to any limit of it, as there, where it counts as 0;
// any other missing figure is not within.
func Within(limits map[string]float64) func(s SampleFigures) bool {
	return func(s SampleFigures) bool {
		for name, limit := range limits {
			v, _ := s.Value(name)
			switch {
			case v.Kind == core.KindNumber && v.Num <= limit:
			case name == "tpot_ms" && v.IsMissing() && (s.OutputTokens == core.Number(1) || s.OutputTokens.Kind == core.KindNumber && s.TTFT.Kind == core.KindNumber):
			default:
				return false
			}
		}
		return true
	}
}

// Goodput gives the requests per second for which ok holds: goodput_rps. known is
// false where the samples have no duration.
func Goodput(samples []core.Sample, ok func(s SampleFigures) bool) (rps float64, known bool) {
	w, found := measuredWindow(samples)
	share, n := Attained(samples, ok)
	if !found || n == 0 {
		return 0, false
	}
	return share * float64(n) / w.length().Seconds(), true
}
