package ingest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isAIPerfSummary: the summary of AIPerf or of GenAI-Perf, a block {unit, avg, …}
// for each metric.
func isAIPerfSummary(o *object) bool {
	return o.sub("request_throughput").has("avg") && o.sub("request_latency").has("unit") && (o.has("input_config") || o.has("aiperf_version"))
}

// readAIPerfSummary makes a trial of a summary and takes the single requests that
// stand beside it. What the tool calls inter-token latency is the time per output
// token; the gaps between chunks are its inter-chunk latency.
func readAIPerfSummary(r *objectReader, o *object) {
	r.out.begin()
	if phase := phaseFolder(r.in); phase != "" {
		r.out.leave(o.line, "phase "+phase+" of a run: the run's own summary counts")
		return
	}
	d := newDraft("aiperf-json", "genai-perf", o.line)
	if v := o.text("aiperf_version"); v != "" {
		d.t.Setup.Tool, d.t.Setup.ToolVersion = "aiperf", clip(v, 40)
	}
	d.aiperf(func(tag string) *object { return o.sub(tag) })
	d.aiperfConfig(o.sub("input_config"))
	d.aiperfRun(o)
	if name := aiperfRequestsOf(r.in.name); d.t.Setup.Tool == "aiperf" && name != "" {
		var run requests
		r.in.siblingObjects(name, func(o *object) {
			if s, counts := aiperfRequest(o); isAIPerfRequest(o) && counts {
				run.add(s)
			}
		})
		run.give(d, false)
	}
	d.add(r.out, shortRaw(o))
}

// aiperfRequestsOf names the file of single requests beside a summary.
func aiperfRequestsOf(name string) string {
	if stem, ok := strings.CutSuffix(name, "_aiperf.json"); ok {
		return stem + ".jsonl"
	}
	return ""
}

// phaseFolder names the phase that a summary is of, where the summary of the whole
// run stands two folders above: <run>/phases/warmup/<summary>.
func phaseFolder(in *input) string {
	phase := filepath.Dir(in.path)
	if !in.onDisk || filepath.Base(filepath.Dir(phase)) != "phases" {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(phase, "..", "..", in.name)); err != nil && filepath.Base(phase) != "warmup" {
		return ""
	}
	return filepath.Base(phase)
}

// aiperf takes the metrics; metric gives the block of one. Each block states its
// unit, which counts.
func (d *draft) aiperf(metric func(tag string) *object) {
	for _, m := range []renamed{{"time_to_first_token", "ttft"}, {"request_latency", "e2el"}, {"inter_token_latency", "tpot"}, {"inter_chunk_latency", "icl"}, {"credit_to_start_latency", "queue"}} {
		block := metric(m.theirs)
		d.stats(block, m.ours, 1000*secondsOf(block.text("unit"), 1e-3))
	}
	for _, m := range []renamed{
		{"request_throughput", "rps"}, {"request_count", "completed"}, {"error_request_count", "failed"}, {"output_token_throughput", "output_tps"},
		{"total_token_throughput", "total_tps"}, {"input_token_throughput", "input_tps"}, {"goodput", "goodput_rps"}, {"request_goodput", "goodput_rps"},
		{"total_isl", "input_tokens"}, {"total_osl", "output_tokens"}, {"effective_concurrency", "mean_concurrency"},
	} {
		d.figure(m.ours, metric(m.theirs).vals["avg"])
	}
	duration := metric("benchmark_duration")
	d.put(place{kind: toFigure, name: "duration_s", scale: secondsOf(duration.text("unit"), 1)}, "benchmark_duration", duration.vals["avg"])
	for _, m := range []renamed{{"time_to_second_token", "mean_second_token_ms"}, {"output_token_throughput_per_user", "user_tps"}, {"reasoning_token_count", "mean_reasoning_tokens"}} {
		d.extraNumber(m.ours, metric(m.theirs).vals["avg"])
	}
	d.aiperfCounts(metric)
	// The server's own counts, where it gave them: the tool counts with the
	// tokenizer that it was given.
	for _, count := range []renamed{{"total_usage_completion_tokens", "output_tokens"}, {"total_usage_prompt_tokens", "input_tokens"}} {
		if served, ok := number(metric(count.theirs).vals["avg"]); ok {
			d.served(count.ours, served)
		}
	}
	d.extraNumber("server_cached_tokens", metric("total_usage_prompt_cache_read_tokens").vals["avg"])
}

// served keeps the server's count of tokens beside the tool's, and tells where they
// differ: all figures per token follow the tool's.
func (d *draft) served(figure string, n float64) {
	d.extra("server_"+figure, core.Number(n))
	if own := d.t.Figures[figure]; n > 0 && math.Abs(own-n) > 0.02*n {
		d.warn("%s: the tool's tokenizer counts %v, the server %v (extra.server_%s): figures per token are the tool's", figure, own, n, figure)
	}
}

// aiperfCounts makes what GenAI-Perf does not write: totals and duration.
func (d *draft) aiperfCounts(metric func(tag string) *object) {
	f := d.t.Figures
	completed := f["completed"]
	for _, m := range []renamed{{"input_sequence_length", "input_tokens"}, {"output_sequence_length", "output_tokens"}} {
		mean, ok := number(metric(m.theirs).vals["avg"])
		d.made(m.ours, math.Round(mean*completed), ok && completed > 0)
	}
	rps := f["rps"]
	d.made("duration_s", completed/rps, completed > 0 && rps > 0)
}

// aiperfRun takes what a summary says of the run: times, errors, GPUs.
func (d *draft) aiperfRun(o *object) {
	t := d.t
	if start, zone, ok := moment(strings.SplitN(o.text("start_time"), ".", 2)[0]); ok {
		t.StartedAt, t.ZoneAssumed = start, !zone
	}
	if errors, ok := o.vals["error_summary"].([]any); ok && len(errors) > 0 {
		var parts []string
		for _, e := range errors[:min(len(errors), 5)] {
			if e, ok := e.(*object); ok {
				n, _ := number(e.vals["count"])
				details := e.sub("error_details")
				parts = append(parts, fmt.Sprintf("%s ×%v", oneLine(firstOf(details.text("type"), details.text("message"), "error")), n))
			}
		}
		d.extra("errors", core.OptionalText(strings.Join(parts, "; ")))
	}
	if _, given := t.Figures["failed"]; !given && t.Setup.Tool == "aiperf" && o.has("error_summary") && empty(o.vals["error_summary"]) {
		t.Figures.Set("failed", 0) // no errors, and the metric is written with some only
	}
	if o.vals["was_cancelled"] == true {
		d.extra("was_cancelled", core.Bool(true))
		d.warn("the run was cancelled before its end")
	}
	endpoints := o.sub("telemetry_data").sub("endpoints")
	seen := map[string]bool{}
	for _, name := range endpoints.keys {
		gpus := endpoints.sub(name).sub("gpus")
		for _, key := range gpus.keys {
			gpu := gpus.sub(key)
			seen[firstOf(gpu.text("gpu_uuid"), name+key)] = true
			d.setting("gpu", gpu.text("gpu_name"))
		}
	}
	if len(seen) > 0 {
		d.extra("gpus_watched", core.Number(float64(len(seen))))
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case []float64:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case *object:
		return len(v.keys) == 0
	}
	return v == nil
}
