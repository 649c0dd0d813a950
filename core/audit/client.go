package audit

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// What of the ruler's word about itself says that it was the limit.
const (
	busyClient = 0.9  // of the CPUs that it may use
	lateClient = 0.05 // of the median latency, from when a request could be sent until it was
)

func clientRules() []Rule {
	return []Rule{
		{
			ID: "C8", Version: 1, Severity: core.SeverityNote, Metrics: []string{"…_itl_ms", "rps", "output_tps", "total_tps"},
			Title: "the client was the limit",
			Doc: "By the ruler's own measure. Bytes waited for it at p99 (extra.client_read_lag_p99_ms) for longer than a mean gap: what waits " +
				"together carries one date, so that gaps blur. Requests left at p99 (extra.client_lag_p99_ms) later than they could by more than 5 % of " +
				"the median latency: the load was not the one that was asked for. Or it used more than 90 % of the CPUs that it may use " +
				"(extra.client_cpu_share). A machine that did other work at the same time is such a limit, too.",
			check: checkClient,
		},
	}
}

func checkClient(x *subject) []hit {
	own := func(name string) (float64, bool) {
		v := x.t.Extra[name]
		return v.Num, v.Kind == core.KindNumber
	}
	var hits []hit
	wait, ok := own("client_read_lag_p99_ms")
	if gap, known := x.get("mean_itl_ms"); ok && known && gap > 0 && wait > gap {
		hits = append(hits, hit{metrics: []string{"…_itl_ms"}, evidence: fmt.Sprintf("bytes waited %s ms at p99 to be read, mean_itl_ms %s", num(wait), num(gap))})
	}
	lag, ok := own("client_lag_p99_ms")
	if latency, known := x.get("median_e2el_ms"); ok && known && lag > lateClient*latency {
		hits = append(hits, hit{metrics: []string{"rps", "output_tps", "total_tps"}, evidence: fmt.Sprintf("requests left %s ms late at p99, median_e2el_ms %s", num(lag), num(latency))})
	}
	if share, ok := own("client_cpu_share"); ok && share > busyClient {
		hits = append(hits, hit{evidence: fmt.Sprintf("the client used %s of its CPUs", num(share))})
	}
	return hits
}
