package ingest

import (
	"regexp"
	"strings"
)

// resultKeys are the keys of vllm bench serve, sglang.bench_serving and
// TensorRT-LLM's benchmark_serving that mean the same in each, old spellings
// included. What only one of them writes, or means otherwise, its reader takes.
var resultKeys = map[string]place{
	"completed":                       {kind: toFigure, name: "completed"},
	"failed":                          {kind: toFigure, name: "failed"},
	"num_prompts":                     {kind: toField, name: "num_prompts"},
	"duration":                        {kind: toFigure, name: "duration_s"},
	"total_input_tokens":              {kind: toFigure, name: "input_tokens"},
	"total_input":                     {kind: toFigure, name: "input_tokens"},
	"total_output_tokens":             {kind: toFigure, name: "output_tokens"},
	"total_output":                    {kind: toFigure, name: "output_tokens"},
	"total_output_tokens_retokenized": {kind: toExtra, name: "retokenized_output_tokens"},
	"total_input_text_tokens":         {kind: toExtra, name: "input_text_tokens"},
	"total_input_vision_tokens":       {kind: toExtra, name: "input_vision_tokens"},
	"request_throughput":              {kind: toFigure, name: "rps"},
	"request_goodput":                 {kind: toFigure, name: "goodput_rps"},
	"input_throughput":                {kind: toFigure, name: "input_tps"},
	"input_token_throughput":          {kind: toFigure, name: "input_tps"},
	"output_throughput":               {kind: toFigure, name: "output_tps"},
	"output_token_throughput":         {kind: toFigure, name: "output_tps"},
	"total_token_throughput":          {kind: toFigure, name: "total_tps"},
	"total_throughput":                {kind: toFigure, name: "total_tps"},
	"max_output_tokens_per_s":         {kind: toFigure, name: "peak_output_tps"},
	"max_concurrent_requests":         {kind: toFigure, name: "peak_concurrency"},
	"user_throughput":                 {kind: toExtra, name: "user_tps"},
	"rtfx":                            {kind: toExtra, name: "rtfx"},
	"total_input_sequences":           {kind: toExtra, name: "input_sequences"},
	"input_sequence_throughput":       {kind: toExtra, name: "inputs_per_s"},
	"accept_length":                   {kind: toFigure, name: "accept_len"},
	"spec_decode_acceptance_length":   {kind: toFigure, name: "accept_len"},
	"spec_decode_acceptance_rate":     {kind: toFigure, name: "accept_rate", scale: 0.01},
	"spec_decode_num_drafts":          {kind: toExtra, name: "spec_drafts"},
	"spec_decode_draft_tokens":        {kind: toExtra, name: "spec_draft_tokens"},
	"spec_decode_accepted_tokens":     {kind: toExtra, name: "spec_accepted_tokens"},
	"request_rate":                    {kind: toField, name: "request_rate"},
	"burstiness":                      {kind: toField, name: "burstiness"},
	"max_concurrency":                 {kind: toField, name: "concurrency"},
	"random_input_len":                {kind: toField, name: "input_len"},
	"random_output_len":               {kind: toField, name: "output_len"},
	"dataset_name":                    {kind: toField, name: "dataset"},
	"seed":                            {kind: toField, name: "seed"},
	"ignore_eos":                      {kind: toField, name: "ignore_eos"},
}

var latencyKey = regexp.MustCompile(`^(mean|avg|median|std|min|max|p\d{1,2}(?:\.\d{1,4})?)_` +
	`(ttft|tpot|itl|e2el|e2e_latency|client_queue_time|e2el_including_client_queue)_(ms|s)$`)

// latencyKeys maps a latency in a key to the field's.
var latencyKeys = map[string]string{
	"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el", "e2e_latency": "e2el",
	"client_queue_time": "queue", "e2el_including_client_queue": "e2el_due",
}

// lookupKey finds where the value of a key goes. "request_goodput:" with its
// colon is what was written for most of a year.
func lookupKey(key string) (place, bool) {
	key = strings.TrimSuffix(key, ":")
	if p, ok := resultKeys[key]; ok {
		return p, true
	}
	m := latencyKey.FindStringSubmatch(key)
	if m == nil {
		return place{}, false
	}
	stat := m[1]
	switch stat {
	case "avg":
		stat = "mean"
	case "p50":
		stat = "median"
	}
	p := place{kind: toFigure, name: strings.ReplaceAll(stat, ".", "_") + "_" + latencyKeys[m[2]] + "_ms"}
	if m[3] == "s" {
		p.scale = 1000
	}
	return p, true
}

// settingNames are other names for what was chosen, where and how, as people and
// tools write them beside results.
var settingNames = map[string]string{
	"gpu_type": "gpu", "gpu_name": "gpu", "gpu_model": "gpu", "accelerator": "gpu", "hardware": "gpu", "hw": "gpu",
	"gpu_count": "gpus", "num_gpus": "gpus", "n_gpus": "gpus", "ngpus": "gpus",
	"framework": "engine", "engine_name": "engine", "serving_engine": "engine", "inference_engine": "engine",
	"version": "engine_version", "vllm_version": "engine_version", "sglang_version": "engine_version", "trtllm_version": "engine_version",
	"model_name": "model", "model_id": "model", "precision": "weight_dtype",
	"tensor_parallel": "tp", "tensor_parallel_size": "tp", "tp_size": "tp", "pipeline_parallel_size": "pp", "pp_size": "pp",
	"data_parallel_size": "dp", "dp_size": "dp", "expert_parallel_size": "ep", "ep_size": "ep",
	"isl": "input_len", "osl": "output_len", "conc": "concurrency", "max_concurrency": "concurrency",
	"random_input_len": "input_len", "random_output_len": "output_len", "dataset_name": "dataset", "num_requests": "num_prompts",
	"hostname": "host", "driver_version": "driver", "docker_image": "image", "container_image": "image", "power_limit": "power_limit_w",
	"spec_decoding": "spec_method", "speculative_method": "spec_method",
}
