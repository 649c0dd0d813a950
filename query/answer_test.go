package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mixed is a small history with every kind of trial that an answer must account for.
func mixed(t testing.TB) memory {
	return memory{
		trial(t, 1, "engine", "vllm", "total_tps", 100, "tp", 1, "gpus", 1, "role", "baseline"),
		trial(t, 2, "engine", "vllm", "total_tps", 300, "tp", 2, "gpus", 2),
		trial(t, 3, "engine", "vllm", "total_tps", 300, "tp", 4, "gpus", 1),
		trial(t, 4, "engine", "sglang", "total_tps", 250, "gpus", 4, "started_at", noon.Add(-time.Hour)),
		trial(t, 5, "engine", "sglang", "total_tps", 250, "gpus", 4, "started_at", noon.Add(-2*time.Hour)),
		trial(t, 6, "engine", "sglang"),
		trial(t, 7, "engine", "trtllm", "status", "failed", "failure", "oom_kv"),
		trial(t, 8, "engine", "sim", "total_tps", 900, "simulated", true),
		trial(t, 9, "total_tps", 50),
		trial(t, 10, "engine", "plan", "status", "planned"),
	}
}

func TestWhoTakesPart(t *testing.T) {
	type counts struct {
		Considered int
		query.Excluded
	}
	tests := []struct {
		query string
		want  counts
		rows  string // numbers of the trials
	}{
		{"max total_tps", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2 3"},
		{"min total_tps", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "9"},
		{"max total_tps where total_tps < 300", counts{4, query.Excluded{Where: 2, Undecided: 1, Status: 2, Simulated: 1}}, "5 4"},
		{`max total_tps where engine != "vllm"`, counts{2, query.Excluded{Where: 3, Undecided: 2, Status: 2, Simulated: 1}}, "5 4"},
		{"max total_tps where simulated == simulated", counts{7, query.Excluded{Undecided: 1, Status: 2}}, "8"},
		{"max total_tps where total_tps > 500", counts{1, query.Excluded{Where: 6, Undecided: 1, Status: 2}}, "8"},
		{`max number where status != "ok"`, counts{2, query.Excluded{Where: 7, Simulated: 1}}, "10"},
		{"max total_tps where total_tps > 5000", counts{0, query.Excluded{Where: 7, Undecided: 1, Status: 2}}, ""},
		{"show number", counts{10, query.Excluded{}}, "5 4 1 2 3 6 7 8 9 10"},
		{"show number where total_tps > 200 order by total_tps desc, number", counts{5, query.Excluded{Where: 2, Undecided: 3}}, "8 2 3 4 5"},
		{"show number order by total_tps desc, number desc limit 8", counts{10, query.Excluded{}}, "8 3 2 5 4 1 9 10"},
		{"show number order by total_tps, number limit 2", counts{10, query.Excluded{}}, "9 1"},
		{"max total_tps top 3", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2 3 5 4"},
		{"max total_tps top 2 limit 1", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2"},
		{"max total_tps within 20%", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2 3 5 4"},
		{"max total_tps within 10%", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2 3"},
		{"max total_tps within 20% prefer max gpus", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "5 4"},
		{"max total_tps prefer min gpus", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "3"},
		{"max total_tps prefer max gpus, min tp", counts{6, query.Excluded{Undecided: 1, Status: 2, Simulated: 1}}, "2"},
		{"pareto max total_tps, min gpus", counts{5, query.Excluded{Undecided: 2, Status: 2, Simulated: 1}}, "3"},
		{"pareto max total_tps, max gpus", counts{5, query.Excluded{Undecided: 2, Status: 2, Simulated: 1}}, "2 5 4"},
	}
	for _, tt := range tests {
		a := ask(t, mixed(t), tt.query)
		if diff := cmp.Diff(tt.want, counts{a.Considered, a.Excluded}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
		if got := strings.Join(column(t, a, "number"), " "); got != tt.rows {
			t.Errorf("%s: trials %s, want %s", tt.query, got, tt.rows)
		}
	}
}

func TestGroups(t *testing.T) {
	type group struct {
		Key         string
		First, Last int
		Considered  int
		Ties        int
		Empty       bool
	}
	tests := []struct {
		query string
		want  []group
	}{
		{"max total_tps by engine", []group{
			{"sglang", 0, 2, 2, 1, false}, {"trtllm", 2, 2, 0, 0, true}, {"vllm", 2, 4, 3, 1, false}, {"", 4, 5, 1, 0, false}}},
		{"max total_tps by engine order by total_tps desc", []group{
			{"vllm", 0, 2, 3, 1, false}, {"sglang", 2, 4, 2, 1, false}, {"", 4, 5, 1, 0, false}, {"trtllm", 5, 5, 0, 0, true}}},
		// A condition on what was chosen is a filter: what it leaves out is no empty group.
		{`max total_tps where engine == "vllm" and total_tps > 200 by tp`, []group{
			{"1", 0, 0, 0, 0, true}, {"2", 0, 1, 1, 0, false}, {"4", 1, 2, 1, 0, false}}},
		{"max total_tps by engine having count() >= 2", []group{
			{"sglang", 0, 2, 2, 1, false}, {"trtllm", 2, 2, 0, 0, true}, {"vllm", 2, 4, 3, 1, false}}},
		{"count where total_tps > 200 by engine", []group{
			{"plan", 0, 1, 0, 0, true}, {"sglang", 1, 2, 2, 0, false}, {"sim", 2, 3, 1, 0, false}, {"trtllm", 3, 4, 0, 0, true},
			{"vllm", 4, 5, 2, 0, false}, {"", 5, 6, 0, 0, true}}},
		{"count", []group{{"", 0, 1, 10, 0, false}}},
		{"show number by engine top 1", []group{
			{"plan", 0, 1, 1, 0, false}, {"sglang", 1, 2, 3, 0, false}, {"sim", 2, 3, 1, 0, false}, {"trtllm", 3, 4, 1, 0, false},
			{"vllm", 4, 5, 3, 0, false}, {"", 5, 6, 1, 0, false}}},
	}
	for _, tt := range tests {
		a := ask(t, mixed(t), tt.query)
		var got []group
		empty, ties := 0, 0
		for _, g := range a.Groups {
			var key []string
			for _, v := range g.Key {
				key = append(key, v.String())
			}
			got = append(got, group{strings.Join(key, " "), g.First, g.Last, g.Considered, g.Ties, g.Empty})
			ties += g.Ties
			if g.Empty {
				empty++
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
		if a.EmptyGroups != empty || a.Ties != ties {
			t.Errorf("%s: %d empty groups and %d ties, want %d and %d", tt.query, a.EmptyGroups, a.Ties, empty, ties)
		}
	}
}

// An answer does not depend on the order in which the history gives its trials.
func TestOrderOfRows(t *testing.T) {
	history := append(reports(t), mixed(t)...)
	for i, tr := range history[58:] {
		tr.Number, tr.ID = int64(100+i), core.HashID(fmt.Sprint("mixed", i))
	}
	queries := []string{
		"max total_tps where success_rate == 1 by study, workload vs role == \"baseline\"",
		"max completed by model", "max total_tps within 5% by model prefer min mean_tpot_ms", "min mean_tpot_ms top 7",
		"pareto max total_tps, min mean_tpot_ms, min mean_ttft_ms by study", "show number, total_tps order by total_tps limit 20",
		"show mean(total_tps), stdev(total_tps), sum(total_tps), p(mean_ttft_ms, 95), count(), all(success_rate == 1) by engine",
		"count where total_tps > 2000 by engine, workload", "max total_tps where success_rate == 1 and mean_ttft_ms < 1",
		"show gain, gain(mean_tpot_ms) by study vs role == \"baseline\" top 3",
	}
	for _, text := range queries {
		want, err := json.Marshal(ask(t, history, text))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
			got, err := json.Marshal(ask(t, history, text))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d: order matters (-first +now):\n%s", text, seed, cmp.Diff(string(want), string(got)))
			}
		}
	}
}

func TestJSON(t *testing.T) {
	history := mixed(t)
	history[1].Asserted = []string{"gpus"}
	history[2].Findings = []core.Finding{{Rule: "A7"}}
	history[0].Findings = []core.Finding{{Rule: "A3x", Severity: core.SeverityVoid, Metrics: []string{"total_tps"}}}
	history[3].Load.Concurrency = core.Unlimited()
	history = append(history, trial(t, 11, "engine", "vllm", "total_tps", 12.3456789012345, "started_at", noon.Add(1500*time.Millisecond)))
	tests := []struct{ name, query string }{
		{"max", `max total_tps as best where gpus >= 1 or missing(gpus) by engine vs role == "baseline"`},
		{"show", `show number, started_at, concurrency, total_tps * 2 as "doubled <&>", simulated, args.tp where number in [4, 11]`},
		{"none", "min mean_ttft_ms"},
		{"sound", "max total_tps where number in [1, 9]"},
		{"per", "max total_tps per setup top 3"},
		{"curve", `last total_tps < 280 along gpus by engine`},
		{"over", `max total_tps by gpus over engine weights {"vllm": 2}`},
	}
	for _, tt := range tests {
		got, err := ask(t, history, tt.query).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, got, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
		path := "testdata/" + tt.name + ".json"
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// broken fails after one row.
type broken struct{ memory }

func (b broken) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		for row, err := range b.memory.Rows(ctx, sel) {
			if !yield(row, err) {
				return
			}
			yield(nil, errBroken)
			return
		}
	}
}

var errBroken = errors.New("disk on fire")

func TestErrors(t *testing.T) {
	_, err := query.Run(t.Context(), broken{mixed(t)}, "count", query.Options{})
	if !errors.Is(err, errBroken) || query.IsUsage(err) {
		t.Errorf("error %v, want one that wraps the source's", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := query.Run(ctx, mixed(t), "count", query.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}
