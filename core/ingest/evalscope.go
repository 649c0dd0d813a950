package ingest

import (
	"math"
	"strings"
)

// evalscope perf writes a folder a point: benchmark_summary.json, with the
// percentiles, the arguments and a SQLite file of the requests (evalscope_db.go)
// beside it.

// evalscopeKeys are the labels of the summary: those since May 2026 and those
// before, with the figure and what makes it of their unit.
var evalscopeKeys = map[string]place{
	"Test Duration (s)": {name: "duration_s"}, "Time taken for tests (s)": {name: "duration_s"},
	"Success Requests": {name: "completed"}, "Succeed requests": {name: "completed"},
	"Failed Requests": {name: "failed"}, "Failed requests": {name: "failed"},
	"Req Throughput (req/s)": {name: "rps"}, "Request throughput (req/s)": {name: "rps"},
	"Output Throughput (tok/s)": {name: "output_tps"}, "Output token throughput (tok/s)": {name: "output_tps"},
	"Total Throughput (tok/s)": {name: "total_tps"}, "Total token throughput (tok/s)": {name: "total_tps"},
	"Avg Latency (s)": {name: "mean_e2el_ms", scale: 1000}, "Average latency (s)": {name: "mean_e2el_ms", scale: 1000},
	"Avg TTFT (ms)": {name: "mean_ttft_ms"}, "Average time to first token (s)": {name: "mean_ttft_ms", scale: 1000},
	"Avg TPOT (ms)": {name: "mean_tpot_ms"}, "Average time per output token (s)": {name: "mean_tpot_ms", scale: 1000},
	"Avg ITL (ms)": {name: "mean_itl_ms"}, "Average inter-token latency (s)": {name: "mean_itl_ms", scale: 1000},
	"KV Cache Hit Rate (%)": {name: "prefix_hit_rate", scale: 0.01},
}

func isEvalscope(o *object) bool {
	return o.has("Test Duration (s)") && o.has("Success Requests") || o.has("Time taken for tests (s)") && o.has("Succeed requests")
}

func readEvalscope(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("evalscope-json", "evalscope", o.line)
	for _, key := range o.keys {
		if p, ok := evalscopeKeys[key]; ok {
			if p.name == "prefix_hit_rate" && o.vals[key] == 0.0 {
				continue // also where the server said nothing of its cache
			}
			p.kind = toFigure
			d.put(p, key, o.vals[key])
		}
	}
	n := d.t.Figures["completed"]
	for _, m := range []renamed{{"Avg Input Tokens", "input_tokens"}, {"Average input tokens per request", "input_tokens"},
		{"Avg Output Tokens", "output_tokens"}, {"Average output tokens per request", "output_tokens"}} {
		mean, ok := number(o.vals[m.theirs])
		d.made(m.ours, math.Round(mean*n), ok && n > 0)
	}
	d.setting("concurrency", firstSet(o.vals["Concurrency"], o.vals["Number of concurrency"]))
	d.setting("num_prompts", firstSet(o.vals["Total Requests"], o.vals["Total requests"]))
	d.evalscopeRate(firstSet(o.vals["Request Rate (req/s)"], o.vals["Request rate (req/s)"]))
	r.in.siblingObjects("benchmark_percentile.json", d.evalscopePercentile)
	r.in.siblingObjects("benchmark_args.json", d.evalscopeArgs)
	d.evalscopeSamples(r.in)
	d.add(r.out, shortRaw(o))
}

// evalscopeRate: -1 is no rate, all at once as far as the limit allows.
func (d *draft) evalscopeRate(v any) {
	rate, ok := number(v)
	switch {
	case !ok:
	case rate <= 0:
		d.setting("request_rate", math.Inf(1))
	default:
		d.setting("request_rate", rate)
	}
}

// evalscopePercentile takes a row of the table of percentiles, "99%", "min" or
// "max". They are of sorted values, without interpolation.
func (d *draft) evalscopePercentile(o *object) {
	stat := o.text("Percentiles")
	if q, ok := strings.CutSuffix(stat, "%"); ok {
		stat = "p" + q
	}
	for _, m := range []renamed{{"TTFT", "ttft"}, {"TPOT", "tpot"}, {"ITL", "itl"}, {"Latency", "e2el"}} {
		for unit, scale := range map[string]float64{" (ms)": 1, " (s)": 1000} {
			if v := o.vals[m.theirs+unit]; v != nil {
				row := &object{}
				row.set(stat, v)
				d.stats(row, m.ours, scale)
			}
		}
	}
}

// evalscopeArgs takes what was asked; no key and no header of it.
func (d *draft) evalscopeArgs(o *object) {
	d.bench = maskSecrets(clip(text(o.vals["model"]), 400))
	d.setting("dataset", o.vals["dataset"])
	d.setting("seed", o.vals["seed"])
	only := func(low, high string) any {
		a, okA := number(o.vals[low])
		b, okB := number(o.vals[high])
		if okA && okB && a == b {
			return b
		}
		return nil // lengths that vary
	}
	if o.text("dataset") == "random" {
		d.lengths(only("min_prompt_length", "max_prompt_length"), nil)
	}
	d.lengths(nil, only("min_tokens", "max_tokens"))
	if v, ok := o.sub("extra_args").vals["ignore_eos"]; ok {
		d.setting("ignore_eos", v)
	}
}

// isEvalscopeBeside: the files beside a summary, no results of their own.
func isEvalscopeBeside(o *object) bool {
	return o.has("Percentiles") && o.has("Latency (s)") || o.has("min_prompt_length") && o.has("parallel")
}

func skipEvalscopeBeside(r *objectReader, _ *object) {
	if r.heldBy("benchmark_summary.json") {
		return
	}
	r.passOver(1)
}
