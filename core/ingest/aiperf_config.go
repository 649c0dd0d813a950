package ingest

import (
	"github.com/sweepbook/sweepbook/core"
)

// aiperfConfig takes what was asked, in the shapes of AIPerf 0.6 and later
// (models, datasets, phases), of AIPerf before it (endpoint, loadgen, input) and of
// GenAI-Perf (flat, or perf_analyzer).
func (d *draft) aiperfConfig(c *object) {
	endpoint := c.sub("endpoint")
	d.bench = firstOf(firstText(endpoint.vals["model_names"]), firstText(c.vals["model_names"]), firstText(c.vals["model"]), c.text("formatted_model_name"))
	if items, ok := c.sub("models").vals["items"].([]any); ok && len(items) > 0 {
		if item, ok := items[0].(*object); ok {
			d.bench = firstOf(d.bench, item.text("name"))
		}
	}
	d.t.Workload.Endpoint = clip(firstOf(endpoint.text("type"), c.text("endpoint_type")), 40)
	if endpoint.vals["streaming"] == false {
		d.extra("streaming", core.Bool(false))
	}
	if v, ok := endpoint.sub("extra").vals["ignore_eos"]; ok {
		d.setting("ignore_eos", v)
	}
	if sets, ok := c.vals["datasets"].([]any); ok && len(sets) == 1 {
		if set, ok := sets[0].(*object); ok {
			d.setting("dataset", set.text("type"))
			d.lengths(set.sub("prompts").sub("isl").vals["mean"], set.sub("prompts").sub("osl").vals["mean"])
		}
	}
	prompt := c.sub("input").sub("prompt")
	d.lengths(prompt.sub("input_tokens").vals["mean"], prompt.sub("output_tokens").vals["mean"])
	d.lengths(c.vals["synthetic_input_tokens_mean"], c.vals["output_tokens_mean"])
	d.lengths(c.sub("input").sub("synthetic_tokens").vals["mean"], c.sub("input").sub("output_tokens").vals["mean"])
	if phases, ok := c.vals["phases"].([]any); ok {
		for _, p := range phases {
			if phase, ok := p.(*object); ok && phase.text("kind") != "warmup" && phase.vals["exclude_from_results"] != true {
				d.aiperfLoad(phase, "requests", "rate", phase.text("type"))
			}
		}
	}
	load := c.sub("loadgen")
	d.aiperfLoad(load, "request_count", "request_rate", firstOf(load.text("arrival_pattern"), load.text("request_rate_mode")))
	stimulus := c.sub("perf_analyzer").sub("stimulus")
	d.aiperfLoad(stimulus, "request_count", "request_rate", "")
	d.aiperfLoad(c, "request_count", "request_rate", "")
}

// aiperfLoad takes concurrency, rate and number of requests of a phase; without a
// rate, requests are sent as soon as the limit allows.
func (d *draft) aiperfLoad(o *object, count, rate, pattern string) {
	l := &d.t.Load
	if l.Concurrency.IsMissing() && o.vals["concurrency"] != nil {
		d.setting("concurrency", o.vals["concurrency"])
		if o.vals[rate] == nil {
			l.RequestRate = core.Unlimited()
		}
	}
	if l.RequestRate.IsMissing() && o.vals[rate] != nil {
		d.setting("request_rate", o.vals[rate])
		if l.Concurrency.IsMissing() {
			l.Concurrency = core.Unlimited()
		}
		switch pattern {
		case "poisson":
			l.Burstiness = core.Number(1)
		case "gamma":
			d.setting("burstiness", firstSet(o.vals["smoothness"], o.vals["arrival_smoothness"]))
		}
	}
	if l.NumPrompts.IsMissing() {
		d.setting("num_prompts", o.vals[count])
	}
}

// lengths takes the asked lengths of prompt and answer, where they are given and
// not yet known.
func (d *draft) lengths(input, output any) {
	if w := d.t.Workload; w.InputLen.IsMissing() {
		d.setting("input_len", input)
	}
	if w := d.t.Workload; w.OutputLen.IsMissing() {
		d.setting("output_len", output)
	}
}

func firstSet(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// firstText gives a text, or the first of a list of texts.
func firstText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			s, _ := v[0].(string)
			return s
		}
	}
	return ""
}
