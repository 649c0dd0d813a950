package query

// Help is the language on one page, for a command's help: the manual is the package's
// documentation.
const Help = `A question is a verb and clauses in any order:

  max V, min V                 the best trials: max total_tps where success_rate == 1
  pareto max A, min B          what nothing beats in all goals
  show V, V as name            columns, a row a trial; with aggregates a row a group: show mean(total_tps), count() by engine
  count                        how many trials
  first C along X, last C along X   where on a curve a condition begins, or ends, to hold: last p99_ttft_ms <= 200 along concurrency
  at V == 200 along X          where on a curve a value is reached, between neighbours by a straight line
  change V along X             each place beside the one before it: change output_tps along engine_version

  where C                      choose trials             by V, V           the best of each group; groups of show and count
  per setup, per config        combine repeats first     vs C on V         compare each row with a baseline: gain, base(x)
  having C                     choose groups             over V weights {…}   score groups over the values of V, by geometric mean
  top N                        N of each group           prefer max V      choose among ties
  within 3%, within noise      widen the ties            order by V desc   sort rows or groups (asc, desc)
  limit N                      cut the answer

Conditions: == != < <= > >=, in ["a", "b"], not in, and, or, not, matches, contains, startsWith, endsWith.
Values: fields (sweepbook fields), args.KNOB, passed.KNOB, extra.NAME, quality.NAME, numbers, "text", true, false, unlimited,
  + - * / % **, c ? a : b, a ?? b. Numbers are in the field's own unit. Times: "2026-11-01", now() - days(30).
Functions: missing(x) known(x) bin(x, w) now() days(n) sound(m) base(x) gain(x)
  attained(ttft_ms <= 200) goodput(ttft_ms <= 200 and tpot_ms <= 50), over the requests of a trial
  in groups: mean median min max sum stdev count all any (each of x), p(x, 99); with per also n and failed_repeats
Knobs and prices: args.max_num_seqs, output_tps_per_gpu, usd_per_mtok_output, joules_per_output_token.
Unknown is never 0 or false: trials of which a condition cannot be decided are left out and counted.
`
