package ingest

import (
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// isLLMDReport: a benchmark report of llm-d of version 0.2, as JSON, which
// inference-perf writes as well.
func isLLMDReport(o *object) bool {
	return len(o.sub("results").sub("request_performance").sub("aggregate").keys) > 0 && o.has("version")
}

// readLLMDReport makes a trial of a report. Each statistic states its unit. What
// ran stands in the stack: the first inference engine of it is taken.
func readLLMDReport(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("llm-d-report", "llm-d-benchmark", o.line)
	d.extra("report_version", core.OptionalText(clip(text(o.vals["version"]), 20)))
	all := o.sub("results").sub("request_performance").sub("aggregate")
	for _, m := range []renamed{{"request_latency", "e2el"}, {"time_to_first_token", "ttft"}, {"time_per_output_token", "tpot"}, {"inter_token_latency", "itl"}} {
		d.reported(all.sub("latency").sub(m.theirs), m.ours)
	}
	ntpot := all.sub("latency").sub("normalized_time_per_output_token")
	if v, ok := number(ntpot.vals["mean"]); ok {
		d.extra("mean_tpot_incl_first_ms", core.Number(v*1000*perToken(ntpot.text("units"))))
	}
	for _, m := range []renamed{{"output_token_rate", "output_tps"}, {"input_token_rate", "input_tps"}, {"total_token_rate", "total_tps"}, {"request_rate", "rps"}} {
		d.figure(m.ours, all.sub("throughput").sub(m.theirs).vals["mean"])
	}
	requests := all.sub("requests")
	total, okTotal := number(requests.vals["total"])
	failed, okFailed := number(requests.vals["failures"])
	d.figure("failed", requests.vals["failures"])
	d.made("completed", total-failed, okTotal && okFailed && total >= failed)
	for _, m := range []renamed{{"input_length", "input_tokens"}, {"output_length", "output_tokens"}} {
		mean, ok := number(requests.sub(m.theirs).vals["mean"])
		d.made(m.ours, math.Round(mean*(total-failed)), ok && total > failed)
	}
	d.llmdStack(o.sub("scenario"))
	d.add(r.out, shortRaw(o))
}

// reported takes the statistics of a latency by the unit they state.
func (d *draft) reported(block *object, latency string) {
	plain := &object{}
	for _, key := range block.keys {
		switch key {
		case "p0p1":
			plain.set("p0.1", block.vals[key])
		case "p99p9":
			plain.set("p99.9", block.vals[key])
		default:
			plain.set(key, block.vals[key])
		}
	}
	d.stats(plain, latency, 1000*perToken(block.text("units")))
}

// perToken gives the seconds of "s", "ms", "s/token", "ms/token".
func perToken(units string) float64 {
	if len(units) > 2 && units[:2] == "ms" || units == "ms" {
		return 1e-3
	}
	if len(units) > 1 && units[:2] == "us" {
		return 1e-6
	}
	return 1
}

// llmdStack takes engine, model and accelerator of the first engine of the stack,
// and what the load says of itself.
func (d *draft) llmdStack(scenario *object) {
	stack, _ := scenario.vals["stack"].([]any)
	for _, item := range stack {
		part, ok := item.(*object)
		if !ok {
			continue
		}
		s := part.sub("standardized")
		if s.text("kind") != "inference_engine" && len(s.sub("accelerator").keys) == 0 {
			continue
		}
		d.setting("engine", s.text("tool"))
		d.setting("engine_version", s.text("tool_version"))
		d.setting("gpu", s.sub("accelerator").text("model"))
		d.setting("gpus", s.sub("accelerator").vals["count"])
		parallelism := s.sub("accelerator").sub("parallelism")
		for _, name := range []string{"tp", "pp", "dp", "ep"} {
			if v, ok := scalarOf(parallelism.vals[name]); ok {
				d.knob(name, v)
			}
		}
		d.bench = firstOf(s.sub("model").text("name"), d.bench)
		break
	}
	load := scenario.sub("load").sub("standardized")
	d.setting("concurrency", load.vals["concurrency"])
	d.setting("request_rate", load.vals["rate_qps"])
	d.lengths(load.sub("input_seq_len").vals["value"], load.sub("output_seq_len").vals["value"])
	if tool := load.text("tool"); tool != "" {
		d.extra("load_tool", core.String(clip(tool, 60)))
	}
}
