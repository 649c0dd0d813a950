package ingest

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// A benchmark report of llm-d holds what another tool measured, in words of its own:
// version 0.1 under metrics, 0.2 and later under results. It is written as YAML or
// JSON; inference-perf writes one a stage as well.

func isLLMDReport(o *object) bool {
	return o.has("version") && (len(o.sub("results").sub("request_performance").sub("aggregate").keys) > 0 ||
		len(o.sub("metrics").sub("latency").keys) > 0 && len(o.sub("metrics").sub("requests").keys) > 0 && o.has("scenario"))
}

// stageReport is the name that inference-perf gives its report of a stage.
var stageReport = regexp.MustCompile(`stage_(\d+)\.ya?ml$`)

// readLLMDReport makes a trial of a report. Each statistic states its unit.
func readLLMDReport(r *objectReader, o *object) {
	if m := stageReport.FindStringSubmatch(r.in.name); m != nil && r.heldBy("stage_"+m[1]+"_lifecycle_metrics.json") {
		return
	}
	r.out.begin()
	d := newDraft("llm-d-report", "llm-d-benchmark", o.line)
	d.extra("report_version", core.OptionalText(clip(text(o.vals["version"]), 20)))
	scenario := o.sub("scenario")
	all, tool := o.sub("results").sub("request_performance").sub("aggregate"), scenario.sub("load").sub("standardized").text("tool")
	older := len(all.keys) == 0
	if older {
		all, tool = o.sub("metrics"), scenario.sub("load").text("name")
	}
	d.extra("load_tool", core.OptionalText(clip(tool, 60)))
	d.llmdCounts(all.sub("requests"), tool)
	d.llmdLatencies(all.sub("latency"), tool)
	if older {
		d.llmdOlder(o, all)
	} else {
		d.llmdNewer(o, all)
	}
	d.add(r.out, shortRaw(o))
}

// llmdCounts takes the counts. Reports made of AIPerf's summaries give the completed
// requests as the total, and as failures how many kinds of errors there were; those
// of vllm bench in version 0.1 leave the failures out.
func (d *draft) llmdCounts(requests *object, tool string) {
	total, okTotal := number(requests.vals["total"])
	failed, okFailed := number(requests.vals["failures"])
	incomplete, _ := number(requests.vals["incomplete"])
	completed := total - failed - incomplete
	if tool == "aiperf" {
		completed, okFailed = total, okFailed && failed == 0
		d.extraNumber("error_kinds", requests.vals["failures"])
	}
	if okFailed {
		d.figure("failed", requests.vals["failures"])
	}
	d.figure("incomplete", requests.vals["incomplete"])
	d.made("completed", completed, okTotal && completed >= 0)
	for _, m := range []renamed{{"input_length", "input_tokens"}, {"output_length", "output_tokens"}} {
		mean, ok := number(requests.sub(m.theirs).vals["mean"])
		d.made(m.ours, math.Round(mean*completed), ok && completed > 0)
	}
}

// llmdLatencies takes the latencies by what the tool means by them: guidellm's time
// per output token has the first in it, and its gaps are means of requests, as
// AIPerf's are.
func (d *draft) llmdLatencies(latency *object, tool string) {
	d.reported(latency.sub("request_latency"), "e2el")
	d.reported(latency.sub("time_to_first_token"), "ttft")
	tpot, itl, first := latency.sub("time_per_output_token"), latency.sub("inter_token_latency"), latency.sub("normalized_time_per_output_token")
	switch tool {
	case "guidellm":
		d.meanGap(plainStats(itl), 1000*perToken(itl.text("units")))
		first = tpot
	case "aiperf":
		d.reported(itl, "tpot")
	default:
		d.reported(tpot, "tpot")
		d.reported(itl, "itl")
	}
	if v, ok := number(first.vals["mean"]); ok {
		d.extra("mean_tpot_incl_first_ms", core.Number(v*1000*perToken(first.text("units"))))
	}
}

// reported takes the statistics of a latency by the unit they state.
func (d *draft) reported(block *object, latency string) {
	d.stats(plainStats(block), latency, 1000*perToken(block.text("units")))
}

// plainStats gives a block of statistics the usual names of its percentiles.
func plainStats(block *object) *object {
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
	return plain
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

// llmdNewer takes rates, times and the stack of version 0.2 and later.
func (d *draft) llmdNewer(o, all *object) {
	for _, m := range []renamed{{"output_token_rate", "output_tps"}, {"input_token_rate", "input_tps"}, {"total_token_rate", "total_tps"}, {"request_rate", "rps"}} {
		d.figure(m.ours, all.sub("throughput").sub(m.theirs).vals["mean"])
	}
	run, scenario := o.sub("run"), o.sub("scenario")
	d.llmdTimes(run.sub("time"))
	d.extra("note", core.OptionalText(maskSecrets(clip(run.text("description"), 400))))
	load := scenario.sub("load").sub("standardized")
	d.setting("concurrency", load.vals["concurrency"])
	if rate, ok := load.vals["rate_qps"].(float64); !ok || rate > 0 {
		d.setting("request_rate", load.vals["rate_qps"])
	}
	d.lengths(load.sub("input_seq_len").vals["value"], load.sub("output_seq_len").vals["value"])
	if stage, ok := number(load.vals["stage"]); ok && (stage > 0 || load.text("tool") == "inference-perf") {
		d.t.Option = "stage " + core.Number(stage).String()
	}
	var engines []llmdEngine
	stack, _ := scenario.vals["stack"].([]any)
	for _, item := range stack {
		part, _ := item.(*object)
		if part == nil {
			continue
		}
		s := part.sub("standardized")
		if s.text("kind") != "inference_engine" && len(s.sub("accelerator").keys) == 0 {
			continue
		}
		replicas, ok := number(s.vals["replicas"])
		if !ok {
			replicas = 1
		}
		engines = append(engines, llmdEngine{name: s.text("tool"), version: s.text("tool_version"), role: s.text("role"), replicas: replicas,
			accelerator: s.sub("accelerator"), args: part.sub("native").sub("args")})
		d.bench = firstOf(d.bench, s.sub("model").text("name"))
	}
	d.llmdEngines(engines)
}

// llmdTimes takes when a run was. Its duration may be that of more than the
// measurement, and is the measured one where the rate of requests says so.
func (d *draft) llmdTimes(times *object) {
	if at, err := time.Parse(time.RFC3339Nano, times.text("start")); err == nil {
		d.t.StartedAt = at.UTC()
	}
	s, ok := isoDuration(times.text("duration"))
	if !ok || s <= 0 {
		return
	}
	f := d.t.Figures
	if rps := f["rps"]; rps > 0 && math.Abs(f["completed"]/s-rps) < 0.05*rps {
		d.made("duration_s", s, true)
	} else {
		d.extra("run_duration_s", core.Number(s))
	}
}

// llmdOlder takes the same of version 0.1, whose rates are plain numbers.
func (d *draft) llmdOlder(o, all *object) {
	for _, m := range []renamed{{"output_tokens_per_sec", "output_tps"}, {"input_tokens_per_sec", "input_tps"}, {"total_tokens_per_sec", "total_tps"}, {"requests_per_sec", "rps"}} {
		d.figure(m.ours, all.sub("throughput").vals[m.theirs])
	}
	times, scenario := all.sub("time"), o.sub("scenario")
	d.figure("duration_s", times.vals["duration"])
	if at, ok := number(times.vals["start"]); ok && at > 1e9 && at < 4e9 {
		d.t.StartedAt = time.UnixMilli(int64(at * 1000)).UTC()
	}
	d.extra("note", core.OptionalText(maskSecrets(clip(scenario.text("description"), 400))))
	d.bench = scenario.sub("model").text("name")
	if q := scenario.sub("model").text("quantization"); q != "" {
		d.setting("weight_dtype", q)
	}
	args := scenario.sub("load").sub("args")
	for _, m := range []renamed{{"max_concurrency", "concurrency"}, {"request_rate", "request_rate"}, {"burstiness", "burstiness"}, {"num_prompts", "num_prompts"}} {
		d.setting(m.ours, args.vals[m.theirs])
	}
	if stage, ok := number(scenario.sub("load").sub("metadata").vals["stage"]); ok {
		d.t.Option = "stage " + core.Number(stage).String()
	}
	var engines []llmdEngine
	platform, _ := scenario.sub("platform").vals["engine"].([]any)
	host, _ := scenario.sub("host").vals["accelerator"].([]any)
	roles, _ := scenario.sub("host").vals["type"].([]any)
	at := func(list []any, i int) *object {
		if i < len(list) {
			if o, ok := list[i].(*object); ok {
				return o
			}
		}
		return &object{}
	}
	for i := range min(max(len(platform), len(host)), 1000) {
		e := llmdEngine{name: at(platform, i).text("name"), version: at(platform, i).text("version"), replicas: 1, accelerator: at(host, i), args: at(platform, i).sub("args")}
		if i < len(roles) {
			e.role = text(roles[i])
		}
		engines = append(engines, e)
	}
	d.llmdEngines(engines)
}

// llmdEngine is one inference engine of a stack, in some replicas.
type llmdEngine struct {
	name, version, role string
	replicas            float64
	accelerator, args   *object
}

// llmdEngines takes what was served, by all engines together. Settings are known
// where there is one kind of engine; of several, as prefill and decode, only what
// they share.
func (d *draft) llmdEngines(engines []llmdEngine) {
	if len(engines) == 0 {
		return
	}
	first, gpus, counted := engines[0], 0.0, true
	same, roles := true, ""
	for _, e := range engines {
		n, ok := number(e.accelerator.vals["count"])
		counted = counted && ok
		gpus += n * e.replicas
		same = same && e.name == first.name && e.role == first.role && shortRaw(e.args) == shortRaw(first.args)
		if e.role != "" && !strings.Contains(","+roles+",", ","+e.role+",") {
			roles = strings.Trim(roles+","+e.role, ",")
		}
	}
	image := first.name
	if !strings.Contains(image, "/") {
		image = first.version
	}
	if strings.Contains(image, "/") {
		d.t.Setup.Image = maskSecrets(clip(image, 300))
	}
	if name := firstOf(engineIn(first.name), engineIn(first.version)); name != "" {
		d.setting("engine", name)
	} else if !strings.Contains(first.name, "/") {
		d.setting("engine", first.name)
	}
	if !strings.Contains(first.version, "/") {
		d.setting("engine_version", first.version)
	}
	d.setting("gpu", first.accelerator.text("model"))
	if counted && gpus > 0 {
		d.setting("gpus", gpus)
	}
	d.extra("roles", core.OptionalText(clip(roles, 60)))
	if len(engines) > 1 || first.replicas > 1 {
		n := 0.0
		for _, e := range engines {
			n += e.replicas
		}
		d.extra("replicas", core.Number(n))
	}
	for _, name := range []string{"tp", "pp", "dp", "ep"} {
		size := first.accelerator.sub("parallelism").vals[name]
		agree := true
		for _, e := range engines {
			agree = agree && e.accelerator.sub("parallelism").vals[name] == size
		}
		if v, ok := scalarOf(size); ok && agree {
			d.knob(name, v)
		}
	}
	if !same {
		return
	}
	for _, key := range first.args.keys[:min(len(first.args.keys), maxFlags)] {
		value, scalar := scalarOf(first.args.vals[key])
		if first.args.vals[key] == nil {
			value, scalar = core.Bool(true), true // a flag without a value
		}
		if o, ok := first.args.vals[key].(*object); ok {
			value, scalar = core.String(strings.TrimSpace(shortRaw(o))), true
		}
		if name := strings.TrimLeft(key, "-"); scalar && !secretKey.MatchString(name) {
			d.knob(name, value)
		}
	}
}
