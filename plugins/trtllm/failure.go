package trtllm

import (
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// signatures are TensorRT-LLM's own failures. The rows are those of
// docs/engines.md.
func signatures() []serving.Signature {
	says, wraps := serving.Says, serving.Wraps
	const refused = "Executor creation failed due to insufficient GPU memory"
	return []serving.Signature{
		// The line names no component; the one that could not be made stands below.
		{Row: 14, All: []string{refused}, After: "could not be created: KV cache", Class: core.OOMKV},
		{Row: 14, All: []string{refused}, After: "could not be created: Model", Class: core.OOMWeights},
		{Row: 14, All: []string{refused}, Class: core.OOMRuntime},
		// Row 15, out of memory while graphs are captured, is told by the traceback.
		says(16, core.OOMKV, "maxTokensInPagedKvCache", "must be large enough"),
		wraps(17, "Executor worker returned error"),

		says(20, core.BadArgument, "got an unexpected keyword argument"),
		says(20, core.BadArgument, "Extra inputs are not permitted"),
		says(31, core.Unsupported, "is not supported in TRT-LLM yet"),
		says(32, core.Unsupported, "Assertion failed: Unsupported architecture"),
		says(41, core.PortInUse, "Failed to bind socket to"),

		says(62, core.Crash, "Executor loop crashed on this rank; hard-killing all"),
		says(63, core.Crash, "Encountered an error in forwardSync function"),
		says(67, core.Hang, "No free slots").With(serving.Stuck).OrRemark(),
		{Row: 68, All: []string{"Refreshed the MPI local session"}, Last: true, Trust: serving.Stuck, Remark: true, Class: core.Hang},
		{Row: 68, All: []string{"rank", "GPU"}, Last: true, Trust: serving.Stuck, Remark: true, Class: core.Hang},
	}
}
