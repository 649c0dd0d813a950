package ingest

import (
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isGuidellmReport: guidellm's benchmarks.json, of version 0.4 or later.
func isGuidellmReport(o *object) bool {
	list, ok := o.vals["benchmarks"].([]any)
	if !ok || len(list) == 0 {
		return false
	}
	first, ok := list[0].(*object)
	return ok && first.sub("metrics").has("request_totals")
}

// readGuidellmReport makes a trial of each benchmark of a report. Figures are
// those of successful requests. guidellm's time per output token has the first
// token in it and is kept apart; its mean inter-token latency is over all tokens.
func readGuidellmReport(r *objectReader, o *object) {
	list, _ := o.vals["benchmarks"].([]any)
	for _, item := range list {
		r.out.begin()
		b, ok := item.(*object)
		if !ok {
			b = &object{line: o.line}
		}
		if len(b.sub("metrics").keys) == 0 {
			r.out.fail(b.line, "benchmark without metrics")
			continue
		}
		d := newDraft("guidellm-json", "guidellm", b.line)
		d.t.Setup.ToolVersion = o.sub("metadata").text("guidellm_version")
		d.guidellm(o, b)
		d.add(r.out, shortRaw(b))
	}
}

func (d *draft) guidellm(report, b *object) {
	t, metrics := d.t, b.sub("metrics")
	totals := metrics.sub("request_totals")
	for key, name := range map[string]string{"successful": "completed", "errored": "failed", "incomplete": "incomplete"} {
		d.put(place{kind: toFigure, name: name}, key, totals.vals[key])
	}
	d.put(place{kind: toFigure, name: "duration_s"}, "duration", b.vals["duration"])
	for _, rate := range []struct{ key, name string }{
		{"requests_per_second", "rps"}, {"output_tokens_per_second", "output_tps"}, {"prompt_tokens_per_second", "input_tps"},
		{"tokens_per_second", "total_tps"}, {"request_concurrency", "mean_concurrency"},
	} {
		d.put(place{kind: toFigure, name: rate.name}, rate.key, metrics.sub(rate.key).sub("successful").vals["mean"])
	}
	for _, count := range []struct{ key, name string }{{"prompt_token_count", "input_tokens"}, {"output_token_count", "output_tokens"}} {
		d.put(place{kind: toFigure, name: count.name}, count.key, metrics.sub(count.key).sub("successful").vals["total_sum"])
	}
	d.distribution(metrics.sub("time_to_first_token_ms"), "ttft", 1)
	d.distribution(metrics.sub("inter_token_latency_ms"), "itl", 1)
	d.distribution(metrics.sub("request_latency"), "e2el", 1000)
	if v, ok := number(metrics.sub("time_per_output_token_ms").sub("successful").vals["mean"]); ok && t.Figures["completed"] > 0 {
		d.extra("mean_tpot_incl_first_ms", core.Number(v))
	}
	config := b.sub("config")
	strategy := config.sub("strategy")
	d.strategy(strategy)
	d.bench = firstOf(config.sub("backend").text("model"), report.sub("args").text("model"))
	if n, ok := number(config.sub("constraints").vals["max_requests"]); ok {
		t.Load.NumPrompts = core.Number(n)
	}
	if data, ok := report.sub("args").vals["data"].([]any); ok && len(data) == 1 {
		a := &ask{}
		a.guidellmData(text(data[0]))
		a.finishCommand()
		t.Workload = a.workload
	}
}

// strategy says how requests were sent: one after the other, at a limit, at a
// rate, or all at once.
func (d *draft) strategy(s *object) {
	kind, l := s.text("type_"), &d.t.Load
	d.t.Option = clip(kind, 100)
	switch kind {
	case "synchronous":
		l.Concurrency, l.RequestRate = core.Number(1), core.Unlimited()
	case "concurrent":
		d.setting("concurrency", s.vals["streams"])
		l.RequestRate = core.Unlimited()
	case "throughput":
		l.Concurrency, l.RequestRate = core.Unlimited(), core.Unlimited()
		if s.vals["max_concurrency"] != nil {
			d.setting("concurrency", s.vals["max_concurrency"])
		}
	case "constant", "poisson":
		d.setting("request_rate", s.vals["rate"])
		l.Concurrency = core.Unlimited()
		if s.vals["max_concurrency"] != nil {
			d.setting("concurrency", s.vals["max_concurrency"])
		}
		if kind == "poisson" {
			l.Burstiness = core.Number(1)
		}
	}
}

// distribution takes the statistics of the successful requests.
func (d *draft) distribution(metric *object, latency string, scale float64) {
	s := metric.sub("successful")
	take := func(stat string, v any) {
		if f, ok := number(v); ok && !math.IsNaN(f) {
			d.put(place{kind: toFigure, name: core.LatencyName(stat, latency), scale: scale}, stat, f)
		}
	}
	for _, stat := range []struct{ key, name string }{{"mean", "mean"}, {"median", "median"}, {"std_dev", "std"}, {"min", "min"}, {"max", "max"}} {
		take(stat.name, s.vals[stat.key])
	}
	percentiles := s.sub("percentiles")
	for _, key := range percentiles.keys {
		switch key {
		case "p50":
		case "p001": // a thousandth
			take("p0.1", percentiles.vals[key])
		case "p999":
			take("p99.9", percentiles.vals[key])
		default:
			if digits, ok := strings.CutPrefix(key, "p"); ok && len(digits) == 2 && isDigits(digits) {
				take("p"+strings.TrimLeft(digits, "0"), percentiles.vals[key])
			}
		}
	}
}
