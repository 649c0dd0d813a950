package audit

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

func peakRules() []Rule {
	return []Rule{
		{
			ID: "A7", Version: 1, Severity: core.SeverityHard, Metrics: []string{"peak_output_tps"},
			Title: "peak output rate below the mean",
			Doc: "peak_output_tps < output_tps. Tools count chunks of the stream in each second, not tokens, and under speculative decoding a " +
				"chunk holds several. The throughput itself is not touched.",
			check: func(x *subject) []hit {
				peak, ok := x.printed("peak_output_tps")
				mean, ok2 := x.printed("output_tps")
				if !ok || !ok2 || peak.hi >= mean.lo {
					return nil
				}
				return one(fmt.Sprintf("peak_output_tps %s, output_tps %s", num(x.f["peak_output_tps"]), num(x.f["output_tps"])))
			},
		},
		{
			ID: "A8", Version: 1, Severity: core.SeverityInfo, Metrics: []string{"peak_concurrency"},
			Title: "observed peak above the concurrency limit",
			Doc: "peak_concurrency > concurrency. Tools count requests in whole seconds, so that one which ends and one which begins overlap; it is " +
				"never an overrun. Said once a study, on its first such trial.",
			check: func(x *subject) []hit {
				a8 := x.study.overLimit
				if a8.hits == 0 || a8.first != x.keys.record {
					return nil
				}
				return one(fmt.Sprintf("peak_concurrency %s, concurrency %s; so in %d of %d trials of the study",
					num(x.f["peak_concurrency"]), x.t.Load.Concurrency, a8.hits, a8.of))
			},
		},
	}
}

// overLimit reports whether a trial's observed peak is above its limit.
func overLimit(t *core.Trial) (over, applies bool) {
	peak, ok := t.Figures["peak_concurrency"]
	limit, ok2 := finite(t.Load.Concurrency)
	return peak > limit, ok && ok2
}
