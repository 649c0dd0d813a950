// Package ingest reads the results of other tools and gives them back as
// core.Trial, so that an old sweep can be questioned like a new one. It stores
// nothing: the caller hands the trials to the audit and to the store.
//
// A file goes through one small pipeline:
//
//	bytes -> decode (byte order mark, UTF-16)       input.go
//	      -> a format, recognised by its content    format.go
//	      -> records -> trials with id and source   collect.go
//
// The format for text is "serving-block": printed "Serving Benchmark Result"
// blocks in logs, notes and reports. Its own pipeline is
//
//	lines (line ends, escape codes, redrawn bars, quotes, log prefixes)  lines.go prefix.go
//	      -> events (command, flag list, profile, fact, heading, label)  serving.go event.go paragraph.go
//	      -> context that accumulates (outline, server, asks, facts)  heading.go server.go ask.go facts.go
//	      -> block rows (block.go, label.go) -> trial (trial.go)
//
// Every stage keeps a bounded amount of text, so that a log of any size is read
// in constant memory beside the trials that it holds.
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
//   - truncated: true for a block without its closing ruler at the end of the text
//   - anything else that a block prints and no field means, in snake_case
package ingest
