package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

const (
	shortRun  = 10 // seconds
	fewRounds = 3  // requests a slot of the concurrency limit
)

func conditionRules() []Rule {
	return []Rule{
		{
			ID: "E1", Version: 1, Severity: core.SeverityNote, Metrics: []string{"rps", "output_tps", "total_tps", "duration_tps"},
			Title: "short run",
			Doc: "Less than 10 s, or fewer than 3 requests for each slot of the concurrency limit: filling up and draining are a large part of the " +
				"measured time, and rates come out low and unsteady.",
			check: func(x *subject) []hit {
				duration, ok := x.get("duration_s")
				completed, ok2 := x.get("completed")
				if !ok || !ok2 || completed == 0 {
					return nil
				}
				if duration < shortRun {
					return one(fmt.Sprintf("duration_s %s", num(duration)))
				}
				if limit, ok := finite(x.t.Load.Concurrency); ok && completed < fewRounds*limit {
					return one(fmt.Sprintf("%s requests at concurrency %s", num(completed), num(limit)))
				}
				return nil
			},
		},
		{
			ID: "E2", Version: 1, Severity: core.SeverityNote,
			Metrics: []string{"…_ttft_ms", "…_tpot_ms", "…_e2el_ms", "…_itl_ms"},
			Title:   "too few values for the percentile",
			Doc: "Fewer values than 1/(1-p), so that less than one is expected above the percentile: p99 of fewer than 100 requests, p95 of fewer than " +
				"20 is the largest value or a guess beyond it. Gaps between tokens are counted as tokens, not requests.",
			check: checkFewValues,
		},
		{
			ID: "E4", Version: 2, Severity: core.SeverityNote,
			Metrics: []string{"output_tps", "total_tps", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			Title:   "requests were preempted",
			Doc: "The scheduler put requests back for lack of KV cache and computed them again: work that the token counts do not show. Told by the " +
				"server's counter, else by the lines of its log within the measured window (extra.preemption_lines).",
			check: func(x *subject) []hit {
				if n, ok := x.get("preemptions"); ok && n > 0 {
					return one("preemptions " + num(n))
				}
				if n := x.t.Extra["preemption_lines"]; n.Kind == core.KindNumber && n.Num > 0 {
					return one("preemption_lines " + num(n.Num))
				}
				return nil
			},
		},
		{
			ID: "E5", Version: 1, Severity: core.SeverityNote, Metrics: []string{"*"},
			Title: "GPU lowered its clocks",
			Doc:   "throttled is true: heat or the power limit, not the configuration, set part of the result. Compare only with trials under the same limit.",
			check: func(x *subject) []hit {
				if !x.t.Throttled.True() {
					return nil
				}
				if clock, ok := x.get("sm_clock_mhz"); ok {
					return one("throttled, mean SM clock " + num(clock) + " MHz")
				}
				return one("throttled")
			},
		},
		{
			ID: "E6", Version: 3, Severity: core.SeverityNote, Metrics: []string{"*"},
			Title: "neighbour on the host",
			Doc: "Another launch was measured on the same machine at the same time: CPU, PCIe, memory and power were shared. Only times that the source " +
				"gives with a zone are compared. Or other processes had memory of the trial's own GPUs before its launch (extra.gpu_neighbours): the " +
				"study allowed them, or they held little. Or another run held other GPUs of the machine at the trial's beginning or end " +
				"(extra.node_neighbours).",
			check: func(x *subject) []hit {
				if v := x.t.Extra["gpu_neighbours"]; v.Kind == core.KindText && v.Text != "" {
					return one("on the same GPU: " + clip(v.Text, 300))
				}
				if v := x.t.Extra["node_neighbours"]; v.Kind == core.KindText && v.Text != "" {
					return one("on other GPUs of the machine: " + clip(v.Text, 300))
				}
				if other, ok := x.around.neighbours[x.keys.record]; ok {
					return one(fmt.Sprintf("on %s at the same time as %s", x.t.Host, other))
				}
				return nil
			},
		},
		{
			ID: "E7", Version: 1, Severity: core.SeverityVoid, Metrics: []string{"*"},
			Title: "dummy weights",
			Doc: "load_format is dummy: the model answers noise. Lengths, acceptance of drafts, routing of experts and cache hits are not those of the " +
				"model, and neither is any figure.",
			check: func(x *subject) []hit {
				if v := x.t.Setup.Config.Knobs["load_format"]; v.Kind == core.KindText && strings.EqualFold(v.Text, "dummy") {
					return one("load_format " + v.Text)
				}
				return nil
			},
		},
		{
			ID: "E8", Version: 1, Severity: core.SeverityVoid,
			Metrics: []string{"rps", "output_tps", "total_tps", "duration_tps", "accept_len", "accept_rate", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			Title:   "synthetic acceptance",
			Doc: "The acceptance of speculative tokens was set and not earned (SGLANG_SIMULATE_ACC_LEN and the like, a synthetic rejection method): speed " +
				"of decoding says what was asked for.",
			check: checkSynthetic,
		},
		{
			ID: "E14", Version: 1, Severity: core.SeverityNote,
			Metrics: []string{"rps", "output_tps", "total_tps", "duration_tps", "…_ttft_ms", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			Title:   "kernels were compiled while it was measured",
			Doc: "The server's log says within the measured window that it built or tuned kernels (extra.jit_compiles): requests waited for a compiler. " +
				"The warm-up did not have the shapes of the run; give it the same lengths and concurrency, or measure again on a warm cache.",
			check: func(x *subject) []hit {
				n := x.t.Extra["jit_compiles"]
				if n.Kind != core.KindNumber || n.Num <= 0 {
					return nil
				}
				evidence := "jit_compiles " + num(n.Num)
				if first := x.t.Extra["jit_first"]; first.Text != "" {
					evidence += ", the first: " + clip(first.Text, 200)
				}
				return one(evidence)
			},
		},
	}
}

func checkFewValues(x *subject) []hit {
	completed, ok := x.get("completed")
	if !ok || completed <= 0 {
		return nil
	}
	var hits []hit
	for _, latency := range latencyNames {
		n := completed
		if latency == "itl" || latency == "icl" {
			out, ok := x.get("output_tokens")
			if !ok {
				continue
			}
			n = out - completed
		}
		var fields []string
		least := 0.0
		for _, s := range x.stats[latency] {
			need := math.Round(100 / (100 - s.level))
			if s.name[0] == 'p' && s.level > 50 && n < need {
				fields = append(fields, s.field)
				least = max(least, need)
			}
		}
		if fields != nil {
			hits = append(hits, hit{metrics: fields, evidence: fmt.Sprintf("%s of %s values, %s are needed", strings.Join(fields, ", "), num(n), num(least))})
		}
	}
	return hits
}

func checkSynthetic(x *subject) []hit {
	env := x.t.Setup.Config.Env
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v := env[name]
		if strings.Contains(name, "SIMULATE_ACC") && v != "" && v != "0" && v != "-1" {
			return one(name + "=" + v)
		}
	}
	if v := x.t.Setup.Config.Knobs["speculative_config"]; v.Kind == core.KindText && strings.Contains(v.Text, "synthetic") {
		return one("speculative_config " + clip(v.Text, 200))
	}
	return nil
}
