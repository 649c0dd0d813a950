package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

func candidateRules() []Rule {
	return []Rule{
		{
			ID: "C1", Version: 1, Severity: core.SeverityVoid, Metrics: []string{"*"},
			Title: "requests failed",
			Doc: "success_rate below 1. A server that refuses requests looks fast, because only what it finished is counted and timed. A note " +
				"where 95 % or more succeeded, which cannot change a conclusion by more than that share.",
			check: func(x *subject) []hit {
				rate, ok := x.get("success_rate")
				if !ok || rate >= 1 {
					return nil
				}
				h := hit{evidence: fmt.Sprintf("completed %s of %s requested: %s", num(x.f["completed"]), num(x.f["requested"]), percent(rate))}
				if rate >= 0.95 {
					h.severity = core.SeverityNote
				}
				return []hit{h}
			},
		},
		{
			ID: "C2", Version: 1, Severity: core.SeverityVoid, Metrics: []string{"*"},
			Title: "the survivors were other prompts",
			Doc: "The mean prompt of the completed requests is more than 5 % from the median of the trials that were asked the same (at least " +
				"three), and some requests failed or it is not known that none did: what survived was not the workload.",
			check: func(x *subject) []hit {
				mean, ok := x.get("mean_input_len")
				rate, known := x.get("success_rate")
				usual, n := x.study.usualInput(x.keys.asked)
				if !ok || n < 3 || known && rate >= 1 || math.Abs(mean-usual) <= 0.05*usual {
					return nil
				}
				return one(fmt.Sprintf("mean_input_len %s, %s is usual among the %d trials of this workload", num(mean), num(usual), n))
			},
		},
		{
			ID: "D9", Version: 1, Severity: core.SeverityNote, Metrics: []string{"success_rate"},
			Title: "requests asked for are not known",
			Doc:   "Neither the tool, nor a command, nor a profile says how many requests were sent, so that success_rate is missing, not 1.",
			check: func(x *subject) []hit {
				completed, ok := x.get("completed")
				if _, known := x.asked(); !ok || known {
					return nil
				}
				return one("completed " + num(completed) + ", requested unknown")
			},
		},
		{
			ID: "E11", Version: 1, Severity: core.SeverityHard, Metrics: []string{"requested", "success_rate"},
			Title: "counts of requests contradict each other",
			Doc: "More completed than requested; completed + failed + incomplete unlike the requested count of the source; or the total of the progress bar unlike " +
				"the number that the command asked for. Where a person set the requested count, only more completed than that is a contradiction.",
			check: checkCounts,
		},
	}
}

func checkCounts(x *subject) []hit {
	completed, ok := x.get("completed")
	requested, ok2 := x.get("requested")
	if !ok || !ok2 {
		return nil
	}
	failed, told := x.get("failed")
	sum := completed + failed + x.f["incomplete"]
	prompts, known := finite(x.t.Load.NumPrompts)
	asserted := slices.Contains(x.t.Asserted, "requested")
	bar := x.t.Extra["progress_total"]
	switch {
	case completed > requested:
		return one(fmt.Sprintf("completed %s, requested %s", num(completed), num(requested)))
	case asserted:
		return nil
	case told && sum != requested:
		return one(fmt.Sprintf("completed %s + failed %s + incomplete %s = %s, requested %s",
			num(completed), num(failed), num(x.f["incomplete"]), num(sum), num(requested)))
	case known && prompts != requested && x.t.Load.DurationS.IsMissing():
		return one(fmt.Sprintf("num_prompts %s, requested %s", num(prompts), num(requested)))
	case known && bar.Kind == core.KindNumber && bar.Num != prompts:
		return one(fmt.Sprintf("num_prompts %s, progress bar of %s", num(prompts), num(bar.Num)))
	}
	return nil
}
