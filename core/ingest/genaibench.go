package ingest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isGenAIBench: one point of a genai-bench experiment.
func isGenAIBench(o *object) bool {
	return o.has("aggregated_metrics") && (o.has("individual_request_metrics") || o.sub("aggregated_metrics").has("stats"))
}

// readGenAIBench makes a trial of a point; the experiment's settings stand in
// experiment_metadata.json beside it, of which neither the command nor the
// credentials are read. The tool writes no moments, so that each request counts
// from its own start.
func readGenAIBench(r *objectReader, o *object) {
	r.out.begin()
	a := o.sub("aggregated_metrics")
	d := newDraft("genai-bench-json", "genai-bench", o.line)
	scale := 1000.0
	if o.text("_time_unit") == "ms" {
		scale = 1
	}
	stats := a.sub("stats")
	for _, m := range []renamed{{"ttft", "ttft"}, {"tpot", "tpot"}, {"e2e_latency", "e2el"}} {
		d.stats(stats.sub(m.theirs), m.ours, scale)
	}
	for _, m := range []renamed{
		{"num_completed_requests", "completed"}, {"num_error_requests", "failed"}, {"requests_per_second", "rps"}, {"run_duration", "duration_s"},
		{"mean_output_throughput_tokens_per_s", "output_tps"}, {"mean_input_throughput_tokens_per_s", "input_tps"}, {"mean_total_tokens_throughput_tokens_per_s", "total_tps"},
	} {
		d.figure(m.ours, a.vals[m.theirs])
	}
	d.figure("input_tokens", stats.sub("num_input_tokens").vals["sum"])
	d.figure("output_tokens", stats.sub("num_output_tokens").vals["sum"])
	if speed, ok := number(stats.sub("output_inference_speed").vals["mean"]); ok && speed > 0 {
		d.extra("user_tps", core.Number(speed))
	}
	d.setting("concurrency", a.vals["num_concurrency"])
	if !d.t.Load.Concurrency.IsMissing() {
		d.t.Load.RequestRate = core.Unlimited()
	}
	d.scenario(a.text("scenario"))
	var codes []string
	frequency := a.sub("error_codes_frequency")
	for _, code := range frequency.keys[:min(len(frequency.keys), 5)] {
		codes = append(codes, fmt.Sprintf("HTTP %s ×%s", oneLine(code), text(frequency.vals[code])))
	}
	d.extra("errors", core.OptionalText(strings.Join(codes, "; ")))
	r.in.siblingObjects("experiment_metadata.json", d.experiment)
	d.genaiBenchRequests(o, scale/1000)
	d.add(r.out, shortRaw(o))
}

var scenarioLengths = regexp.MustCompile(`^D\((\d+),(\d+)\)$`)

// scenario takes the traffic: D(50,20) are lengths, others (normal or uniform
// distributions, data sets) are kept as they are.
func (d *draft) scenario(s string) {
	if m := scenarioLengths.FindStringSubmatch(s); m != nil {
		d.lengths(m[1], m[2])
		return
	}
	d.extra("scenario", core.OptionalText(clip(s, 100)))
}

// experiment takes what is the same for all points.
func (d *draft) experiment(o *object) {
	d.t.Setup.ToolVersion = clip(o.text("benchmark_version"), 40)
	d.setting("engine", strings.ToLower(o.text("server_engine")))
	d.setting("engine_version", o.text("server_version"))
	d.setting("gpu", o.text("server_gpu_type"))
	d.setting("gpus", o.text("server_gpu_count"))
	d.bench = firstOf(text(o.vals["api_model_name"]), text(o.vals["model"]))
	d.extra("max_time_per_run_s", setting(o.vals["max_time_per_run_s"]))
	d.extra("max_requests_per_run", setting(o.vals["max_requests_per_run"]))
	if path := text(o.vals["dataset_path"]); path != "" {
		d.setting("dataset", path)
	}
}

// genaiBenchRequests takes the requests; seconds are those of a unit of the file.
func (d *draft) genaiBenchRequests(o *object, seconds float64) {
	list, _ := o.vals["individual_request_metrics"].([]any)
	var samples []core.Sample
	without := 0 // answers whose tokens came within a millisecond, which the tool gives no TPOT
	for _, item := range list[:min(len(list), maxRequests)] {
		request, ok := item.(*object)
		if !ok {
			continue
		}
		s := newRequest()
		s.Index, s.Sent = len(samples), 0
		s.InputTokens, s.OutputTokens = tokensOf(request.vals["num_input_tokens"]), tokensOf(request.vals["num_output_tokens"])
		after := func(key string) {
			v, ok := number(request.vals[key])
			at := offset(0, v*seconds)
			switch {
			case !ok:
			case key == "ttft":
				s.First = at
			default:
				s.Last, s.End = at, at
			}
		}
		after("ttft")
		after("e2e_latency")
		if code := text(request.vals["error_code"]); code != "" && code != "200" {
			s = failed(s, firstOf(text(request.vals["error_message"]), "HTTP "+code))
		} else if s.Last == core.NoTime {
			s = failed(s, "")
		} else if request.has("tpot") && request.vals["tpot"] == nil && s.OutputTokens > 1 {
			without++
		}
		samples = append(samples, settled(s))
	}
	if len(samples) == 0 {
		return
	}
	d.samples = samples
	d.extra("sample_times", core.String("relative"))
	if without > 0 {
		d.extra("requests_without_tpot", core.Number(float64(without)))
		d.warn("tpot: the tool leaves out %d of %d requests, whose tokens came all at once: its client or the server sent them in one piece", without, len(samples))
	}
	d.countErrors()
	d.complete(recompute(samples))
}

// isGenAIBenchExperiment: the settings of an experiment, no result.
func isGenAIBenchExperiment(o *object) bool {
	return o.has("benchmark_version") && o.has("traffic_scenario")
}

func skipGenAIBenchExperiment(r *objectReader, o *object) {
	r.out.begin()
	r.out.leave(o.line, "settings of a genai-bench experiment: read with its points")
}
