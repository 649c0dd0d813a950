package query_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// rowsOf prints the rows of an answer, values divided by blanks.
func rowsOf(a *query.Answer) []string {
	var out []string
	for _, row := range a.Rows {
		var parts []string
		for _, v := range row {
			parts = append(parts, v.String())
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func TestAggregates(t *testing.T) {
	history := memory{
		trial(t, 1, "engine", "a", "total_tps", 1, "simulated", true),
		trial(t, 2, "engine", "a", "total_tps", 2),
		trial(t, 3, "engine", "a", "total_tps", 4),
		trial(t, 4, "engine", "a"),
		trial(t, 5, "engine", "b", "total_tps", 10, "engine_version", "0.9"),
		trial(t, 6, "engine", "b", "total_tps", 20, "engine_version", "0.10"),
		trial(t, 7, "engine", "c"),
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"show engine, mean(total_tps), median(total_tps), min(total_tps), max(total_tps), sum(total_tps) by engine", []string{
			"a 2.3333333333333335 2 1 4 7", "b 15 15 10 20 30", "c     "}},
		{"show count(), count(total_tps), count(total_tps > 1), count(engine) by engine", []string{"a 4 3 2 4", "b 2 2 2 2", "c 1 0 0 1"}},
		{"show p(total_tps, 0), p(total_tps, 25), p(total_tps, 50), p(total_tps, 90), p(total_tps, 100) where engine == \"a\"",
			[]string{"1 1.5 2 3.6 4"}},
		{"show stdev(total_tps) where engine == \"b\"", []string{"7.0710678118654755"}},
		{"show stdev(total_tps) where number == 1", []string{""}},
		{"show all(total_tps > 0), any(total_tps > 3) by engine", []string{"a  true", "b true true", "c  "}},
		{"show all(total_tps > 1), any(total_tps > 100) by engine", []string{"a false ", "b true false", "c  "}},
		{"show engine, max(total_tps) - min(total_tps) as spread by engine order by spread desc", []string{"b 10", "a 3", "c "}},
		{"show max(total_tps, number) where number < 4", []string{"1", "2", "4"}},
		{"show mean(max(total_tps, number)) where number < 4", []string{"2.3333333333333335"}},
		{"show max(mean(total_tps), count()) by engine", []string{"a 4", "b 15", "c "}},
		{"show bin(total_tps, 5), count() by bin(total_tps, 5)", []string{"0 3", "10 1", "20 1", " 2"}},
		{"count by engine, simulated order by count desc, engine", []string{"a false 3", "b false 2", "a true 1", "c false 1"}},
		{"count by engine_version", []string{"0.9 1", "0.10 1", " 5"}},
		{"count by total_tps > 2", []string{"false 2", "true 3", " 2"}},
		{"show engine by engine having count(total_tps) > 2", []string{"a", "a", "a", "a"}},
		{"show mean(total_tps) where total_tps > 1000", nil},
		{"count where total_tps > 1000", []string{"0"}},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		if diff := cmp.Diff(tt.want, rowsOf(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
	a := ask(t, history, "show engine, mean(total_tps) by engine")
	if got, want := message(a, "missing"), "mean(total_tps): 2 of 7 trials lack a value and do not count"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	want := query.Column{Name: "mean(total_tps)", Unit: "tok/s", Type: core.NumberType, Better: core.HigherBetter}
	if diff := cmp.Diff(want, a.Columns[1]); diff != "" {
		t.Errorf("column (-want +got):\n%s", diff)
	}
}

// A sum keeps what plain addition would lose, and a mean does not overflow.
func TestSums(t *testing.T) {
	var history memory
	for i, x := range []float64{1e100, 1, -1e100, 1} {
		history = append(history, trial(t, i+1, "total_tps", x, "rps", math.MaxFloat64))
	}
	a := ask(t, history, "show sum(total_tps), mean(rps) == 1.7976931348623157e308, sum(rps)")
	if diff := cmp.Diff([]string{"2 true "}, rowsOf(a)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVersus(t *testing.T) {
	history := memory{
		trial(t, 1, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 100, "mean_ttft_ms", 50, "role", "baseline"),
		trial(t, 2, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 110, "mean_ttft_ms", 60, "role", "baseline"),
		trial(t, 3, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 300, "role", "baseline"),
		trial(t, 4, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 220, "mean_ttft_ms", 22),
		trial(t, 5, "model", "m", "workload", "w", "concurrency", 8, "total_tps", 900),
		trial(t, 6, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 5, "role", "baseline", "simulated", true),
		trial(t, 7, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 10, "simulated", true),
		trial(t, 8, "model", "m", "workload", "w", "concurrency", 1, "total_tps", 1, "role", "baseline", "status", "failed"),
		trial(t, 9, "model", "m", "workload", "w", "concurrency", 8, "total_tps", 0, "role", "zero"),
	}
	const base = ` vs role == "baseline"`
	tests := []struct {
		query, columns string
		want           []string
	}{
		{`max total_tps where concurrency == 1 and missing(role)` + base, "number base(total_tps) gain", []string{"4 110 1"}},
		{`max total_tps where missing(role) by concurrency` + base, "number base(total_tps) gain", []string{"4 110 1", "5  "}},
		{`max total_tps where missing(role)` + base + " on model", "number base(total_tps) gain", []string{"5 110 7.181818181818182"}},
		{`max total_tps where missing(role)` + base + " on model, simulated", "number base(total_tps)", []string{"5 110"}},
		{`min mean_ttft_ms where missing(role)` + base, "number base(mean_ttft_ms) gain", []string{"4 55 0.6"}},
		{`max mean_ttft_ms where missing(role)` + base, "number gain", []string{"4 0.6"}},
		{`min total_tps * 2 where missing(role)` + base, "number total_tps * 2 base(total_tps * 2) gain", []string{"4 440 220 -1"}},
		{`max gain(total_tps)` + base, "number gain(total_tps)", []string{"3 1.7272727272727273"}},
		{`max total_tps where gain > 0.5 and missing(role)` + base, "number gain", []string{"4 1"}},
		{`max total_tps where gain(total_tps) > 0.5 and missing(role)` + base, "number", []string{"4"}},
		{`show number, base(total_tps), gain where missing(role) and known(number) order by gain desc` + base, "number base(total_tps) gain",
			[]string{"4 110 1", "7 5 1", "5  "}},
		{`show number, gain(total_tps), gain where missing(role) order by number` + base, "number gain(total_tps) gain",
			[]string{"4 1 1", "5  ", "7 1 1"}},
		{`show simulated, median(gain(total_tps)) where missing(role) by simulated` + base, "simulated median(gain(total_tps))",
			[]string{"false 1", "true 1"}}, // each kind has its own, though the query names simulated
		{`show simulated, median(gain(total_tps)) where missing(role) by simulated vs role == "baseline" and simulated == simulated`, "simulated median(gain(total_tps))",
			[]string{"false 1.0952380952380953", "true -0.9047619047619048"}}, // vs names it, so that kinds mix
		{`max total_tps where concurrency == 8 vs role == "zero"`, "number base(total_tps) gain", []string{"5 0 "}},
		{`max number where status == status and simulated == simulated and concurrency == 1 vs role == "baseline"`, "number base(number)",
			[]string{"8 2"}},
		{`max number where status == status and simulated == simulated and concurrency == 1 vs role == "baseline" and status == status and simulated == simulated`, "number base(number)",
			[]string{"8 3"}},
		{`pareto max total_tps, min mean_ttft_ms where missing(role)` + base, "number base(total_tps) gain(total_tps) gain(mean_ttft_ms)",
			[]string{"4 110 1 0.6"}},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		var got []string
		for i := range a.Rows {
			var parts []string
			for _, name := range strings.Split(strings.ReplaceAll(tt.columns, " * ", "\x00"), " ") {
				parts = append(parts, column(t, a, strings.ReplaceAll(name, "\x00", " * "))[i])
			}
			got = append(got, strings.Join(parts, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
	a := ask(t, history, `max total_tps where concurrency == 8 and missing(role)`+base)
	if got, want := message(a, "no_baseline"), `1 row without a baseline: no trial where role == "baseline" has the same model, workload and load`; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	a = ask(t, history, `max total_tps where gain > 0.5 and concurrency == 8`+base)
	if diff := cmp.Diff([]query.Reason{{Field: "baseline", Trials: 2}}, a.Undecided); diff != "" {
		t.Errorf("undecided (-want +got):\n%s", diff)
	}
	a = ask(t, history, `max total_tps where missing(role) by concurrency`+base)
	if a.Groups[0].Base != core.Number(110) || !a.Groups[1].Base.IsMissing() {
		t.Errorf("bases of the groups: %v and %v", a.Groups[0].Base, a.Groups[1].Base)
	}
}

func TestResidue(t *testing.T) {
	common := []any{"model", "m", "workload", "w", "tool", "bench", "gpu", "H100"}
	with := func(n int, more ...any) *core.Trial { return trial(t, n, slices.Concat(common, more)...) }
	history := memory{
		with(1, "engine", "vllm", "engine_version", "0.9", "concurrency", 1, "total_tps", 1, "tp", 1),
		with(2, "engine", "vllm", "engine_version", "0.10", "concurrency", 1, "total_tps", 2, "tp", 2),
		with(3, "engine", "sglang", "engine_version", "0.5.5", "concurrency", 8, "total_tps", 3, "gpu", "H200"),
		with(4, "engine", "sglang", "engine_version", "0.5.5", "concurrency", 8, "total_tps", 4, "gpu", "H200"),
		with(5, "engine", "trtllm", "engine_version", "1.2", "gpu", "B200", "status", "failed"),
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"max total_tps", []string{"load: c=1, c=8", "concurrency: 1, 8", "gpu: H100, H200", "engine_version: 0.5.5, 0.9, 0.10"}},
		{"max total_tps by engine", []string{"engine_version: 0.9, 0.10"}},
		{"max total_tps by engine, engine_version", nil},
		{"max total_tps where concurrency in [1, 8] and total_tps > 1 by gpu", nil},
		{`max total_tps where concurrency in [1, 8] and gpu != "A100"`, []string{"load: c=1, c=8", "gpu: H100, H200", "engine_version: 0.5.5, 0.9, 0.10"}},
		{"pareto max total_tps, max number by concurrency", []string{"engine_version: 0.9, 0.10"}},
		{"show median(total_tps) by concurrency", []string{"engine_version: 0.9, 0.10"}},
		{"show number, total_tps", nil},
		{"count", nil},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		var got []string
		for _, r := range a.Residue {
			var values []string
			for _, v := range r.Values {
				values = append(values, v.String())
			}
			got = append(got, r.Field+": "+strings.Join(values, ", "))
			if !slices.Contains(query.ResidueFields(), r.Field) {
				t.Errorf("%s: residue %s is not in the list", tt.query, r.Field)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}

	var many memory
	for n := range 250 {
		many = append(many, trial(t, n+1, "total_tps", 1, "concurrency", 250-n))
	}
	for _, r := range ask(t, many, "max total_tps").Residue {
		if r.Field == "concurrency" && (!r.More || len(r.Values) != 100 || r.Values[99].Num != 100) {
			t.Errorf("residue keeps %d values up to %v, more %t", len(r.Values), r.Values[len(r.Values)-1], r.More)
		}
	}
}

func TestAsserted(t *testing.T) {
	history := memory{
		trial(t, 1, "total_tps", 10, "completed", 5, "requested", 5, "gpus", 2),
		trial(t, 2, "total_tps", 9, "completed", 5, "requested", 5),
		trial(t, 3, "total_tps", 5, "completed", 5, "requested", 5, "role", "baseline"),
	}
	history[0].Asserted = []string{"requested", "gpus"}
	history[1].Asserted = []string{"total_tps"}
	history[2].Asserted = []string{"total_tps"}
	tests := []struct {
		query string
		want  []string
	}{
		{"max total_tps", nil},
		{"max total_tps where success_rate == 1", []string{"trial 1: success_rate rests on requested, which a person set"}},
		{"max total_tps_per_gpu", []string{"trial 1: total_tps_per_gpu rests on gpus, which a person set"}},
		{"min success_rate", []string{"trial 1: success_rate rests on requested, which a person set"}},
		{"max total_tps where number > 1", []string{"trial 2: total_tps was set by a person"}},
		{`max total_tps vs role == "baseline"`, []string{"trial 3: total_tps was set by a person"}},
		{"show mean(total_tps)", []string{"trials 2, 3: total_tps was set by a person"}},
		{"show number, requested where number < 3", []string{"trial 1: requested was set by a person"}},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range ask(t, history, tt.query).Warnings {
			if w.Code == "asserted" {
				got = append(got, w.Message)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
}

func TestEmptyAnswers(t *testing.T) {
	tests := []struct {
		history memory
		query   string
		want    string
	}{
		{nil, "max total_tps", "no trial qualifies: the history holds no trial"},
		{memory{trial(t, 1, "status", "failed"), trial(t, 2, "status", "lost")}, "max total_tps",
			"no trial qualifies: none of 2 trials has status ok (1 failed, 1 lost)"},
		{memory{trial(t, 1, "total_tps", 5), trial(t, 2, "total_tps", 7)}, "max total_tps where total_tps > 10 and number > 0",
			"no trial qualifies: total_tps > 10 is false for 2 of 2 trials; the nearest is trial 2 with total_tps = 7"},
		{memory{trial(t, 1, "engine", "a")}, `show number where engine == "b"`, `no trial qualifies: engine == "b" is false for 1 of 1 trial`},
		{memory{trial(t, 1)}, "max total_tps", "no trial qualifies: what it asks for is unknown for 1 of 1 trial"},
	}
	for _, tt := range tests {
		a := ask(t, tt.history, tt.query)
		if got := message(a, "no_trial"); got != tt.want || len(a.Rows) != 0 {
			t.Errorf("%s: %q with %d rows, want %q", tt.query, got, len(a.Rows), tt.want)
		}
	}
	a := ask(t, memory{trial(t, 1, "simulated", true, "total_tps", 3)}, "max total_tps")
	if diff := cmp.Diff([]string{"simulated"}, codes(a)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
