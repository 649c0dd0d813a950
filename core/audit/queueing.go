package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// fewInFlight is the concurrency up to which first tokens do not queue.
const fewInFlight = 16

func queueingRules() []Rule {
	return []Rule{
		{
			ID: "A16", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_e2el_ms", "est_e2el_ms"},
			Title: "more requests in flight than allowed",
			Doc: "Little's law: rps × mean latency more than 2 % above the concurrency limit. Where the latency is the estimate of TTFT and TPOT, " +
				"the estimate is too high, since TPOT is weighted by request.",
			check: func(x *subject) []hit {
				name := "mean_e2el_ms"
				latency, ok := x.get(name)
				if !ok {
					name = "est_e2el_ms"
					latency, ok = x.get(name)
				}
				rps, ok2 := x.get("rps")
				limit, ok3 := finite(x.t.Load.Concurrency)
				if !ok || !ok2 || !ok3 || rps*latency/1000 <= 1.02*limit {
					return nil
				}
				return []hit{{metrics: []string{name}, evidence: fmt.Sprintf("rps %s × %s %s = %s in flight, concurrency %s",
					num(rps), name, num(latency), num(rps*latency/1000), num(limit))}}
			},
		},
		{
			ID: "C3", Version: 1, Severity: core.SeverityNote, Metrics: []string{"rps", "output_tps", "total_tps"},
			Title: "bound by the arrivals",
			Doc: "A finite request rate, of which 90 % or more was served: the client, not the server, set the throughput, and no change of the " +
				"server can show in it.",
			check: func(x *subject) []hit {
				rate, ok := finite(x.t.Load.RequestRate)
				rps, ok2 := x.get("rps")
				if !ok || !ok2 || rate <= 0 || rps < 0.9*rate {
					return nil
				}
				return one(fmt.Sprintf("rps %s at an offered %s", num(rps), num(rate)))
			},
		},
		{
			ID: "C4h", Version: 1, Severity: core.SeverityHard, Metrics: []string{"duration_s"},
			Title: "the run ended before its last arrival",
			Doc: "duration_s < (requested-1)/request_rate although every request succeeded. Random arrivals of tools that do not rescale them may " +
				"end earlier, so that four standard deviations are left unless the arrivals are known to be even. That a late request ends " +
				"quickly is no sign of anything and not tested.",
			check: func(x *subject) []hit {
				rate, ok := finite(x.t.Load.RequestRate)
				v, ok2 := x.all("success_rate", "requested")
				duration, ok3 := x.printed("duration_s")
				if !ok || !ok2 || !ok3 || rate <= 0 || v[0] < 1 || v[1] < 2 {
					return nil
				}
				last := (v[1] - 1) / rate
				least := last
				if !x.t.Load.Burstiness.IsUnlimited() {
					least *= max(0, 1-4/math.Sqrt(v[1]))
				}
				if duration.hi >= least {
					return nil
				}
				return one(fmt.Sprintf("duration_s %s, the last of %s requests at %s/s is due at %s s", num(x.f["duration_s"]), num(v[1]), num(rate), num(last)))
			},
		},
		{
			ID: "C5", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_ttft_ms", "p95_ttft_ms", "p99_ttft_ms", "est_e2el_ms"},
			Title: "cold start inside the measurement",
			Doc: "With at most 16 requests in flight first tokens do not queue; p99_ttft above 5 × median_ttft then is compilation or an empty " +
				"cache at the first requests. Comparing such a trial with a warm one compares the start.",
			check: coldStart("p99_ttft_ms", 5),
		},
		{
			ID: "C6", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_ttft_ms", "est_e2el_ms", "total_tps"},
			Title: "cold start weighs on the means",
			Doc:   "As C5 with mean_ttft above 2 × median_ttft: enough to move the throughput as well.",
			check: coldStart("mean_ttft_ms", 2),
		},
		{
			ID: "C7", Version: 1, Severity: core.SeverityInfo, Metrics: []string{"…_ttft_ms"},
			Title: "TTFT is queueing time",
			Doc:   "p99_ttft above 70 % of the duration: everything was sent at once. Nothing is wrong, but TTFT says how long the queue was.",
			check: func(x *subject) []hit {
				v, ok := x.all("p99_ttft_ms", "duration_s")
				if !ok || v[0] <= 700*v[1] {
					return nil
				}
				return one(fmt.Sprintf("p99_ttft_ms %s in a run of %s s", num(v[0]), num(v[1])))
			},
		},
		{
			ID: "E3", Version: 1, Severity: core.SeverityNote, Metrics: []string{"…_ttft_ms", "…_e2el_ms"},
			Title: "unstable queue",
			Doc: "A finite request rate, and a run that took longer than sending (requests/rate) and one mean latency together, by more than a tenth: " +
				"the server fell behind, the queue grew as long as requests arrived, and every latency depends on how long that was.",
			check: func(x *subject) []hit {
				rate, ok := finite(x.t.Load.RequestRate)
				v, ok2 := x.all("completed", "duration_s", "success_rate")
				latency, ok3 := x.get("mean_e2el_ms")
				if !ok3 {
					latency, ok3 = x.get("est_e2el_ms")
				}
				if !ok || !ok2 || !ok3 || rate <= 0 || v[2] < 1 {
					return nil
				}
				sending := v[0] / rate
				if v[1]-sending-latency/1000 <= 0.1*v[1] {
					return nil
				}
				return one(fmt.Sprintf("sending %s requests at %s/s takes %s s and an answer %s s, the run took %s s",
					num(v[0]), num(rate), num(sending), num(latency/1000), num(v[1])))
			},
		},
	}
}

func coldStart(name string, factor float64) func(*subject) []hit {
	return func(x *subject) []hit {
		limit, ok := x.limit()
		v, ok2 := x.all(name, "median_ttft_ms")
		if !ok || !ok2 || limit > fewInFlight || v[1] <= 0 || v[0] <= factor*v[1] {
			return nil
		}
		return one(fmt.Sprintf("%s %s is %s median_ttft_ms %s, %s in flight", name, num(v[0]), times(v[0]/v[1]), num(v[1]), num(limit)))
	}
}
