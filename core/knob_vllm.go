package core

func vllmFlags() []EngineFlag {
	m := flagMaker{engine: "vllm", dash: "-", no: true}
	off, none := Bool(false), Missing()
	return []EngineFlag{
		m.text("reasoning_parser", "", "how reasoning is told from the answer"),
		m.text("tokenizer", "", "name or folder of the tokenizer, where it is not the checkpoint's"),
		m.text("tokenizer_mode", "auto", "which tokenizer implementation"),
		m.on("trust_remote_code", off, "run code that comes with the checkpoint"),
		m.text("dtype", "auto", "number format of weights and activations"),
		m.text("quantization", "", "weight quantization applied at load").also("q"),
		m.text("load_format", "auto", "how the weights are read; dummy gives random ones"),
		m.on("enable_prefix_caching", none, "prompts that begin alike are computed once"),
		m.object("speculative_config", "who drafts the tokens that a step verifies, and how many"),
		m.text("performance_mode", "balanced", "preset of the batching defaults; throughput doubles those that are not given", "balanced", "interactivity", "throughput"),
		m.size("max_model_len", -1, none, "longest sequence (prompt and answer) in tokens"),
		m.size("max_num_batched_tokens", 1, none, "tokens computed in one step; the default depends on the GPU"),
		m.whole("max_num_seqs", 1, none, "requests that decode together; the default depends on the GPU"),
		m.on("enable_chunked_prefill", none, "a long prompt is computed in pieces between decode steps"),
		m.whole("long_prefill_token_threshold", 0, Number(0), "from how many tokens on a prompt counts as long"),
		m.whole("max_num_partial_prefills", 1, Number(1), "prompts that are computed in pieces at once").until("0.27.0"),
		m.whole("max_long_partial_prefills", 1, Number(1), "long prompts among them").until("0.27.0"),
		m.text("scheduling_policy", "fcfs", "order of the waiting requests", "fcfs", "priority"),
		m.on("async_scheduling", none, "the next step is planned while this one runs"),
		m.whole("stream_interval", 1, Number(1), "tokens in one streamed chunk"),
		m.number("gpu_memory_utilization", 1, Number(0.9), "share of the GPU's whole memory for everything"),
		m.size("kv_cache_memory_bytes", 1, none, "memory of the KV cache; given, nothing is profiled"),
		m.text("kv_cache_dtype", "auto", "number format of the KV cache"),
		m.whole("block_size", 1, none, "tokens in one block of the KV cache"),
		m.number("swap_space", maxFlag, none, "GiB of host memory for swapped blocks; newer versions have it no longer"),
		m.number("cpu_offload_gb", maxFlag, Number(0), "GiB of weights kept in host memory"),
		m.on("enforce_eager", off, "no CUDA graphs"),
		m.object("compilation_config", "torch.compile and CUDA graphs in detail").also("O"),
		m.list("cudagraph_capture_sizes", "batch sizes that get a CUDA graph"),
		m.whole("max_cudagraph_capture_size", 1, none, "largest batch that gets a CUDA graph"),
		m.list("cuda_graph_sizes", "older name of cudagraph_capture_sizes").until("0.25.1"),
		m.text("attention_backend", "", "attention kernels; older versions take VLLM_ATTENTION_BACKEND"),
		m.whole("tensor_parallel_size", 1, Number(1), "GPUs that share each layer").also("tp"),
		m.whole("pipeline_parallel_size", 1, Number(1), "groups of layers on different GPUs").also("pp"),
		m.whole("data_parallel_size", 1, Number(1), "whole copies of the model").also("dp"),
		m.on("enable_expert_parallel", off, "experts are spread over the GPUs instead of being cut"),
		m.on("enable_eplb", off, "experts are moved to even out their load"),
		m.on("disable_custom_all_reduce", off, "plain NCCL instead of vLLM's own all-reduce"),
		m.text("distributed_executor_backend", "", "who starts the workers"),
		m.whole("seed", 0, none, "random seed of the server"),
		m.text("generation_config", "auto", "sampling defaults: the checkpoint's, or vllm for neutral ones"),
		m.object("default_chat_template_kwargs", "arguments of the chat template"),
		m.object("limit_mm_per_prompt", "images, videos and sounds allowed in one prompt"),
		m.object("hf_overrides", "changes to the checkpoint's config.json"),
		m.text("tool_call_parser", "", "how tool calls are told from the answer"),
		m.on("enable_auto_tool_choice", off, "the model may choose to call a tool"),
		m.on("disable_log_stats", off, "no statistics in the log"),
	}
}

// maxFlag bounds what no flag limits but a machine does.
const maxFlag = 1 << 40
