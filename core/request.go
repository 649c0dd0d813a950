package core

import (
	"slices"
	"time"
)

// RequestField is a figure of one request: what a condition over the samples of a
// trial can name, as in attained(ttft_ms <= 200).
type RequestField struct {
	Name   string
	Unit   string // "ms", "tok"
	Better Better
	Chunks bool // it needs the moments of chunks
	Doc    string
	of     func(s *Sample) Value
}

// Of gives the figure of a request by the definitions of the trial's figures, and
// Missing where the request has none. Only the token counts are those of every
// request: one that did not complete, or whose moments contradict each other, has no
// time.
func (f RequestField) Of(s *Sample) Value {
	if f.Unit == "ms" && (s.Outcome != OutcomeOK || s.Inverted()) {
		return Missing()
	}
	return f.of(s)
}

// Limited is the figure as an upper limit sees it. A time per output token that does
// not exist, because the answer has one token or all of them came in one chunk, counts
// as 0 and keeps to any limit, as in the goodput of vllm bench serve.
func (f RequestField) Limited(s *Sample) Value {
	v := f.Of(s)
	if v.IsMissing() && f.Name == "tpot_ms" && s.Outcome == OutcomeOK && !s.Inverted() &&
		(s.OutputTokens == 1 || s.OutputTokens > 1 && s.First != NoTime) {
		return Number(0)
	}
	return v
}

// RequestFields lists the figures of a request in the order of the documentation.
func RequestFields() []RequestField {
	var fs []RequestField
	ms := func(name, doc string, of func(s *Sample) Value) {
		fs = append(fs, RequestField{name, "ms", LowerBetter, false, doc, of})
	}
	gaps := func(name, doc string, of func(s *Sample) Value) {
		fs = append(fs, RequestField{name, "ms", LowerBetter, true, doc, of})
	}
	tokens := func(name, doc string, of func(s *Sample) int) {
		fs = append(fs, RequestField{name, "tok", NeitherBetter, false, doc, func(s *Sample) Value {
			if n := of(s); n >= 0 {
				return Number(float64(n))
			}
			return Missing()
		}})
	}
	ms("ttft_ms", "time to first token: first - sent", func(s *Sample) Value { return between(s.Sent, s.First, 1) })
	ms("tpot_ms", "time per output token: (last - first) / (tokens - 1), of two tokens or more that did not all come in one chunk", func(s *Sample) Value {
		if s.OutputTokens < 2 || s.First == NoTime || s.Last <= s.First {
			return Missing()
		}
		return between(s.First, s.Last, s.OutputTokens-1)
	})
	ms("e2el_ms", "end-to-end latency: last - sent", func(s *Sample) Value { return between(s.Sent, s.Last, 1) })
	gaps("itl_ms", "mean gap between tokens, where each chunk is one token", func(s *Sample) Value {
		if len(s.Chunks) != s.OutputTokens {
			return Missing()
		}
		return meanGap(s)
	})
	gaps("max_itl_ms", "longest gap between tokens, where each chunk is one token", func(s *Sample) Value {
		if len(s.Chunks) != s.OutputTokens {
			return Missing()
		}
		return maxGap(s)
	})
	gaps("icl_ms", "mean gap between chunks", meanGap)
	gaps("max_icl_ms", "longest gap between chunks", maxGap)
	ms("ttft_due_ms", "time to first token from when the request was due", func(s *Sample) Value { return between(s.Due, s.First, 1) })
	ms("e2el_due_ms", "end-to-end latency from when the request was due", func(s *Sample) Value { return between(s.Due, s.Last, 1) })
	ms("queue_ms", "time from due to sent in the client", func(s *Sample) Value { return between(s.Due, s.Sent, 1) })
	tokens("input_tokens", "prompt tokens, as the server counts", func(s *Sample) int { return s.InputTokens })
	tokens("cached_tokens", "of the prompt tokens, taken from a prefix cache", func(s *Sample) int { return s.CachedTokens })
	tokens("output_tokens", "generated tokens", func(s *Sample) int { return s.OutputTokens })
	tokens("requested_output_tokens", "output tokens that were asked for", func(s *Sample) int { return s.RequestedOutput })
	return fs
}

// LookupRequestField finds a figure of a request by name.
func LookupRequestField(name string) (RequestField, bool) {
	fields := RequestFields()
	i := slices.IndexFunc(fields, func(f RequestField) bool { return f.Name == name })
	if i < 0 {
		return RequestField{}, false
	}
	return fields[i], true
}

// between is the per-th part of the time between two moments, in milliseconds.
func between(from, to time.Duration, per int) Value {
	if from == NoTime || to == NoTime {
		return Missing()
	}
	return Number(float64(to-from) / float64(time.Millisecond) / float64(per))
}

func meanGap(s *Sample) Value {
	n := len(s.Chunks)
	if n < 2 {
		return Missing()
	}
	return between(s.Chunks[0], s.Chunks[n-1], n-1)
}

func maxGap(s *Sample) Value {
	if len(s.Chunks) < 2 {
		return Missing()
	}
	longest := time.Duration(0)
	for i := 1; i < len(s.Chunks); i++ {
		longest = max(longest, s.Chunks[i]-s.Chunks[i-1])
	}
	return between(0, longest, 1)
}

// Inverted reports whether the moments of a request contradict each other: a first
// token before the request was sent, or a last before the first. One monotonic clock
// cannot give such moments; imported ones can.
func (s *Sample) Inverted() bool {
	before := NoTime
	for _, at := range [...]time.Duration{s.Sent, s.First, s.Last, s.End} {
		if at != NoTime {
			if at < before {
				return true
			}
			before = at
		}
	}
	return !slices.IsSorted(s.Chunks)
}
