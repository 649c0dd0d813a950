package sglang

import (
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// signatures are SGLang's own failures. The rows are those of docs/engines.md.
func signatures() []serving.Signature {
	says, wraps := serving.Says, serving.Wraps
	return []serving.Signature{
		says(6, core.OOMKV, "Not enough memory. Please try to increase --mem-fraction-static"),
		says(7, core.OOMGraph, "Capture cuda graph failed", "CUDA out of memory"),
		says(8, core.Crash, "Capture cuda graph failed"),
		says(9, core.OOMRuntime, "Decode out of memory. Try to lower your batch size"),
		says(9, core.OOMRuntime, "Prefill out of memory. Try to lower your batch size"),
		says(10, core.OOMRuntime, "alloc_paged_token_slots_extend"),
		says(11, core.OOMRuntime, "Failed to allocate memory for batch_prefill_tmp_v"),
		says(12, core.OOMKV, "max_total_tokens=", "is larger than the profiled value -"),
		says(13, core.Crash, "memory leak detected!"),
		says(13, core.Crash, "KV cache pool leak detected!"),
		says(40, core.PortInUse, "is used by a process already"),

		wraps(59, "Received sigquit from a child proces"), //nolint:misspell // as SGLang writes it
		wraps(59, "SIGQUIT received. signum="),
		{Row: 60, All: []string{"Scheduler hit an exception:"}, Traceback: true, Trust: serving.Suspicious, Class: core.Crash},
		says(61, core.Crash, "Initialization failed. warmup error:"),
		says(65, core.Hang, "Health check failed. Server couldn't get a response from detokenizer").With(serving.Stuck),
		says(66, core.Hang, "Watchdog timeout (self.watchdog_timeout="),
	}
}
