package ingest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// inference-perf writes a folder a run: stage_N_lifecycle_metrics.json for each
// load, summary_lifecycle_metrics.json over all of them, and, where it was asked,
// per_request_lifecycle_metrics.json. A stage is a trial; the summary is one where
// no stage stands beside it.

const (
	inferencePerfRequests = "per_request_lifecycle_metrics.json"
	inferencePerfFirst    = "stage_0_lifecycle_metrics.json"
	inferencePerfSecond   = "stage_1_lifecycle_metrics.json"
)

func isInferencePerf(o *object) bool {
	return o.has("load_summary") && o.has("successes") && o.has("failures")
}

func readInferencePerf(r *objectReader, o *object) {
	r.out.begin()
	if r.in.name != inferencePerfFirst && strings.HasPrefix(r.in.name, "summary_") && r.in.hasSibling(inferencePerfFirst) {
		r.out.leave(o.line, "summary of all stages: the stages' own files count")
		return
	}
	d := newDraft("inference-perf-json", "inference-perf", o.line)
	d.inferencePerf(o)
	if m := stageFile.FindStringSubmatch(r.in.name); m != nil {
		d.t.Option = "stage " + m[1]
	}
	d.bench = r.in.configModel()
	var run requests
	r.in.siblingObjects(inferencePerfRequests, func(o *object) {
		if isInferencePerfRequest(o) {
			run.add(inferencePerfRequest(o))
		}
	})
	if r.in.hasSibling(inferencePerfSecond) && len(run.samples) > 0 && !run.ofStage(r.in, d) {
		d.warn("single requests left out: %s does not say which stage they are of, and the stages' counts and latencies do not either", inferencePerfRequests)
		run = requests{}
	}
	run.give(d, false)
	d.add(r.out, shortRaw(o))
}

// maxStages bounds the stages of one run.
const maxStages = 1000

// ofStage keeps the requests of the draft's stage. The file of all requests names no
// stage, but stages follow each other, so that the counts of their files divide the
// requests in the order of their start. It reports whether they do: all counts
// together are all requests, and the stage's mean latency is that of its part.
func (r *requests) ofStage(in *input, d *draft) bool {
	own := stageFile.FindStringSubmatch(in.name)
	if own == nil {
		return false
	}
	from, to, total := -1, -1, 0
	for stage := range maxStages {
		name := fmt.Sprintf("stage_%d_lifecycle_metrics.json", stage)
		if !in.hasSibling(name) {
			break
		}
		n := -1
		in.siblingObjects(name, func(o *object) {
			if v, ok := number(o.sub("load_summary").vals["count"]); ok && isInferencePerf(o) && v >= 0 && v < maxRequests {
				n = int(v)
			}
		})
		if n < 0 {
			return false
		}
		if fmt.Sprint(stage) == own[1] {
			from, to = total, total+n
		}
		total += n
	}
	if from < 0 || total != len(r.samples) || r.nowhere+r.over > 0 {
		return false
	}
	slices.SortStableFunc(r.samples, func(a, b core.Sample) int { return cmp.Compare(a.Sent, b.Sent) })
	r.samples = slices.Clone(r.samples[from:to])
	sum, n := 0.0, 0.0
	for i := range r.samples {
		s := &r.samples[i]
		s.Index = i
		if s.Outcome == core.OutcomeOK {
			sum, n = sum+float64(s.End-s.Sent)/1e6, n+1
		}
	}
	mean, known := d.t.Figures["mean_e2el_ms"]
	return n == d.t.Figures["completed"] && (n == 0 || known && math.Abs(sum/n-mean) <= 1e-4*mean)
}

var stageFile = regexp.MustCompile(`^stage_(\d+)_lifecycle_metrics\.json$`)

// inferencePerf takes the figures; times are in seconds. Its normalized time per
// output token has the first token in it.
func (d *draft) inferencePerf(o *object) {
	good, bad, load := o.sub("successes"), o.sub("failures"), o.sub("load_summary")
	latency, throughput := good.sub("latency"), good.sub("throughput")
	for _, m := range []renamed{{"request_latency", "e2el"}, {"time_to_first_token", "ttft"}, {"time_per_output_token", "tpot"}, {"inter_token_latency", "itl"}} {
		d.stats(latency.sub(m.theirs), m.ours, 1000)
	}
	if v, ok := number(latency.sub("normalized_time_per_output_token").vals["mean"]); ok {
		d.extra("mean_tpot_incl_first_ms", core.Number(v*1000))
	}
	if load.vals["concurrency"] == nil {
		d.stats(load.sub("schedule_delay"), "queue", 1000)
	} else if mean, ok := number(load.sub("schedule_delay").vals["mean"]); ok {
		// At a limit nothing is due at a moment: the tool counts from a schedule that it
		// makes up.
		d.extra("mean_schedule_delay_ms", core.Number(mean*1000))
	}
	for _, m := range []renamed{{"requests_per_sec", "rps"}, {"output_tokens_per_sec", "output_tps"}, {"input_tokens_per_sec", "input_tps"}, {"total_tokens_per_sec", "total_tps"}} {
		d.figure(m.ours, throughput.vals[m.theirs])
	}
	d.figure("completed", good.vals["count"])
	d.figure("failed", bad.vals["count"])
	d.figure("duration_s", firstSet(o.vals["benchmark_time_seconds"], load.vals["send_duration"]))
	d.figure("goodput_rps", good.sub("goodput_metrics").vals["request_goodput"])
	d.figure("input_tokens", good.sub("prompt_tokens").vals["total"])
	n := d.t.Figures["completed"]
	for _, m := range []renamed{{"prompt_len", "input_tokens"}, {"output_len", "output_tokens"}} {
		mean, ok := number(good.sub(m.theirs).vals["mean"])
		d.made(m.ours, math.Round(mean*n), ok && n > 0)
	}
	if served, ok := number(good.sub("output_tokens").vals["total"]); ok {
		d.made("output_tokens", served, true)
		d.served("output_tokens", served)
	}
	// A stage at a limit states the number of its requests as their rate.
	switch l := &d.t.Load; {
	case load.vals["concurrency"] != nil:
		d.setting("concurrency", load.vals["concurrency"])
		l.RequestRate = core.Unlimited()
	case load.vals["requested_rate"] != nil:
		d.setting("request_rate", load.vals["requested_rate"])
		l.Concurrency = core.Unlimited()
	}
	d.setting("num_prompts", load.vals["count"])
	d.extraNumber("achieved_rate", load.vals["achieved_rate"])
	labels := bad.sub("by_label")
	var parts []string
	for _, label := range labels.keys[:min(len(labels.keys), 5)] {
		parts = append(parts, fmt.Sprintf("%s ×%s", oneLine(label), text(labels.sub(label).vals["count"])))
	}
	d.extra("errors", core.OptionalText(strings.Join(parts, "; ")))
}

// isInferencePerfRequest: one request of the file of all.
func isInferencePerfRequest(o *object) bool {
	return o.has("start_time") && o.has("end_time") && o.has("info") && o.has("error")
}

func readInferencePerfRequest(r *objectReader, o *object) {
	for _, name := range []string{inferencePerfFirst, "summary_lifecycle_metrics.json"} {
		if r.heldBy(name) {
			return
		}
	}
	r.gather("inference-perf-requests", "inference-perf", o.line).requests.add(inferencePerfRequest(o))
}

// inferencePerfRequest reads a request in the shape of 0.5 and later, with metrics
// of request and response apart, or of the versions before.
func inferencePerfRequest(o *object) core.Sample {
	s := newRequest()
	s.Sent, s.End, s.Due = unixSeconds(o.vals["start_time"]), unixSeconds(o.vals["end_time"]), unixSeconds(o.vals["scheduled_time"])
	info := o.sub("info")
	response := info.sub("response_metrics")
	s.InputTokens = tokensOf(firstSet(info.sub("request_metrics").sub("text").vals["input_tokens"], info.vals["input_tokens"]))
	s.OutputTokens = tokensOf(firstSet(response.vals["output_tokens"], info.vals["output_tokens"]))
	s.CachedTokens = tokensOf(response.sub("server_usage").sub("prompt_tokens_details").vals["cached_tokens"])
	if e := o.sub("error"); len(e.keys) > 0 || o.text("error") != "" {
		return failed(s, firstOf(o.text("error"), strings.Trim(e.text("error_type")+": "+e.text("error_msg"), ": ")))
	}
	for _, at := range floats(firstSet(response.vals["output_token_times"], info.vals["output_token_times"])) {
		if moment := unixSeconds(at); moment >= s.Sent {
			s.Chunks = append(s.Chunks, moment)
		}
	}
	if n := len(s.Chunks); n > 0 {
		s.First, s.Last = s.Chunks[0], s.Chunks[n-1]
	} else {
		s.Last = s.End // not streamed
	}
	if s.OutputTokens == 0 {
		return failed(s, "")
	}
	return s
}

// hasSibling reports whether a file stands in the folder of this one.
func (in *input) hasSibling(name string) bool {
	f := in.sibling(name)
	if f == nil {
		return false
	}
	_ = f.Close() // only looked for
	return true
}

var configModelName = regexp.MustCompile(`(?m)^\s*model_name:\s*['"]?([\w./:-]+)`)

// configModel gives the model that the config.yaml beside a report names.
func (in *input) configModel() string {
	f := in.sibling("config.yaml")
	if f == nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, 256<<10))
	if m := configModelName.FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return ""
}
