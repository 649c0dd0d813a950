// Package query is the language in which a history is asked. It turns a text
// such as
//
//	max total_tps where success_rate == 1 by model, load vs role == "baseline"
//
// into one [Answer]: rows, groups, ties, what was left out and why, and what a
// reader must be warned of. Tables, charts, reports and JSON are all made of
// that one Answer, so that they cannot disagree.
//
// The way of a question through the package:
//
//	text -> scan (tokens, refused signs) -> Parse (verb and clauses; expr-lang
//	parses each expression) -> plan (names, types, closures over a row, the
//	columns needed) -> Run (one pass over the rows, two when a condition needs
//	a baseline) -> Answer
//
// The package imports no store. It reads through [Source], which streams rows of
// only the columns that the question needs.
//
// # Grammar
//
//	query  = verb { clause }
//	verb   = ("max" | "min") column | "pareto" goal "," goal {"," goal}
//	       | "show" column {"," column} | "count"
//	goal   = ("max" | "min") value          column = value ["as" name]
//	clause = "where" condition | "by" value {"," value}
//	       | "vs" condition ["on" value {"," value}] | "having" condition
//	       | "top" N | "prefer" goal {"," goal} | "within" N "%"
//	       | "order" "by" value ["asc"|"desc"] {","…} | "limit" N
//
// Clauses come in any order, each at most once. A keyword splits only outside
// strings and brackets and not after a dot, so args.top is a knob. The words
// per, over, within noise, first, last, at and change belong to the language and
// are refused with a message until they are built.
//
// value and condition are expr-lang expressions over the fields of package core:
// numbers, "text", true, false, unlimited; + - * / % **; == != < <= > >= in
// and "not in"; and or not; c ? a : b; a ?? b; matches contains startsWith
// endsWith; and the functions missing(x) known(x) bin(x, w) now() days(n)
// base(x) gain gain(x), and where groups exist mean median min max sum p(x, 99)
// stdev count all any. Everything else of expr-lang (closures, pipes, let,
// ranges, indexing, comments, nil) is refused with a caret.
//
// # Meaning
//
// Arithmetic is float64. A missing operand, x/0, overflow and every other result
// that is not finite is missing; so is arithmetic with unlimited. Text compares
// by code point and case. Fields that hold versions compare by PEP 440; text that
// is no version is equal only to the same text and has no order. A time compares
// with a text such as "2026-11-01" or "2026-11-01T12:00:00Z" (UTC).
//
// Logic is Kleene's: a comparison with a missing operand is undecided, "false and
// undecided" is false, "true or undecided" is true, not undecided is undecided.
// x in [a, b] is x == a or x == b. c ? a : b is missing while c is undecided.
// a ?? b is a where a is known, else b.
//
// A knob that a known command does not give is unset. That is a known fact, but no
// value: unset == x is false, unset != x is true for every x, order against it is
// undecided, missing(unset) is true, known(unset) is false, and arithmetic with it
// is missing. A knob that stands alone as a condition means knob == true.
// Values of different kinds are unequal and have no order; where both kinds are
// known beforehand the comparison is an error. unlimited (in text "inf") is above
// every number and equal to itself.
//
// Aggregates pass over missing values and say how many they passed over.
// count(x) counts known values, count(condition) the trials for which it holds,
// count() the trials. all and any follow Kleene. p and median interpolate linearly
// between order statistics; stdev divides by n-1. Sums are taken in sorted order,
// so that an answer does not depend on the order in which rows arrive.
//
// # Who takes part
//
// Every trial of the history is counted exactly once:
//
//	trials = considered + excluded.status + excluded.simulated
//	       + excluded.where + excluded.undecided
//
// in this order. status: max, min and pareto consider trials with status ok,
// unless the query names status anywhere. simulated: of those, the simulated ones
// are left out when a real one qualifies, unless the query names simulated; when
// only simulated ones qualify they are used and a warning says so. where: the
// condition is false. undecided: the condition is undecided, or it holds and the
// ranked value is missing. considered: the rest, which took part. show and count
// consider every trial for which the condition holds, whatever its status.
//
// A missing group key is a group of its own, and so is an unset one. A group is
// listed as empty when nothing in it qualifies, although an ended trial of it
// passes those conditions of where that are not about measured fields.
//
// n in the rows of max, min and pareto is the number of trials that the row
// stands for: 1.
//
// vs takes the median of the matching trials that have the same model, workload
// and load, or the same values of what on names. The where clause does not apply
// to them. They have status ok, unless the query names status, and a simulated
// trial is compared with simulated ones only, unless it names simulated; this holds
// in show too. gain is (value - base) / |base|, with its sign turned where lower is
// better (the field's own direction, else the verb's); it is a fraction. In show a
// bare gain is that of the first measured column.
//
// Rows of a group come best first, then by prefer, then by started_at, then by id.
// order by sorts the rows of show, and the groups of max, min, pareto and count (by
// the best row of each); it may name columns. Unset and missing values come last in
// either direction. top N keeps the N best of a group with all that tie with the
// last of them; of show, the first N rows. within p% widens the ties of the best to
// p percent of its value, and prefer keeps of the ties those that are best by its
// goals. limit cuts the whole answer and says so.
//
// The residue lists fields of [ResidueFields] in which the trials compared within
// one group differ, although they are neither in by nor named by an equality in
// where. An engine's or tool's version counts as differing only where one engine or
// tool has several.
package query
