package servingtest

// Fakes are the fakes of every engine that has an adapter.
func Fakes() []Fake { return []Fake{VLLM(), SGLang(), TRTLLM()} }

// VLLM is vllm serve 0.11: an API server over an engine core and a worker. It listens
// once its engine is up.
func VLLM() Fake {
	const core = "(EngineCore_DP0 pid=4243) INFO 11-30 21:00:02 [core.py:77] "
	return Fake{
		Engine: "vllm", Program: "vllm serve",
		Loading: []string{
			"INFO 11-30 21:00:00 [__init__.py:216] Automatically detected platform cuda.",
			"(APIServer pid=4242) INFO 11-30 21:00:01 [api_server.py:1839] vLLM API server version 0.11.0",
			"(APIServer pid=4242) INFO 11-30 21:00:01 [utils.py:233] non-default args: {'model_tag': '%s', 'host': '127.0.0.1'}",
			core + "Initializing a V1 LLM engine (v0.11.0) with config: model='%s', speculative_config=None, tokenizer='%s', trust_remote_code=False, dtype=torch.bfloat16, max_seq_len=40960, load_format=auto, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, seed=0, served_model_name=%s, enable_prefix_caching=True, chunked_prefill_enabled=True, compilation_config={\"level\":3,\"seed\":7}",
			core + "Chunked prefill is enabled with max_num_batched_tokens=8192.",
			core + "Starting to load model %s...",
		},
		Loaded: []string{
			core + "Using Flash Attention backend on V1 engine.",
			core + "Model loading took 15.2683 GiB and 9.94 seconds",
			core + "Directly load the compiled graph(s) for dynamic shape from the cache, took 3.1 s",
			core + "GPU KV cache size: 425,344 tokens",
			core + "Maximum concurrency for 40,960 tokens per request: 10.38x",
			"\x1b[1;36m(EngineCore_DP0 pid=4243)\x1b[0;0m INFO 11-30 21:00:09 [core.py:210] init engine (profile, create kv cache, warmup model) took 12.39 seconds",
		},
		Ready: []string{
			"(APIServer pid=4242) INFO 11-30 21:00:10 [api_server.py:1912] Starting vLLM API server 0 on http://127.0.0.1:0",
			"(APIServer pid=4242) INFO:     Application startup complete.",
		},
		Workers: []string{"VLLM::EngineCore", "VLLM::Worker_TP0"},
		Wrapper: []string{
			"(EngineCore_DP0 pid=4243) ERROR 11-30 21:00:05 [core.py:708] EngineCore failed to start.",
			"(APIServer pid=4242) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
		},
		FailedExit: 1,
		Info: map[string]string{
			"/version": `{"version":"0.11.0"}`,
			"/metrics": "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"26584\",sliding_window=\"None\"} 1.0\n",
		},
	}
}

// SGLang is sglang.launch_server 0.5.5: it listens before it is warm, and ends its
// whole tree by SIGKILL when a scheduler fails.
func SGLang() Fake {
	return Fake{
		Engine: "sglang", Program: "launch_server.py", Model: "--model-path",
		Loading: []string{
			"[2026-11-30 21:00:00] server_args=ServerArgs(model_path='%s', tokenizer_path='%s', host='127.0.0.1', api_key=None, mem_fraction_static=0.866, tp_size=1)",
			"[2026-11-30 21:00:03] Attention backend not explicitly specified. Use fa3 backend by default.",
			"[2026-11-30 21:00:05 TP0] Load weight begin. avail mem=78.58 GB",
		},
		Loaded: []string{
			"[2026-11-30 21:00:09 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=63.20 GB, mem usage=15.38 GB.",
			"[2026-11-30 21:00:10 TP0] KV Cache is allocated. #tokens: 372110, K size: 25.5 GB, V size: 25.5 GB",
			"[2026-11-30 21:00:11 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=11.6 GB",
			"[2026-11-30 21:00:14 TP0] max_total_num_tokens=372110, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=9.87 GB",
		},
		Ready:      []string{"[2026-11-30 21:00:16] The server is fired up and ready to roll!"},
		Workers:    []string{"sglang::scheduler_TP0", "sglang::detokenizer"},
		Early:      true,
		Wrapper:    []string{"[2026-11-30 21:00:06] Received sigquit from a child process. It usually means the child failed."},
		FailedExit: 137,
		Info: map[string]string{
			"/get_server_info": `{"model_path":"x","version":"0.5.5.post1","api_key":"canary-key-1","tp_size":1,"chunked_prefill_size":8192,"cuda_graph_bs":[1,2,4],"attention_backend":"fa3",` +
				`"disable_radix_cache":false,"quantization":null,"schedule_policy":"fcfs","mem_fraction_static":0.866,"max_total_num_tokens":372110,"internal_states":[{}]}`,
		},
	}
}

// TRTLLM is trtllm-serve 1.2: it aborts on an ordinary stop.
func TRTLLM() Fake {
	return Fake{
		Engine: "trtllm", Program: "trtllm-serve serve", Click: true, Extra: []string{"--extra_llm_api_options"},
		Loading: []string{
			"[TensorRT-LLM] TensorRT-LLM version: 1.2.0rc1",
			"[11/30/2026-21:00:01] [TRT-LLM] [I] Using LLM with PyTorch backend",
			"[11/30/2026-21:00:02] [TRT-LLM] [RANK 0] [I] max_seq_len is not specified, using inferred value 40960",
		},
		Loaded: []string{
			"[11/30/2026-21:00:08] [TRT-LLM] [RANK 0] [I] Use 15.37 GB for model weights.",
			"[11/30/2026-21:00:09] [TRT-LLM] [RANK 0] [I] max_seq_len=40960, max_num_requests=2048, max_num_tokens=8192, max_batch_size=2048",
			"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 50.85 GiB for max tokens in paged KV cache (370112).",
		},
		Ready:    []string{"INFO:     Application startup complete."},
		Workers:  []string{"trtllm-worker"},
		Wrapper:  []string{"[11/30/2026-21:00:05] [TRT-LLM] [E] Executor worker returned error: the worker is gone"},
		TermExit: 134, FailedExit: 1,
		Tail: " ",
		Info: map[string]string{"/version": `{"version":"1.2.0rc1"}`},
	}
}
