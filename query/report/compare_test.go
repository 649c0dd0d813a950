package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/report"
)

func compare(t *testing.T, m *memory, a, b string, opt report.CompareOptions) *report.Comparison {
	t.Helper()
	opt.Now = now
	c, err := report.Compare(t.Context(), m, report.Side{Trials: a}, report.Side{Trials: b}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func metric(t *testing.T, c *report.Comparison, name string) report.Compared {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Metric == name {
			return m
		}
	}
	t.Fatalf("no %s", name)
	return report.Compared{}
}

func ref(tr *core.Trial) string { return fmt.Sprint(tr.Number) }

// The gain that a published report recommends is not told from the noise of trials that
// ought to be equal, in the printed rate as by duration.
func TestCompareWithinNoise(t *testing.T) {
	m, block := imported(t)
	c := compare(t, m, ref(block["001-01"]), "#"+ref(block["001-12"]), report.CompareOptions{})
	for _, tt := range []struct {
		metric  string
		change  float64 // percent, two decimals
		verdict stats.Verdict
		tier    stats.Tier
		worst   core.Severity
	}{
		{"total_tps", 2.09, stats.CannotTell, stats.TierPooled, core.SeverityNote},
		{"duration_tps", 1.90, stats.CannotTell, stats.TierPooled, 0},
		{"mean_e2el_ms", -2.53, stats.CannotTell, stats.TierPooled, core.SeverityNote},
		{"output_tokens", 0, stats.Same, stats.TierExact, 0},
		{"success_rate", 0, stats.Same, stats.TierCounted, 0},
		{"mean_itl_ms", -0.63, stats.CannotTell, stats.TierPooled, core.SeverityHard},
	} {
		got := metric(t, c, tt.metric)
		if math.Abs(100*(got.Ratio-1)-tt.change) > 0.005 || got.Verdict != tt.verdict || got.Tier != tt.tier || got.SeverityA != tt.worst {
			t.Errorf("%s: %+.2f %%, %s by %s, severity %s; want %+v", tt.metric, 100*(got.Ratio-1), got.Verdict, got.Tier, got.SeverityA, tt)
		}
	}
	var differences []string
	for _, d := range c.Differences {
		differences = append(differences, d.Kind+" "+d.String())
	}
	want := []string{"knob passed.max_num_seqs: unset against 512", "knob passed.performance_mode: unset against throughput"}
	if diff := cmp.Diff(want, differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if c.A.Name != ref(block["001-01"]) || !slices.Equal(c.B.Trials, []int64{block["001-12"].Number}) {
		t.Errorf("sides %+v and %+v", c.A, c.B)
	}
	if _, doubtful := c.Regressions(0.03); len(doubtful) != 0 {
		t.Errorf("regressions that cannot be told: %+v", doubtful)
	}
}

// A whole curve is one comparison a load.
func TestCompareAlong(t *testing.T) {
	m, block := imported(t)
	c := compare(t, m, block["000-01"].Setup.Config.Hash(), block["000-08"].Setup.Hash(), report.CompareOptions{Along: "concurrency", Metrics: []string{"total_tps", "mean_tpot_ms"}})
	var got []string
	for _, x := range c.Metrics {
		if x.Metric == "total_tps" {
			got = append(got, fmt.Sprintf("%s %.2f %.2f n=%d %+.2f%% %s", x.Load, x.Base, x.Value, x.N, 100*x.Gain().Num, x.Verdict))
		}
	}
	want := []string{"concurrency=1 272.95 688.51 n=1 +152.25% better", "concurrency=2 528.35 1204.57 n=1 +127.99% better",
		"concurrency=4 1020.76 2080.50 n=2 +103.82% better", "concurrency=8 1884.42 3366.71 n=1 +78.66% better"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Metrics) != 8 {
		t.Errorf("%d figures, want 8", len(c.Metrics))
	}
	kinds := map[string]string{}
	for _, d := range c.Differences {
		kinds[d.Field] = d.Kind
	}
	for field, kind := range map[string]string{"engine": "setup", "weight_dtype": "setup", "engine_version": "version", "passed.speculative_num_steps": "knob"} {
		if kinds[field] != kind {
			t.Errorf("difference in %s is %q, want %s", field, kinds[field], kind)
		}
	}
	// The same trials, matched by the load's label.
	if labels := compare(t, m, block["000-01"].Setup.Config.Hash(), block["000-08"].Setup.Hash(), report.CompareOptions{Metrics: []string{"total_tps"}}); len(labels.Metrics) != 4 {
		t.Errorf("by label: %d figures, want 4", len(labels.Metrics))
	}
}

// A side that wins at low load and loses at high is said to cross, also over loads at
// which nothing can be told.
func TestCompareAlongCrosses(t *testing.T) {
	m := &memory{}
	for i, c := range []float64{64, 1, 4, 16, 32} {
		for side, f := range []float64{1, []float64{0.8, 1.3, 1.2, 1.01, 0.9}[i]} {
			at := core.Load{Concurrency: core.Number(c)}
			m.add(core.Trial{Workload: workload("chat"), Load: at,
				Setup:   setup([]string{"vllm", "sglang"}[side], "", nil),
				Figures: figures(100, 100, 1000*f*c, 500*f*c, 100/f, 10)})
		}
	}
	c := compare(t, m, `engine == "vllm"`, `engine == "sglang"`, report.CompareOptions{Along: "concurrency", Metrics: []string{"total_tps", "completed", "mean_ttft_ms"}})
	var got []string
	for _, a := range c.Along {
		got = append(got, fmt.Sprintf("%s %t", a, a.Mixed()))
	}
	want := []string{
		"total_tps: better from 1 to 4, cannot tell at 16, worse from 32 to 64; the sides cross between 4 and 32 true",
		"completed: same from 1 to 64 false",
		"mean_ttft_ms: better from 1 to 4, cannot tell at 16, worse from 32 to 64; the sides cross between 4 and 32 true",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if one := compare(t, m, `engine == "vllm"`, `engine == "sglang"`, report.CompareOptions{Metrics: []string{"total_tps"}}); one.Along != nil {
		t.Errorf("without along: %v", one.Along)
	}
}

// repeated is a history of two configurations, 5 trials each, of which the second is as
// much slower as the factor says.
func repeated(factor float64) *memory {
	m := &memory{}
	for i, wobble := range []float64{0.998, 1.001, 1.003, 0.999, 1.0005} {
		for side, f := range []float64{1, factor} {
			tr := core.Trial{Study: "s", Workload: workload("chat"), Load: load,
				Setup:   setup("vllm", "", core.Knobs{"max_num_seqs": core.Number(float64(8 + 8*side))}),
				Figures: figures(1000, 1000, 5000*f*wobble, 2000*f*wobble, 100/f/wobble, 10+float64(i)/100)}
			tr.Figures["input_tokens"], tr.Figures["output_tokens"], tr.Figures["std_ttft_ms"] = 300000, 200000, 5/f/f
			m.add(tr)
		}
	}
	return m
}

func TestRegressions(t *testing.T) {
	m := repeated(0.95)
	c := compare(t, m, "args.max_num_seqs == 8", "args.max_num_seqs == 16", report.CompareOptions{Metrics: []string{}})
	total := metric(t, c, "total_tps")
	if total.Tier != stats.TierRank || total.Verdict != stats.Worse || total.P > 0.01 || total.Confidence < 0.95 {
		t.Errorf("total_tps: %+v", total)
	}
	if total.GainText() != "-5.00 %" {
		t.Errorf("gain %q", total.GainText())
	}
	names := func(list []report.Compared) (out []string) {
		for _, x := range list {
			out = append(out, x.Metric)
		}
		return out
	}
	found, doubtful := c.Regressions(0.03)
	// The standard deviation is worse by 10 %, which single requests decide.
	if diff := cmp.Diff([]string{"output_tps", "total_tps", "mean_ttft_ms", "median_ttft_ms"}, names(found)); diff != "" || doubtful != nil {
		t.Errorf("(-want +got):\n%s\ndoubtful %v", diff, names(doubtful))
	}
	if found, _ := c.Regressions(0.06); found != nil {
		t.Errorf("above the limit: %v", names(found))
	}
	// A figure that must not be believed is no regression, and is named.
	m.trials[1].Findings = []core.Finding{{Rule: "A3x", Severity: core.SeverityVoid, Metrics: []string{"total_tps"}}}
	c = compare(t, m, "args.max_num_seqs == 8", "args.max_num_seqs == 16", report.CompareOptions{})
	found, doubtful = c.Regressions(0.03)
	if slices.Contains(names(found), "total_tps") || !slices.Equal(names(doubtful), []string{"total_tps"}) {
		t.Errorf("regressions %v, doubtful %v", names(found), names(doubtful))
	}
	if !strings.Contains(c.Summary(), "void or hard findings touch 1") {
		t.Error(c.Summary())
	}
	// An improvement is none.
	if found, _ := compare(t, repeated(1.05), "args.max_num_seqs == 8", "args.max_num_seqs == 16", report.CompareOptions{}).Regressions(0.03); found != nil {
		t.Errorf("faster: %v", names(found))
	}
}

func TestSides(t *testing.T) {
	m, block := imported(t)
	base, best := block["003-01"], block["003-05"]
	for name, side := range map[string]string{
		"number":              ref(best),
		"number with #":       "#" + ref(best),
		"id":                  best.ID.String(),
		"beginning of id":     best.ID.String()[:8],
		"setup":               best.Setup.Hash(),
		"config, in capitals": strings.ToUpper(best.Setup.Config.Hash()),
		"condition":           `study == "qwen3-32b-throughput" and engine == "trtllm" and args.chunked_prefill`,
		"question":            `max total_tps where study == "qwen3-32b-throughput" and workload == "sharegpt"`,
	} {
		c := compare(t, m, ref(base), side, report.CompareOptions{Metrics: []string{"total_tps"}})
		if len(c.Metrics) != 1 || math.Abs(c.Metrics[0].Gain().Num-0.8211) > 5e-5 {
			t.Errorf("%s: %+v", name, c.Metrics)
		}
	}
	for name, tt := range map[string]struct {
		side string
		is   func(error) bool
		text string
	}{
		"nothing named":     {" ", invalid, "nothing is named"},
		"no such trial":     {"99999", notFound, "no trial of the history is meant"},
		"no such hash":      {"0123456789ab", notFound, "no trial of the history is meant"},
		"mistyped field":    {`enginee == "vllm"`, query.IsUsage, "engine"},
		"nothing answers":   {`max total_tps where engine == "none"`, notFound, "no trial answers"},
		"other workload":    {`workload == "random 1024/128"`, notFound, "no workload and load has a trial on both sides"},
		"mistyped question": {`max totl_tps`, query.IsUsage, "total_tps"},
	} {
		_, err := report.Compare(t.Context(), m, report.Side{Trials: `workload == "sharegpt" or workload == "random 32000/100"`}, report.Side{Trials: tt.side}, report.CompareOptions{})
		if err == nil || !tt.is(err) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%s: an error of %d characters", name, len(err.Error()))
		}
	}
	if _, err := report.Compare(t.Context(), m, report.Side{Trials: "1"}, report.Side{Trials: "2"}, report.CompareOptions{Along: "engine"}); !invalid(err) {
		t.Errorf("along a field that sets no load: %v", err)
	}
	if _, err := report.Compare(t.Context(), m, report.Side{Trials: "1"}, report.Side{Trials: "2"}, report.CompareOptions{Metrics: []string{"total_tp"}}); !invalid(err) {
		t.Errorf("unknown metric: %v", err)
	}
}

func invalid(err error) bool  { return errors.Is(err, core.ErrInvalid) }
func notFound(err error) bool { return errors.Is(err, core.ErrNotFound) }

func TestCompareWarnings(t *testing.T) {
	m := repeated(1)
	failed := *m.trials[1]
	failed.Figures, failed.Status, failed.Failure = nil, core.StatusFailed, core.Crash
	m.add(failed)
	other := *m.trials[0]
	other.Figures, other.Derived = maps.Clone(other.Figures), nil
	other.Workload, other.Host, other.Setup.Driver = workload("code"), "gpu-2", "560.1"
	for name := range m.trials[0].Derived {
		delete(other.Figures, name)
	}
	other.Figures["output_tokens"], other.Figures["input_tokens"] = 150000, 310000
	m.add(other)
	c := compare(t, m, "1", "args.max_num_seqs == 16", report.CompareOptions{})
	text := strings.Join(c.Warnings, "\n")
	if !strings.Contains(text, "B: 1 trial ended without a result") {
		t.Error(text)
	}
	c = compare(t, m, "1", ref(m.trials[11]), report.CompareOptions{})
	text = strings.Join(c.Warnings, "\n")
	for _, want := range []string{
		"A was measured on chat at all at once, B on code at all at once: their figures do not compare",
		"answers of 200 and 150 tokens on average, -25.00 %: the sides did not do the same work",
		"prompts of 300 and 310 tokens on average, +3.33 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	fields := map[string]bool{}
	for _, d := range c.Differences {
		fields[d.Field] = true
	}
	for _, f := range []string{"workload", "dataset", "host", "driver"} {
		if !fields[f] {
			t.Errorf("no difference in %s: %v", f, c.Differences)
		}
	}
	c = compare(t, m, "workload == \"chat\"", "1", report.CompareOptions{})
	text = strings.Join(c.Warnings, "\n")
	for _, want := range []string{"A holds 2 setups on chat at all at once: its median mixes them", "one trial stands on both sides"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestComparisonTables: both tables hold every comparison, each row as wide as the
// columns, and the whole is JSON without a null list.
func TestComparisonTables(t *testing.T) {
	c := compare(t, repeated(0.95), "args.max_num_seqs == 8", "args.max_num_seqs == 16", report.CompareOptions{})
	for name, table := range map[string]func() ([]query.Column, [][]core.Value){"rows": c.Rows, "brief": c.Brief} {
		columns, rows := table()
		if len(rows) != len(c.Metrics) || len(rows) == 0 {
			t.Errorf("%s: %d rows of %d figures", name, len(rows), len(c.Metrics))
		}
		for _, r := range rows {
			if len(r) != len(columns) {
				t.Fatalf("%s: %d values in %d columns", name, len(r), len(columns))
			}
		}
	}
	columns, rows := c.Brief()
	var line []string
	for i, r := range rows {
		if r[0].Text == "total_tps" {
			for j := range columns {
				line = append(line, rows[i][j].String())
			}
		}
	}
	// The ends are ratios of single trials, the third smallest and greatest of all 25.
	want := "total_tps|5,002.5 tok/s (n=5)|4,752.38 tok/s (n=5)|-5.00 %|-5.28 … -4.71 % (96.8 %)|worse|rank|"
	if got := strings.Join(line, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "null") {
		t.Errorf("null in %s", data)
	}
}
