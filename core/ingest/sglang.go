package ingest

import (
	"math"
	"regexp"

	"github.com/sweepbook/sweepbook/core"
)

// isSGLangResult: a line of sglang.bench_serving's output file.
func isSGLangResult(o *object) bool {
	return o.has("completed") && (o.has("total_throughput") || o.has("total_output_tokens_retokenized") || o.has("mean_e2e_latency_ms")) &&
		(o.has("backend") || o.has("random_range_ratio"))
}

// readSGLangResult makes a trial of one line. The tool writes no number of
// prompts and no failed key: where --output-details gives the requests they are
// counted, else success_rate is not known. "concurrency" is the measured mean.
func readSGLangResult(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("sglang-jsonl", "sglang-bench", o.line)
	d.sglang(o)
	d.detail(o)
	d.promptsOf(r.in.name)
	d.add(r.out, shortRaw(o))
}

// defaultName is the name that the tool gives its file: backend, month and day,
// number of prompts, and the lengths or the data set.
var defaultName = regexp.MustCompile(`^[\w-]+_\d{4}_(\d+)_(?:(\d+)_(\d+)|([a-z][\w-]*))\.jsonl$`)

// promptsOf takes the number of prompts out of the file's name, where the rest of
// the name agrees with the line.
func (d *draft) promptsOf(name string) {
	m := defaultName.FindStringSubmatch(name)
	w := d.t.Workload
	if m == nil || !d.t.Load.NumPrompts.IsMissing() || m[4] != w.Dataset && (m[4] != "" || w.InputLen.String() != m[2] || w.OutputLen.String() != m[3]) {
		return
	}
	if n, ok := parseNumber(m[1]); ok && n >= d.t.Figures["completed"] {
		d.t.Load.NumPrompts = core.Number(n)
		d.extra("num_prompts_from", core.String("file name"))
	}
}

func (d *draft) sglang(o *object) {
	t := d.t
	random := o.text("dataset_name") == "random" || o.text("dataset_name") == "random-ids"
	for _, key := range o.keys {
		v := o.vals[key]
		switch key {
		case "input_lens", "output_lens", "ttfts", "itls", "errors", "cached_tokens":
		case "tag":
			t.Option = maskSecrets(clip(text(v), 200))
		case "backend":
			d.backend(text(v))
		case "concurrency":
			d.put(place{kind: toFigure, name: "mean_concurrency"}, key, v)
		case "random_input_len", "random_output_len":
			if random {
				d.key(key, v) // a default of the tool where another data set is used
			}
		case "random_range_ratio":
			if value := setting(v); random && value.Kind == core.KindNumber && !math.IsInf(value.Num, 0) {
				t.Workload.Params = core.Knobs{"range_ratio": value}
			}
		case "sharegpt_output_len":
			if o.text("dataset_name") == "sharegpt" {
				d.setting("output_len", v)
			}
		case "server_info":
			d.serverInfo(o.sub(key))
		case "cache_report":
			d.cacheReport(o.sub(key))
		case "request_rate":
			if s, isText := v.(string); isText && s == "trace" {
				d.extra("request_rate", core.String(s))
				continue
			}
			d.key(key, v)
		default:
			d.key(key, v)
		}
	}
	if v, given := o.vals["max_concurrency"]; given && v == nil {
		t.Load.Concurrency = core.Unlimited()
	}
}

// backend notes the protocol; only SGLang speaks its own.
func (d *draft) backend(name string) {
	d.extra("bench_backend", core.OptionalText(name))
	if (name == "sglang" || name == "sglang-native") && d.t.Setup.Config.Engine == "" {
		d.t.Setup.Config.Engine = "sglang"
	}
}

// serverInfo takes what the server said of itself. All its arguments are there,
// defaults too, so that they are what was read back, not what was passed; sizes
// of parallelism stand with the configuration as well.
func (d *draft) serverInfo(info *object) {
	if len(info.keys) == 0 {
		return
	}
	t := d.t
	cfg := &t.Setup.Config
	cfg.Engine = "sglang"
	resolved := core.Knobs{}
	for _, key := range info.keys {
		value, scalar := scalarOf(info.vals[key])
		switch {
		case !scalar || value.IsMissing():
		case key == "version":
			t.Setup.EngineVersion = text(info.vals[key])
		case key == "model_path":
			cfg.Checkpoint = maskSecrets(text(info.vals[key]))
			cfg.Model = baseModel(cfg.Checkpoint)
		case key == "served_model_name" || !isKnob(key) || len(resolved) >= maxFlags:
		default:
			resolved[core.CanonicalKnob("sglang", key)] = value
		}
	}
	for _, name := range []string{"tp", "pp", "dp", "ep"} {
		if v, ok := resolved[name]; ok {
			d.knob(name, v)
		}
	}
	if len(resolved) > 0 {
		t.Launch = &core.Launch{Resolved: resolved, Setup: t.Setup}
	}
}

func (d *draft) cacheReport(report *object) {
	d.put(place{kind: toFigure, name: "cached_tokens"}, "total_cached_tokens", report.vals["total_cached_tokens"])
	d.put(place{kind: toFigure, name: "prefix_hit_rate", scale: 0.01}, "cache_hit_rate_pct", report.vals["cache_hit_rate_pct"])
}

// isLLMOptimizer: a record of bentoml's llm-optimizer, around a line of
// sglang.bench_serving.
func isLLMOptimizer(o *object) bool {
	results, ok := o.vals["results"].(*object)
	config, okConfig := o.vals["config"].(*object)
	return ok && okConfig && results.has("completed") && (config.has("client_args") || config.has("server_args"))
}

// readLLMOptimizer takes the settings of client and server from the record's
// configuration. A rate that is null is none.
func readLLMOptimizer(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("llm-optimizer-jsonl", "llm-optimizer", o.line)
	results, config := o.sub("results"), o.sub("config")
	if cmd, ok := parseCommand(o.line, o.text("cmd")); ok && cmd.tool == "" {
		s := newServer(cmd)
		d.t.Setup.Config = s.config
		d.t.Setup.Config.CommandKnown = false // the record's own list has more
		d.t.Setup.Config.Model = baseModel(s.config.Checkpoint)
	}
	server := config.sub("server_args")
	for _, key := range server.keys {
		if value, scalar := scalarOf(server.vals[key]); scalar {
			d.knob(key, value)
		}
	}
	d.sglang(results)
	client := config.sub("client_args")
	for _, key := range client.keys {
		if _, given := results.vals[key]; !given || results.vals[key] == nil {
			d.key(key, client.vals[key])
		}
	}
	if v, given := results.vals["request_rate"]; given && v == nil && d.t.Load.RequestRate.IsMissing() {
		d.t.Load.RequestRate = core.Unlimited()
	}
	in, okIn := d.t.Figures["input_tps"]
	out, okOut := d.t.Figures["output_tps"]
	if _, given := d.t.Figures["total_tps"]; !given && okIn && okOut {
		d.t.Figures.Set("total_tps", in+out)
		d.extra("recomputed", core.String("total_tps"))
	}
	if limits, ok := o.vals["constraints"].([]any); ok && len(limits) > 0 {
		d.extra("constraints", core.OptionalText(text(limits[0])))
	}
	metadata := o.sub("metadata")
	for _, key := range metadata.keys {
		d.key(key, metadata.vals[key])
	}
	d.add(r.out, shortRaw(o))
}
