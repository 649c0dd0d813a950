// Package sglang is the adapter of SGLang: its command line, its log and its ways
// to fail. What it shares with other engines is in package serving.
//
// SGLang listens before its warm-up is done. Its /health runs a real generation
// that is not cancelled when the asker gives up; asked often it has ended servers,
// so only /v1/models and one real completion are asked. One SIGTERM to the leader
// ends it. Its schedulers leave the process tree while they start, and whatever
// fails, its leader ends with SIGKILL: exit status 137 proves nothing.
package sglang

import (
	"regexp"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// New returns the engine.
func New() *serving.Adapter { return serving.New(dialect()) }

func dialect() *serving.Dialect {
	module := []string{"-m", "sglang.launch_server"}
	return &serving.Dialect{
		Name: "sglang", Version: "1.0", Package: "sglang",
		Install: "install it with: python3 -m venv DIR && DIR/bin/pip install 'sglang[all]'",
		Images:  "lmsysorg/sglang",
		Command: append([]string{"python3"}, module...), Module: module, Entrypoint: "python3", ImageCommand: module,
		ModelFlag: "--model-path", NameFlag: "--served-model-name",
		Reserved: map[string]string{
			"nccl_port":            "the engine derives its other ports from the allotted one",
			"log_level_http":       "the log is read by sweepbook",
			"log_requests":         "the log is read by sweepbook",
			"log_requests_level":   "the log is read by sweepbook",
			"fastapi_root_path":    "the server is asked directly",
			"grpc_mode":            "the server is asked over HTTP",
			"dist_init_addr":       "servers on several machines cannot be planned yet",
			"nnodes":               "servers on several machines cannot be planned yet",
			"node_rank":            "servers on several machines cannot be planned yet",
			"disaggregation_mode":  "a server of several processes cannot be planned yet",
			"download_dir":         "paths of one machine are no choice of a configuration: set HF_HOME",
			"base_gpu_id":          "the host allots the GPUs",
			"is_embedding":         "only generation is measured",
			"skip_tokenizer_init":  "the server is asked with text",
			"file_storage_path":    "paths of one machine are no choice of a configuration",
			"crash_dump_folder":    "paths of one machine are no choice of a configuration",
			"otlp_traces_endpoint": "where traces go is no choice of a configuration",
		},
		Help: [][]string{{"--help"}}, Always: []string{"--context-length", "--mem-fraction-static", "--port"},
		// Compiling DeepGEMM kernels for the first time takes up to half an hour, much
		// of it in silence.
		Timeout: 60 * time.Minute, Idle: 20 * time.Minute,
		Read: read, Ask: ask, Signatures: signatures(),
	}
}

var (
	limits           = regexp.MustCompile(`\b(max_total_num_tokens|chunked_prefill_size|max_prefill_tokens|max_running_requests|context_len)=(-?\d+)`)
	defaultAttention = regexp.MustCompile(`Use (\w+)(?: attention)? backend by default`)
	weightsLoaded    = regexp.MustCompile(`Load weight end\.(?:.*\bdtype=torch\.(\w+))?`)
)

func read(line string, r *serving.Report) {
	if strings.Contains(line, "max_total_num_tokens=") && strings.Contains(line, "context_len=") {
		for _, m := range limits.FindAllStringSubmatch(line, -1) {
			switch m[1] {
			case "max_total_num_tokens":
				r.Set("kv_cache_tokens", serving.Amount(m[2]))
			case "context_len":
				r.Set("context_length", serving.Amount(m[2]))
			default:
				r.Set(m[1], serving.Amount(m[2]))
			}
		}
	}
	if m := defaultAttention.FindStringSubmatch(line); m != nil {
		r.Set("attention_backend", core.String(m[1]))
	}
	if m := weightsLoaded.FindStringSubmatch(line); m != nil {
		r.Loaded()
		if m[1] != "" {
			r.Set("dtype", core.String(m[1]))
		}
	}
}

// ask reads the arguments in force. The answer holds the API keys, too, so only
// what the knob table lists is taken.
func ask(q serving.Question, r *serving.Report) {
	var info map[string]any
	if !q.JSON("/get_server_info", &info) && !q.JSON("/server_info", &info) {
		return
	}
	if v, ok := info["version"].(string); ok {
		r.Version = v
	}
	for _, f := range core.EngineFlags("sglang") {
		if v, ok := info[core.SnakeKnob(f.Flag)]; ok {
			r.Set(f.Flag, serving.JSONValue(v))
		}
	}
	if v, ok := info["max_total_num_tokens"].(float64); ok {
		r.Set("kv_cache_tokens", core.Number(v))
	}
}
