package ingest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// server is what the source says of the server that a block measured: from its
// command, or from a bare list of flags.
type server struct {
	line    int
	text    string // for the raw text of the source
	config  core.Config
	image   string
	isFlags bool // a bare list: the model stands elsewhere
}

// newServer reads a server command.
func newServer(cmd command) server {
	s := server{line: cmd.line, text: cmd.text, image: cmd.image}
	flags, rest := parseFlags(cmd.words)
	s.config = serverConfig(cmd.engine, flags)
	if s.config.Checkpoint == "" && len(rest) > 0 && !strings.Contains(rest[0], "$") {
		s.config.Checkpoint = rest[0]
	}
	for _, assign := range cmd.env {
		name, value, _ := strings.Cut(assign, "=")
		if listedEnv(name) {
			if s.config.Env == nil {
				s.config.Env = map[string]string{}
			}
			s.config.Env[name] = value
		}
	}
	return s
}

// serverFromFlags reads a bare list of flags. The engine is the one whose flags
// they are, else fallback.
func serverFromFlags(no int, words []string, fallback string) server {
	flags, _ := parseFlags(words)
	engine := engineOfFlags(flags)
	if engine == "" {
		engine = fallback
	}
	return server{line: no, text: strings.Join(words, "\n"), config: serverConfig(engine, flags), isFlags: true}
}

// serverConfig turns flags into a configuration: the model's options, the knobs
// under their canonical names. Settings that a shell variable or a further file
// decides leave the command unknown.
func serverConfig(engine string, flags []flag) core.Config {
	cfg := core.Config{Engine: engine, Knobs: core.Knobs{}, CommandKnown: true}
	for _, f := range flags {
		name := core.SnakeKnob(f.name)
		switch {
		case name == "model" || name == "model_path":
			if !strings.Contains(f.value, "$") {
				cfg.Checkpoint = f.value
			}
		case name == "revision":
			cfg.Revision = f.value
		case name == "config" || name == "extra_llm_api_options":
			cfg.CommandKnown = false
		case !isKnob(name):
		case strings.Contains(f.value, "$"):
			cfg.CommandKnown = false
		default:
			knob, v := knobValue(engine, name, f)
			cfg.Knobs[knob] = v
		}
	}
	return cfg
}

// knobValue gives the canonical name and typed value of one flag. A bare flag is
// true; vLLM's --no-x is x false.
func knobValue(engine, name string, f flag) (string, core.Value) {
	if f.bare {
		if positive, ok := strings.CutPrefix(name, "no_"); ok && engine == "vllm" {
			return core.CanonicalKnob(engine, positive), core.Bool(false)
		}
		return core.CanonicalKnob(engine, name), core.Bool(true)
	}
	knob := core.CanonicalKnob(engine, name)
	if n, ok := sizeValue(f.value); ok && (knob == "context_len" || knob == "max_batched_tokens" || strings.HasSuffix(knob, "_tokens")) {
		return knob, core.Number(n)
	}
	if text := strings.TrimSpace(f.value); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return knob, core.String(canonicalJSON(text))
	}
	return knob, core.ParseValue(f.value)
}

// canonicalJSON gives equal objects one spelling: no blanks, keys in order.
func canonicalJSON(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return text
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return text
	}
	return strings.TrimSpace(out.String())
}

var humanSize = regexp.MustCompile(`^(\d+(?:\.\d+)?)([kKmM])$`)

// sizeValue reads the human sizes of vLLM: 1k is 1000, 1K is 1024.
func sizeValue(s string) (float64, bool) {
	m := humanSize.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]float64{"k": 1000, "K": 1024, "m": 1e6, "M": 1 << 20}[m[2]]
	return n * unit, err == nil
}

// isKnob reports whether an option is a choice that may change the result.
// Addresses, names, paths of logs and secrets are not.
func isKnob(name string) bool {
	switch name {
	case "model_tag", "host", "port", "uds", "served_model_name", "tokenizer", "tokenizer_path", "download_dir", "root_path", "nccl_port",
		"dist_init_addr", "node_rank", "master_addr", "master_port", "data_parallel_address", "data_parallel_rpc_port",
		"allowed_origins", "allowed_methods", "allowed_headers", "allow_credentials", "otlp_traces_endpoint", "v",
		"api_key", "api_keys", "admin_api_key", "hf_token", "metadata_server_port", "log", "show_time_cost", "help":
		return false
	}
	for _, prefix := range []string{"ssl_", "log_", "disable_log_", "enable_log_", "no_enable_log_", "no_disable_log_", "uvicorn_",
		"disable_uvicorn_", "disable_access_log", "disable_fastapi_docs", "crash_dump_", "decode_log_"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, part := range []string{"secret", "password", "api_key"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	return !strings.HasSuffix(name, "_token") && !strings.HasSuffix(name, "_port")
}

var engineEnv = regexp.MustCompile(`^(?:VLLM|SGLANG|SGL|TRTLLM|TLLM|NCCL|PYTORCH)_`)

// listedEnv reports whether a variable is kept with the configuration: those of
// the engines, without secrets and addresses.
func listedEnv(name string) bool {
	if !engineEnv.MatchString(name) {
		return false
	}
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PORT", "HOST", "ADDR", "PATH", "DIR", "LOG", "CACHE"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	return true
}

// ownFlags are spellings that only one engine has.
var ownFlags = map[string]string{
	"max-model-len": "vllm", "max-num-seqs": "vllm", "max-num-batched-tokens": "vllm", "gpu-memory-utilization": "vllm",
	"enable-prefix-caching": "vllm", "no-enable-prefix-caching": "vllm", "performance-mode": "vllm", "speculative-config": "vllm",
	"async-scheduling": "vllm", "enforce-eager": "vllm", "enable-chunked-prefill": "vllm", "no-enable-chunked-prefill": "vllm",
	"enable-expert-parallel": "vllm", "compilation-config": "vllm",

	"context-length": "sglang", "max-running-requests": "sglang", "mem-fraction-static": "sglang", "chunked-prefill-size": "sglang",
	"max-prefill-tokens": "sglang", "cuda-graph-max-bs": "sglang", "cuda-graph-bs": "sglang", "speculative-algorithm": "sglang",
	"speculative-num-steps": "sglang", "speculative-eagle-topk": "sglang", "enable-torch-compile": "sglang", "tp-size": "sglang",
	"enable-dp-attention": "sglang", "disable-radix-cache": "sglang", "schedule-policy": "sglang", "schedule-conservativeness": "sglang",

	"max_seq_len": "trtllm", "max_num_tokens": "trtllm", "max_batch_size": "trtllm", "enable_chunked_prefill": "trtllm",
	"kv_cache_free_gpu_memory_fraction": "trtllm", "free_gpu_memory_fraction": "trtllm", "extra_llm_api_options": "trtllm", "tp_size": "trtllm",
}

// engineOfFlags names the engine that most of the flags belong to alone; "" where
// none or two do.
func engineOfFlags(flags []flag) string {
	votes := map[string]int{}
	for _, f := range flags {
		if engine, ok := ownFlags[f.name]; ok {
			votes[engine]++
		}
	}
	best, tie := "", false
	for engine, n := range votes {
		switch {
		case best == "" || n > votes[best]:
			best, tie = engine, false
		case n == votes[best]:
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}
