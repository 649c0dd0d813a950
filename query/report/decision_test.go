package report_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestVoidFigureDoesNotDecide: the best figure is named, and the best sound one decides.
func TestVoidFigureDoesNotDecide(t *testing.T) {
	m, def := stagedStudy()
	void := core.Finding{Rule: "A3x", Version: 1, Severity: core.SeverityVoid, Metrics: []string{"total_tps"}, Evidence: "5 % apart"}
	m.trials[7].Findings = append(m.trials[7].Findings, void)
	md := sections(string(build(t, m, def.Name, def, report.Options{Details: details(m), RuleTitles: map[string]string{"A3x": "rates do not agree"}}).Markdown("")))
	contains(t, md["Decision"], "**A void figure does not decide.** Trial #8 ranks first with 4,284.68 tok/s",
		"The best sound trial is #5 with 4,005.32 tok/s; it stands in its place.", "**Recommended:** `checkpoint=Qwen/Qwen3-32B-FP8`")
	contains(t, md["What the audit found"], "| void | **A3x** rates do not agree | #8 | `total_tps` | #8: 5 % apart |")
	contains(t, md["What was tried"], "4,284.68 (void)")

	// A hard finding doubts the winner and leaves it in place.
	void.Severity = core.SeverityHard
	m.trials[7].Findings = []core.Finding{void}
	md = sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "**Recommended:** `context_len=40960 chunked_prefill=true`", "**The winning figure is in doubt:** a hard finding of the audit touches it. The best sound trial is #5 with 4,005.32 tok/s.")

	// One that a person has accepted counts no more.
	m.trials[7].Findings[0].Ack = "the clock was checked"
	md = sections(string(build(t, m, def.Name, def, report.Options{Details: details(m)}).Markdown("")))
	if strings.Contains(md["Decision"], "in doubt") {
		t.Errorf("an acknowledged finding counts:\n%s", md["Decision"])
	}
	contains(t, md["Decision"], "**Acknowledged: A3x (hard).** A person accepts what the audit says here, so that it bars nothing: the clock was checked")

	// Where every figure is void, nothing is recommended.
	for _, tr := range m.trials {
		tr.Findings = []core.Finding{{Rule: "C1", Severity: core.SeverityVoid, Metrics: []string{"*"}}}
	}
	text := string(build(t, m, def.Name, def, report.Options{Details: details(m)}).Markdown(""))
	contains(t, text, "**Nothing is recommended.** No trial that qualifies has a figure which may be believed.")
	if strings.Contains(text, "**Recommended") {
		t.Error("a void figure is recommended")
	}
}

// TestCostAndQuality: figures that were recorded come before what can be worked out.
func TestCostAndQuality(t *testing.T) {
	m, def := stagedStudy()
	md := string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	if strings.Contains(md, "USD") {
		t.Error("a cost without a price")
	}
	def.Hardware.USDPerGPUHour = 2.5
	md = string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	// 2.5 / 3600 / 2014.4 × 1e6 and 2.5 / 3600 / 1105.3 × 1e6
	contains(t, md, "**Cost:** 0.34 USD per million output tokens, the baseline's 0.63 USD (-45.13 %), at 2.50 USD per GPU hour")
	for _, tr := range m.trials {
		tr.Figures["usd_per_mtok_output"] = 0.5
	}
	md = string(build(t, m, def.Name, def, report.Options{USDPerGPUHour: 4}).Markdown(""))
	contains(t, md, "**Cost:** 0.50 USD per million output tokens, the baseline's 0.50 USD (+0.00 %), as recorded with the trials.")

	contains(t, md, "**Quality is not known.** The recommendation changes engine (vllm to trtllm), checkpoint (Qwen/Qwen3-32B to Qwen/Qwen3-32B-FP8)",
		"A quality figure below what is acceptable: none has been attached.")
	m.quality = []string{"gsm8k"}
	m.trials[7].Quality = map[string]core.Value{"gsm8k": core.Number(0.931)}
	md = string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	contains(t, md, "**Quality:** gsm8k 0.931 (baseline unknown).")
	m.trials[0].Quality = map[string]core.Value{"gsm8k": core.Number(0.95)}
	md = string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	contains(t, md, "**Quality:** gsm8k 0.931 (baseline 0.95, -2.00 %).")
	if strings.Contains(md, "Quality is not known") {
		t.Error("a quality figure is attached")
	}
}

// TestRepeatsTellTheGain: with enough repeats on both sides ranks decide, and a gain that
// is small and sure is told.
func TestRepeatsTellTheGain(t *testing.T) {
	m := repeated(1.02)
	for i, tr := range m.trials {
		tr.Role = []core.Role{core.RoleBaseline, core.RoleCandidate}[i%2]
	}
	md := sections(string(build(t, m, "s", nil, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "median of 5 repeats", "**+2.00 %** over the baseline's 5,002.5 tok/s",
		"**The gain can be told from noise.** The interval of the gain is +1.69 % to +2.31 % at a confidence of 96.8 %, by ranks of 5 and 5 repeats (p = 0.0079 among 2 candidates).")
	contains(t, md["Noise"], "| #1, #3, #5, #7, #9 | 5 |", "nothing: repeats", "with 8 degrees of freedom")
}

// TestPlannedWorkloadWithoutTrial: a study's definition plans what nobody measured.
func TestPlannedWorkloadWithoutTrial(t *testing.T) {
	m, def := stagedStudy()
	def.Workloads = append(def.Workloads, core.NamedWorkload{Workload: workload("very-long")})
	md := sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["What was never measured"], "| configuration | sharegpt | short | long | very-long |", "7 configurations on 4 workloads: 17 of 28 have no trial")
}

// TestLowerIsBetter: gains, intervals and rivals follow the direction of the objective.
func TestLowerIsBetter(t *testing.T) {
	m, def := stagedStudy()
	def.Objective = "min mean_ttft_ms where success_rate == 1"
	figures := maps.Clone(m.trials[7].Figures)
	figures["mean_ttft_ms"] = 15000
	m.trials[7].Figures = figures
	md := sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "**+50.92 %** over the baseline's 30,565.25 ms", "The gain can be told from noise.", "The interval of the gain is +49.45 % to +52.35 %")
}

// TestBestOfGroups: an objective with groups decides by the best of them.
func TestBestOfGroups(t *testing.T) {
	m, def := stagedStudy()
	def.Objective = "max total_tps where success_rate == 1 by engine"
	md := sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "**Recommended:** `context_len=40960 chunked_prefill=true`", "- trial #3, sglang", "- trial #1, vllm")
}

// TestBaselineBreaksALimit: the limits of the objective stand with their figures, and a
// baseline that breaks one is said to.
func TestBaselineBreaksALimit(t *testing.T) {
	m, def := stagedStudy()
	def.Objective = "max total_tps where success_rate == 1 and mean_ttft_ms <= 20000"
	md := sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "over the baseline's 2,350.96 tok/s, which does not qualify",
		"> **The baseline does not qualify:** `success_rate == 1 and mean_ttft_ms <= 20000` does not hold of 2 of its 2 trials on this workload and load; it has mean_ttft_ms 30,565.25 ms.",
		"| gain | mean_ttft_ms | success_rate |", "| 30,565.25 | 1 | 0 |", "| **15,002.9** | **1** | **1** |")

	// A recommendation of which one repeat breaks it.
	again := *m.trials[7]
	again.Figures = figures(1000, 1000, 4100, 2000, 25002.9, 158)
	m.add(again)
	md = sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "> **The recommendation does not qualify:** ", " does not hold of 1 of its 2 trials on this workload and load; it has mean_ttft_ms 20,002.9 ms.")

	def.Objective = "max total_tps where success_rate == 1"
	md = sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	if strings.Contains(md["Decision"], "does not qualify") {
		t.Errorf("both qualify:\n%s", md["Decision"])
	}
}

// TestOtherWinnersByMedian: what would change the decision holds medians of repeats
// against each other, never a rival's luckiest one against a median.
func TestOtherWinnersByMedian(t *testing.T) {
	m, def := stagedStudy()
	add := func(like int, ttft float64) {
		again := *m.trials[like]
		again.Figures = maps.Clone(again.Figures)
		again.Figures["mean_ttft_ms"] = ttft
		m.add(again)
	}
	add(4, 13000) // beside 17010.2: a median of 15005.1, and the recommendation has 15002.9
	md := sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	if strings.Contains(md["Decision"], "Mean time to first token:") {
		t.Errorf("the best of two repeats wins:\n%s", md["Decision"])
	}
	add(4, 12000)
	add(7, 15010.9)
	md = sections(string(build(t, m, def.Name, def, report.Options{}).Markdown("")))
	contains(t, md["Decision"], "- Mean time to first token: `trtllm Qwen/Qwen3-32B-FP8` wins with 13,000 ms, median of 3 repeats; the recommendation has 15,006.9 ms, median of 2 repeats.")
}
