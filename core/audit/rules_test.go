package audit_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

const (
	info = core.SeverityInfo
	note = core.SeverityNote
	hard = core.SeverityHard
	void = core.SeverityVoid
)

// TestRules runs every case and holds that each rule has a hit and a near miss.
func TestRules(t *testing.T) {
	hit, miss := map[string]bool{}, map[string]bool{}
	for _, cases := range [][]ruleCase{arithmeticCases(), orderCases(), timestampCases(), peakAndQueueingCases(), lengthCases(), limitCases(),
		candidateCases(), attributionCases(), repeatCases(), conditionCases(), comparisonCases()} {
		for _, c := range cases {
			c.run(t)
			if c.want != 0 {
				hit[c.rule] = true
			} else {
				miss[c.rule] = true
			}
		}
	}
	for _, r := range audit.Rules() {
		if !hit[r.ID] || !miss[r.ID] {
			t.Errorf("%s: tested for a hit %t, for a near miss %t", r.ID, hit[r.ID], miss[r.ID])
		}
	}
}

// printedAt makes the figures those of a block printed with so many decimals.
func printedAt(decimals int) func(*core.Trial) {
	return func(t *core.Trial) { t.Sources = []core.Source{{File: "log", Position: "line 1", Decimals: decimals}} }
}

func arithmeticCases() []ruleCase {
	return []ruleCase{
		{rule: "A1", name: "hit", edit: figure("rps", 15.4), want: info, metrics: []string{"rps", "rps_per_gpu"}, needs: []string{"rps", "duration_s", "completed"}},
		{rule: "A1", name: "rounding", edit: edits(figure("rps", 15.31), printedAt(2))},
		{rule: "A2", name: "hit", edit: figure("output_tps", 3062.2*1.012), want: note, metrics: []string{"output_tps", "output_tps_per_gpu"},
			needs: []string{"output_tps", "output_tokens", "duration_s"}},
		{rule: "A2", name: "0.4 %", edit: figure("output_tps", 3062.2*1.004)},
		{rule: "A2", name: "slow printed rate", edit: edits(printedAt(2), figures("output_tokens", 10, "output_tps", 0.15, "duration_s", 65.0))},
		{rule: "A2x", name: "hit", edit: figure("output_tps", 3062.2*1.06), want: void, metrics: []string{"output_tps", "output_tps_per_gpu"}},
		{rule: "A2x", name: "4 %", edit: figure("output_tps", 3062.2*1.04)},
		{rule: "A3", name: "hit", edit: figure("total_tps", 18373.2*1.01), want: note, metrics: []string{"total_tps", "total_tps_per_gpu"},
			needs: []string{"total_tps", "input_tokens", "output_tokens", "duration_s"}},
		{rule: "A3", name: "below", edit: figure("total_tps", 18373.2*0.99), want: note},
		{rule: "A3", name: "0.4 %", edit: figure("total_tps", 18373.2*1.004)},
		{rule: "A3x", name: "hit", edit: figure("total_tps", 18373.2*1.156), want: void, metrics: []string{"total_tps", "total_tps_per_gpu"}},
		{rule: "A3x", name: "4.9 %", edit: figure("total_tps", 18373.2*1.049)},
		{rule: "A4", name: "hit", edit: figure("total_tps", 18373.2*1.003), want: hard, metrics: []string{"total_tps", "output_tps", "total_tps_per_gpu", "output_tps_per_gpu"},
			needs: []string{"total_tps", "output_tps", "input_tokens", "output_tokens"}},
		{rule: "A4", name: "same window", edit: figures("total_tps", 18373.2*1.2, "output_tps", 3062.2*1.2)},
		{rule: "A4", name: "rounding of a small rate", edit: edits(printedAt(2), figures("output_tps", 6.64, "total_tps", 39.86))},
	}
}

func orderCases() []ruleCase {
	return []ruleCase{
		{rule: "A5", name: "median above p99", edit: figure("median_tpot_ms", 13), want: hard, metrics: []string{"median_tpot_ms", "p99_tpot_ms"},
			needs: []string{"median_tpot_ms", "p99_tpot_ms"}},
		{rule: "A5", name: "p95 above p99", edit: figure("p95_ttft_ms", 151), want: hard, metrics: []string{"p95_ttft_ms", "p99_ttft_ms"}},
		{rule: "A5", name: "p99.9 below p99", edit: figure("p99_9_e2el_ms", 2400), want: hard},
		{rule: "A5", name: "max below p99", edit: figure("max_itl_ms", 19), want: hard},
		{rule: "A5", name: "mean below min", edit: figure("min_ttft_ms", 101), want: hard},
		{rule: "A5", name: "mean above max", edit: figure("max_ttft_ms", 99), want: hard},
		{rule: "A5", name: "all equal", edit: figures("p95_ttft_ms", 150, "p90_ttft_ms", 150, "max_ttft_ms", 150)},
		{rule: "A5", name: "equal but for the last bits", edit: figures("max_ttft_ms", 150*(1-1e-14), "p95_ttft_ms", 150*(1+1e-14))},
		{rule: "A5", name: "a renamed tpot", edit: edits(extra("p95_tpot_incl_first_ms", core.Number(9)), extra("p99_tpot_incl_first_ms", core.Number(8))),
			want: hard, metrics: []string{"extra.p95_tpot_incl_first_ms", "extra.p99_tpot_incl_first_ms"}},
		{rule: "A6", name: "hit", edit: figure("mean_itl_ms", 21), want: info, metrics: []string{"mean_itl_ms"}, needs: []string{"mean_itl_ms", "p99_itl_ms"}},
		{rule: "A6", name: "equal", edit: figure("mean_itl_ms", 20)},
		{rule: "A17", name: "hit", edit: figure("p99_ttft_ms", 65500), want: hard, metrics: []string{"p99_ttft_ms"}, needs: []string{"p99_ttft_ms", "duration_s"}},
		{rule: "A17", name: "just inside", edit: figure("p99_ttft_ms", 65300)},
		{rule: "E10", name: "negative", edit: figure("mean_ttft_ms", -3), want: hard, metrics: []string{"mean_ttft_ms"}},
		{rule: "E10", name: "zero", edit: figure("min_ttft_ms", 0)},
		{rule: "E10", name: "first token after the last", edit: figure("p99_ttft_ms", 2600), want: hard, metrics: []string{"p99_ttft_ms", "p99_e2el_ms"},
			needs: []string{"p99_ttft_ms", "p99_e2el_ms"}},
		{rule: "E10", name: "seconds printed with two decimals", edit: edits(printedAt(2), func(t *core.Trial) { t.Setup.Tool = "guidellm" },
			figures("median_ttft_ms", 1020.12, "median_e2el_ms", 1020, "p99_ttft_ms", 1021, "p99_e2el_ms", 1030))},
		{rule: "E10", name: "counted by the client", edit: extra("invalid_requests", core.Number(2)), want: hard},
		{rule: "E10", name: "none counted", edit: extra("invalid_requests", core.Number(0))},
	}
}

// guidellm renames the trial's TPOT as the importer does.
func guidellm(tpot float64) func(*core.Trial) {
	return func(t *core.Trial) {
		t.Setup.Tool = "guidellm"
		for _, stat := range []string{"mean", "median", "p99"} {
			delete(t.Figures, stat+"_tpot_ms")
			t.Extra[stat+"_tpot_incl_first_ms"] = core.Number(tpot)
		}
	}
}

func timestampCases() []ruleCase {
	tpot := []string{"median_tpot_ms", "p99_tpot_ms", "mean_tpot_ms"}
	renamed := []string{"extra.median_tpot_incl_first_ms", "extra.p99_tpot_incl_first_ms", "extra.mean_tpot_incl_first_ms"}
	return []ruleCase{
		{rule: "A9", name: "too short", edit: figure("mean_tpot_ms", 8), want: hard, metrics: tpot,
			needs: []string{"mean_tpot_ms", "mean_ttft_ms", "mean_e2el_ms", "output_tokens"}},
		{rule: "A9", name: "9 % short", edit: figure("mean_tpot_ms", 9.1)},
		{rule: "A9", name: "longer by weighting", edit: figure("mean_tpot_ms", 14)},
		{rule: "A9", name: "other definition, consistent", edit: guidellm(10.45)},
		{rule: "A9", name: "other definition, short", edit: guidellm(5), want: hard, metrics: renamed},
		{rule: "A10", name: "lost gaps", edit: figure("mean_itl_ms", 5), want: hard, metrics: []string{"median_itl_ms", "p99_itl_ms", "mean_itl_ms", "mean_ttft_ms"},
			needs: []string{"mean_itl_ms", "mean_ttft_ms", "mean_e2el_ms", "output_tokens"}},
		{rule: "A10", name: "9 % short", edit: figure("mean_itl_ms", 9.1)},
		{rule: "A10", name: "several tokens a chunk", edit: figure("mean_itl_ms", 30)},
		{rule: "A11", name: "hit", edit: guidellm(0.5), want: hard, metrics: renamed, needs: []string{"mean_ttft_ms", "output_tokens", "mean_tpot_incl_first_ms"}},
		{rule: "A11", name: "1 % off", edit: guidellm(0.506)},
		{rule: "A12", name: "renamed", edit: edits(guidellm(25), figures("mean_ttft_ms", 3010, "mean_itl_ms", 10)), want: info, metrics: renamed,
			needs: []string{"mean_ttft_ms", "mean_itl_ms", "mean_tpot_incl_first_ms"}},
		{rule: "A12", name: "still called tpot", edit: figures("mean_tpot_ms", 25, "mean_ttft_ms", 3010, "mean_itl_ms", 10, "mean_e2el_ms", 5000), want: hard},
		{rule: "A12", name: "first token of no weight", edit: edits(guidellm(10), figures("mean_ttft_ms", 60, "mean_itl_ms", 9.75))},
		{rule: "A12", name: "not the sum", edit: edits(guidellm(26), figures("mean_ttft_ms", 3010, "mean_itl_ms", 10))},
		{rule: "A13", name: "median", edit: figure("median_itl_ms", 0), want: hard, metrics: []string{"median_itl_ms"}, needs: []string{"median_itl_ms", "output_tokens"}},
		{rule: "A13", name: "renamed tpot", edit: guidellm(0), want: hard, metrics: []string{"extra.mean_tpot_incl_first_ms"}},
		{rule: "A13", name: "0.01", edit: figure("median_itl_ms", 0.01)},
		{rule: "A13", name: "one token an answer", edit: figures("median_itl_ms", 0, "output_tokens", 1000)},
		{rule: "A14", name: "low", edit: figure("mean_itl_ms", 4.9), want: info, needs: []string{"mean_itl_ms", "mean_tpot_ms", "spec_method"}},
		{rule: "A14", name: "half", edit: figure("mean_itl_ms", 5)},
		{rule: "A14", name: "1.15", edit: figure("mean_itl_ms", 11.5)},
		{rule: "A14", name: "speculation", edit: edits(speculation(4), figure("mean_itl_ms", 30))},
		{rule: "A14b", name: "hit", edit: figure("mean_itl_ms", 10.1), want: info},
		{rule: "A14b", name: "equal", edit: figure("mean_itl_ms", 10)},
		{rule: "A15", name: "more than a step gives", edit: edits(speculation(1), figure("mean_itl_ms", 21)), want: note, needs: []string{"mean_itl_ms", "mean_tpot_ms", "spec_method"}},
		{rule: "A15", name: "less than one", edit: edits(speculation(4), figure("mean_itl_ms", 9)), want: note},
		{rule: "A15", name: "two of two", edit: edits(speculation(1), figure("mean_itl_ms", 20))},
		{rule: "A15", name: "five of mtp", edit: edits(func(t *core.Trial) { t.Setup.SpecMethod = "mtp" },
			knob("speculative_config", core.String(`{"method":"mtp","num_speculative_tokens":4}`)), figure("mean_itl_ms", 50))},
		{rule: "A15", name: "six of mtp", edit: edits(func(t *core.Trial) { t.Setup.SpecMethod = "mtp" },
			knob("speculative_config", core.String(`{"method":"mtp","num_speculative_tokens":4}`)), figure("mean_itl_ms", 60)), want: note},
		{rule: "A15", name: "six where the engine chooses", edit: edits(func(t *core.Trial) { t.Setup.SpecMethod = "eagle3" }, figure("mean_itl_ms", 60))},
	}
}

func peakAndQueueingCases() []ruleCase {
	rate := func(r float64) func(*core.Trial) { return func(t *core.Trial) { t.Load.RequestRate = core.Number(r) } }
	limit := func(n float64) func(*core.Trial) { return func(t *core.Trial) { t.Load.Concurrency = core.Number(n) } }
	ttft := []string{"median_ttft_ms", "p99_ttft_ms", "mean_ttft_ms"}
	return []ruleCase{
		{rule: "A7", name: "hit", edit: figure("peak_output_tps", 1500), want: hard, metrics: []string{"peak_output_tps", "peak_output_tps_per_gpu"},
			needs: []string{"peak_output_tps", "output_tps"}},
		{rule: "A7", name: "equal when printed", edit: edits(printedAt(2), figures("peak_output_tps", 3062.2, "output_tps", 3062.205))},
		{rule: "A8", name: "hit", edit: figure("peak_concurrency", 40), want: info, needs: []string{"peak_concurrency", "concurrency"}},
		{rule: "A8", name: "at the limit"},
		{rule: "A16", name: "measured", edit: figure("mean_e2el_ms", 2200), want: note, metrics: []string{"mean_e2el_ms"}, needs: []string{"rps", "concurrency"}},
		{rule: "A16", name: "estimated", edit: edits(func(t *core.Trial) { delete(t.Figures, "mean_e2el_ms") }, figure("mean_tpot_ms", 11)), want: note, metrics: []string{"est_e2el_ms"}},
		{rule: "A16", name: "2 %", edit: figure("mean_e2el_ms", 2130)},
		{rule: "C3", name: "hit", edit: rate(16), want: note, needs: []string{"rps", "request_rate"}},
		{rule: "C3", name: "89 %", edit: rate(17.3)},
		{rule: "C4h", name: "even arrivals", edit: edits(rate(15), func(t *core.Trial) { t.Load.Burstiness = core.Unlimited() }), want: hard, metrics: []string{"duration_s"},
			needs: []string{"requested", "success_rate", "duration_s", "request_rate"}},
		{rule: "C4h", name: "random arrivals", edit: rate(15)},
		{rule: "C4h", name: "far too early", edit: rate(10), want: hard},
		{rule: "C4h", name: "some failed", edit: edits(rate(10), figures("completed", 990, "failed", 10))},
		{rule: "C5", name: "hit", edit: edits(limit(4), figure("p99_ttft_ms", 500)), want: note, metrics: []string{"mean_ttft_ms", "p99_ttft_ms"},
			needs: []string{"p99_ttft_ms", "median_ttft_ms"}},
		{rule: "C5", name: "4.9 times", edit: edits(limit(4), figure("p99_ttft_ms", 465))},
		{rule: "C5", name: "many in flight", edit: edits(limit(17), figure("p99_ttft_ms", 500))},
		{rule: "C5", name: "no limit but few seen", edit: edits(func(t *core.Trial) { t.Load.Concurrency = core.Unlimited() }, figures("peak_concurrency", 9, "p99_ttft_ms", 500)), want: note},
		{rule: "C6", name: "hit", edit: edits(limit(4), figure("mean_ttft_ms", 200)), want: note, needs: []string{"mean_ttft_ms", "median_ttft_ms"}},
		{rule: "C6", name: "1.9 times", edit: edits(limit(4), figure("mean_ttft_ms", 180))},
		{rule: "C7", name: "hit", edit: figures("p99_ttft_ms", 46000, "p99_e2el_ms", 50000), want: info, metrics: ttft, needs: []string{"p99_ttft_ms", "duration_s"}},
		{rule: "C7", name: "69 %", edit: figures("p99_ttft_ms", 45000, "p99_e2el_ms", 50000)},
		{rule: "C8", name: "reads late", edit: extra("client_read_lag_p99_ms", core.Number(11)), want: note, needs: []string{"client_read_lag_p99_ms", "mean_itl_ms"}},
		{rule: "C8", name: "reads within a gap", edit: extra("client_read_lag_p99_ms", core.Number(9))},
		{rule: "C8", name: "sends late", edit: edits(extra("client_lag_p99_ms", core.Number(101)), figure("median_e2el_ms", 2000)), want: note,
			metrics: []string{"rps", "output_tps", "total_tps", "rps_per_gpu", "output_tps_per_gpu", "total_tps_per_gpu"}, needs: []string{"client_lag_p99_ms", "median_e2el_ms"}},
		{rule: "C8", name: "sends in time", edit: edits(extra("client_lag_p99_ms", core.Number(99)), figure("median_e2el_ms", 2000))},
		{rule: "C8", name: "busy", edit: extra("client_cpu_share", core.Number(0.95)), want: note, needs: []string{"client_cpu_share"}},
		{rule: "C8", name: "not busy", edit: extra("client_cpu_share", core.Number(0.85))},
		{rule: "E3", name: "behind", edit: edits(rate(20)), want: note, needs: []string{"completed", "success_rate", "request_rate"}},
		{rule: "E3", name: "keeps up", edit: rate(16)},
		{rule: "E3", name: "one burst that ends together", edit: edits(rate(1000), figures("mean_e2el_ms", 64000, "median_e2el_ms", 64000, "p99_e2el_ms", 65000))},
	}
}
