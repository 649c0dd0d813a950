package query_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// launched makes a trial that was run here, so that its setup is known.
func launched(t testing.TB, n int, set ...any) *core.Trial {
	tr := trial(t, n, set...)
	tr.Launch = &core.Launch{ID: core.ID{15: byte(n)}}
	return tr
}

func repeated(t testing.TB) memory {
	common := []any{"engine", "vllm", "workload", "chat", "concurrency", 8}
	with := func(n int, more ...any) *core.Trial { return launched(t, n, slices.Concat(common, more)...) }
	h := memory{
		with(1, "args.x", 1, "total_tps", 100, "requested", 50, "completed", 50, "p99_ttft_ms", 10, "seed", 1),
		with(2, "args.x", 1, "total_tps", 130, "requested", 50, "completed", 49, "p99_ttft_ms", 40, "seed", 2),
		with(3, "args.x", 1, "total_tps", 110, "requested", 50, "completed", 50, "seed", 3),
		with(4, "args.x", 1, "status", "failed", "failure", "crash"),
		with(5, "args.x", 2, "total_tps", 120, "requested", 50, "completed", 50, "p99_ttft_ms", 20),
		with(6, "args.x", 2, "total_tps", 90, "requested", 50, "completed", 50, "p99_ttft_ms", 30, "engine_version", "0.11"),
		with(7, "args.x", 3, "total_tps", 999, "concurrency", 16),
		with(8, "args.x", 4, "status", "failed"),
		with(9, "args.x", 5, "status", "planned"),
	}
	h[1].Findings = []core.Finding{{Severity: core.SeverityHard, Metrics: []string{"total_tps"}}}
	h[2].Throttled = core.Bool(true)
	return h
}

func TestPer(t *testing.T) {
	tests := []struct {
		query   string
		columns string
		want    []string
		counts  [5]int // considered, where, undecided, status, simulated
	}{
		// A success rate of one of the repeats does not decide; that of all does.
		{"max total_tps where success_rate == 1 and concurrency == 8 per setup", "total_tps number n failed_repeats findings",
			[]string{"120 5 1 0 0"}, [5]int{2, 4, 0, 3, 0}},
		{"max total_tps where success_rate > 0.99 and concurrency == 8 per setup", "total_tps number n failed_repeats findings",
			[]string{"120 5 1 0 0"}, [5]int{5, 1, 0, 3, 0}},
		{"max total_tps where concurrency == 8 per setup top 3", "total_tps number n failed_repeats findings",
			[]string{"120 5 1 0 0", "110 3 3 1 1", "90 6 1 0 0"}, [5]int{5, 1, 0, 3, 0}},
		{"max total_tps where concurrency == 8 per config", "total_tps number n failed_repeats",
			[]string{"110 3 3 1"}, [5]int{5, 1, 0, 3, 0}},
		// A condition on an identity filters trials before they are combined.
		{"max total_tps where concurrency == 8 and seed != 3 per setup top 9", "total_tps number n",
			[]string{"115 1 2"}, [5]int{2, 2, 2, 3, 0}},
		{"max total_tps where n > 1 per setup", "total_tps number", []string{"110 3"}, [5]int{3, 3, 0, 3, 0}},
		{"max n per setup", "n number", []string{"3 1"}, [5]int{6, 0, 0, 3, 0}},
		{"max failed_repeats per setup", "failed_repeats n", []string{"1 3"}, [5]int{6, 0, 0, 3, 0}},
		{"min p99_ttft_ms per setup", "p99_ttft_ms number n", []string{"20 5 1"}, [5]int{5, 0, 1, 3, 0}},
		{"max total_tps where sound(total_tps) and concurrency == 8 per setup", "number", []string{"5"}, [5]int{2, 4, 0, 3, 0}},
		{"show completed, requested, success_rate, total_tps, p99_ttft_ms, throttled, seed, number where args.x == 1 per setup",
			"completed requested success_rate total_tps p99_ttft_ms throttled seed number n failed_repeats",
			[]string{"149 150 0.9933333333333333 110 25 true 1 1 3 1"}, [5]int{3, 3, 0, 3, 0}},
		{"show args.x, n by args.x per setup order by n desc limit 1", "args.x n failed_repeats", []string{"1 3 1"}, [5]int{6, 0, 0, 3, 0}},
		{"show args.x, median(total_tps), count(), sum(n) by args.x per setup", "args.x median(total_tps) count() sum(n)",
			[]string{"1 110 1 3", "2 105 2 2", "3 999 1 1"}, [5]int{6, 0, 0, 3, 0}},
		{"count where total_tps > 100 per setup", "count", []string{"3"}, [5]int{5, 1, 0, 3, 0}},
		{"count by n per setup", "n count", []string{"1 3", "3 1"}, [5]int{6, 0, 0, 3, 0}},
		{"pareto max total_tps, min p99_ttft_ms per setup", "number n", []string{"5 1"}, [5]int{5, 0, 1, 3, 0}},
		{"max total_tps where concurrency == 8 by args.x per setup", "args.x total_tps n", []string{"1 110 3", "2 120 1"}, [5]int{5, 1, 0, 3, 0}},
		// Groups are never straddled: by a field in which repeats differ splits them.
		{"max total_tps where args.x == 1 by seed per setup", "seed total_tps n", []string{"1 100 1", "2 130 1", "3 110 1"}, [5]int{3, 3, 0, 3, 0}},
		{`max total_tps where status in ["ok", "failed"] and args.x == 1 per setup`, "total_tps n failed_repeats", []string{"110 4 1"}, [5]int{4, 5, 0, 0, 0}},
		{"max total_tps where args.x == 1 per setup vs args.x == 2 on model", "total_tps base(total_tps) gain n", []string{"110 105 0.047619047619047616 3"},
			[5]int{3, 3, 0, 3, 0}},
	}
	for _, tt := range tests {
		a := ask(t, repeated(t), tt.query)
		if got := [5]int{a.Considered, a.Excluded.Where, a.Excluded.Undecided, a.Excluded.Status, a.Excluded.Simulated}; got != tt.counts {
			t.Errorf("%s: counts %v, want %v", tt.query, got, tt.counts)
		}
		if diff := gocmp.Diff(tt.want, cells(t, a, tt.columns)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
}

// cells prints the named columns of each row.
func cells(t testing.TB, a *query.Answer, columns string) []string {
	t.Helper()
	var out []string
	for i := range a.Rows {
		var parts []string
		for _, name := range strings.Fields(columns) {
			parts = append(parts, column(t, a, name)[i])
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func TestPerWarnings(t *testing.T) {
	imported := memory{
		trial(t, 1, "engine", "a", "option", "fast", "total_tps", 1, "completed", 3, "output_tokens", 10, "gpu", "H100", "duration_s", 2),
		trial(t, 2, "engine", "a", "option", "slow", "total_tps", 3, "completed", 3, "output_tokens", 30, "gpu", "H100", "duration_s", 2),
		trial(t, 3, "engine", "b", "option", "slow", "total_tps", 1, "completed", 4, "output_tokens", 10, "gpu", "H100", "duration_s", 2),
		trial(t, 4, "engine", "b", "option", "slow", "completed", 4, "output_tokens", 10, "gpu", "A100", "duration_s", 2),
	}
	imported[0].Asserted = []string{"total_tps"}
	tests := []struct {
		query string
		want  []string
	}{
		{"max total_tps per setup", []string{
			"undecided: 1 trial left out: total_tps is unknown",
			"repeats: trial 1: combines imported trials of different option, because all that is known of their setup is equal",
			"asserted: trial 1: total_tps was set by a person"}},
		{"max total_tps where engine == \"b\" per config", []string{"missing: total_tps: 1 of 2 repeats lack a value and do not count"}},
		{"max completed where engine == \"b\" per setup", nil},
		{"max completed where engine == \"b\" or gpu == \"H100\" per setup top 3", []string{
			"repeats: trial 1: combines imported trials of different option, because all that is known of their setup is equal",
			"repeats: completed is summed over repeats, and the rows stand for different numbers of them"}},
		{"show output_tokens / duration_s as rate where engine == \"b\" per config", []string{
			"repeats: output_tokens / duration_s: counts are summed over repeats and other figures are medians"}},
		{"show output_tokens / n / duration_s as rate where engine == \"b\" per setup", nil},
	}
	for _, tt := range tests {
		a := ask(t, imported, tt.query)
		var got []string
		for _, w := range a.Warnings {
			got = append(got, w.Code+": "+w.Message)
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
	}
	// Combined trials are compared with each other too.
	a := ask(t, imported, `show total_tps where engine == "b" per config`)
	if len(a.Residue) != 1 || a.Residue[0].Field != "gpu" {
		t.Errorf("residue %v, want gpu", a.Residue)
	}
	a = ask(t, repeated(t), "max total_tps where args.x == 1 and concurrency == 8 per setup")
	if got, want := message(a, "hard"), "trial 2: a hard finding touches total_tps; no sound row is left"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// What per answers is what a plain walk over a random history says, written from the
// package's documentation alone.
func TestPerNaively(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		var history memory
		for n := range 1 + r.IntN(60) {
			tr := launched(t, n+1, "engine", []string{"a", "b"}[r.IntN(2)], "args.x", r.IntN(3), "workload", []string{"v", "w"}[r.IntN(2)],
				"concurrency", 1+r.IntN(2), "num_prompts", 10*(1+r.IntN(2)), "seed", r.IntN(100))
			if r.IntN(4) > 0 {
				tr.Setup.EngineVersion = []string{"0.1", "0.2"}[r.IntN(2)]
			}
			tr.Figures = core.Figures{"requested": float64(10 + r.IntN(2)), "completed": float64(8 + r.IntN(3))}
			if r.IntN(5) > 0 {
				tr.Figures["total_tps"] = float64(r.IntN(50))
			}
			if r.IntN(5) == 0 {
				delete(tr.Figures, "requested")
			}
			if r.IntN(6) == 0 {
				tr.Figures["incomplete"] = 1
			}
			if r.IntN(6) == 0 {
				tr.Status = core.StatusFailed
			}
			tr.Figures["success_rate"] = tr.Figures["completed"] / (tr.Figures["requested"] - tr.Figures["incomplete"])
			if _, ok := tr.Figures["requested"]; !ok {
				delete(tr.Figures, "success_rate")
			}
			history = append(history, tr)
		}
		for _, per := range []string{"setup", "config"} {
			for _, least := range []float64{0, 0.75, 0.85} {
				text := fmt.Sprintf("show number, total_tps, completed, success_rate where success_rate >= %v and concurrency == 2 and total_tps > 5 per %s order by number", least, per)
				a := ask(t, history, text)
				want, counts := perNaively(history, per, least)
				if got := cells(t, a, "number total_tps completed success_rate n failed_repeats"); !slices.Equal(got, want) {
					t.Fatalf("seed %d: %s (-want +got):\n%s", seed, text, gocmp.Diff(want, got))
				}
				if got := [4]int{a.Considered, a.Excluded.Where, a.Excluded.Undecided, a.Excluded.Status}; got != counts {
					t.Fatalf("seed %d: %s: counts %v, want %v", seed, text, got, counts)
				}
			}
		}
	}
}

func perNaively(history memory, per string, least float64) (rows []string, counts [4]int) {
	units := map[string][]*core.Trial{}
	failed := map[string]int{}
	for _, tr := range history {
		key := ""
		for _, f := range []string{per, "workload", "load", "num_prompts", "request_rate", "burstiness"} {
			key += tr.Value(f).String() + "|"
		}
		switch {
		case tr.Status != core.StatusOK:
			counts[3]++
			if tr.Load.Concurrency.Num == 2 {
				failed[key]++
			}
		case tr.Load.Concurrency.Num != 2:
			counts[1]++
		default:
			units[key] = append(units[key], tr)
		}
	}
	type row struct {
		number int64
		text   string
	}
	var out []row
	for key, trs := range units {
		n := len(trs)
		var tps []float64
		completed, requested, incomplete, unknown := 0.0, 0.0, 0.0, false
		for _, tr := range trs {
			if v, ok := tr.Figures["total_tps"]; ok {
				tps = append(tps, v)
			}
			q, ok := tr.Figures["requested"]
			unknown = unknown || !ok
			requested += q
			completed += tr.Figures["completed"]
			incomplete += tr.Figures["incomplete"]
		}
		rate := core.Missing()
		if !unknown {
			rate = core.Number(completed / (requested - incomplete))
		}
		slices.Sort(tps)
		median := core.Missing()
		if m := len(tps); m > 0 {
			median = core.Number((tps[(m-1)/2] + tps[m/2]) / 2)
		}
		// Kleene's and: false wins over unknown.
		switch {
		case rate.Kind == core.KindNumber && rate.Num < least, median.Kind == core.KindNumber && median.Num <= 5:
			counts[1] += n
			continue
		case rate.IsMissing() || median.IsMissing():
			counts[2] += n
			continue
		}
		counts[0] += n
		slices.SortFunc(trs, func(a, b *core.Trial) int {
			d := func(tr *core.Trial) float64 {
				if v, ok := tr.Figures["total_tps"]; ok {
					return math.Abs(v - median.Num)
				}
				return math.Inf(1)
			}
			return cmp.Or(cmp.Compare(d(a), d(b)), cmp.Compare(a.Number, b.Number))
		})
		out = append(out, row{trs[0].Number, fmt.Sprintf("%d %s %v %s %d %d", trs[0].Number, median, completed, rate, n, failed[key])})
	}
	slices.SortFunc(out, func(a, b row) int { return cmp.Compare(a.number, b.number) })
	for _, r := range out {
		rows = append(rows, r.text)
	}
	return rows, counts
}
