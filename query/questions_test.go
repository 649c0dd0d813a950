package query_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// The questions that readers asked of the three reports, with the answers that were
// worked out by hand. A gain is printed in percent with two decimals.
func TestQuestions(t *testing.T) {
	history := reports(t)
	tests := []struct {
		query   string
		columns string
		want    []string
	}{
		{`max total_tps where study == "doc 000" and concurrency == 4 and success_rate == 1 vs role == "baseline"`,
			"option total_tps gain%", []string{"000-24 2149.3 110.56"}},
		{`max total_tps where study == "doc 000" and success_rate == 1 by concurrency vs role == "baseline"`,
			"concurrency option base(total_tps) total_tps gain%", []string{
				"1 000-22 272.95 688.51 152.25", "2 000-23 528.35 1204.57 127.99",
				"4 000-24 1020.76 2149.3 110.56", "8 000-25 1884.42 3366.71 78.66"}},
		{`pareto max total_tps, min mean_tpot_ms where study == "doc 000" and concurrency == 4`,
			"option", []string{"000-24"}},
		{`pareto max total_tps, min mean_tpot_ms where study == "doc 000" and concurrency == 4 and option != "000-24"`,
			"option total_tps mean_tpot_ms", []string{"000-08 2011.7 3.75", "000-13 1998.25 3.54", "000-17 1958.61 3.53"}},
		{`min est_e2el_ms where option in ["000-08", "000-09", "000-10", "000-11", "000-12", "000-13", "000-14", "000-15", "000-16"]`,
			"option", []string{"000-13"}},
		{`min mean_tpot_ms where option in ["000-08", "000-09", "000-10", "000-11", "000-12", "000-13", "000-14", "000-15", "000-16"]`,
			"option mean_tpot_ms", []string{"000-13 3.54"}},
		{`max total_tps where study == "doc 001" and workload == "sharegpt" and success_rate == 1 vs role == "baseline" top 4`,
			"option total_tps gain%", []string{"001-12 11768.22 2.09", "001-10 11672.72 1.26", "001-16 11628.47 0.88", "001-15 11573.41 0.40"}},
		{`max total_tps where study == "doc 001" and workload == "sharegpt" and success_rate == 1 by engine`,
			"engine option total_tps", []string{"sglang 001-02 6499.41", "vllm 001-12 11768.22"}},
		{`pareto max total_tps, min mean_tpot_ms where study == "doc 001" and workload == "sharegpt" and success_rate == 1`,
			"option", []string{"001-12", "001-16", "001-01"}},
		{`pareto max total_tps, min mean_tpot_ms where study == "doc 001" and workload == "sharegpt"`,
			"option", []string{"001-04", "001-12", "001-16", "001-01"}},
		{`max total_tps where study == "doc 001" and success_rate == 1 by workload vs role == "baseline"`,
			"workload gain%", []string{"generation 1.74", "high throughput 15.59", "long context 0.75", "sharegpt 2.09"}},
		{`show workload, gain(duration_tps), gain(mean_e2el_ms) where option in ["001-12", "001-20", "001-22", "001-24"] vs role == "baseline" order by workload`,
			"workload gain(duration_tps)% gain(mean_e2el_ms)%", []string{
				"generation -0.01 -0.40", "high throughput 9.97 8.89", "long context 0.76 -1.52", "sharegpt 1.90 2.53"}},
		{`max total_tps where study == "doc 003" and workload == "sharegpt" vs role == "baseline" top 5`,
			"option engine total_tps", []string{"003-05 trtllm 4284.68", "003-04 trtllm 4005.32", "003-03 trtllm 2659.5",
				"003-01 vllm 2352.82", "003-02 sglang 1690.84"}},
		{`max total_tps where study == "doc 003" and workload == "sharegpt" by engine vs role == "baseline"`,
			"option gain%", []string{"003-02 -28.14", "003-05 82.11", "003-01 0.00"}},
		{`show workload, gain(mean_tpot_ms) where option in ["003-05", "003-13", "003-12", "003-11", "003-10"] vs role == "baseline" order by option`,
			"workload gain(mean_tpot_ms)%", []string{"sharegpt -80.09", "random 32000/100 -560.92", "random 4000/200 -108.30",
				"random 2000/100 -157.91", "random 128/4 23.90"}},
		{`show workload, max(total_tps) / min(total_tps) as spread where study == "doc 000" by workload`,
			"workload spread%", []string{"sharegpt 1233.45"}},
		{`last mean_ttft_ms < 40 along concurrency where option in ["000-22", "000-23", "000-24", "000-25"]`,
			"concurrency after(concurrency) mean_ttft_ms after(mean_ttft_ms) number after(number)", []string{"4 8 39.93 42.27 23 24"}},
		{`change total_tps along concurrency where option in ["000-22", "000-23", "000-24", "000-25"]`,
			"before(concurrency) concurrency change%", []string{"1 2 74.95", "2 4 78.43", "4 8 56.64"}},
		{`at mean_tpot_ms == 3 along concurrency where option in ["000-22", "000-23", "000-24", "000-25"]`,
			"concurrency before(number) after(number)", []string{"1.8918918918918917 21 22"}},
		{`max total_tps / base(total_tps) - 0 as speedup where study == "doc 001" and success_rate == 1 by engine, role over workload vs role == "baseline" top 5`,
			"engine role speedup% n", []string{"vllm candidate 104.87 4", "vllm baseline 100.00 4"}},
		{`max total_tps where study == "doc 000" and concurrency == 4 within noise`, "option n", []string{"000-24 1"}},
		{`count where study == "doc 001" by success_rate == 1`,
			"success_rate == 1 count", []string{"false 1", "true 20"}},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		var got []string
		for i := range a.Rows {
			var parts []string
			for _, name := range splitColumns(tt.columns) {
				plain, percent := strings.CutSuffix(name, "%")
				v := cell(t, history, a, i, plain)
				if percent {
					parts = append(parts, fmt.Sprintf("%.2f", v.Num*100))
				} else {
					parts = append(parts, v.String())
				}
			}
			got = append(got, strings.Join(parts, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
}

// splitColumns splits at blanks, but keeps the one name that has some.
func splitColumns(s string) []string {
	if rest, ok := strings.CutPrefix(s, "success_rate == 1 "); ok {
		return append([]string{"success_rate == 1"}, strings.Fields(rest)...)
	}
	return strings.Fields(s)
}

// cell is a column of a row, or the option of the row's trial, which no row has.
func cell(t *testing.T, history memory, a *query.Answer, row int, name string) core.Value {
	t.Helper()
	if i := a.Column(name); i >= 0 {
		return a.Rows[row][i]
	}
	i := a.Column("number")
	if i < 0 {
		t.Fatalf("%s: no column %s", a.Query, name)
	}
	return history[int(a.Rows[row][i].Num)-1].Value(name)
}

// Where nobody says how many requests were asked, success is unknown, not full.
func TestUnknownRequests(t *testing.T) {
	a := ask(t, reports(t), `max total_tps where study == "doc 003" and success_rate == 1`)
	if a.Considered != 7 || a.Excluded.Undecided != 6 {
		t.Errorf("considered %d, undecided %d; want 7 and 6", a.Considered, a.Excluded.Undecided)
	}
	want := []query.Warning{{
		Code:    "undecided",
		Message: "6 trials left out: success_rate is unknown, because the number of requests asked is stated nowhere",
		Hint:    `if you know that every request was answered: sweepbook set 'requested=completed where study == "doc 003" and missing(requested)'`,
	}}
	if diff := cmp.Diff(want, a.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]query.Reason{{Field: "success_rate", Trials: 6}}, a.Undecided); diff != "" {
		t.Errorf("undecided (-want +got):\n%s", diff)
	}
}

// Case 42: infeasible bests and empty answers.
func TestInfeasibleBest(t *testing.T) {
	dir := sharedCase(t, "42-infeasible-best-and-empty-answer")
	var history memory
	labels := map[string]string{}
	for n := 1; n <= 7; n++ {
		var r struct {
			Completed int     `json:"completed"`
			Failed    int     `json:"failed"`
			Total     float64 `json:"total_token_throughput"`
			P99       float64 `json:"p99_ttft_ms"`
			Label     string  `json:"label"`
		}
		readJSON(t, filepath.Join(dir, fmt.Sprintf("t%d.json", n)), &r)
		history = append(history, trial(t, n, "completed", r.Completed, "failed", r.Failed, "total_tps", r.Total,
			"p99_ttft_ms", r.P99))
		labels[fmt.Sprint(n)] = r.Label
	}
	var expected struct {
		Queries map[string]json.RawMessage `json:"queries"`
	}
	readJSON(t, filepath.Join(dir, "expected.json"), &expected)
	for text, want := range expected.Queries {
		// The case names the field in another tool's spelling.
		text = strings.ReplaceAll(text, "ttft_p99", "p99_ttft_ms")
		if string(want) == `"error"` {
			if _, err := query.Run(t.Context(), history, text, query.Options{}); !query.IsUsage(err) {
				t.Errorf("%s: error %v, want a usage error", text, err)
			}
			continue
		}
		a := ask(t, history, text)
		if string(want) == "null" {
			if len(a.Rows) != 0 || message(a, "no_trial") == "" {
				t.Errorf("%s: %d rows, warnings %v", text, len(a.Rows), a.Warnings)
			}
			continue
		}
		var w struct {
			Label  string
			Labels []string
			Value  float64
		}
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if w.Label != "" {
			w.Labels = []string{w.Label}
		}
		got := map[string]bool{}
		for _, row := range a.Rows {
			got[labels[row[a.Column("number")].String()]] = true
			if row[0].Num != w.Value {
				t.Errorf("%s: value %v, want %v", text, row[0], w.Value)
			}
		}
		for _, l := range w.Labels {
			if !got[l] || len(got) != len(w.Labels) {
				t.Errorf("%s: trials %v, want %v", text, got, w.Labels)
			}
		}
		if a.Ties != len(w.Labels)-1 {
			t.Errorf("%s: %d ties, want %d", text, a.Ties, len(w.Labels)-1)
		}
	}
	a := ask(t, history, "max total_tps where success_rate == 1 and p99_ttft_ms < 100")
	want := "no trial qualifies: p99_ttft_ms < 100 is false for 6 of 7 trials; the nearest is trial 1 with p99_ttft_ms = 180"
	if got := message(a, "no_trial"); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// sharedCase finds a folder of the case collection beside the repository.
func sharedCase(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no go.mod above: not in a checkout")
		}
		dir = parent
	}
	path := filepath.Join(dir, "..", "shared", "cases", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no case collection beside the repository: %v", err)
	}
	return path
}
