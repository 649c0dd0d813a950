package ingest

import (
	"math"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isVLLMResult: what vllm bench serve writes, of any version, also through a
// sweep or a wrapper that keeps its keys.
func isVLLMResult(o *object) bool {
	if !o.has("completed") || (!o.has("duration") && !o.has("request_throughput")) {
		return false
	}
	return o.has("output_throughput") || o.has("total_token_throughput") || o.has("request_throughput")
}

func readVLLMResult(r *objectReader, o *object) { readVLLM(r, o, shortRaw(o)) }

// readVLLM makes a trial of the keys of vllm bench serve. No failed key was
// written before October 2025: the number of prompts then tells. max_concurrency
// null is no limit.
func readVLLM(r *objectReader, o *object, raw string) {
	r.out.begin()
	d := newDraft("vllm-json", "vllm-bench", o.line)
	combination, experiment := sweepPath(r.in.path)
	if combination != "" || o.has("run_number") {
		d.t.Setup.Config.Engine = "vllm" // a sweep starts vllm serve
		d.study = experiment
	}
	if isWarmup(r.in.name, o) {
		r.out.leave(o.line, "warm-up run of a sweep: no trial")
		return
	}
	for _, key := range o.keys {
		v := o.vals[key]
		switch key {
		case "date":
		case "model_id":
			d.bench = text(v)
		case "tokenizer_id", "endpoint_type", "best_of", "input_lens", "output_lens", "ttfts", "itls", "latencies", "e2els", "start_times",
			"queue_times", "errors", "rps_change_events", "retokenized_output_lens":
		case "backend":
			d.extra("bench_backend", core.OptionalText(text(v)))
		case "label":
			d.t.Option = maskSecrets(clip(text(v), 200))
		case "run_number":
			if n, ok := number(v); ok && n >= 0 && n < 1e6 {
				d.t.Repeat = int(n) + 1
				d.extra("run_number", core.Number(n))
			}
		case "_benchmark_name":
			d.t.Option = firstOf(d.t.Option, maskSecrets(clip(text(v), 200)))
		case "spec_decode_per_position_acceptance_rates":
			d.positions(v)
		case "rtfx":
			if f, ok := number(v); ok && f > 0 { // 0 where nothing was heard
				d.extra("rtfx", core.Number(f))
			}
		case "energy":
			d.energy(v)
		case "avg_decoded_tokens_per_iter":
			d.other(key, v)
		default:
			d.key(key, v)
		}
	}
	if v, given := o.vals["max_concurrency"]; given && v == nil {
		d.t.Load.Concurrency = core.Unlimited()
	}
	if d.t.Setup.Config.Model == "" && d.bench == "" && o.text("model") != "" {
		d.bench = o.text("model")
	}
	d.ended(o.text("date"))
	d.sweep(combination)
	d.detail(o)
	d.copyOf(r.in.name)
	d.add(r.out, raw)
}

// key records a key by the common table, else as metadata.
func (d *draft) key(key string, v any) {
	if p, ok := lookupKey(key); ok {
		d.put(p, key, v)
		if strings.HasPrefix(key, "random_") && v != nil && d.t.Workload.Dataset == "" {
			d.t.Workload.Dataset = "random"
		}
		return
	}
	d.other(key, v)
}

// positions takes the acceptance rates by position, as shares or in percent.
func (d *draft) positions(v any) {
	rates, _ := v.([]float64)
	scale := 1.0
	for _, rate := range rates {
		if rate > 1 {
			scale = 0.01
		}
	}
	for i, rate := range rates[:min(len(rates), 64)] {
		if !math.IsNaN(rate) {
			d.extra("accept_rate_position_"+strconv.Itoa(i), core.Number(place{scale: scale}.scaled(rate)))
		}
	}
}

// energy takes TensorRT-LLM's energy object.
func (d *draft) energy(v any) {
	o, ok := v.(*object)
	if !ok {
		return
	}
	d.put(place{kind: toFigure, name: "energy_j"}, "total_energy_j", o.vals["total_energy_j"])
	d.put(place{kind: toFigure, name: "mean_power_w"}, "total_gpu_power_w", o.vals["total_gpu_power_w"])
	d.put(place{kind: toExtra, name: "output_tps_per_w"}, "output_tps_per_w", o.vals["output_tps_per_w"])
}

// isTRTLLMResult: the keys that only TensorRT-LLM's benchmark_serving writes.
func isTRTLLMResult(o *object) bool {
	return isVLLMResult(o) && (o.has("user_throughput") || o.has("avg_decoded_tokens_per_iter"))
}

// readTRTLLMResult: the format is an older one of vllm bench serve with more keys.
// It says nothing of the server; the tool measures any that speaks the protocol.
func readTRTLLMResult(r *objectReader, o *object) {
	n := len(r.out.records)
	readVLLM(r, o, shortRaw(o))
	for i := range r.out.records[n:] {
		rec := &r.out.records[n+i]
		rec.trial.Setup.Tool = "trtllm-benchmark-serving"
		rec.src.Tool, rec.src.Format = rec.trial.Setup.Tool, "trtllm-json"
		if s := strings.TrimSpace(rec.trial.Setup.Config.Engine); s == "" && o.text("backend") == "trtllm" {
			rec.trial.Setup.Config.Engine = "trtllm"
		}
	}
}
