// Package tool knows the benchmark tools of other people: vllm bench serve,
// sglang.bench_serving, guidellm and, where it is typed, TensorRT-LLM's
// benchmark_serving. [Command] renders what one of them is asked for
// a workload at a load; [Recognise] reads a command that somebody typed: which
// tool, which server, where the result goes; [Watch] tells a result of this run
// from one that was there before; [End] says what became of a run.
//
// The package starts no process: a study runs a tool under the supervision that
// servers have, "sweepbook record" under the eyes of the person who typed it, and
// both come here for everything else. Results are read by core/ingest.
package tool
