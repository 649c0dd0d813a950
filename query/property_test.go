package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// randomHistory has every kind of trial: failed, planned, simulated, tied, repeated,
// condemned by the audit, set by hand and without this or that.
func randomHistory(t testing.TB, seed uint64, n int) memory {
	r := rand.New(rand.NewPCG(seed, 23))
	var history memory
	for i := range n {
		tr := trial(t, i+1, "engine", []string{"a", "b", "c"}[r.IntN(3)], "args.max_num_seqs", r.IntN(3), "model", "m", "concurrency", 1<<r.IntN(4))
		set := func(share int, name string, v any) {
			if r.IntN(share) == 0 {
				return
			}
			if err := tr.SetField(name, trial(t, 1, name, v).Value(name)); err != nil {
				t.Fatal(err)
			}
		}
		set(8, "workload", []string{"chat", "code"}[r.IntN(2)])
		set(2, "engine_version", []string{"0.9", "0.10", "nightly"}[r.IntN(3)])
		set(2, "role", []string{"baseline", "candidate"}[r.IntN(2)])
		set(2, "option", fmt.Sprint("o", r.IntN(2)))
		set(6, "total_tps", 100*(1+r.IntN(6)))
		set(6, "p99_ttft_ms", 50*r.IntN(8))
		set(6, "requested", 20)
		set(6, "completed", 18+r.IntN(3))
		set(3, "gpus", 1+r.IntN(2))
		set(3, "started_at", noon.AddDate(0, 0, -r.IntN(5)))
		if r.IntN(12) == 0 {
			tr.Load.Concurrency = core.Unlimited()
		}
		if r.IntN(8) == 0 {
			tr.Load.Concurrency = core.Missing()
		}
		tr.Setup.Simulated = r.IntN(9) == 0
		tr.Status = []core.Status{core.StatusOK, core.StatusOK, core.StatusOK, core.StatusOK, core.StatusFailed, core.StatusPlanned}[r.IntN(6)]
		if r.IntN(2) == 0 {
			tr.Launch = &core.Launch{ID: core.ID{15: 1}}
		}
		if r.IntN(4) == 0 {
			tr.Findings = []core.Finding{{Severity: core.Severity(1 + r.IntN(4)), Metrics: []string{[]string{"total_tps", "p99_ttft_ms", "*"}[r.IntN(3)]}}}
		}
		if r.IntN(6) == 0 {
			tr.Asserted = []string{"total_tps"}
		}
		tr.Derive()
		history = append(history, tr)
	}
	return history
}

// newer are questions that use each later verb and clause, alone and together.
var newer = []string{
	"max total_tps where sound(total_tps)", "pareto max total_tps, min p99_ttft_ms by engine", "show number where not sound(p99_ttft_ms)",
	"max total_tps per setup", "min p99_ttft_ms where success_rate > 0.9 by engine per config", "show total_tps, success_rate, engine per setup order by total_tps desc",
	"show engine, median(total_tps), count(), sum(n) by engine per config", "count where total_tps > 200 per setup", "count by n per setup",
	"pareto max total_tps, min p99_ttft_ms per setup", "max n where engine != \"c\" by workload per config top 2",
	"max total_tps where status in [\"ok\", \"failed\"] per setup", "max total_tps per config vs role == \"baseline\"",
	"first p99_ttft_ms > 200 along concurrency", "first p99_ttft_ms > 200 along concurrency by engine top 2", "first p99_ttft_ms > 200 or total_tps < 300 along args.max_num_seqs per setup",
	"last p99_ttft_ms <= 200 along concurrency", "last success_rate > 0.9 along concurrency by engine per config having count() > 1 order by engine desc limit 2",
	"last p99_ttft_ms <= 200 along engine_version", "at p99_ttft_ms == 175 along concurrency", "at p99_ttft_ms == 175 along total_tps by engine per setup", "at total_tps == 250 along started_at",
	"change total_tps along concurrency", "change total_tps along started_at by engine", "change success_rate along engine_version per config", "change total_tps / gpus along concurrency limit 3",
	"max total_tps by engine over workload", "min p99_ttft_ms + 1 by engine over workload weights {\"chat\": 2, \"code\": 1} top 2", "max total_tps by engine, args.max_num_seqs per config over workload within 5%",
	"max total_tps by engine over concurrency", "max total_tps by engine over workload having count() > 8 top 3 limit 2", "max total_tps / base(total_tps) by engine over workload vs role == \"baseline\" on workload",
	"max total_tps within noise", "min p99_ttft_ms where p99_ttft_ms > 0 by engine within noise prefer max gpus", "max total_tps per setup within noise top 3",
}

// Every trial is accounted for once (ask checks it), rows lie in groups that add up,
// and the order in which a history gives its trials changes nothing.
func TestNewerAnswers(t *testing.T) {
	answered := 0
	for seed := range uint64(12) {
		history := randomHistory(t, seed, []int{0, 1, 3, 30, 60, 120}[seed%6])
		for _, text := range newer {
			a := ask(t, history, text)
			want, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			considered, rows := 0, 0
			for i, g := range a.Groups {
				if considered += g.Considered; g.First > g.Last || (i > 0 && g.First != a.Groups[i-1].Last) {
					t.Fatalf("%s: groups do not follow each other: %+v", text, a.Groups)
				}
				rows += g.Last - g.First
				if g.Sound != nil && (len(g.Sound) != len(a.Columns) || g.First == g.Last) {
					t.Fatalf("%s: sound row %v of %d", text, g.Sound, g.Last-g.First)
				}
			}
			if considered > a.Considered || rows != len(a.Rows) || (a.Severity != nil && len(a.Severity) != len(a.Rows)) {
				t.Fatalf("%s: %d of %d considered, %d of %d rows, %d severities", text, considered, a.Considered, rows, len(a.Rows), len(a.Severity))
			}
			names := map[string]bool{}
			for _, c := range a.Columns {
				if names[c.Name] {
					t.Fatalf("%s: two columns %s", text, c.Name)
				}
				names[c.Name] = true
			}
			answered += len(a.Rows)
			r := rand.New(rand.NewPCG(seed, 1))
			for range 4 {
				r.Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
				got, err := json.Marshal(ask(t, history, text))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("seed %d, %s: order matters (-first +now):\n%s", seed, text, cmp.Diff(string(want), string(got)))
				}
			}
		}
	}
	if answered < 500 {
		t.Errorf("only %d rows in all: the history is too poor to show anything", answered)
	}
}

// A history without repeats answers alike with per and without, but for the columns
// that count repeats.
func TestPerOfSingles(t *testing.T) {
	history := randomHistory(t, 3, 80)
	for i, tr := range history {
		tr.Load.NumPrompts = core.Number(float64(i + 1))
		tr.Derive()
	}
	for _, text := range []string{"max total_tps where success_rate > 0.5 by engine top 2", "min p99_ttft_ms within 10%", "pareto max total_tps, min p99_ttft_ms", "last p99_ttft_ms <= 200 along concurrency"} {
		a, b := ask(t, history, text), ask(t, history, text+" per setup")
		if a.Considered != b.Considered || a.Excluded != b.Excluded || a.Ties != b.Ties {
			t.Errorf("%s: %d considered and %+v, with per %d and %+v", text, a.Considered, a.Excluded, b.Considered, b.Excluded)
		}
		for _, c := range a.Columns {
			if diff := cmp.Diff(column(t, a, c.Name), column(t, b, c.Name)); diff != "" {
				t.Errorf("%s: column %s (-without +with per):\n%s", text, c.Name, diff)
			}
		}
	}
}
