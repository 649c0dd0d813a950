// Package audit says which figures of which trial must not be believed, and why.
// It is pure: a trial, a read-only [Summary] of the trials around it and a table
// of models and GPUs go in, findings come out. Nothing is opened, stored or changed.
//
//	trials -> Summarize -> Trial(t, summary, reference) -> []core.Finding
//
// The rules lie in one file a family:
//
//	arithmetic.go   A1-A4    rates against counts and duration
//	order.go        A5 A6 A17 E10  the order of statistics
//	timestamps.go   A9-A15   latencies against each other: broken streaming
//	peak.go         A7 A8    the observed peaks
//	queueing.go     A16 C3 C4h C5-C7 E3  load, queue, cold start
//	lengths.go      A18 A19 E9 E12 E13   what was asked and what was answered
//	limits.go       B1-B7    what the hardware can do at best
//	candidate.go    C1 C2 D9 E11  whether the trial may stand for its configuration
//	attribution.go  D1-D4 D7 D8 D10  what the text says beside the figures
//	repeat.go       D5 D6    records of one trial, repeats of one setup
//	conditions.go   E1 E2 E4-E8 E14  how the measurement was carried out
//	comparison.go   F1-F3    whether trials may be compared at all
//	client.go       C8       a client that was the limit
//	change.go       F4       tools that changed what a figure means
//
// A rule that lacks one of its inputs says nothing: missing is not wrong. A finding
// names the metrics that it touches and no others, so that a wrong peak never
// condemns a sound throughput. Severities are those of [core.Severity]; a rule may
// lower its own for one finding where the case is mild, and says so in its document.
//
// Figures of a printed block are rounded. Every comparison of two of them is one of
// the intervals that the rounding leaves, so that display precision is never a finding.
package audit
