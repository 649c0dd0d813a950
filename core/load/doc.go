// Package load is the ruler: it asks a serving engine a workload at a load over
// its OpenAI-compatible HTTP API and times what comes back.
//
// The parts are separate so that each can be read, tested and deepened by itself:
//
//	Schedule   when requests are due; a pure function of load and seed
//	NewPrompts what is asked; a pure function of workload, seed and position
//	client     one streamed request -> one core.Sample
//	drive      starts requests as the schedule and the limit of requests in flight allow
//	Run        warm-up, the measured window, samples handed on in batches
//	Figures    samples -> the figures of a trial; pure
//
// Run is what an engine's Benchmark calls, inside a plugin or in the host; what
// it produces are samples only, and whoever receives them calls Figures. Every
// moment of a sample is an offset from the start of the measured window on the
// monotonic clock.
//
// The definitions follow vllm bench serve with three stated differences: the
// first token is the first chunk that carries a token, not the role chunk; gaps
// between chunks are icl, and itl only where a chunk is known to be a token;
// latency is kept from sent and from due.
package load
