package ingest

import (
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isTRTLLMBench: the report of trtllm-bench throughput or latency. It runs the
// engine inside its own process, without a server between.
func isTRTLLMBench(o *object) bool {
	return o.sub("performance").has("request_throughput_req_s") && (o.has("world_info") || o.has("engine") || o.has("request_info"))
}

// readTRTLLMBench makes a trial of a report. Its percentiles are of sorted values
// without interpolation, and its time per output token counts answers of one token
// as 0; both stay as they are, and extra.offline tells such runs from served ones.
func readTRTLLMBench(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("trtllm-bench-json", "trtllm-bench", o.line)
	cfg := &d.t.Setup.Config
	cfg.Engine = "trtllm"
	engine, world, requests, performance := o.sub("engine"), o.sub("world_info"), o.sub("request_info"), o.sub("performance")
	d.t.Setup.EngineVersion = clip(engine.text("version"), 40)
	cfg.Checkpoint = maskSecrets(clip(firstOf(text(engine.vals["model_path"]), text(engine.vals["model"])), 400))
	cfg.Model = firstOf(text(engine.vals["model"]), baseModel(cfg.Checkpoint))
	for _, m := range []renamed{{"dtype", "dtype"}, {"kv_cache_dtype", "kv_cache_dtype"}, {"quantization", "quantization"}, {"backend", "backend"}, {"max_input_length", "max_input_len"}, {"max_sequence_length", "max_seq_len"}} {
		if v, ok := scalarOf(engine.vals[m.theirs]); ok {
			d.knob(m.ours, v)
		}
	}
	for _, key := range []string{"tp_size", "pp_size", "ep_size", "max_batch_size", "max_num_tokens", "scheduling_policy", "kv_cache_percentage"} {
		if v, ok := scalarOf(world.vals[key]); ok {
			d.knob(key, v)
		}
	}
	d.setting("gpu", o.sub("machine").text("name"))
	d.setting("gpus", world.vals["world_size"])
	d.extra("offline", core.Bool(true))
	d.trtllmFigures(requests, performance, o.sub("streaming_metrics"))
	d.lengths(requests.vals["avg_input_length"], requests.vals["avg_output_length"])
	if rate, ok := number(world.vals["issue_rate"]); ok && rate > 0 && rate < 1e9 {
		d.setting("request_rate", rate)
	} else {
		d.t.Load.RequestRate = core.Unlimited()
	}
	stats := o.sub("decoding_stats").sub("acceptance_length_percentiles")
	d.figure("accept_len", stats.vals["average"])
	d.add(r.out, shortRaw(o))
}

// trtllmFigures takes the figures; times are in milliseconds. The report counts the
// requests that were answered and says nothing of others.
func (d *draft) trtllmFigures(requests, performance, streaming *object) {
	for _, m := range []renamed{{"request_throughput_req_s", "rps"}, {"system_output_throughput_tok_s", "output_tps"}, {"system_total_throughput_tok_s", "total_tps"}, {"avg_request_latency_ms", "mean_e2el_ms"}} {
		d.figure(m.ours, performance.vals[m.theirs])
	}
	d.put(place{kind: toFigure, name: "duration_s", scale: 1e-3}, "total_latency_ms", performance.vals["total_latency_ms"])
	d.extraNumber("user_tps", performance.vals["output_throughput_per_user_tok_s"])
	d.extraNumber("output_tps_per_gpu", performance.vals["output_throughput_per_gpu_tok_s"])
	d.figure("mean_concurrency", requests.vals["avg_num_concurrent_requests"])
	d.figure("completed", requests.vals["num_requests"])
	d.stats(performance.sub("request_latency_percentiles_ms"), "e2el", 1)
	d.figure("mean_ttft_ms", streaming.vals["avg_ttft_ms"])
	d.figure("mean_tpot_ms", firstSet(streaming.vals["avg_tpot_ms"], streaming.vals["avg_itl_ms"]))
	d.stats(streaming.sub("ttft_percentiles"), "ttft", 1)
	for _, key := range []string{"tpot_percentiles", "itl_percentiles"} {
		d.stats(streaming.sub(key), "tpot", 1)
	}
	n := d.t.Figures["completed"]
	for _, m := range []renamed{{"avg_input_length", "input_tokens"}, {"avg_output_length", "output_tokens"}} {
		mean, ok := number(requests.vals[m.theirs])
		d.made(m.ours, float64(int64(mean*n+0.5)), ok && n > 0 && mean*n < 1e15)
	}
}

// trtllmRow is a line of the printed report: what it is called in the file.
var trtllmRows = map[string]renamed{
	"Request Throughput (req/sec)":                   {"performance", "request_throughput_req_s"},
	"Total Output Throughput (tokens/sec)":           {"performance", "system_output_throughput_tok_s"},
	"Total Token Throughput (tokens/sec)":            {"performance", "system_total_throughput_tok_s"},
	"Total Latency (ms)":                             {"performance", "total_latency_ms"},
	"Average request latency (ms)":                   {"performance", "avg_request_latency_ms"},
	"Per User Output Throughput [w/ ctx] (tps/user)": {"performance", "output_throughput_per_user_tok_s"},
	"Per GPU Output Throughput (tps/gpu)":            {"performance", "output_throughput_per_gpu_tok_s"},
	"Average time-to-first-token [TTFT] (ms)":        {"streaming_metrics", "avg_ttft_ms"},
	"Average time-per-output-token [TPOT] (ms)":      {"streaming_metrics", "avg_tpot_ms"},
	"Average inter-token latency [ITL] (ms)":         {"streaming_metrics", "avg_itl_ms"},
	"Number of requests":                             {"request_info", "num_requests"},
	"Number of concurrent requests":                  {"request_info", "avg_num_concurrent_requests"},
	"Average Input Length (tokens)":                  {"request_info", "avg_input_length"},
	"Average Output Length (tokens)":                 {"request_info", "avg_output_length"},
	"TP Size":                                        {"world_info", "tp_size"},
	"PP Size":                                        {"world_info", "pp_size"},
	"EP Size":                                        {"world_info", "ep_size"},
	"Max Runtime Batch Size":                         {"world_info", "max_batch_size"},
	"Max Runtime Tokens":                             {"world_info", "max_num_tokens"},
	"Scheduling Policy":                              {"world_info", "scheduling_policy"},
	"KV Memory Percentage":                           {"world_info", "kv_cache_percentage"},
	"Issue Rate (req/sec)":                           {"world_info", "issue_rate"},
	"Model":                                          {"engine", "model"},
	"Model Path":                                     {"engine", "model_path"},
	"TensorRT LLM Version":                           {"engine", "version"},
	"TensorRT-LLM Version":                           {"engine", "version"},
	"Dtype":                                          {"engine", "dtype"},
	"KV Cache Dtype":                                 {"engine", "kv_cache_dtype"},
	"Quantization":                                   {"engine", "quantization"},
}

// trtllmPart names the block of percentiles that a line "[TTFT] P50 : 3" is of.
func trtllmPart(name string) (part, block string, ok bool) {
	switch name {
	case "Latency":
		return "performance", "request_latency_percentiles_ms", true
	case "TTFT":
		return "streaming_metrics", "ttft_percentiles", true
	case "TPOT":
		return "streaming_metrics", "tpot_percentiles", true
	case "ITL":
		return "streaming_metrics", "itl_percentiles", true
	}
	return "", "", false
}

// inner gives the object inside, making it where there is none.
func (o *object) inner(key string) *object {
	if s, ok := o.vals[key].(*object); ok {
		return s
	}
	s := &object{line: o.line}
	o.set(key, s)
	return s
}

// trtllmLine reads one line of the printed report into the shape of the file.
func trtllmLine(report *object, line string) {
	label, value, ok := strings.Cut(line, ":")
	label, value = strings.TrimSpace(label), strings.TrimSpace(value)
	if !ok || value == "" {
		return
	}
	if inside, stat, is := strings.Cut(strings.TrimPrefix(label, "["), "]"); is && strings.HasPrefix(label, "[") {
		if part, block, known := trtllmPart(inside); known {
			report.inner(part).inner(block).set(strings.ToLower(strings.TrimSpace(stat)), cellValue(value))
		}
		return
	}
	row, known := trtllmRows[label]
	switch {
	case !known:
	case row.ours == "kv_cache_percentage":
		if share, ok := parseNumber(strings.TrimSuffix(value, "%")); ok {
			report.inner(row.theirs).set(row.ours, share/100)
		}
	default:
		report.inner(row.theirs).set(row.ours, cellValue(value))
	}
}
