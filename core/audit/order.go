package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

func orderRules() []Rule {
	return []Rule{
		{
			ID: "A5", Version: 1, Severity: core.SeverityHard,
			Metrics: []string{"…_ttft_ms", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			Title:   "percentiles out of order",
			Doc: "Minimum, percentiles and maximum of one latency must not fall as the level rises, and its mean lies between minimum and " +
				"maximum. A finding touches the two figures that contradict each other.",
			check: checkOrder,
		},
		{
			ID: "A6", Version: 1, Severity: core.SeverityInfo,
			Metrics: []string{"mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms", "mean_e2el_ms"},
			Title:   "mean above the 99th percentile",
			Doc: "Possible where fewer than 1 % of the values are huge, which for gaps between tokens is common, so that this asks a " +
				"question and condemns nothing.",
			check: func(x *subject) []hit {
				var hits []hit
				for _, latency := range latencyNames {
					mean, ok := x.statistic(latency, "mean")
					p99, ok2 := x.statistic(latency, "p99")
					if ok && ok2 && above(mean.value, p99.value, 2*x.half) {
						hits = append(hits, hit{metrics: []string{mean.field}, evidence: versus(mean, p99)})
					}
				}
				return hits
			},
		},
		{
			ID: "A17", Version: 1, Severity: core.SeverityHard,
			Metrics: []string{"p99_ttft_ms", "p99_e2el_ms", "mean_e2el_ms"},
			Title:   "latency longer than the whole run",
			Doc:     "No request can have waited or lasted longer than the measured duration.",
			check: func(x *subject) []hit {
				duration, ok := x.printed("duration_s")
				if !ok || duration.lo <= 0 {
					return nil
				}
				var hits []hit
				for _, name := range []string{"p99_ttft_ms", "p99_e2el_ms", "mean_e2el_ms"} {
					v, ok := x.printed(name)
					// One part in a thousand is left for tools with two timers.
					if ok && v.lo > 1000*duration.hi*1.001 {
						hits = append(hits, hit{metrics: []string{name}, evidence: fmt.Sprintf("%s %s, duration_s %s", name, num(x.f[name]), num(x.f["duration_s"]))})
					}
				}
				return hits
			},
		},
		{
			ID: "E10", Version: 1, Severity: core.SeverityHard,
			Metrics: []string{"…_ttft_ms", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			Title:   "negative or inverted latency",
			Doc: "A latency below 0, or a statistic of the time to first token above the same statistic of the whole latency: each " +
				"request's first token comes before its last, so means and percentiles are ordered too. Clocks were mixed or stamps lost. " +
				"Also the client's own count of such requests (extra.invalid_requests) above 0, which touches every latency.",
			check: checkNegative,
		},
	}
}

// above reports whether a is more than b by more than a tolerance and what sums and
// interpolations of equal floats may differ by.
func above(a, b, tolerance float64) bool { return a > b+tolerance+1e-9*math.Abs(b) }

func versus(a, b stat) string {
	return fmt.Sprintf("%s %s, %s %s", a.field, num(a.value), b.field, num(b.value))
}

func checkOrder(x *subject) []hit {
	var hits []hit
	report := func(a, b stat) {
		hits = append(hits, hit{metrics: []string{a.field, b.field}, evidence: versus(a, b)})
	}
	for _, latency := range latencyNames {
		var before, lowest, highest *stat
		for i := range x.stats[latency] {
			s := &x.stats[latency][i]
			switch {
			case s.name == "mean" && lowest != nil && above(lowest.value, s.value, 2*x.half):
				report(*lowest, *s)
			case s.name == "mean" && highest != nil && above(s.value, highest.value, 2*x.half):
				report(*s, *highest)
			case math.IsNaN(s.level):
			default:
				// Printed figures are rounded alike, so that order survives rounding.
				if before != nil && above(before.value, s.value, 0) {
					report(*before, *s)
				}
				before = s
				if s.level == 0 {
					lowest = s
				}
				if s.level == 100 {
					highest = s
				}
			}
		}
	}
	return hits
}

func checkNegative(x *subject) []hit {
	var hits []hit
	for _, latency := range latencyNames {
		for _, s := range x.stats[latency] {
			if s.value < 0 {
				hits = append(hits, hit{metrics: []string{s.field}, evidence: fmt.Sprintf("%s is %s", s.field, num(s.value))})
			}
		}
	}
	tolerance := x.half + x.halfE2EL()
	for _, first := range x.stats["ttft"] {
		whole, ok := x.statistic("e2el", first.name)
		if ok && first.name != "std" && above(first.value, whole.value, tolerance) {
			hits = append(hits, hit{metrics: []string{first.field, whole.field}, evidence: versus(first, whole)})
		}
	}
	if n := x.t.Extra["invalid_requests"]; n.Kind == core.KindNumber && n.Num > 0 {
		hits = append(hits, hit{evidence: fmt.Sprintf("%s requests have a negative or inverted time", num(n.Num))})
	}
	return hits
}
