// Package sim is a serving engine that needs no GPU. It simulates continuous
// batching on a roofline model and answers the OpenAI-compatible HTTP API of the
// real engines, so that a whole study (launch, benchmark, failure, stop) runs on
// a laptop and in tests. Its trials are marked simulated.
//
// The package has two halves. [ServerMain] is the server, a process of its own
// with the flags of a real engine; [New] is the adapter, the core.Engine that
// plans, awaits, measures and diagnoses that process. Both read one table of
// knobs (knob.go), so that what is documented, planned and parsed cannot differ.
//
// # The model
//
// A step of the engine lasts
//
//	max(FLOPs / (peak FLOP/s x efficiency), bytes / (HBM bandwidth x efficiency)) + overheads
//
// where FLOPs are those of every prompt and decode token of the step, and bytes
// are the weights and the KV cache that it reads (roofline.go). The scheduler
// (scheduler.go) decides what a step holds: admission under KV blocks and
// max_num_seqs, chunked prefill or prefill first, preemption when the cache is
// full, speculative decoding. It knows virtual time only and is a pure function
// of its requests; pace.go maps virtual to real time, divided by time_scale.
//
// The efficiencies are fitted to published figures of Qwen3-8B and Qwen3-32B on
// one H100: they give the shape of the curves, not a prediction of a machine.
//
// Every duration that the server prints, and every SECONDS that it takes, is
// simulated; only the adapter's time-outs are real.
package sim
