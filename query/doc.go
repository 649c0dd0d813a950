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
// Where a clause needs all rows before it can speak (per, within noise, a curve), the
// pass keeps of each row the columns that the answer may show, and no more.
//
// The package imports no store. It reads through [Source], which streams rows of
// only the columns that the question needs, and gives the samples of single trials
// where attained or goodput asks for them.
//
// # Grammar
//
//	query  = verb { clause }
//	verb   = ("max" | "min") column | "pareto" goal "," goal {"," goal}
//	       | "show" column {"," column} | "count"
//	       | ("first" | "last") condition "along" value
//	       | "at" value "==" number "along" value
//	       | "change" value "along" value
//	goal   = ("max" | "min") value          column = value ["as" name]
//	clause = "where" condition | "by" value {"," value}
//	       | "per" ("setup" | "config")
//	       | "vs" condition ["on" value {"," value}] | "having" condition
//	       | "over" value ["weights" "{" member ":" number {","…} "}"]
//	       | "top" N | "prefer" goal {"," goal} | "within" (N "%" | "noise")
//	       | "order" "by" value ["asc"|"desc"] {","…} | "limit" N
//	member = text | number | "true" | "false"
//
// Clauses come in any order, each at most once, along right behind the verb's value
// and weights right behind over. A verb takes the clauses that have a meaning for it:
//
//	max, min     all
//	pareto       where by per vs having order limit
//	show         where by per vs having top order limit
//	count        where by per having order limit
//	first, last  where by per having top order limit
//	at, change   where by per having order limit
//
// over excludes prefer, order and within noise. A keyword splits only outside
// strings and brackets and not after a dot, so args.top is a knob.
//
// value and condition are expr-lang expressions over the fields of package core:
// numbers, "text", true, false, unlimited; + - * / % **; == != < <= > >= in
// and "not in"; and or not; c ? a : b; a ?? b; matches contains startsWith
// endsWith; and the functions missing(x) known(x) bin(x, w) now() days(n)
// sound(m) base(x) gain gain(x) attained(condition) goodput(condition), and where groups
// exist mean median min max sum p(x, 99) stdev count all any. With per, n and
// failed_repeats are names too. Everything else of expr-lang (closures, pipes, let,
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
// in this order. status: max, min, pareto, first, last, at and change, and every
// verb with per, consider trials with status ok, unless the query names status
// anywhere; retracted ones rank only where it speaks of "retracted". simulated: of those, but not for show and count, the simulated ones are
// left out when a real one qualifies, unless the query names simulated; when only
// simulated ones qualify they are used and a warning says so. where: the condition is
// false, or weights does not name the trial's member. undecided: the condition is
// undecided, or it holds and what the verb needs is missing: a ranked value, the
// condition or value of a curve, the place along it, the member of over. considered:
// the rest, which took part. Without per, show and count consider every trial for
// which the condition holds, whatever its status.
//
// A missing group key is a group of its own, and so is an unset one. A group is
// listed as empty when nothing in it qualifies, although an ended trial of it
// passes those conditions of where that are not about measured fields.
//
// n in the rows of max, min, pareto and curves is the number of trials that the row
// stands for: 1, unless per, over or a curve makes one row of several.
//
// vs takes the median of the matching trials that have the same model, workload
// and load, or the same values of what on names. The where clause does not apply
// to them. They have status ok, unless vs itself names status, and a simulated
// trial is compared with simulated ones only, unless vs names simulated; this holds
// in show too. gain is (value - base) / |base|, with its sign turned where lower is
// better (the field's own direction, else the verb's); it is a fraction. In show a
// bare gain is that of the first measured column. A warning says where the median is one of
// several trials, how far these lie apart, and whether a row is part of its own baseline.
//
// Rows of a group come best first, then by prefer, then by started_at, then by id;
// those of show by started_at, then by number, so that imported trials of which no
// time is known come as they were imported. order by sorts the rows of show, and the
// groups of the other verbs (by the best or first row of each); it may name columns of
// show and ranked values. Unset and missing values come last in either direction.
// top N keeps the N best of a group with all that tie with the
// last of them; of show, the first N rows. within p% widens the ties of the best to
// p percent of its value, and prefer keeps of the ties those that are best by its
// goals. limit cuts the whole answer and says so.
//
// Where a condition wants success_rate == 1, the answers of max, min and pareto say on how
// few requests that rests, and the failure rate that so many successes do not exclude at
// 95 percent, where it is above one percent: 50 of 50 allow 5.8 percent.
//
// # Findings
//
// sound(m) is undecided where m is missing, false where a hard or void finding touches
// m, else true. m may be an expression: every measured field in it counts, and so does
// what a derived one is worked out from (total_tps for total_tps_per_gpu, the tokens
// and the duration for duration_tps). With per, the worst finding on any repeat counts.
//
// max, min and pareto rank the stored figure and hide no row. By the same rule they
// look at the fields of the ranked value: a row that a hard or void finding touches has
// it in [Answer.Severity], a warning names trial, severity and metric, and beside the
// first row of a group stands the row that would have come first without such rows
// ([Group.Sound], [Answer.SoundWinner]). Of a pareto front it is the first row, by the
// first goal, of the front of sound rows, when any row of the front is touched. first,
// last, at, change and over warn alike; of over the sound row is the best group by the
// scores of sound trials alone. An aggregate of figures is touched as the trials are that
// it is made of, max and min as those that have the extreme. The columns that this needs
// are read only where something is ranked or summed up, or where [Options.Marks] asks show
// for the same of the figures that its rows have.
//
// # Requests
//
// attained(condition) is the share of a trial's requests for which the condition holds,
// goodput(condition) how many of them there are for each second of the trial's
// duration_s. Both are figures of the trial, for any limits asked afterwards:
//
//	max goodput(ttft_ms <= 200 and tpot_ms <= 50) / gpus by config
//	last attained(ttft_ms <= 500) >= 0.99 along request_rate per setup
//	show number, attained(e2el_ms <= 2000) as "within 2 s", goodput(e2el_ms <= 2000)
//
// The names inside are figures of one request: ttft_ms tpot_ms e2el_ms itl_ms max_itl_ms
// icl_ms max_icl_ms ttft_due_ms e2el_due_ms queue_ms input_tokens cached_tokens
// output_tokens requested_output_tokens, by the definitions of [core.RequestFields], with
// literals, the operators, missing known bin, and mean median min max of several values.
//
// Requests that failed are among those counted and never attain anything; those that the
// run's own limit cut off are not counted. A value at its limit is within it. An answer
// of one token, or whose tokens all came in one chunk, has no time per output token; inside
// a condition its tpot_ms is 0, so that it keeps to any limit, as in the goodput of vllm
// bench serve. Every other figure that a
// request lacks is missing, and a request for which the condition is undecided does not
// attain it; a warning counts such requests. Where it is undecided for every completed
// request, the samples do not know what is asked and the value is missing, as it is for a
// trial without samples; a warning counts these trials.
//
// Samples are read of those trials only that the other conditions joined by and leave
// in, one trial at a time. With per the value is the median of the repeats that have one.
// A hard or void finding on the trial's own figures of the same latencies, or for goodput
// on duration_s, touches the value.
//
// # Repeats
//
// per setup first combines the trials that repeat each other: equal setup, workload
// (with dataset, lengths, ignore_eos and turns), load, concurrency, request_rate,
// burstiness, num_prompts and simulated, and equal values of by where these are not
// measured, so that no combined row lies in two groups. per config asks for an equal
// configuration only; in what else the trials differ is residue.
//
// A condition of where that names no measured field filters trials. One that names any
// (or n, or failed_repeats) judges the combined row. In it
//
//	counts                 the sum; missing when one of them is
//	                       (requested, completed, failed, incomplete, tokens, findings)
//	success_rate           Σ completed / (Σ requested - Σ incomplete); where a sum is
//	                       unknown, the rate that all repeats have in common
//	throttled              true when any is
//	other measured fields  the median of the repeats that have a value
//	                       (duration_s and energy_j among them)
//	all other fields       those of the representative
//
// The representative is the repeat whose value lies nearest to the median: the value
// of the first goal, of the first measured column of show, of what a curve asks for;
// else the first repeat. Of several it is the earliest. number and id are its own.
// Repeats with status ok are combined, those that failed are counted in
// failed_repeats; where the query names status, all that pass are combined. Every
// trial still counts once in the accounting, all of a combined row in the same place.
// Aggregates, having, top and count see combined rows. vs takes its median over
// trials, not over combined rows. Arithmetic that mixes counts with medians is warned
// of, and so are imports that differ in option but in nothing else that is known.
//
// # Noise
//
// within noise widens the ties of the best by how much repeats vary. From the trials
// that took part, those with repeats give one pooled standard deviation s of the
// logarithm of the value, with ν = Σ(repeats - 1) degrees of freedom. With ν of five
// or more, a candidate is worse when Student's t with ν degrees finds |ln(best /
// candidate)| too large for s·√(1/n + 1/n'), two-sided at 5 percent, corrected by Holm
// over all comparisons with the best of the group; all others tie. n and n' are the
// repeats that the two rows stand for: 1 without per. With ν below five the tolerance
// is 3 percent, called assumed noise. Counts, success_rate, settings and times, and a
// best value that is not above 0, have only exact ties. A warning says which it was.
// Imports that lack a launch and differ in option are no sure repeats and give none.
//
// # Groups that compete
//
// max V by G over W scores each group by the weighted geometric mean, over the values
// of W, of what max V by G, W answers: its members' best. The groups compete: rows are
// the best group and those that tie with it, top N the best N. Without weights every
// value of W that occurs in any group counts 1; with weights those count that it
// names, and trials of others are left out. A group without one of them, or in which
// one is not above 0, has no score and no row; a warning says why. In a row, fields in
// which the members' trials differ are missing, number and id are those of the first
// member's trial, n and findings are sums. A baseline belongs into the value:
// max total_tps / base(total_tps) by config over workload vs role == "baseline".
//
// # Curves
//
// first, last, at and change look along an ordered value (a number, a time, a
// version), mostly concurrency or request_rate. The trials of a group fall into
// curves: those of one setup, workload and load but for what the fields of along are
// part of. Along a field of the load the other settings of the load stay equal
// (num_prompts and seed may vary); along a field of the workload its name and that
// field may vary; along a part of the setup the configuration stays; along a knob or
// a degree of parallelism engine, version, model, checkpoint and GPU; along a measured
// figure the load varies. With per config, configuration stands for setup. unlimited
// lies above every number. Each curve has rows of its own.
//
// first C is the lowest place at which C holds for any trial, with the place below it.
// last C is the end of the run, from the lowest place on, through which C holds for
// every trial, with the place above it. So last p99_ttft_ms <= 200 and
// first p99_ttft_ms > 200 bracket the same break of an objective. What is otherwise
// further along (later passes), places where trials disagree, curves that never break
// or break from the start are named in warnings. Rows come by place, of first the
// lowest first, of last the highest; top N keeps N of a group and ties. at V == x is
// where V is reached: at a place with that value, else by a straight line between two
// neighbours on either side of x; every crossing is a row; nothing is extrapolated,
// and next to an unlimited place the place is missing. change V compares each place
// with the one before it: change is (V - before) / |before|. at and change take the
// median of several trials at one place and name the one nearest to it.
//
// Columns are the keys of by, the place, what was asked for, and for the other trial
// the same under before(…) or after(…): of first and change the one below, of last
// the one above. The row's own trial is number, and the other before(number) or
// after(number); at names both so. n counts the trials at the row's place, of at those
// at both.
//
// # Residue
//
// The residue lists fields of [ResidueFields] in which the trials compared within
// one group, on one curve or as one member of over differ, although they are neither
// in by nor named by an equality in where, nor what along or over goes through. With
// show … per they are those in which repeats of one row differ. An engine's or tool's
// version counts as differing only where one engine or tool has several.
//
// # How a query is read
//
// No trial is left out before it is judged, since each has to be counted. What is saved
// are columns: one pass reads of every trial what the query compares and ranks by. From
// a [Sharer] it reads the settings that trials have in common as one number for each
// set of them, looks their values up once, and asks for what only the rows of the
// answer show (ids, times, findings) when it knows them. [Explain] prints the
// statements and how many trials each clause left.
//
// [Why] follows one trial through max, min, pareto or show: the status, each condition
// that it fails with the values and the distance, the figure that is missing, or the
// winner of its group and how far it is behind, also had it passed the conditions.
package query
