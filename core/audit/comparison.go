package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

func comparisonRules() []Rule {
	return []Rule{
		{
			ID: "F1", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_input_len", "input_tps", "total_tps", "…_ttft_ms"},
			Title: "engines were given different prompts",
			Doc: "The median mean_input_len of this engine's trials is more than 1 % from that of the engine with most trials of the same workload, " +
				"requests and seed: chat templates, tokenizers or counting differ, and total_tps pays for the tokens that one of them adds.",
			check: func(x *subject) []hit {
				usual := x.study.promptsOf(x.keys.asked, x.t.Setup.Config.Engine)
				if usual.other == "" || math.Abs(usual.mine-usual.theirs) <= 0.01*usual.theirs {
					return nil
				}
				return one(fmt.Sprintf("mean_input_len %s on %s, %s on %s: %s apart", num(usual.mine), x.t.Setup.Config.Engine, num(usual.theirs), usual.other,
					percent(math.Abs(usual.mine/usual.theirs-1))))
			},
		},
		{
			ID: "F2", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_output_len", "output_tps", "total_tps", "…_e2el_ms"},
			Title: "trials generated different amounts",
			Doc: "mean_output_len is more than 2 % from the median of the trials that were asked the same (of two trials: from the other's): they did " +
				"different work, so that a rate or a latency is not the same question.",
			check: func(x *subject) []hit {
				mine, ok := x.get("mean_output_len")
				usual, n := x.study.usualOutput(x.keys.asked, mine)
				if !ok || n < 2 || usual <= 0 || math.Abs(mine-usual) <= 0.02*usual {
					return nil
				}
				return one(fmt.Sprintf("mean_output_len %s, %s is usual among the %d trials asked the same: %s apart", num(mine), num(usual), n, percent(math.Abs(mine/usual-1))))
			},
		},
		{
			ID: "F3", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_output_len", "output_tps", "total_tps", "accept_len"},
			Title: "sampling differs",
			Doc: "Temperature, top-p, top-k, penalties or ignore_eos of this trial are stated, and unlike those that most trials of the same data set and " +
				"lengths state. Sampling moves answer lengths and the acceptance of drafts. Not stated is not compared.",
			check: func(x *subject) []hit {
				var hits []hit
				for _, name := range samplingNames {
					mine := sampling(x.t, name)
					usual, n := x.study.usualSampling(x.keys.question, name)
					if mine == "" || n < 2 || usual == mine {
						continue
					}
					hits = append(hits, hit{evidence: fmt.Sprintf("%s %s, %s is usual among the %d trials that state it", name, mine, usual, n)})
				}
				return hits
			},
		},
	}
}

// samplingNames are what decides which token is taken and when an answer ends.
var samplingNames = []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "ignore_eos"}

// sampling is a stated parameter of sampling, "" where none is stated.
func sampling(t *core.Trial, name string) string {
	if name == "ignore_eos" {
		return t.Workload.IgnoreEOS.String()
	}
	return t.Workload.Params[name].String()
}
