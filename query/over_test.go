package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

func matrix(t testing.TB) memory {
	at := func(n int, engine, workload string, tps any, more ...any) *core.Trial {
		return launched(t, n, slices.Concat([]any{"engine", engine, "workload", workload, "total_tps", tps}, more)...)
	}
	return memory{
		at(1, "a", "chat", 100), at(2, "a", "code", 400),
		at(3, "b", "chat", 300), at(4, "b", "code", 100), at(5, "b", "chat", 200),
		at(6, "c", "chat", 900),
		at(7, "d", "chat", 10), at(8, "d", "code", 0),
		at(9, "a", "chat", 1000, "status", "failed"), at(10, "b", "code", core.Missing()), at(11, "e", "code", 1, "workload", core.Missing()),
	}
}

func TestOver(t *testing.T) {
	const counts = "no score without every workload: engine c lacks code; total_tps is not above 0 for code in engine d"
	tests := []struct {
		query, columns string
		want           []string
		members        string
	}{
		{"max total_tps by engine over workload", "engine total_tps number n", []string{"a 200 1 2"}, counts},
		{"max total_tps by engine over workload top 9", "engine total_tps workload number n", []string{"a 200  1 2", "b 173.20508075688772  3 2"}, counts},
		{"min total_tps by engine over workload where total_tps > 0 and engine != \"c\" and engine != \"d\"", "engine total_tps number", []string{"b 141.4213562373095 5"}, ""},
		{`max total_tps by engine over workload weights {"chat": 3, "code": 1}`, "engine total_tps", []string{"b 227.95070569547775"}, counts},
		{`max total_tps by engine over workload weights {"chat": 1, "code": 0}`, "engine total_tps n", []string{"c 900 1"}, ""},
		{`max total_tps by engine over workload weights {"chat": 1, "math": 1}`, "engine total_tps", nil,
			"no trial that takes part has workload = math, so that no group has a score"},
		{"max total_tps by engine over workload within 20%", "engine total_tps", []string{"a 200", "b 173.20508075688772"}, counts},
		{"max total_tps over workload", "total_tps workload engine number", []string{"600   6"}, ""},
		// With per, repeats are one before the best of them is taken: 300 and 200 are 250.
		{"max total_tps where engine == \"b\" over workload per setup", "total_tps n failed_repeats", []string{"158.11388300841898 4 0"}, ""},
		{"max total_tps / base(total_tps) as ratio where engine == \"a\" over workload vs engine == \"b\"", "ratio", []string{"1.2649110640673518"}, ""},
	}
	for _, tt := range tests {
		a := ask(t, matrix(t), tt.query)
		var got []string
		if len(a.Rows) > 0 {
			got = cells(t, a, tt.columns)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.query, diff)
		}
		if got := message(a, "members"); got != tt.members {
			t.Errorf("%s: members %q, want %q", tt.query, got, tt.members)
		}
	}
	a := ask(t, matrix(t), `max total_tps by engine over workload weights {"chat": 1}`)
	if a.Considered != 5 || a.Excluded.Where != 3 || a.Excluded.Undecided != 2 || a.Excluded.Status != 1 {
		t.Errorf("considered %d, excluded %+v", a.Considered, a.Excluded)
	}
	a = ask(t, matrix(t), "max total_tps by engine over workload within 20% limit 1")
	if a.Ties != 1 || len(a.Rows) != 1 || message(a, "limit") != "showing 1 of 2 rows" {
		t.Errorf("%d ties, %d rows, warnings %v", a.Ties, len(a.Rows), a.Warnings)
	}
	// What differs between groups for one member is residue; the member itself is not.
	history := matrix(t)
	history[0].Setup.GPU, history[2].Setup.GPU = "H100", "A100"
	var residue []string
	for _, r := range ask(t, history, "max total_tps by engine over workload").Residue {
		residue = append(residue, r.Field)
	}
	if diff := cmp.Diff([]string{"gpu"}, residue); diff != "" {
		t.Errorf("residue (-want +got):\n%s", diff)
	}
}

func TestOverSound(t *testing.T) {
	history := matrix(t)
	history[1].Findings = []core.Finding{{Severity: core.SeverityVoid, Metrics: []string{"total_tps"}}}
	a := ask(t, history, "max total_tps by engine over workload")
	if got, want := message(a, "void"), "engine a: trial 2: a void finding touches total_tps; the best sound row is that of engine b with total_tps = 173.20508075688772"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if a.SoundWinner == nil || a.SoundWinner[a.Column("engine")].Text != "b" {
		t.Errorf("sound winner %v", a.SoundWinner)
	}
}

// The score is the geometric mean of the best of each member, whatever the order.
func TestOverNaively(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		var history memory
		best := map[string]map[string]float64{}
		for n := range 1 + r.IntN(30) {
			engine, workload, tps := fmt.Sprint("e", r.IntN(3)), fmt.Sprint("w", r.IntN(3)), 1+r.Float64()*100
			history = append(history, trial(t, n+1, "engine", engine, "workload", workload, "total_tps", tps))
			if best[engine] == nil {
				best[engine] = map[string]float64{}
			}
			best[engine][workload] = max(best[engine][workload], tps)
		}
		members := map[string]bool{}
		for _, ws := range best {
			for w := range ws {
				members[w] = true
			}
		}
		winner, score := "", 0.0
		for engine, ws := range best {
			product := 1.0
			for _, v := range ws {
				product *= v
			}
			if s := math.Pow(product, 1/float64(len(members))); len(ws) == len(members) && s > score {
				winner, score = engine, s
			}
		}
		a := ask(t, history, "max total_tps by engine over workload")
		if winner == "" {
			if len(a.Rows) != 0 {
				t.Fatalf("seed %d: %v, want no row", seed, rowsOf(a))
			}
			continue
		}
		if len(a.Rows) != 1 || a.Rows[0][0].Text != winner || math.Abs(a.Rows[0][1].Num-score) > 1e-9*score {
			t.Fatalf("seed %d: %v, want %s with %v", seed, rowsOf(a), winner, score)
		}
	}
}
