package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noisy has six configurations of which three were repeated; one measurement varies by
// about two percent.
func noisy(t testing.TB) memory {
	var h memory
	add := func(x int, tps ...float64) {
		for _, v := range tps {
			h = append(h, launched(t, len(h)+1, "engine", "a", "args.x", x, "workload", "w", "concurrency", 8, "total_tps", v, "mean_ttft_ms", 1e6/v,
				"completed", 50, "requested", 50))
		}
	}
	add(1, 1000, 1020, 980)
	add(2, 990, 1030, 1000)
	add(3, 700, 720, 710)
	add(4, 1005)
	add(5, 930)
	add(6, 400)
	return h
}

func TestWithinNoise(t *testing.T) {
	const pooled = "noise pooled from repeats: one measurement varies by 1.85% (9 trials in 3 sets of repeats, 6 degrees of freedom); " +
		"values tie that do not differ at the level of 5%, all comparisons together"
	tests := []struct {
		query, trials string
		ties          int
		noise         string
	}{
		{"max total_tps within noise", "5 2 10 1 6 4 3 11", 7, pooled},
		{"max total_tps per setup within noise", "10 1 6 11", 3, pooled},
		{"max total_tps where args.x != 4 per setup within noise", "1 6", 1, pooled},
		{"min mean_ttft_ms where args.x != 4 per setup within noise", "1 6", 1, pooled},
		{"max total_tps where args.x != 4 per setup within noise prefer min args.x", "1", 0, pooled},
		{"max total_tps where args.x != 4 per setup within noise top 3", "1 6 11", 1, pooled},
		{"max total_tps where args.x != 4 per setup within noise limit 1", "1", 1, pooled},
		// Two repeated configurations leave four degrees of freedom.
		{"max total_tps where args.x in [1, 2, 4, 5] per setup within noise", "10 1 6", 2,
			"assumed noise of 3%: repeats give 4 degrees of freedom to estimate it, and 5 are wanted"},
		{"max total_tps where args.x > 3 within noise", "10", 0, "assumed noise of 3%: repeats give 0 degrees of freedom to estimate it, and 5 are wanted"},
		{"max completed where args.x == 1 within noise", "1 2 3", 2, "completed is a count, which has no noise of this kind: only equal values tie"},
		{"max args.x within noise", "12", 0, "args.x is a setting, which has no noise of this kind: only equal values tie"},
		{"max total_tps - 2000 within noise", "5", 0, "total_tps - 2000 is not above 0, so that its noise is no share of it: only equal values tie"},
	}
	for _, tt := range tests {
		a := ask(t, noisy(t), tt.query)
		if got := strings.Join(column(t, a, "number"), " "); got != tt.trials || a.Ties != tt.ties {
			t.Errorf("%s: trials %s with %d ties, want %s with %d", tt.query, got, a.Ties, tt.trials, tt.ties)
		}
		if got := message(a, "noise"); got != tt.noise {
			t.Errorf("%s: noise %q, want %q", tt.query, got, tt.noise)
		}
	}
	// Imports of different labels are no sure repeats: they say nothing of noise.
	var imported memory
	for n := range 10 {
		imported = append(imported, trial(t, n+1, "engine", "a", "option", fmt.Sprint(n), "total_tps", 100*(n+1)))
	}
	if got := message(ask(t, imported, "max total_tps within noise"), "noise"); !strings.HasPrefix(got, "assumed noise of 3%: repeats give 0 degrees") {
		t.Errorf("noise of imports: %q", got)
	}
}

// The ties within noise are those of a plain computation written from the recipe:
// pooled variance of logarithms, Student's t for each comparison with the best, Holm.
func TestNoiseNaively(t *testing.T) {
	tiers := map[bool]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		var history memory
		sets := map[int][]float64{}
		for n := range 1 + r.IntN(24) {
			x := r.IntN(8)
			v := 100 * math.Exp(0.05*float64(x)+0.02*r.NormFloat64())
			sets[x] = append(sets[x], v)
			history = append(history, launched(t, n+1, "engine", "a", "args.x", x, "total_tps", v))
		}
		squares, freedom := 0.0, 0
		medians := map[int]float64{}
		best := -1
		for x, vs := range sets {
			m := 0.0
			for _, v := range vs {
				m += math.Log(v) / float64(len(vs))
			}
			for _, v := range vs {
				squares += (math.Log(v) - m) * (math.Log(v) - m)
			}
			freedom += len(vs) - 1
			sorted := slices.Sorted(slices.Values(vs))
			medians[x] = (sorted[(len(vs)-1)/2] + sorted[len(vs)/2]) / 2
			if best < 0 || medians[x] > medians[best] {
				best = x
			}
		}
		tied := map[int]bool{best: true}
		if freedom < 5 {
			for x, m := range medians {
				tied[x] = m >= medians[best]*0.97
			}
		} else {
			type other struct {
				x int
				p float64
			}
			var others []other
			s := math.Sqrt(squares / float64(freedom))
			for x, m := range medians {
				if x != best {
					se := s * math.Sqrt(1/float64(len(sets[best]))+1/float64(len(sets[x])))
					others = append(others, other{x, tailsByTrapezes(math.Log(medians[best]/m)/se, float64(freedom))})
				}
			}
			slices.SortFunc(others, func(a, b other) int { return int(math.Copysign(1, a.p-b.p)) })
			stopped := false
			for i, o := range others {
				stopped = stopped || o.p > 0.05/float64(len(others)-i)
				tied[o.x] = stopped
			}
		}
		tiers[freedom < 5]++
		a := ask(t, history, "max total_tps per setup within noise")
		got := map[int]bool{}
		for _, row := range a.Rows {
			got[int(history[int(row[a.Column("number")].Num)-1].Value("args.x").Num)] = true
		}
		for x := range sets {
			if got[x] != tied[x] {
				t.Fatalf("seed %d: ties %v, want %v for medians %v", seed, got, tied, medians)
			}
		}
	}
	if tiers[true] < 5 || tiers[false] < 5 {
		t.Errorf("the two tiers were met %v times", tiers)
	}
}

// tailsByTrapezes integrates the density of Student's t, the slow way.
func tailsByTrapezes(x, freedom float64) float64 {
	a, _ := math.Lgamma((freedom + 1) / 2)
	b, _ := math.Lgamma(freedom / 2)
	density := func(u float64) float64 {
		return math.Exp(a-b-(freedom+1)/2*math.Log1p(u*u/freedom)) / math.Sqrt(freedom*math.Pi)
	}
	const steps = 2000
	h := math.Abs(x) / steps
	area := (density(0) + density(x)) / 2
	for i := 1; i < steps; i++ {
		area += density(h * float64(i))
	}
	return math.Max(0, 1-2*area*h)
}

// A candidate is worse or not whatever the order in which rows arrive, also where
// candidates that rest on different numbers of repeats change places.
func TestNoiseIsNoThreshold(t *testing.T) {
	h := memory{}
	add := func(x int, tps ...float64) {
		for _, v := range tps {
			h = append(h, launched(t, len(h)+1, "engine", "a", "args.x", x, "total_tps", v))
		}
	}
	add(1, 1000, 1020, 980, 1000, 1010, 990, 1000, 1005)
	add(2, 980, 962, 998, 980, 970, 990, 985, 975) // surely a little worse
	add(3, 979)                                    // lower still, but one measurement only
	a := ask(t, h, "max total_tps per setup within noise")
	if diff := cmp.Diff([]string{"1000 8", "979 1"}, cells(t, a, "total_tps n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a = ask(t, h, "max total_tps per setup within noise top 2")
	if diff := cmp.Diff([]string{"1000 8", "979 1", "980 8"}, cells(t, a, "total_tps n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
