package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

const (
	smallGap = 0.005 // a rate further than this from counts/duration is worth a note
	largeGap = 0.05  // and further than this changes conclusions
)

func arithmeticRules() []Rule {
	return []Rule{
		{
			ID: "A1", Version: 1, Severity: core.SeverityInfo, Metrics: []string{"rps"},
			Title: "request rate is not completed / duration",
			Doc: "rps against completed/duration_s, after the rounding of both. The gap is that of two timers in one tool and " +
				"invalidates nothing.",
			check: func(x *subject) []hit {
				want, ok := x.perSecond("completed")
				got, ok2 := x.printed("rps")
				if !ok || !ok2 || got.gap(want) <= 1e-6 {
					return nil
				}
				return one(fmt.Sprintf("rps %s, completed/duration_s %s", num(x.f["rps"]), num(x.f["completed"]/x.f["duration_s"])))
			},
		},
		rateRule("A2", core.SeverityNote, "output_tps", "output_tokens/duration_s", smallGap,
			"output rate is not output tokens / duration",
			"output_tps against output_tokens/duration_s: more than 0.5 % apart beyond rounding. Tools that divide by a "+
				"shorter window than the one they print (guidellm ends it at the last recorded token) do this. The order of trials "+
				"closer than the gap says nothing; duration_tps is not affected."),
		rateRule("A2x", core.SeverityVoid, "output_tps", "output_tokens/duration_s", largeGap,
			"output rate is far from output tokens / duration",
			"As A2 with more than 5 % (A2 then says so too): large enough to change which trial wins."),
		rateRule("A3", core.SeverityNote, "total_tps", "(input_tokens+output_tokens)/duration_s", smallGap,
			"total rate is not all tokens / duration",
			"total_tps against (input_tokens+output_tokens)/duration_s: more than 0.5 % apart beyond rounding. "+
				"duration_tps is the recomputed figure."),
		rateRule("A3x", core.SeverityVoid, "total_tps", "(input_tokens+output_tokens)/duration_s", largeGap,
			"total rate is far from all tokens / duration",
			"As A3 with more than 5 % (A3 then says so too): a headline that rests on it changes. A gain of +15.59 % was seen to be +9.97 % by duration, "+
				"one of +1.74 % none at all."),
		{
			ID: "A4", Version: 1, Severity: core.SeverityHard, Metrics: []string{"total_tps", "output_tps"},
			Title: "total and output rate contradict the token counts",
			Doc: "total_tps/output_tps against (input_tokens+output_tokens)/output_tokens, more than 0.1 % beyond rounding: both rates " +
				"share one window, so their ratio is that of the counts, whatever the window was.",
			check: func(x *subject) []hit {
				v, ok := x.all("total_tps", "output_tps", "input_tokens", "output_tokens")
				if !ok || v[1] <= 0 || v[3] <= 0 {
					return nil
				}
				want := exactly((v[2] + v[3]) / v[3])
				got := rounded(v[0], x.half).over(rounded(v[1], x.half))
				if got.gap(want) <= 0.001 {
					return nil
				}
				return one(fmt.Sprintf("total_tps/output_tps %s, the token counts give %s", num(v[0]/v[1]), num(want.lo)))
			},
		},
	}
}

// rateRule compares a token rate with the counts: more than above apart is a hit.
func rateRule(id string, severity core.Severity, metric, formula string, above float64, title, doc string) Rule {
	counts := []string{"output_tokens"}
	if metric == "total_tps" {
		counts = append(counts, "input_tokens")
	}
	return Rule{
		ID: id, Version: 1, Severity: severity, Metrics: []string{metric}, Title: title, Doc: doc,
		check: func(x *subject) []hit {
			want, ok := x.perSecond(counts...)
			got, ok2 := x.printed(metric)
			if !ok || !ok2 {
				return nil
			}
			if got.gap(want) <= above {
				return nil
			}
			printed, recomputed := x.f[metric], (want.lo+want.hi)/2
			return one(fmt.Sprintf("%s %s, %s %s: %s apart", metric, num(printed), formula, num(recomputed), percent(math.Abs(printed/recomputed-1))))
		},
	}
}

// perSecond is the sum of counts by the duration.
func (x *subject) perSecond(counts ...string) (interval, bool) {
	sum := 0.0
	for _, name := range counts {
		v, ok := x.f[name]
		if !ok {
			return interval{}, false
		}
		sum += v
	}
	duration, ok := x.printed("duration_s")
	if !ok || sum <= 0 || duration.lo <= 0 {
		return interval{}, false
	}
	return exactly(sum).over(duration), true
}
