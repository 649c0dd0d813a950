package vllm

import (
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// signatures are vLLM's own failures. The rows are those of docs/engines.md.
func signatures() []serving.Signature {
	says, wraps := serving.Says, serving.Wraps
	return []serving.Signature{
		says(2, core.GPUDirty, "Free memory on device", "on startup is less than desired GPU memory utilization"),
		says(0, core.HostResources, "Available memory on node", "on startup is less than desired CPU memory utilization"),
		says(3, core.OOMKV, "No available memory for the cache blocks"),
		says(3, core.OOMKV, "Available KV cache memory: -").OrRemark(),
		says(4, core.OOMKV, "To serve at least one request with the model", "KV cache is needed"),
		says(5, core.OOMKV, "is larger than the maximum number of tokens that can be stored in KV cache"),

		says(21, core.BadArgument, "VLLM_PORT", "appears to be a URI"),
		says(22, core.BadArgument, "KeyError: 'embed_tokens.weight'"),
		says(22, core.BadArgument, "assert hidden_states.shape[-1] == input_embeds.shape[-1]"),
		{Row: 23, All: []string{"Loading drafter model"}, After: "WorkerProc failed to start", Trust: serving.Suspicious, Remark: true, Class: core.BadArgument},
		{Row: 24, All: []string{"AssertionError"}, Exact: true, Before: "draft", Trust: serving.Suspicious, Class: core.BadArgument},
		says(37, core.BadArgument, "default chat template is no longer allowed"),
		says(0, core.BadArgument, "User-specified max_model_len"),

		says(25, core.Unsupported, "The quantization method", "is not supported for the current GPU"),
		says(26, core.Unsupported, "Quantization scheme is not supported for"),
		says(27, core.Unsupported, "is not valid for this configuration. Reason: ["),
		says(28, core.Unsupported, "No valid attention backend found"),
		says(29, core.Unsupported, "Invalid attention backend for"),
		says(30, core.Unsupported, "Model architectures [", "are not supported for now"),
		says(30, core.Unsupported, "Model architectures [", "failed to be inspected"),

		says(45, core.Driver, "Failed to infer device type"),
		says(52, core.Crash, "BackendCompilerFailed"),
		says(52, core.Crash, "torch/_inductor/compile_fx.py").With(serving.Suspicious),

		wraps(55, "EngineDeadError: EngineCore encountered an issue"),
		wraps(56, "Engine core initialization failed"),
		wraps(56, "Failed core proc(s):"),
		wraps(57, "EngineCore failed to start."),
		wraps(57, "WorkerProc initialization failed due to an exception in a background process"),
		wraps(57, "WorkerProc hit an exception."),
		wraps(57, "WorkerProc failed to start."),
		wraps(58, "MQLLMEngine is already dead, terminating server process"),
		says(64, core.Hang, "No available shared memory broadcast block found in 60 seconds").With(serving.Stuck).OrRemark(),
		says(69, core.StartupTimeout, "TimeoutError", "ngine").With(serving.Suspicious),
	}
}
