package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core/stats"
)

func close12(got, want float64) bool { return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want)) }

// The expected values are scipy.stats.t.ppf's and 2·t.sf's of SciPy 1.17.1.
func TestStudent(t *testing.T) {
	for _, tt := range []struct{ p, freedom, want float64 }{
		{0.975, 1, 12.706204736174694}, {0.975, 2, 4.302652729749462}, {0.975, 5, 2.5705818356363146},
		{0.975, 6, 2.4469118511449786}, {0.975, 10, 2.228138851986274}, {0.975, 30, 2.0422724563012378},
		{0.975, 1000, 1.9623390808264083}, {0.995, 5, 4.032142983555228}, {0.9995, 3, 12.923978636687961},
		{0.6, 4, 0.2707222947075976}, {0.5, 7, 0}, {0.025, 6, -2.4469118511449794}, {0.99999, 12, 6.765169241810456},
		{0.975, 2.5, 3.5746548420036817},
	} {
		got, ok := stats.StudentQuantile(tt.p, tt.freedom)
		if !ok || math.Abs(got-tt.want) > 1e-11*math.Max(1, math.Abs(tt.want)) {
			t.Errorf("quantile %v of %v degrees = %.16g, want %.16g", tt.p, tt.freedom, got, tt.want)
		}
	}
	for _, tt := range []struct{ t, freedom, want float64 }{
		{0, 5, 1}, {1, 1, 0.5}, {2, 6, 0.09242631153167512}, {-2, 6, 0.09242631153167512}, {4.5, 9, 0.0014889494154117324},
		{30, 3, 8.135280427163958e-05}, {12, 40, 7.82417130425598e-15}, {0.001, 5, 0.9992407867721976}, {1e3, 200, 0},
	} {
		got, ok := stats.StudentTail(tt.t, tt.freedom)
		if !ok || math.Abs(got-tt.want) > 1e-12*tt.want+1e-300 {
			t.Errorf("tail of %v with %v degrees = %.16g, want %.16g", tt.t, tt.freedom, got, tt.want)
		}
	}
	for _, bad := range [][2]float64{{0, 5}, {1, 5}, {math.NaN(), 5}, {0.9, 0}, {0.9, math.NaN()}, {0.9, math.Inf(1)}} {
		if _, ok := stats.StudentQuantile(bad[0], bad[1]); ok {
			t.Errorf("StudentQuantile(%v, %v): got an answer", bad[0], bad[1])
		}
	}
}

// The samples with distinct values are checked against SciPy 1.17.1's
// scipy.stats.mannwhitneyu(a, b, method="exact"), those with ties against its
// scipy.stats.permutation_test((a, b), U, permutation_type="independent",
// n_resamples=inf) with the U of mannwhitneyu, the long ones against method="asymptotic".
// The last of the first kind is the example of R's wilcox.test.
func TestMannWhitney(t *testing.T) {
	long := func(n int, first, factor, modulus float64) (xs []float64) {
		for i := range n {
			xs = append(xs, first+math.Mod(float64(i)*factor, modulus)*0.5)
		}
		return xs
	}
	for _, tt := range []struct {
		name string
		a, b []float64
		u, p float64
	}{
		{"four and four apart", []float64{1.1, 2.2, 3.3, 4.4}, []float64{5.5, 6.6, 7.7, 8.8}, 0, 0.02857142857142857},
		{"five and four", []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 17, 0.1111111111111111},
		{"ten and five", []float64{0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.9, 0.74, 1.21}, 35, 0.2544122544122544},
		{"ties", []float64{1, 1, 2, 3}, []float64{2, 3, 3, 4, 5}, 2.5, 0.1111111111111111},
		{"many ties", []float64{1, 2, 2, 2, 5, 6}, []float64{2, 2, 3, 7, 8, 8}, 9, 0.16233766233766234},
		{"all equal", []float64{3, 3, 3, 3}, []float64{3, 3, 3, 3}, 8, 1},
		{"thirty and twenty-eight", long(30, 100, 37, 31), long(28, 102, 53, 29), 322.5, 0.13105512154019774},
		{"sixty equal", slices.Repeat([]float64{1}, 30), slices.Repeat([]float64{1}, 30), 450, 1},
	} {
		u, p, ok := stats.MannWhitney(tt.a, tt.b)
		if !ok || u != tt.u || !close12(p, tt.p) {
			t.Errorf("%s: U = %v, p = %.16g, %t; want %v, %.16g", tt.name, u, p, ok, tt.u, tt.p)
		}
		back, p2, _ := stats.MannWhitney(tt.b, tt.a)
		if !close12(p2, p) || back != float64(len(tt.a)*len(tt.b))-u {
			t.Errorf("%s: the other way round U = %v, p = %v", tt.name, back, p2)
		}
	}
	if _, _, ok := stats.MannWhitney(nil, []float64{1}); ok {
		t.Error("an empty side: got an answer")
	}
}

// At the border between both distributions, they must agree.
func TestMannWhitneyApproximation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		a, b := make([]float64, 25), make([]float64, 25)
		for i := range a {
			a[i], b[i] = r.NormFloat64(), r.NormFloat64()+0.5
		}
		_, exact, _ := stats.MannWhitney(a, b)
		// One more value on each side, far out, calls the approximation.
		_, normal, _ := stats.MannWhitney(append(a, 1e6), append(b, 2e6))
		if math.Abs(exact-normal) > 0.03 {
			t.Errorf("exact %v, approximate %v", exact, normal)
		}
	}
}

// achieved is 1 - 2·scipy.stats.binom.cdf(k-1, n, 0.5) of SciPy 1.17.1, for the greatest
// rank k at which it is 0.95 or more, else for the ends.
func TestMedianInterval(t *testing.T) {
	for _, tt := range []struct {
		n        int
		lo, hi   float64
		achieved float64
	}{
		{1, 1, 1, 0}, {2, 1, 2, 0.5}, {5, 1, 5, 0.9375}, {6, 1, 6, 0.96875}, {7, 1, 7, 0.984375}, {10, 2, 9, 0.978515625},
		{25, 8, 18, 0.9567147493362427}, {100, 40, 61, 0.9647997997822951},
	} {
		xs := make([]float64, tt.n)
		for i := range xs {
			xs[i] = float64(tt.n - i)
		}
		lo, hi, achieved, ok := stats.MedianInterval(xs, 0.95)
		if !ok || lo != tt.lo || hi != tt.hi || math.Abs(achieved-tt.achieved) > 1e-12 {
			t.Errorf("n = %d: %v … %v at %.16g; want %v … %v at %.16g", tt.n, lo, hi, achieved, tt.lo, tt.hi, tt.achieved)
		}
	}
}

// The bounds are scipy.stats.beta.ppf(0.95, 1, n) of SciPy 1.17.1: Clopper and Pearson's,
// one-sided, for no failure among n.
func TestFailureBound(t *testing.T) {
	for n, want := range map[int]float64{50: 0.05815507911697225, 1000: 0.002991249545095295, 1: 0.95} {
		got, ok := stats.FailureBound(n, 0.95)
		near(t, "bound", got, ok, want)
	}
	if _, ok := stats.FailureBound(0, 0.95); ok {
		t.Error("no request: got a bound")
	}
}

func TestHolm(t *testing.T) {
	ps := []float64{0.01, 0.04, 0.03, 0.005}
	// p.adjust(ps, "holm") of R, and statsmodels' multipletests(ps, method="holm") HOLMV
	want := []float64{0.03, 0.06, 0.06, 0.02}
	for i, got := range stats.Holm(ps) {
		near(t, "Holm", got, true, want[i])
	}
	if got := stats.Holm([]float64{0.6, 0.7}); got[0] != 1 || got[1] != 1 {
		t.Errorf("above 1: %v", got)
	}
}

// The deviation is numpy's of the logarithms, each set around its own mean; tier, interval
// and p of two sets that are their own noise are those of Student's test for equal
// variances: scipy.stats.ttest_ind(log(value), log(base)) of SciPy 1.17.1 and the
// exponentials of its confidence_interval(0.95).
func TestPooledNoise(t *testing.T) {
	// Throughputs of configurations that differ in a knob which cannot act.
	groups := [][]float64{{11527.14, 11464.53, 11532.64, 11388.13}, {11496.39, 11768.22}, {11672.72, 11333.89}, {11573.41, 11628.47}, {5}, {0, 1}}
	n, ok := stats.PooledNoise(groups)
	if !ok || n.Freedom != 6 {
		t.Fatalf("%+v, %t", n, ok)
	}
	squares := 0.0
	for _, g := range groups[:4] {
		mean := 0.0
		for _, x := range g {
			mean += math.Log(x) / float64(len(g))
		}
		for _, x := range g {
			squares += (math.Log(x) - mean) * (math.Log(x) - mean)
		}
	}
	near(t, "standard deviation", n.Std, true, math.Sqrt(squares/6))
	near(t, "standard deviation of numpy 2.4.6", n.Std, true, 0.011705883675990503)
	base, value := []float64{100, 102, 99}, []float64{105, 104, 107, 108}
	own, _ := stats.PooledNoise([][]float64{base, value})
	c := stats.Compare(base, value, stats.Rules{Direction: 1, Noise: own})
	if c.Tier != stats.TierPooled || c.Verdict != stats.Better {
		t.Errorf("%+v", c)
	}
	near(t, "p", c.P, true, 0.007205658707155216)
	near(t, "low", c.Low, true, 1.0228846108327991)
	near(t, "high", c.High, true, 1.0911007729749465)
	if _, ok := stats.PooledNoise([][]float64{{1}, {2}}); ok {
		t.Error("no repeats: got a noise")
	}
	spread, ok := stats.Spread(groups[2])
	if !ok || math.Round(spread*1e4) != 299 {
		t.Errorf("spread %v, want 2.99 %%", spread)
	}
}

func TestCompare(t *testing.T) {
	fast, slow := []float64{103, 104, 105, 106}, []float64{99, 100, 101, 102}
	noise := stats.Noise{Std: 0.0117, Freedom: 6}
	few := stats.Noise{Std: 0.0117, Freedom: 4}
	for _, tt := range []struct {
		name        string
		base, value []float64
		rules       stats.Rules
		tier        stats.Tier
		verdict     stats.Verdict
		warning     string
	}{
		{"ranks", slow, fast, stats.Rules{Direction: 1}, stats.TierRank, stats.Better, ""},
		{"ranks, lower is better", slow, fast, stats.Rules{Direction: -1}, stats.TierRank, stats.Worse, ""},
		{"ranks, no direction", slow, fast, stats.Rules{}, stats.TierRank, stats.Differs, ""},
		{"ranks that overlap", slow, []float64{98, 103, 104, 105}, stats.Rules{Direction: 1}, stats.TierRank, stats.CannotTell, ""},
		{"apart, but by less than the floor", []float64{100, 100.01, 100.02, 100.03}, []float64{100.5, 100.51, 100.52, 100.53}, stats.Rules{Direction: 1}, stats.TierRank, stats.Same, ""},
		{"too strict for four", slow, fast, stats.Rules{Direction: 1, Alpha: 0.01}, stats.TierRank, stats.CannotTell, "confidence of 97.1 % at most"},
		{"copies", []float64{5, 5, 5, 5}, []float64{6, 6, 6, 6}, stats.Rules{Direction: 1}, stats.TierRank, stats.Better, "equal to the last digit"},
		{"zero among many", []float64{0, 0, 0, 0, 0}, []float64{3, 4, 5, 6, 7}, stats.Rules{Direction: -1}, stats.TierRank, stats.Worse, "no ratio"},
		{"within the noise of repeats", []float64{11527.14}, []float64{11768.22}, stats.Rules{Direction: 1, Noise: noise}, stats.TierPooled, stats.CannotTell, ""},
		{"above the noise of repeats", []float64{11527.14}, []float64{12527.14}, stats.Rules{Direction: 1, Noise: noise}, stats.TierPooled, stats.Better, ""},
		{"many repeats elsewhere show none", []float64{100}, []float64{100.1}, stats.Rules{Direction: 1, Noise: stats.Noise{Std: 1e-4, Freedom: 20}}, stats.TierPooled, stats.Same, ""},
		{"noise of none", []float64{100}, []float64{105}, stats.Rules{Direction: 1, Noise: stats.Noise{Freedom: 9}}, stats.TierPooled, stats.Better, ""},
		{"too few repeats", []float64{100}, []float64{102}, stats.Rules{Direction: 1, Noise: few}, stats.TierAssumed, stats.CannotTell, "3 % is assumed, not measured: repeats give 4 degrees of freedom, 5 are needed"},
		{"beyond the tolerance", []float64{100}, []float64{104}, stats.Rules{Direction: 1}, stats.TierAssumed, stats.Better, "assumed"},
		{"beyond the tolerance, below", []float64{100}, []float64{96}, stats.Rules{Direction: 1}, stats.TierAssumed, stats.Worse, "assumed"},
		{"equal by chance", []float64{100}, []float64{100}, stats.Rules{Direction: 1}, stats.TierAssumed, stats.CannotTell, "assumed"},
		{"zero and one", []float64{0}, []float64{1}, stats.Rules{Direction: 1}, stats.TierAssumed, stats.CannotTell, "no ratio"},
		{"nothing", nil, fast, stats.Rules{}, stats.TierAssumed, stats.CannotTell, "no values"},
	} {
		c := stats.Compare(tt.base, tt.value, tt.rules)
		text := strings.Join(c.Warnings, "\n")
		if c.Tier != tt.tier || c.Verdict != tt.verdict || !strings.Contains(text, tt.warning) || tt.warning == "" && text != "" {
			t.Errorf("%s: %s, %s, %q; want %s, %s, %q", tt.name, c.Tier, c.Verdict, text, tt.tier, tt.verdict, tt.warning)
		}
		if c.Ratio > 0 && !(c.Low <= c.Ratio && c.Ratio <= c.High) {
			t.Errorf("%s: ratio %v outside of %v … %v", tt.name, c.Ratio, c.Low, c.High)
		}
	}
}

// The interval of pooled noise by hand: a difference of logarithms, plus and minus
// scipy.stats.t.ppf(0.975, 6) = 2.4469… (SciPy 1.17.1) times s·√2.
func TestIntervalOfPooledNoise(t *testing.T) {
	c := stats.Compare([]float64{100}, []float64{110}, stats.Rules{Noise: stats.Noise{Std: 0.02, Freedom: 6}})
	half := 2.4469118511449786 * 0.02 * math.Sqrt2
	near(t, "low", c.Low, true, 1.1*math.Exp(-half))
	near(t, "high", c.High, true, 1.1*math.Exp(half))
	near(t, "confidence", c.Confidence, true, 0.95)
	near(t, "ratio", c.Ratio, true, 1.1)
}

// The ranks of both ends were counted over all ways to deal 15 ranks to 10 and 5: the
// ninth ratio from either end. 0.96004 is 1 - 2·P(U ≤ 8) of the exact distribution that
// scipy.stats.mannwhitneyu of SciPy 1.17.1 uses for 10 and 5 values: P is 0.01998.
func TestIntervalOfRanks(t *testing.T) {
	a := []float64{0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	b := []float64{1.15, 0.88, 0.9, 0.74, 1.21}
	var ratios []float64
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	c := stats.Compare(a, b, stats.Rules{})
	if c.Low != ratios[8] || c.High != ratios[41] || math.Abs(c.Confidence-0.9600399600399601) > 1e-12 {
		t.Errorf("%v … %v at %v; want %v … %v", c.Low, c.High, c.Confidence, ratios[8], ratios[41])
	}
	if (c.Low > 1 || c.High < 1) != (c.P <= 0.05) {
		t.Errorf("p = %v, but the interval is %v … %v", c.P, c.Low, c.High)
	}
}

// An interval must hold what it promises: over many draws from one noise, it encloses
// the true ratio at least as often as it says.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, level float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = level * math.Exp(0.05*r.NormFloat64())
		}
		return xs
	}
	const rounds = 2000
	for _, n := range []int{1, 3, 4, 7, 30} {
		hit, alarms, promised := 0, 0, 1.0
		for range rounds {
			noise, _ := stats.PooledNoise([][]float64{draw(4, 1), draw(3, 7), draw(5, 2)})
			c := stats.Compare(draw(n, 10), draw(n, 12), stats.Rules{Noise: noise})
			promised = c.Confidence
			if c.Low <= 1.2 && 1.2 <= c.High {
				hit++
			}
			if stats.Compare(draw(n, 10), draw(n, 10), stats.Rules{Noise: noise}).Verdict == stats.Differs {
				alarms++
			}
		}
		if share := float64(hit) / rounds; share < promised-0.02 {
			t.Errorf("n = %d: the interval held %.1f %% of the time, %.1f %% were promised", n, 100*share, 100*promised)
		}
		if share := float64(alarms) / rounds; share > 0.07 {
			t.Errorf("n = %d: %.1f %% false alarms", n, 100*share)
		}
	}
}

func TestCandidates(t *testing.T) {
	r := stats.Rules{Direction: 1}
	base := []float64{103, 104, 105, 106}
	low := []float64{90, 91, 92, 93}
	alone := stats.Candidates(base, [][]float64{low}, r)
	if alone[0].Verdict != stats.Worse {
		t.Errorf("alone: %+v", alone[0])
	}
	// Two candidates at p = 0.02857142857142857 each (scipy.stats.mannwhitneyu, exact, SciPy
	// 1.17.1) are adjusted to twice that, and nothing of four values could ever be told.
	two := stats.Candidates(base, [][]float64{low, {80, 81, 82, 83}}, r)
	for _, c := range two {
		if c.Verdict != stats.CannotTell || !close12(c.P, 0.05714285714285714) || !strings.Contains(strings.Join(c.Warnings, " "), "cannot tell one of 2 candidates") {
			t.Errorf("of two: %+v", c)
		}
	}
	// With pooled noise few values can.
	r.Noise = stats.Noise{Std: 0.01, Freedom: 10}
	many := stats.Candidates([]float64{100}, [][]float64{{99}, {90}, {100.2}}, r)
	for i, want := range []stats.Verdict{stats.CannotTell, stats.Worse, stats.CannotTell} {
		if many[i].Verdict != want {
			t.Errorf("candidate %d: %+v, want %s", i, many[i], want)
		}
	}
}

func TestExactAndCounted(t *testing.T) {
	c := stats.CompareExactly([]float64{1000, 1000}, []float64{999}, stats.HigherIsBetter)
	if c.Verdict != stats.Worse || c.Ratio != 0.999 || c.Tier != stats.TierExact {
		t.Errorf("counts: %+v", c)
	}
	if c := stats.CompareExactly([]float64{0}, []float64{0}, stats.LowerIsBetter); c.Verdict != stats.Same || c.Ratio != 0 {
		t.Errorf("no failures on both sides: %+v", c)
	}
	for _, tt := range []struct {
		good1, n1, good2, n2 int
		want                 stats.Verdict
	}{
		{1000, 1000, 1000, 1000, stats.Same},
		{1000, 1000, 514, 1000, stats.Worse},
		{514, 1000, 1000, 1000, stats.Better},
		{50, 50, 49, 50, stats.CannotTell},
		{0, 0, 5, 5, stats.CannotTell},
	} {
		if c := stats.CompareShares(tt.good1, tt.n1, tt.good2, tt.n2); c.Verdict != tt.want {
			t.Errorf("%d/%d and %d/%d: %+v, want %s", tt.good1, tt.n1, tt.good2, tt.n2, c, tt.want)
		}
	}
	// The ends are those of scipy.stats.binomtest(good, n).proportion_ci(0.95, "wilson") of
	// SciPy 1.17.1: 0.99617… … 1 for 1000 of 1000, 0.48303… … 0.54486… for 514.
	shares := stats.CompareShares(1000, 1000, 514, 1000)
	near(t, "low", shares.Low, true, 0.48302810642681215)
	near(t, "high", shares.High, true, 0.5448647443355922/0.9961732415144449)
}
