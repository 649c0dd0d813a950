package ingest

import (
	"github.com/sweepbook/sweepbook/core"
)

// isInferenceX: an aggregate of InferenceX (InferenceMAX before), agg_<name>.json.
func isInferenceX(o *object) bool {
	return o.has("tput_per_gpu") && o.has("hw") && (o.has("conc") || o.has("infmax_model_prefix"))
}

// readInferenceX makes a trial of an aggregate. Its throughputs are per GPU and its
// latencies in seconds without a unit in their names; the raw files beside it are
// those of vllm bench serve and say more. It has no count of requests.
func readInferenceX(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("inferencex-json", "inferencex", o.line)
	cfg := &d.t.Setup.Config
	for _, m := range []renamed{{"framework", "engine"}, {"hw", "gpu"}, {"precision", "weight_dtype"}, {"image", "image"}, {"isl", "input_len"}, {"osl", "output_len"}, {"conc", "concurrency"}} {
		d.setting(m.ours, o.vals[m.theirs])
	}
	if v := text(o.vals["spec_decoding"]); v != "" && v != "none" && v != "false" {
		d.setting("spec_method", v)
	}
	cfg.Checkpoint = maskSecrets(clip(o.text("model"), 400))
	cfg.Model = baseModel(cfg.Checkpoint)
	d.t.Load.RequestRate = core.Unlimited()
	gpus := 1.0
	for _, name := range []string{"tp", "pp", "ep", "dp_attention", "disagg", "is_multinode"} {
		v, scalar := scalarOf(o.vals[name])
		if !scalar || v.IsMissing() {
			continue
		}
		if name == "disagg" || name == "is_multinode" {
			d.extra(name, v)
			continue
		}
		d.knob(name, v)
		if n, ok := number(o.vals[name]); ok && n >= 1 && (name == "tp" || name == "pp") {
			gpus *= n
		}
	}
	several := o.vals["disagg"] == true || o.vals["is_multinode"] == true || text(o.vals["disagg"]) == "true" || text(o.vals["is_multinode"]) == "true"
	for _, m := range []renamed{{"tput_per_gpu", "total_tps"}, {"output_tput_per_gpu", "output_tps"}, {"input_tput_per_gpu", "input_tps"}} {
		v, ok := number(o.vals[m.theirs])
		if !ok {
			continue
		}
		d.extra(m.ours+"_per_gpu", core.Number(v))
		d.made(m.ours, v*gpus, !several)
	}
	if !several {
		d.setting("gpus", gpus)
	}
	for _, key := range o.keys {
		p, ok := lookupKey(key + "_s")
		if m := latencyKey.FindStringSubmatch(key + "_s"); ok && m != nil && p.kind == toFigure {
			d.put(p, key, o.vals[key])
		}
	}
	d.add(r.out, shortRaw(o))
}
