// Package load is the ruler: it asks a serving engine a workload at a load over
// its OpenAI-compatible HTTP API and times what comes back.
//
// The parts are separate so that each can be read, tested and deepened by itself:
//
//	Schedule, RampSchedule  when requests are due; pure functions of load and seed
//	NewPrompts              what is asked; a pure function of workload, seed and position
//	Tokenizer, Counter      how long a prompt is, by the model's own vocabulary or the server
//	client                  one streamed request -> one core.Sample
//	wire                    when its bytes moved, by the kernel's word
//	conversation            the turns of one conversation, one after the other
//	drive                   starts requests as the schedule and the limit of requests in flight allow
//	Ruler.Run, Run          warm-up, the measured window, samples handed on in batches, one summary
//	Figures                 samples -> the figures of a trial; pure
//	Observer                the server's own counters and the GPUs, while the load runs
//
// Run is what an engine's Benchmark calls, inside a plugin or in the host; what
// it produces are samples only, and whoever receives them calls Figures. Every
// moment of a sample is an offset from the start of the measured window on the
// monotonic clock.
//
// The definitions follow vllm bench serve with three stated differences: the
// first token is the first chunk that carries a token, not the role chunk; gaps
// between chunks are icl, and itl only where a chunk is known to be a token;
// latency is kept from sent and from due. docs/ruler.md sets them beside those of
// other tools.
package load
