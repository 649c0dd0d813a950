package core

func trtllmFlags() []EngineFlag {
	m := flagMaker{engine: "trtllm", dash: "_"}
	off, none := Bool(false), Missing()
	return []EngineFlag{
		m.text("backend", "pytorch", "which runtime", "pytorch", "tensorrt", "trt", "_autodeploy"),
		m.text("tokenizer", "", "name or folder of the tokenizer, where it is not the checkpoint's"),
		m.on("trust_remote_code", off, "run code that comes with the checkpoint"),
		m.text("reasoning_parser", "", "how reasoning is told from the answer"),
		m.text("tool_parser", "", "how tool calls are told from the answer"),
		m.whole("max_beam_width", 1, none, "beams of a search"),
		m.whole("max_batch_size", 1, none, "requests that decode together"),
		m.whole("max_num_tokens", 1, none, "tokens computed in one step"),
		m.whole("max_seq_len", 1, none, "longest sequence (prompt and answer) in tokens"),
		m.on("enable_chunked_prefill", off, "a long prompt is computed in pieces between decode steps"),
		m.number("free_gpu_memory_fraction", 1, Number(0.9), "share of what is free beside the weights, for the KV cache").
			also("kv_cache_free_gpu_memory_fraction", "kv_cache_config.free_gpu_memory_fraction"),
		m.whole("tp_size", 1, Number(1), "GPUs that share each layer").also("tp", "tensor_parallel_size"),
		m.whole("pp_size", 1, Number(1), "groups of layers on different GPUs").also("pp", "pipeline_parallel_size"),
		m.whole("cp_size", 1, Number(1), "GPUs that share a sequence").also("context_parallel_size"),
		m.whole("ep_size", 1, none, "GPUs over which the experts are spread").also("ep", "moe_expert_parallel_size"),
		m.whole("cluster_size", 1, none, "GPUs of one cluster of experts").also("moe_cluster_parallel_size"),
		m.whole("gpus_per_node", 1, none, "GPUs of one machine"),
		m.whole("num_postprocess_workers", 0, Number(0), "processes that turn tokens into text"),
		m.on("fail_fast_on_attention_window_too_large", off, "refuse to start when one sequence cannot fit"),
		m.text("attn_backend", "TRTLLM", "attention kernels").at("attn_backend"),
		m.text("kv_cache_dtype", "auto", "number format of the KV cache").at("kv_cache_config.dtype"),
		m.on("enable_block_reuse", Bool(true), "prompts that begin alike are computed once").at("kv_cache_config.enable_block_reuse"),
		m.object("kv_cache_config", "the KV cache in detail").at("kv_cache_config"),
		m.on("cuda_graph_padding", none, "a batch runs on the next larger CUDA graph").at("cuda_graph_config.enable_padding"),
		m.whole("cuda_graph_max_batch_size", 1, none, "largest batch that gets a CUDA graph").at("cuda_graph_config.max_batch_size"),
		m.list("cuda_graph_batch_sizes", "batch sizes that get a CUDA graph").at("cuda_graph_config.batch_sizes"),
		m.object("cuda_graph_config", "CUDA graphs in detail").at("cuda_graph_config"),
		m.object("speculative_config", "who drafts the tokens that a step verifies, and how many").at("speculative_config"),
		m.text("moe_backend", "", "kernels of the experts").at("moe_config.backend"),
		m.on("enable_attention_dp", off, "attention is copied, the experts are shared").at("enable_attention_dp"),
		m.on("disable_overlap_scheduler", off, "the next step is planned only after this one").at("disable_overlap_scheduler"),
		m.whole("stream_interval", 1, Number(1), "tokens in one streamed chunk").at("stream_interval"),
		m.object("scheduler_config", "the scheduler in detail").at("scheduler_config"),
		m.object("torch_compile_config", "torch.compile in detail").at("torch_compile_config"),
		m.on("enable_iter_perf_stats", off, "figures of each step under /metrics").at("enable_iter_perf_stats"),
		m.on("return_perf_metrics", off, "figures under /prometheus/metrics").at("return_perf_metrics"),
	}
}
