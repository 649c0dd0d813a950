// Package vllm is the adapter of vLLM: its command line, its log and its ways to
// fail. What it shares with other engines is in package serving.
//
// vLLM listens only once its engine is up, so a refused connection means that it
// still loads. One SIGTERM to the leader ends it; a second one would cut its
// clean-up short, and one that comes while it warms up may leave workers behind,
// which is why the host ends the whole tree afterwards.
package vllm

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
	return &serving.Dialect{
		Name: "vllm", Version: "1.0", Package: "vllm",
		Install: "install it with: python3 -m venv DIR && DIR/bin/pip install vllm",
		Images:  "vllm/vllm-openai",
		Command: []string{"vllm", "serve"}, Entrypoint: "vllm", ImageCommand: []string{"serve"},
		Join: true, NoForm: true, NameFlag: "--served-model-name",
		Reserved: map[string]string{
			"uds":                         "the server is asked over TCP",
			"root_path":                   "the server is asked directly",
			"disable_log_requests":        "the log is read by sweepbook",
			"enable_log_requests":         "the log is read by sweepbook",
			"uvicorn_log_level":           "the log is read by sweepbook",
			"disable_uvicorn_access_log":  "the log is read by sweepbook",
			"disable_frontend_multiproc":  "it changes whose processes are watched",
			"ssl_ca_certs":                "the server is asked over plain HTTP",
			"enable_ssl_refresh":          "the server is asked over plain HTTP",
			"kv_transfer_config":          "a server of several processes cannot be planned yet",
			"data_parallel_address":       "servers on several machines cannot be planned yet",
			"data_parallel_rpc_port":      "servers on several machines cannot be planned yet",
			"headless":                    "servers on several machines cannot be planned yet",
			"otlp_traces_endpoint":        "where traces go is no choice of a configuration",
			"allowed_local_media_path":    "paths of one machine are no choice of a configuration",
			"download_dir":                "paths of one machine are no choice of a configuration: set HF_HOME",
			"middleware":                  "it changes what is measured in a way that is not recorded",
			"collect_detailed_traces":     "it changes what is measured",
			"api_server_count":            "it changes whose processes hold the port",
			"enable_server_load_tracking": "it changes what is measured",
		},
		Env:  map[string]string{"VLLM_NO_USAGE_STATS": "1"},
		Help: [][]string{{"--help=all"}, {"--help"}}, Always: []string{"--max-model-len", "--tensor-parallel-size", "--gpu-memory-utilization", "--port"},
		// A large model that compiles its kernels for the first time takes most of this.
		Timeout: 40 * time.Minute, Idle: 10 * time.Minute,
		Read: read, Ask: ask, Signatures: signatures(),
	}
}

var (
	serverVersion = regexp.MustCompile(`vLLM API server version v?([0-9][0-9A-Za-z.+-]*)`)
	engineConfig  = regexp.MustCompile(`Initializing a V\d+ LLM engine \(v?([^)]*)\) with config: (.*)`)
	batchedTokens = regexp.MustCompile(`max_num_batched_tokens\s*=\s*(\d+)`)
	// Of max_num_seqs only the log of VLLM_LOGGING_LEVEL=DEBUG tells the default.
	defaulted   = regexp.MustCompile(`Defaulting (max_num_seqs|max_num_batched_tokens) to (\d+)`)
	cacheTokens = regexp.MustCompile(`[GC]PU KV cache size: ([0-9,]+) tokens`)
	// "Using FLASH_ATTN attention backend out of potential backends: …" in newer versions.
	attention    = regexp.MustCompile(`Using (?:AttentionBackendEnum\.)?([A-Z][A-Z0-9_]+)(?: attention)? backend|Using (Flash Attention|FlashInfer|Triton|FlashMLA|XFormers) backend on V1`)
	largestGraph = regexp.MustCompile(`["']max_cudagraph_capture_size["']: (\d+)`)
	cacheInfo    = regexp.MustCompile(`(?m)^vllm:cache_config_info\{([^}]*)\}`)
)

// configNames are the names in the line of the engine's configuration that are
// flags under another name.
var configNames = map[string]string{
	"max_seq_len": "max_model_len", "chunked_prefill_enabled": "enable_chunked_prefill", "tensor_parallel_size": "", "pipeline_parallel_size": "",
	"data_parallel_size": "", "dtype": "", "load_format": "", "quantization": "", "enforce_eager": "", "kv_cache_dtype": "", "seed": "",
	"enable_prefix_caching": "", "tokenizer_mode": "", "trust_remote_code": "", "disable_custom_all_reduce": "",
}

func read(line string, r *serving.Report) {
	if m := serverVersion.FindStringSubmatch(line); m != nil {
		r.Version = m[1]
	}
	if m := engineConfig.FindStringSubmatch(line); m != nil {
		r.Version = m[1]
		fields := serving.PythonFields(m[2])
		// Here quantization is what the checkpoint turned out to be; without one the
		// weights have the format of the activations.
		if q, ok := fields["quantization"]; ok {
			r.WeightDtype(q.Text)
		} else {
			r.WeightDtype(fields["dtype"].Text)
		}
		for name, v := range fields {
			if flag, ok := configNames[name]; ok {
				if flag == "" {
					flag = name
				}
				r.Set(flag, v)
			}
		}
		if m := largestGraph.FindStringSubmatch(m[2]); m != nil {
			r.Set("max_cudagraph_capture_size", serving.Amount(m[1]))
		}
		return
	}
	if strings.Contains(line, "hunked prefill is enabled") {
		// Newer versions say it in this line alone.
		r.Set("enable_chunked_prefill", core.Bool(true))
		if m := batchedTokens.FindStringSubmatch(line); m != nil {
			r.Set("max_num_batched_tokens", serving.Amount(m[1]))
		}
	}
	if m := defaulted.FindStringSubmatch(line); m != nil {
		r.Set(m[1], serving.Amount(m[2]))
	}
	if m := cacheTokens.FindStringSubmatch(line); m != nil {
		r.Set("kv_cache_tokens", serving.Amount(m[1]))
	}
	if m := attention.FindStringSubmatch(line); m != nil {
		r.Set("attention_backend", core.String(backendName(m[1], m[2])))
	}
	switch {
	// On a CPU the first of these lines is that of the warm-up, or of the cache.
	case strings.Contains(line, "Model loading took"), strings.Contains(line, "Loading model weights took"),
		strings.Contains(line, "Warming up model for the compilation"), strings.Contains(line, "GiB for KV cache on node"):
		r.Loaded()
	case strings.Contains(line, "Directly load the compiled graph"), strings.Contains(line, "Directly load AOT compilation"):
		r.CompileCache(true)
	case strings.Contains(line, "Compiling a graph for"), strings.Contains(line, "saved AOT compiled function to"):
		r.CompileCache(false)
	}
}

// backendName gives the two ways of the log one spelling.
func backendName(constant, words string) string {
	if constant != "" {
		return constant
	}
	if words == "Flash Attention" {
		return "FLASH_ATTN"
	}
	return strings.ToUpper(words)
}

// ask reads the resolved KV cache, which only the metrics tell in full.
func ask(q serving.Question, r *serving.Report) {
	m := cacheInfo.FindStringSubmatch(q.Text("/metrics"))
	if m == nil {
		return
	}
	labels := map[string]string{"block_size": "", "gpu_memory_utilization": "", "enable_prefix_caching": "", "num_gpu_blocks": "", "cache_dtype": "kv_cache_dtype"}
	for name, v := range serving.PythonFields(m[1]) {
		flag, ok := labels[name]
		if !ok {
			continue
		}
		if flag == "" {
			flag = name
		}
		// A label is always quoted; its content has the type.
		r.Set(flag, serving.PythonValue(v.Text))
	}
}
