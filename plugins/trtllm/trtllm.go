// Package trtllm is the adapter of TensorRT-LLM: its command line, its options
// file, its log and its ways to fail. What it shares with other engines is in
// package serving.
//
// Deeper settings go to a YAML file. Older versions let the file win over the
// command line, newer ones the command line over the file; so a setting stands in
// one of the two, never in both. One SIGTERM to the leader ends it. With several
// GPUs it may abort on an ordinary stop, so that a status other than 0 after our
// stop is no failure; after a crash it may answer 503 for ever.
package trtllm

import (
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/plugins/serving"
)

// New returns the engine.
func New() *serving.Adapter { return serving.New(dialect()) }

func dialect() *serving.Dialect {
	return &serving.Dialect{
		Name: "trtllm", Version: "1.0", Package: "tensorrt_llm",
		Install: "use the image nvcr.io/nvidia/tensorrt-llm/release, or install it with: python3 -m venv DIR && DIR/bin/pip install tensorrt_llm",
		Images:  "nvcr.io/nvidia/tensorrt-llm/release",
		Command: []string{"trtllm-serve"}, Entrypoint: "trtllm-serve",
		Join: true, Underline: true, OptionsFlag: "--extra_llm_api_options",
		Reserved: map[string]string{
			"extra_llm_api_options":       "settings of a file would not be recorded: give them as knobs (kv_cache_config.dtype)",
			"set":                         "give the setting as a knob (kv_cache_config.dtype)",
			"server_role":                 "a server of several processes cannot be planned yet",
			"metadata_server_config_file": "a server of several processes cannot be planned yet",
			"disagg_cluster_uri":          "a server of several processes cannot be planned yet",
			"custom_module_dirs":          "paths of one machine are no choice of a configuration",
			"otlp_traces_endpoint":        "where traces go is no choice of a configuration",
		},
		Help:    [][]string{{"serve", "--help"}, {"--help"}},
		Always:  []string{"--max_batch_size", "--max_num_tokens", "--port"},
		Timeout: 60 * time.Minute, Idle: 15 * time.Minute,
		ServedModel: servedModel, Read: read, Signatures: signatures(),
	}
}

// servedModel: a folder is served under its last name.
func servedModel(checkpoint string) string {
	if strings.HasPrefix(checkpoint, "/") || strings.HasPrefix(checkpoint, "./") {
		return path.Base(checkpoint)
	}
	return checkpoint
}

var (
	version     = regexp.MustCompile(`TensorRT-LLM version: ([0-9][0-9A-Za-z.+-]*)`)
	limits      = regexp.MustCompile(`\b(max_seq_len|max_num_tokens|max_batch_size)=(\d+)`)
	inferred    = regexp.MustCompile(`max_seq_len is not specified, using inferred value (\d+)`)
	cacheTokens = regexp.MustCompile(`max tokens in paged KV cache \((\d+)\)`)
)

func read(line string, r *serving.Report) {
	if m := version.FindStringSubmatch(line); m != nil {
		r.Version = m[1]
	}
	if strings.Contains(line, "max_num_requests=") {
		for _, m := range limits.FindAllStringSubmatch(line, -1) {
			r.Set(m[1], serving.Amount(m[2]))
		}
	}
	if m := inferred.FindStringSubmatch(line); m != nil {
		r.Set("max_seq_len", serving.Amount(m[1]))
	}
	if m := cacheTokens.FindStringSubmatch(line); m != nil {
		r.Set("kv_cache_tokens", serving.Amount(m[1]))
	}
	if strings.Contains(line, "for model weights.") || strings.Contains(line, "Model init total") {
		r.Loaded()
	}
}
