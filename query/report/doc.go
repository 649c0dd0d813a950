// Package report writes what a study found as Markdown with pictures, or as one HTML
// file that holds everything, and compares two sets of trials. It asks query for every
// figure and chart for every picture, so that a report, a table and a chart of one
// question cannot disagree; what it computes itself are gains between two figures of
// those answers, and with core/stats whether a gain can be told from noise.
//
//	Build   -> Report (a list of blocks) -> Markdown | HTML
//	Compare -> Comparison -> Rows | Brief | Regressions
//
// Both outputs of a report are made from the same blocks, in one file a section:
//
//	decide.go decision.go   which trial wins, and the first page for the person who decides
//	noise.go twins.go       what repeats and inert twins say of the noise
//	quality.go              cost, and what is known of the answers' quality
//	otherwise.go            what would change the decision
//	overview.go             what the study is
//	beforeafter.go          baseline against winner on every workload
//	stages.go changes.go    every alternative, and what each change brought
//	loads.go                at which load the decision holds, and the best at the others
//	pareto.go               throughput against latency
//	curves.go curve.go      every load of every configuration, as a table and a picture
//	audit.go accounts.go    what the audit found, what was left out, failures, questions
//	gaps.go                 what was never measured
//	unfinished.go planned.go  what the definition plans and nobody has measured yet
//
// A report of an imported study, of which no definition exists, says what the history
// holds and leaves out what nobody recorded.
package report
