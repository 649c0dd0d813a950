package ingest

import (
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// isAIPerfRequest: a line of AIPerf's profile_export.jsonl, one request.
func isAIPerfRequest(o *object) bool {
	return o.has("metrics") && o.sub("metadata").has("request_start_ns")
}

// readAIPerfRequest takes one request. Those of the warm-up are none; a cancelled
// one has failed. AIPerf's inter-token latency is the time per output token, which
// the moments give again.
func readAIPerfRequest(r *objectReader, o *object) {
	if r.heldBy(aiperfSummaryOf(r.in.name)) {
		return
	}
	run := r.gather("aiperf-requests", "aiperf", o.line)
	if s, counts := aiperfRequest(o); counts {
		run.requests.add(s)
	} else {
		run.left++
	}
}

func aiperfRequest(o *object) (s core.Sample, counts bool) {
	about, metrics := o.sub("metadata"), o.sub("metrics")
	if about.text("benchmark_phase") == "warmup" {
		return s, false
	}
	s = newRequest()
	s.Due = nanoseconds(about.vals["credit_issued_ns"])
	s.Sent, s.End = nanoseconds(about.vals["request_start_ns"]), nanoseconds(about.vals["request_end_ns"])
	s.InputTokens = tokensOf(metrics.sub("input_sequence_length").vals["value"])
	s.OutputTokens = tokensOf(metrics.sub("output_sequence_length").vals["value"])
	s.CachedTokens = tokensOf(metrics.sub("usage_prompt_cache_read_tokens").vals["value"])
	if e := o.sub("error"); len(e.keys) > 0 || about.vals["was_cancelled"] == true {
		if s.InputTokens < 0 {
			s.InputTokens = tokensOf(metrics.sub("error_isl").vals["value"])
		}
		message := strings.Trim(e.text("type")+": "+e.text("message"), ": ")
		if message == "" {
			message = "cancelled"
		}
		return failed(s, message), true
	}
	after := func(from time.Duration, metric string) time.Duration {
		m := metrics.sub(metric)
		v, ok := number(m.vals["value"])
		if !ok {
			return core.NoTime
		}
		return offset(from, v*secondsOf(m.text("unit"), 1e-3))
	}
	s.First, s.Last = after(s.Sent, "time_to_first_token"), after(s.Sent, "request_latency")
	if s.Last == core.NoTime {
		s.Last = s.End
	}
	if s.OutputTokens == 0 || s.Last == core.NoTime {
		return failed(s, ""), true
	}
	chunks := metrics.sub("inter_chunk_latency")
	if gaps := floats(chunks.vals["value"]); gaps != nil && s.First != core.NoTime {
		s.Chunks = chunksAfter(s.First, gaps, secondsOf(chunks.text("unit"), 1e-3))
	}
	return s, true
}

// chunksAfter gives the moments of chunks by the gaps between them; nil where one
// is no time.
func chunksAfter(first time.Duration, gaps []float64, scale float64) []time.Duration {
	at := first
	chunks := append(make([]time.Duration, 0, len(gaps)+1), at)
	for _, gap := range gaps {
		if at = offset(at, gap*scale); at == core.NoTime {
			return nil
		}
		chunks = append(chunks, at)
	}
	return chunks
}

// secondsOf gives how many seconds a unit of time is, as tools write it.
func secondsOf(unit string, otherwise float64) float64 {
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "s", "sec", "second", "seconds":
		return 1
	case "ms", "millisecond", "milliseconds":
		return 1e-3
	case "us", "µs", "microsecond", "microseconds":
		return 1e-6
	case "ns", "nanosecond", "nanoseconds":
		return 1e-9
	}
	return otherwise
}

// aiperfSummaryOf names the summary that stands beside a file of requests, "" where
// the file's name tells of none.
func aiperfSummaryOf(name string) string {
	if stem, ok := strings.CutSuffix(name, ".jsonl"); ok {
		return stem + "_aiperf.json"
	}
	return ""
}
