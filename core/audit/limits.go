package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

func limitRules() []Rule {
	floor := "the least time of a step: active weights × bytes / (memory bandwidth × GPUs that share one copy)"
	return []Rule{
		{
			ID: "B1", Version: 1, Severity: core.SeverityHard, Metrics: []string{"…_tpot_ms"},
			Title: "mean time per token below the weight floor",
			Doc: "mean_tpot below " + floor + ", under speculative decoding divided by the most tokens that a step can give. " +
				"Says nothing where model, number format, GPU, parallelism or speculation are not known.",
			check: belowFloor("mean", "tpot", false),
		},
		{
			ID: "B2", Version: 1, Severity: core.SeverityHard, Metrics: []string{"median_tpot_ms"},
			Title: "median time per token below the weight floor",
			Doc:   "As B1 with the median.",
			check: belowFloor("median", "tpot", false),
		},
		{
			ID: "B3", Version: 1, Severity: core.SeverityHard, Metrics: []string{"mean_itl_ms"},
			Title: "mean gap between tokens below the weight floor",
			Doc: "mean_itl below " + floor + ". A gap is one step, speculative or not, except in sglang.bench_serving, which divides it by the " +
				"step's tokens.",
			check: belowFloor("mean", "itl", true),
		},
		{
			ID: "B3m", Version: 1, Severity: core.SeverityHard, Metrics: []string{"median_itl_ms"},
			Title: "median gap between tokens below the weight floor",
			Doc:   "As B3 with the median: most chunks arrived in one read with the chunk before. Several servers send so, and the mean may still be right.",
			check: belowFloor("median", "itl", true),
		},
		{
			ID: "B4", Version: 1, Severity: core.SeverityHard, Metrics: []string{"peak_output_tps"},
			Title: "peak output rate above what the GPUs can do",
			Doc: "peak_output_tps above the lower of two ceilings: requests in flight × tokens of a step / the weight floor, and GPUs × dense peak / " +
				"(2 × active weights). Chunks that arrived together make such peaks.",
			check: aboveCeiling("peak_output_tps"),
		},
		{
			ID: "B5", Version: 1, Severity: core.SeverityHard, Metrics: []string{"output_tps"},
			Title: "output rate above what the GPUs can do",
			Doc:   "output_tps above the ceiling of B4.",
			check: aboveCeiling("output_tps"),
		},
		{
			ID: "B6", Version: 1, Severity: core.SeverityNote, Metrics: []string{"total_tps"},
			Title: "arithmetic used above 60 %",
			Doc: "2 × active weights × total_tps above 60 % of the dense peak of all GPUs, which serving hardly reaches; cached prompt tokens are left out where " +
				"they are counted. Hard above 100 % if no prefix cache can explain it.",
			check: checkUtilisation,
		},
		{
			ID: "B7", Version: 1, Severity: core.SeverityHard, Metrics: []string{"mean_ttft_ms", "median_ttft_ms"},
			Title: "first token before the prompt can be computed",
			Doc: "mean or median TTFT below 2 × active weights × mean prompt / dense peak of all GPUs. A note where the prompts may have come from a prefix " +
				"cache, unless TTFT is 0.",
			check: checkPrefill,
		},
	}
}

// accept is the most tokens of one step, and false where it is not known whether
// speculative decoding was on.
func (x *subject) accept() (float64, bool) {
	on, known := x.speculative()
	if on {
		return maxAccept(x.t), true
	}
	return 1, known
}

// belowFloor compares a statistic with the least time of a step. stepwise figures
// measure whole steps.
func belowFloor(name, latency string, stepwise bool) func(*subject) []hit {
	return func(x *subject) []hit {
		floor := 1000 * x.hw.step()
		accept, known := x.accept()
		n, ok := x.tokens()
		if floor <= 0 || !known || !ok || n <= 1 {
			return nil
		}
		v, field, ok := x.tpot(name)
		if latency != "tpot" {
			field = name + "_" + latency + "_ms"
			v, ok = x.get(field)
		}
		if !ok {
			return nil
		}
		divided := accept > 1 && (!stepwise || x.t.Setup.Tool == "sglang-bench")
		if divided {
			floor /= accept
		}
		if v+x.half >= floor {
			return nil
		}
		how := x.hw.stepFormula()
		if divided {
			how += fmt.Sprintf(" / %s tokens a step", num(accept))
		}
		h := hit{evidence: fmt.Sprintf("%s %s, floor %s ms = %s", field, num(v), num(floor), how)}
		if name == "median" {
			h.metrics = []string{field}
		}
		return []hit{h}
	}
}

func aboveCeiling(name string) func(*subject) []hit {
	return func(x *subject) []hit {
		v, ok := x.get(name)
		step, rate := x.hw.step(), x.hw.rate()
		if !ok {
			return nil
		}
		ceiling, how := math.Inf(1), ""
		if rate > 0 {
			ceiling, how = rate, x.hw.rateFormula()
		}
		limit, ok := x.limit()
		accept, known := x.accept()
		if ok && known && step > 0 {
			if memory := limit * accept / step; memory < ceiling {
				ceiling = memory
				how = fmt.Sprintf("%s in flight × %s tokens a step / (%s)", num(limit), num(accept), x.hw.stepFormula())
			}
		}
		if v-x.half <= ceiling {
			return nil
		}
		return one(fmt.Sprintf("%s %s, at most %s = %s", name, num(v), num(ceiling), how))
	}
}

func checkUtilisation(x *subject) []hit {
	total, ok := x.get("total_tps")
	ceiling := x.hw.rate()
	if computed, ok := x.get("computed_tps"); ok {
		total = computed
	} else if v, ok := x.all("cached_tokens", "input_tokens", "output_tokens"); ok && v[1]+v[2] > 0 {
		total *= 1 - v[0]/(v[1]+v[2])
	}
	if !ok || ceiling <= 0 || total <= 0.6*ceiling {
		return nil
	}
	h := hit{evidence: fmt.Sprintf("%s computed tokens per second of at most %s = %s: %s", num(total), num(ceiling), x.hw.rateFormula(), percent(total/ceiling))}
	if total > ceiling && !x.maybeCached() {
		h.severity = core.SeverityHard
	}
	return []hit{h}
}

// maybeCached reports whether prompt tokens may have come from a prefix cache that
// the trial does not count.
func (x *subject) maybeCached() bool {
	if _, counted := x.get("cached_tokens"); counted {
		return false
	}
	knobs := x.t.Setup.Config.Knobs
	off := func(name string, is bool) bool {
		v := knobs[name]
		return v.Kind == core.KindBool && v.True() == is
	}
	return !off("enable_prefix_caching", false) && !off("disable_radix_cache", true)
}

func checkPrefill(x *subject) []hit {
	prompt, ok := x.get("mean_input_len")
	rate := x.hw.rate()
	if !ok || rate <= 0 {
		return nil
	}
	if share, known := x.cachedShare(); known {
		prompt *= 1 - min(1, max(0, share))
	}
	floor := 1000 * prompt / rate
	var hits []hit
	for _, field := range []string{"mean_ttft_ms", "median_ttft_ms"} {
		v, ok := x.get(field)
		if !ok || v+x.half >= floor {
			continue
		}
		h := hit{metrics: []string{field}, evidence: fmt.Sprintf("%s %s, floor %s ms = %s prompt tokens / (%s)", field, num(v), num(floor), num(prompt), x.hw.rateFormula())}
		if v > 0 && x.maybeCached() {
			h.severity = core.SeverityNote
		}
		hits = append(hits, h)
	}
	return hits
}
