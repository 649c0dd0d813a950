// Package ingest reads the results of other tools and gives them back as
// core.Trial, so that an old sweep can be questioned like a new one. It stores
// nothing: the caller hands the trials to the audit and to the store.
//
// A file goes through one small pipeline:
//
//	bytes -> gzip                                   unpack.go
//	      -> decode (byte order mark, UTF-16)       input.go
//	      -> a format, recognised by its content    format.go
//	      -> records
//	      -> trials with surroundings, id, source   collect.go surroundings.go
//
// Printed "Serving Benchmark Result" blocks in logs, notes and reports are the
// format "serving-block". Its own pipeline is
//
//	lines (line ends, escape codes, redrawn bars, quotes, log prefixes)  lines.go prefix.go
//	      -> events (command, flag list, profile, fact, heading, label)  serving.go event.go paragraph.go
//	      -> context that accumulates (outline, server, asks, facts)  heading.go server.go ask.go facts.go
//	      -> block rows (block.go, beside.go, label.go) -> trial (trial.go)
//
// JSON is read as Python writes it, document by document (json.go, jsonvalue.go);
// each object goes to the kind that its keys tell (objects.go: vllm.go sglang.go
// guidellm.go sweep.go aiperf.go genaibench.go inferenceperf.go evalscope.go
// trtllmbench.go infx.go llmd.go) and becomes a draft of a trial (draft.go, keys.go,
// stats.go, detail.go). Tables go the same way, a row a draft (table.go, column.go), and
// YAML like JSON, once the caller has decoded it (yaml.go).
//
// SQLite files are opened by the caller's driver and told apart by their tables
// (sqlite.go: evalscope_db.go optuna.go mlflow.go). Trackers' trials are drafts whose
// names are recognised like those of columns (history.go, mlruns.go).
//
// Single requests with moments of one clock are gathered into samples (requests.go);
// a summary takes them from the file beside it (sibling.go), else they are a trial
// of their own.
//
// Every stage keeps a bounded amount of text, so that a log of any size is read
// in constant memory beside the trials that it holds; one document, the records of
// one file, and what stands beside it have bounds of their own, and an error says
// which was met.
//
// # What stands around a file
//
// A trial that does not know its server is completed by the nearest log or script
// of a server within the named folder (companion.go), then by the fields of a
// pattern in the path (pattern.go), then by a mapping, whose settings outrank all
// others (mapping.go). What was taken is named in extra.from_beside,
// extra.from_path and extra.from_mapping.
//
// # What a printed block means
//
// The figures come from the block and are never recomputed here. The number of
// requests that were asked for is printed by few tools, so that it comes from the
// benchmark command or profile which fits the block's mean token counts; where
// none fits it stays missing, and with it success_rate.
//
// A block of guidellm origin (its Latency section counts in seconds) heads its
// time per output token "excl. 1st token" although the first token is inside:
// latency to the last token divided by all tokens. That is another quantity, so it
// is stored as extra.mean_tpot_incl_first_ms (median, p95, p99 alike) and never as
// tpot. The "Maximum request concurrency" of such a block is the observed peak: it
// is stored as extra.printed_max_concurrency, and the load's concurrency is what
// the profile says, unlimited where it states a rate and no limit.
//
// # Names under extra
//
//   - heading_engine: the engine that the section title names, where the command
//     starts another one
//   - label_overrides: knobs of a comment label that the shown command gives otherwise
//   - bench_model, bench_backend: what the benchmark command calls the model and protocol
//   - printed_max_concurrency: see above
//   - not_available: figures whose line says N/A, comma separated
//   - progress_total: the total of the progress bar before the block
//   - errors: kinds of failed requests and how often each came
//   - written_as_zero: latencies that do not exist and that the source gives as 0:
//     after the first token of one-token answers, before the last of unstreamed ones
//   - recomputed: figures that the source lacks and its single requests gave
//   - invalid_requests: requests whose times contradict each other; what the others
//     say stands in valid_mean_ttft_ms and valid_mean_tpot_ms
//   - requests_outside_window: of guidellm, requests that its figures leave out
//   - server_output_tokens, server_input_tokens: the server's counts, where the tool
//     counts with a tokenizer of its own
//   - median_itl_of_requests_ms and the like: of guidellm, statistics of the mean gap
//     of each request
//   - objective, objective_direction, last_reported_…: of a tracker, see history.go
//   - roles, replicas, error_kinds, run_duration_s: of a report of llm-d, see llmd.go
//   - offline: true where the engine ran inside the benchmark
//   - warmup_requests: requests of a warm-up, which are no samples
//   - sample_times: "relative" where each request counts from its own start
//   - from_beside, from_path, from_mapping: see above
//   - truncated: true for a block without its closing ruler at the end of the text
//   - anything else that a block prints and no field means, in snake_case
package ingest
