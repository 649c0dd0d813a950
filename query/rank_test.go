package query_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// What is dropped while rows stream by is never what the answer needs: bounded lists
// give what a sort of everything gives.
func TestBoundedLists(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var history memory
	for n := range 3000 {
		tr := &core.Trial{ID: core.ID{14: byte(n >> 8), 15: byte(n)}, Number: int64(n + 1), Status: core.StatusOK, Figures: core.Figures{}}
		tr.Figures.Set("total_tps", float64(r.IntN(400)))
		tr.Figures.Set("mean_ttft_ms", float64(r.IntN(400)))
		history = append(history, tr)
	}
	byValue := slices.Clone(history)
	slices.SortStableFunc(byValue, func(a, b *core.Trial) int { return cmp.Compare(b.Figures["total_tps"], a.Figures["total_tps"]) })
	numbers := func(keep func(i int, tr *core.Trial) bool) string {
		var out []string
		for i, tr := range byValue {
			if keep(i, tr) {
				out = append(out, fmt.Sprint(tr.Number))
			}
		}
		return strings.Join(out, " ")
	}
	top := func(n int) func(int, *core.Trial) bool {
		return func(_ int, tr *core.Trial) bool { return tr.Figures["total_tps"] >= byValue[n-1].Figures["total_tps"] }
	}
	tests := []struct {
		query string
		keep  func(i int, tr *core.Trial) bool
	}{
		{"max total_tps", top(1)},
		{"max total_tps top 1", top(1)},
		{"max total_tps top 50", top(50)},
		{"max total_tps top 700", top(700)},
		{"max total_tps within 10%", func(_ int, tr *core.Trial) bool { return tr.Figures["total_tps"] >= 399*0.9 }},
		{"show number where true order by total_tps desc limit 40", func(i int, _ *core.Trial) bool { return i < 40 }},
		{"pareto max total_tps, min mean_ttft_ms", func(_ int, tr *core.Trial) bool {
			return !slices.ContainsFunc(history, func(o *core.Trial) bool {
				a, b := o.Figures, tr.Figures
				return a["total_tps"] >= b["total_tps"] && a["mean_ttft_ms"] <= b["mean_ttft_ms"] &&
					(a["total_tps"] > b["total_tps"] || a["mean_ttft_ms"] < b["mean_ttft_ms"])
			})
		}},
	}
	for _, tt := range tests {
		a := ask(t, history, tt.query)
		if got, want := strings.Join(column(t, a, "number"), " "), numbers(tt.keep); got != want {
			t.Errorf("%s: trials\n%s\nwant\n%s", tt.query, got, want)
		}
	}
	a := ask(t, history, "show number limit 40")
	if got, want := message(a, "limit"), "showing 40 of 3000 rows"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}
