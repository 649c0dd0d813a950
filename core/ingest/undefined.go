package ingest

import (
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// dropUndefined removes latencies that do not exist and yet were written as zeros:
//
//   - the time per output token and the gaps of answers of one token;
//   - the first token and the gaps of answers that were not streamed: both are 0
//     in every statistic. A time per output token made with such a first token is
//     the whole latency and goes too.
//
// Their names are kept in extra.written_as_zero. Other zeros (gaps of 0 behind a
// first token that took its time) were measured, if badly, and are the audit's.
func dropUndefined(t *core.Trial) {
	completed := t.Figures["completed"]
	if completed <= 0 {
		return // nothing completed has no latency at all; that says nothing more
	}
	var drop []string
	out, known := t.Figures["output_tokens"]
	if known && out <= completed {
		drop = append(drop, "tpot", "itl", "icl")
	}
	if allZero(t.Figures, "ttft") && (allZero(t.Figures, "itl") || allZero(t.Figures, "icl")) {
		drop = append(drop, "ttft", "tpot", "itl", "icl")
	}
	dropped := map[string]bool{}
	for name, v := range t.Figures {
		latency := latencyOf(name)
		if !slices.Contains(drop, latency) || v != 0 && latency != "tpot" {
			continue
		}
		delete(t.Figures, name)
		dropped[latency] = true
	}
	var names []string
	for _, latency := range []string{"ttft", "tpot", "itl", "icl"} {
		if dropped[latency] {
			names = append(names, latency)
		}
	}
	if len(names) > 0 {
		t.Extra = setExtra(t.Extra, "written_as_zero", core.String(strings.Join(names, ",")))
	}
}

// allZero: the latency has a mean or another statistic that a single measured
// value would lift above 0, and all of it is 0.
func allZero(f core.Figures, latency string) bool {
	telling := false
	for name, v := range f {
		if latencyOf(name) != latency {
			continue
		}
		if v != 0 {
			return false
		}
		telling = telling || strings.HasPrefix(name, "mean_") || strings.HasPrefix(name, "max_")
	}
	return telling
}

// latencyOf gives the latency of a figure's name ("p99_ttft_ms" is "ttft"), "" for
// other figures.
func latencyOf(name string) string {
	f, ok := core.LookupField(name)
	if !ok || f.Group != core.GroupLatency || name == "est_e2el_ms" {
		return ""
	}
	for _, stat := range core.FixedStats() {
		if rest, ok := strings.CutPrefix(name, stat+"_"); ok {
			return strings.TrimSuffix(rest, "_ms")
		}
	}
	// Another percentile, "p75_ttft_ms" or "p99_9_ttft_ms".
	rest := strings.TrimLeft(name, "p0123456789_")
	return strings.TrimSuffix(rest, "_ms")
}

func setExtra(m map[string]core.Value, name string, v core.Value) map[string]core.Value {
	if m == nil {
		m = map[string]core.Value{}
	}
	m[name] = v
	return m
}
