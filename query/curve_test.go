package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// sweeps are three curves over concurrency: a breaks at 4 and passes again at 16, b
// never breaks, c breaks from the start. Trial 9 has no latency, trial 10 no load.
func sweeps(t testing.TB) memory {
	at := func(n int, engine string, c any, p99 any, more ...any) *core.Trial {
		return trial(t, n, slices.Concat([]any{"engine", engine, "workload", "chat", "concurrency", c, "p99_ttft_ms", p99, "total_tps", 100 * n}, more)...)
	}
	return memory{
		at(1, "a", 1, 50), at(2, "a", 2, 100), at(3, "a", 4, 250), at(4, "a", 8, 400), at(5, "a", 16, 150),
		at(6, "b", 1, 20), at(7, "b", core.Unlimited(), 90, "num_prompts", 500), at(8, "c", 2, 300),
		at(9, "a", 3, core.Missing()), at(10, "a", core.Missing(), 10), at(11, "a", 1, 10, "status", "failed"),
		at(12, "a", 1, 900, "workload", "code"), at(13, "a", 2, 100, "workload", "code"),
	}
}

func TestCurves(t *testing.T) {
	tests := []struct {
		query, columns string
		want           []string
		warnings       []string
	}{
		{"first p99_ttft_ms > 200 along concurrency", "engine workload concurrency before(concurrency) p99_ttft_ms before(p99_ttft_ms) number before(number) n",
			[]string{"a code 1  900  12  1", "c chat 2  300  8  1", "a chat 4 2 250 100 3 2 1"}, []string{
				"never: p99_ttft_ms > 200 holds nowhere: up to concurrency = unlimited (trial 7)",
				"open: p99_ttft_ms > 200 holds already from the lowest on, concurrency = 2 (trial 8); from the lowest on, concurrency = 1 (trial 12)",
				"later: p99_ttft_ms > 200 does not hold any more at concurrency = 16 (trial 5), above concurrency = 4 (trial 3); " +
					"concurrency = 2 (trial 13), above concurrency = 1 (trial 12)",
				"single: 1 curve with one value of concurrency only: nothing to compare it with"}},
		{"last p99_ttft_ms <= 200 along concurrency", "engine workload concurrency after(concurrency) p99_ttft_ms after(p99_ttft_ms) number after(number) n",
			[]string{"b chat unlimited  90  7  1", "a chat 2 4 100 250 2 3 1"}, []string{
				"never: p99_ttft_ms <= 200 does not hold: not at the lowest, concurrency = 2 (trial 8); not at the lowest, concurrency = 1 (trial 12)",
				"open: p99_ttft_ms <= 200 still holds up to the highest, concurrency = unlimited (trial 7)",
				"later: p99_ttft_ms <= 200 holds again at concurrency = 16 (trial 5), above concurrency = 4 (trial 3); " +
					"concurrency = 2 (trial 13), above concurrency = 1 (trial 12)",
				"single: 1 curve with one value of concurrency only: nothing to compare it with"}},
		{"last p99_ttft_ms <= 200 along concurrency where workload == \"chat\" top 1", "number", []string{"7"}, nil},
		{"first p99_ttft_ms > 200 along concurrency by engine, workload", "engine workload number before(number)",
			[]string{"a chat 3 2", "a code 12 ", "c chat 8 "}, nil},
		{"at p99_ttft_ms == 200 along concurrency", "engine workload concurrency before(concurrency) after(concurrency) before(p99_ttft_ms) after(p99_ttft_ms) before(number) after(number) n",
			[]string{"a chat 3.333333333333333 2 4 100 250 2 3 2", "a chat 14.4 8 16 400 150 4 5 2", "a code 1.875 1 2 900 100 12 13 2"}, []string{
				"never: p99_ttft_ms is nowhere 200, and nothing is extrapolated: the curve of trial 6 goes from 20 to 90; the curve of trial 8 goes from 300 to 300",
				"later: p99_ttft_ms is 200 at several places: 2 places on the curve of trial 1",
				"single: 1 curve with one value of concurrency only: nothing to compare it with"}},
		{"at p99_ttft_ms == 100 along concurrency where workload == \"chat\" and engine == \"a\"", "concurrency before(number) after(number) n", []string{"2 2 2 1"}, nil},
		{"at p99_ttft_ms == 50 along concurrency where engine == \"b\"", "concurrency before(concurrency) after(concurrency)", []string{" 1 unlimited"},
			[]string{"open: p99_ttft_ms is 50 at a place that cannot be interpolated, because one end is unlimited: above concurrency = 1 (trial 6)"}},
		{"at p99_ttft_ms == -5 along concurrency where engine == \"b\"", "number", nil,
			[]string{"never: p99_ttft_ms is nowhere -5, and nothing is extrapolated: the curve of trial 6 goes from 20 to 90"}},
		// The latency that a throughput costs: a curve along a figure runs over loads.
		{"at p99_ttft_ms == 175 along total_tps where engine == \"a\" and workload == \"chat\" and concurrency < 5", "total_tps before(number) after(number)", []string{"250 2 3"}, nil},
		{"change total_tps along concurrency where workload == \"chat\"", "engine concurrency before(concurrency) total_tps before(total_tps) change number before(number)",
			[]string{"a 2 1 200 100 1 2 1", "a 3 2 900 200 3.5 9 2", "a 4 3 300 900 -0.6666666666666666 3 9", "a 8 4 400 300 0.3333333333333333 4 3",
				"a 16 8 500 400 0.25 5 4", "b unlimited 1 700 600 0.16666666666666666 7 6"}, nil},
		{"change p99_ttft_ms along concurrency where engine == \"c\"", "number", nil,
			[]string{"single: 1 curve with one value of concurrency only: nothing to compare it with"}},
	}
	for _, tt := range tests {
		a := ask(t, sweeps(t), tt.query)
		var got []string
		if len(a.Rows) > 0 {
			got = cells(t, a, tt.columns)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
		if tt.warnings == nil {
			continue
		}
		var warnings []string
		for _, w := range a.Warnings {
			if w.Code != "undecided" {
				warnings = append(warnings, w.Code+": "+w.Message)
			}
		}
		if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.query, diff)
		}
	}
	a := ask(t, sweeps(t), "first p99_ttft_ms > 200 along concurrency")
	if a.Considered != 10 || a.Excluded.Undecided != 2 || a.Excluded.Status != 1 {
		t.Errorf("considered %d, excluded %+v", a.Considered, a.Excluded)
	}
	if want := []query.Reason{{Field: "concurrency", Trials: 1}, {Field: "p99_ttft_ms", Trials: 1}}; !cmp.Equal(want, a.Undecided) {
		t.Errorf("undecided %v, want %v", a.Undecided, want)
	}
}

// Several trials at one load: first looks at any, last at all, at and change at the
// median, and per makes one of them.
func TestCurveRepeats(t *testing.T) {
	var history memory
	for i, p := range []struct{ c, p99 float64 }{{1, 10}, {2, 90}, {2, 110}, {2, 80}, {4, 300}} {
		history = append(history, launched(t, i+1, "engine", "a", "workload", "w", "concurrency", p.c, "p99_ttft_ms", p.p99))
	}
	history[2].Findings = []core.Finding{{Severity: core.SeverityVoid, Metrics: []string{"p99_ttft_ms"}}}
	history = append(history, launched(t, 6, "engine", "a", "workload", "w", "concurrency", 2, "status", "failed"))
	tests := []struct {
		query, columns string
		want           []string
		code, warning  string
	}{
		{"first p99_ttft_ms > 100 along concurrency", "concurrency p99_ttft_ms number before(number) n", []string{"2 110 3 1 3"},
			"mixed", "p99_ttft_ms > 100 holds for some trials only at concurrency = 2 (trial 2)"},
		{"last p99_ttft_ms <= 100 along concurrency", "concurrency number after(concurrency) after(number) n", []string{"1 1 2 3 1"},
			"void", "trial 3: a void finding touches p99_ttft_ms"},
		{"first p99_ttft_ms > 100 along concurrency per setup", "concurrency p99_ttft_ms number before(concurrency) before(number) n failed_repeats",
			[]string{"4 300 5 2 2 1 0"}, "void", "trial 3: a void finding touches p99_ttft_ms"},
		{"last p99_ttft_ms <= 100 along concurrency per setup", "concurrency p99_ttft_ms number n failed_repeats after(number)", []string{"2 90 2 3 1 5"}, "mixed", ""},
		{"at p99_ttft_ms == 195 along concurrency", "concurrency before(number) after(number) n", []string{"3 2 5 4"}, "void", ""},
		{"at p99_ttft_ms == 195 along concurrency per config", "concurrency before(number) after(number) n failed_repeats", []string{"3 2 5 4 1"}, "mixed", ""},
		{"change p99_ttft_ms along concurrency", "p99_ttft_ms before(p99_ttft_ms) change n", []string{"90 10 8 3", "300 90 2.3333333333333335 1"}, "void", ""},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		if diff := cmp.Diff(tt.want, cells(t, a, tt.columns)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
		if got := message(a, tt.code); got != tt.warning {
			t.Errorf("%s: %s %q, want %q", tt.query, tt.code, got, tt.warning)
		}
	}
}

// Imported trials of one place that differ in option may not be repeats.
func TestCurveDoubt(t *testing.T) {
	history := memory{
		trial(t, 1, "engine", "a", "option", "x", "concurrency", 1, "total_tps", 10),
		trial(t, 2, "engine", "a", "option", "y", "concurrency", 1, "total_tps", 20),
		trial(t, 3, "engine", "a", "option", "z", "concurrency", 2, "total_tps", 30),
	}
	a := ask(t, history, "at total_tps == 20 along concurrency")
	want := "imported trials of different option stand at one place, because all that is known of their setup is equal: concurrency = 1 (trial 1)"
	if got := message(a, "repeats"); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	for i, tr := range history {
		tr.Launch = &core.Launch{ID: core.ID{15: byte(i + 1)}}
	}
	if got := message(ask(t, history, "at total_tps == 20 along concurrency"), "repeats"); got != "" {
		t.Errorf("trials that were run here are doubted: %q", got)
	}
}

// What stays equal on a curve depends on what it goes along.
func TestCurveKeys(t *testing.T) {
	history := memory{
		launched(t, 1, "engine", "a", "engine_version", "0.9", "args.x", 1, "workload", "w", "input_len", 100, "concurrency", 1, "num_prompts", 10, "total_tps", 10, "started_at", noon),
		launched(t, 2, "engine", "a", "engine_version", "0.9", "args.x", 1, "workload", "w", "input_len", 100, "concurrency", 2, "num_prompts", 20, "total_tps", 20, "started_at", noon.AddDate(0, 0, 1)),
		launched(t, 3, "engine", "a", "engine_version", "0.9", "args.x", 1, "workload", "v", "input_len", 200, "concurrency", 1, "num_prompts", 10, "total_tps", 30, "started_at", noon.AddDate(0, 0, 2)),
		launched(t, 4, "engine", "a", "engine_version", "0.9", "args.x", 2, "workload", "w", "input_len", 100, "concurrency", 1, "num_prompts", 10, "total_tps", 40, "started_at", noon.AddDate(0, 0, 3)),
		launched(t, 5, "engine", "a", "engine_version", "0.10", "args.x", 1, "workload", "w", "input_len", 100, "concurrency", 1, "num_prompts", 10, "total_tps", 50, "started_at", noon.AddDate(0, 0, 4)),
		launched(t, 6, "engine", "a", "engine_version", "0.9", "args.x", 1, "workload", "w", "input_len", 100, "concurrency", 1, "num_prompts", 10, "total_tps", 60, "started_at", noon.AddDate(0, 0, 5)),
	}
	for along, want := range map[string][]string{
		"concurrency":         {"2 1"},        // of 1 and 6, at one load, the first lies no further from the median
		"input_len":           {"3 1"},        // another workload, the same load
		"args.x":              {"4 1"},        // another configuration, the same version
		"engine_version":      {"5 1"},        // another version of the same configuration
		"started_at":          {"6 1"},        // time passes for one setup, workload and load
		"total_tps":           {"2 1", "6 2"}, // a figure changes with the load
		"concurrency * 2 + 1": {"2 1"},
	} {
		a := ask(t, history, "change total_tps along "+along)
		got := cells(t, a, "number before(number)")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("along %s (-want +got):\n%s", along, diff)
		}
		for _, r := range a.Residue {
			if r.Field != "num_prompts" {
				t.Errorf("along %s: residue %v", along, r)
			}
		}
	}
}

// An interpolated place lies between the two loads that it names, the value there is
// the number asked for, and no place is missed.
func TestAtInterpolates(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		var history memory
		n := 1 + r.IntN(8)
		values := make([]float64, n)
		for i := range n {
			values[i] = float64(r.IntN(9))
			history = append(history, trial(t, i+1, "concurrency", float64(i*i+1), "total_tps", values[i]))
		}
		const target = 4
		a := ask(t, history, fmt.Sprintf("at total_tps == %d along concurrency", target))
		want := 0
		for i, v := range values {
			switch {
			case v == target:
				want++
			case i+1 < n && (v-target)*(values[i+1]-target) < 0:
				want++
			}
		}
		if len(a.Rows) != want {
			t.Fatalf("seed %d: %d rows, want %d for %v", seed, len(a.Rows), want, values)
		}
		for _, row := range a.Rows {
			get := func(name string) float64 { return row[a.Column(name)].Num }
			x, x1, x2, y1, y2 := get("concurrency"), get("before(concurrency)"), get("after(concurrency)"), get("before(total_tps)"), get("after(total_tps)")
			if x < x1 || x > x2 || (x1 != x2 && math.Abs(y1+(y2-y1)*(x-x1)/(x2-x1)-target) > 1e-9) || (x1 == x2 && y1 != target) {
				t.Fatalf("seed %d: %v", seed, row)
			}
		}
	}
}

// first of the broken objective and last of the kept one name the same two loads.
func TestFirstMirrorsLast(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		var history memory
		for i := range 2 + r.IntN(12) {
			history = append(history, trial(t, i+1, "concurrency", 1+r.IntN(6), "total_tps", r.IntN(10)))
		}
		first := ask(t, history, "first total_tps > 5 along concurrency")
		last := ask(t, history, "last not (total_tps > 5) along concurrency")
		get := func(a *query.Answer, name string) core.Value {
			if len(a.Rows) == 0 {
				return core.Missing()
			}
			return a.Rows[0][a.Column(name)]
		}
		breaks, before := get(first, "concurrency"), get(first, "before(concurrency)")
		holds, after := get(last, "concurrency"), get(last, "after(concurrency)")
		switch {
		case len(first.Rows) == 0: // it never breaks
			if holds.IsMissing() || !after.IsMissing() {
				t.Fatalf("seed %d: never breaks, yet holds up to %v, before %v", seed, holds, after)
			}
		case before != holds || (len(last.Rows) > 0 && breaks != after):
			t.Fatalf("seed %d: breaks in (%v, %v], holds in [%v, %v)", seed, before, breaks, holds, after)
		}
	}
}
