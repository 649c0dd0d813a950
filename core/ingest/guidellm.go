package ingest

import (
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isGuidellmReport: guidellm's benchmarks.json of version 0.2 or later. The totals
// of a benchmark stand in its metrics since 0.5, before in the benchmark itself or,
// in 0.4, in the state of the scheduler.
func isGuidellmReport(o *object) bool {
	list, ok := o.vals["benchmarks"].([]any)
	if !ok || len(list) == 0 {
		return false
	}
	first, ok := list[0].(*object)
	if !ok {
		return false
	}
	return first.sub("metrics").has("request_totals") || first.text("type_") == "generative_benchmark" || first.has("run_stats") && first.has("request_totals")
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
		d.guidellmRequests(b)
		d.add(r.out, shortRaw(b))
	}
}

func (d *draft) guidellm(report, b *object) {
	t, metrics := d.t, b.sub("metrics")
	totals := metrics.sub("request_totals")
	for _, older := range []*object{b.sub("request_totals"), b.sub("scheduler_metrics").sub("requests_made"), b.sub("run_stats").sub("requests_made")} {
		if len(totals.keys) == 0 {
			totals = older
		}
	}
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
	d.meanGap(guidellmStats(metrics.sub("inter_token_latency_ms")), 1)
	d.distribution(metrics.sub("request_latency"), "e2el", 1000)
	// Of the older versions the same name is the span from the first token to the
	// last, divided by all tokens: yet another quantity.
	name := "mean_tpot_incl_first_ms"
	if b.has("run_stats") {
		name = "mean_span_per_token_ms"
	}
	if v, ok := number(metrics.sub("time_per_output_token_ms").sub("successful").vals["mean"]); ok && t.Figures["completed"] > 0 {
		d.extra(name, core.Number(v))
	}
	config, args := b.sub("config"), b.sub("args")
	strategy := config.sub("strategy")
	if len(strategy.keys) == 0 {
		strategy = args.sub("strategy")
	}
	d.strategy(strategy)
	d.bench = firstOf(config.sub("backend").text("model"), report.sub("args").text("model"), report.sub("config").sub("spec").sub("backend").text("model"),
		b.sub("worker").text("backend_model"))
	d.guidellmLimit(config.sub("constraints"), args)
	for _, data := range []any{report.sub("args").vals["data"], b.sub("request_loader").vals["data"]} {
		if list, ok := data.([]any); ok && len(list) == 1 {
			data = list[0]
		}
		if s, ok := data.(string); ok && t.Workload.InputLen.IsMissing() {
			a := &ask{}
			a.guidellmData(strings.Trim(s, "[]'"))
			a.finishCommand()
			t.Workload = a.workload
		}
	}
	d.guidellmSpec(report.sub("config").sub("spec"))
}

// guidellmLimit takes the number of requests that ends a benchmark: a number in
// 0.4 to 0.6, the argument of a constraint in later versions, of the benchmark
// before.
func (d *draft) guidellmLimit(constraints, args *object) {
	n := firstSet(constraints.vals["max_requests"], constraints.vals["max_number"], args.vals["max_number"])
	if o, ok := n.(*object); ok {
		n = firstSet(o.sub("args").vals["count"], o.vals["count"], o.vals["max_num"])
	}
	if f, ok := number(n); ok {
		d.t.Load.NumPrompts = core.Number(f)
	}
}

// guidellmSpec takes the data of a scenario, as 0.7 and later write it.
func (d *draft) guidellmSpec(spec *object) {
	list, _ := spec.vals["data"].([]any)
	if len(list) != 1 || d.t.Workload.Dataset != "" {
		return
	}
	data, ok := list[0].(*object)
	if !ok {
		return
	}
	d.setting("dataset", data.text("kind"))
	d.lengths(data.vals["prompt_tokens"], data.vals["output_tokens"])
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

// distribution takes the statistics of one latency over successful requests.
func (d *draft) distribution(metric *object, latency string, scale float64) {
	d.stats(guidellmStats(metric), latency, scale)
}

// guidellmStats gives the statistics of successful requests the usual names.
func guidellmStats(metric *object) *object {
	s, plain := metric.sub("successful"), &object{}
	for _, key := range []string{"mean", "median", "std_dev", "min", "max"} {
		plain.set(key, s.vals[key])
	}
	percentiles := s.sub("percentiles")
	for _, key := range percentiles.keys {
		switch key {
		case "p50":
		case "p001": // a thousandth
			plain.set("p0.1", percentiles.vals[key])
		case "p999":
			plain.set("p99.9", percentiles.vals[key])
		default:
			if digits, ok := strings.CutPrefix(key, "p"); ok && len(digits) == 2 && isDigits(digits) {
				plain.set("p"+strings.TrimLeft(digits, "0"), percentiles.vals[key])
			}
		}
	}
	return plain
}

// meanGap takes guidellm's inter-token latency. Each request has one, the mean of
// its gaps, and counts by its gaps: the mean of all is the mean gap, as vllm bench
// has it, but a percentile is of requests and not of gaps. Those are no itl.
func (d *draft) meanGap(block *object, scale float64) {
	mean := &object{}
	mean.set("mean", block.vals["mean"])
	d.stats(mean, "itl", scale)
	for _, key := range block.keys {
		stat := firstOf(statNames[key], strings.ReplaceAll(key, ".", "_"))
		if stat == "p50" {
			stat = "median"
		}
		if f, ok := number(block.vals[key]); ok && key != "mean" && (statNames[key] != "" || percentileKey.MatchString(key)) {
			d.extra(stat+"_itl_of_requests_ms", core.Number(f*scale))
		}
	}
}
