package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sweepbook/sweepbook/core/stats"
)

func near(t *testing.T, what string, got float64, ok bool, want float64) {
	t.Helper()
	if !ok || math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, %t; want %v", what, got, ok, want)
	}
}

func TestQuantile(t *testing.T) {
	// The expected values are numpy.percentile(xs, 100·q)'s of numpy 2.4.6, method "linear".
	a := []float64{133, 76, 106, 81}
	b := []float64{0.1, 0.11, 0.12, 0.13, 0.95}
	for _, tt := range []struct {
		name string
		xs   []float64
		q    float64
		want float64
	}{
		{"median of four", a, 0.5, 93.5},
		{"p75 of four", a, 0.75, 112.75},
		{"p90 of four", a, 0.9, 124.9},
		{"p99 of five", b, 0.99, 0.9172},
		{"lowest", a, 0, 76},
		{"highest", a, 1, 133},
		{"one value", []float64{7}, 0.99, 7},
	} {
		got, ok := stats.Quantile(tt.xs, tt.q)
		near(t, tt.name, got, ok, tt.want)
	}
	if !slices.Equal(a, []float64{133, 76, 106, 81}) {
		t.Error("Quantile changed its input")
	}
}

func TestQuantileOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		xs := make([]float64, 1+r.IntN(30))
		for i := range xs {
			xs[i] = r.ExpFloat64()
		}
		last := math.Inf(-1)
		for q := 0.0; q <= 1; q += 0.01 {
			v, ok := stats.Quantile(xs, q)
			if !ok || v < last {
				t.Fatalf("q %.2f of %v = %v, below %v", q, xs, v, last)
			}
			last = v
		}
	}
}

func TestNoAnswer(t *testing.T) {
	for name, ok := range map[string]bool{
		"mean of nothing":          second(stats.Mean(nil)),
		"mean with NaN":            second(stats.Mean([]float64{1, math.NaN()})),
		"mean with infinity":       second(stats.Mean([]float64{1, math.Inf(1)})),
		"std of nothing":           second(stats.PopulationStd(nil)),
		"median of nothing":        second(stats.Median(nil)),
		"median with NaN":          second(stats.Median([]float64{1, math.NaN()})),
		"q above 1":                second(stats.Quantile([]float64{1}, 1.01)),
		"q NaN":                    second(stats.Quantile([]float64{1}, math.NaN())),
		"geometric of nothing":     second(stats.GeometricMean(nil, nil)),
		"geometric of 0":           second(stats.GeometricMean([]float64{1, 0}, nil)),
		"geometric of negative":    second(stats.GeometricMean([]float64{1, -2}, nil)),
		"weights of other length":  second(stats.GeometricMean([]float64{1, 2}, []float64{1})),
		"negative weight":          second(stats.GeometricMean([]float64{1, 2}, []float64{2, -1})),
		"weights all 0":            second(stats.GeometricMean([]float64{1, 2}, []float64{0, 0})),
		"sorted quantile, nothing": second(stats.SortedQuantile(nil, 0.5)),
	} {
		if ok {
			t.Errorf("%s: got an answer", name)
		}
	}
}

func second(_ float64, ok bool) bool { return ok }

func TestMoments(t *testing.T) {
	xs := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	mean, ok := stats.Mean(xs)
	near(t, "mean", mean, ok, 5)
	std, ok := stats.PopulationStd(xs) // numpy.std, ddof 0
	near(t, "population std", std, ok, 2)
	std, ok = stats.PopulationStd([]float64{3})
	near(t, "std of one", std, ok, 0)
	std, ok = stats.PopulationStd([]float64{1e9 + 1, 1e9 + 2, 1e9 + 3})
	near(t, "std far from 0", std, ok, math.Sqrt(2.0/3))
	mean, ok = stats.Mean([]float64{1e16, 1, -1e16})
	near(t, "mean with cancellation", mean, ok, 1.0/3)
}

func TestGeometricMean(t *testing.T) {
	got, ok := stats.GeometricMean([]float64{1, 100}, nil)
	near(t, "plain", got, ok, 10)
	got, ok = stats.GeometricMean([]float64{2, 16}, []float64{2, 1}) // scipy.stats.gmean(…, weights=[2, 1])
	near(t, "weighted", got, ok, 4)
	got, ok = stats.GeometricMean([]float64{3, 5}, []float64{0, 4})
	near(t, "weight 0 leaves out", got, ok, 5)
}

func TestWilson(t *testing.T) {
	// scipy.stats.binomtest(good, n).proportion_ci(0.95, "wilson") of SciPy 1.17.1. For all
	// and none the bounds are n/(n+z²) and z²/(n+z²).
	for _, tt := range []struct {
		good, n int
		lo, hi  float64
	}{
		{5, 5, 0.5655175352168251, 1},
		{0, 5, 0, 0.43448246478317476},
		{8, 10, 0.4901624715366418, 0.9433178485456248},
		{49, 50, 0.8950455641036218, 0.9964607407283538},
	} {
		lo, hi, ok := stats.Wilson(tt.good, tt.n, stats.Z95)
		if !ok || math.Abs(lo-tt.lo) > 1e-12 || math.Abs(hi-tt.hi) > 1e-12 {
			t.Errorf("Wilson(%d, %d) = %.10f %.10f %t; want %.10f %.10f", tt.good, tt.n, lo, hi, ok, tt.lo, tt.hi)
		}
	}
	for _, bad := range [][2]int{{1, 0}, {-1, 5}, {6, 5}} {
		if _, _, ok := stats.Wilson(bad[0], bad[1], stats.Z95); ok {
			t.Errorf("Wilson(%d, %d): got an interval", bad[0], bad[1])
		}
	}
	if _, _, ok := stats.Wilson(1, 2, math.NaN()); ok {
		t.Error("Wilson with z NaN: got an interval")
	}
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// TestSharedCase48 holds the quantiles against the shared case, where it is present.
func TestSharedCase48(t *testing.T) {
	dir := filepath.Join(root(t), "..", "shared", "cases", "48-percentiles-small-n-and-goodput-edges")
	data, err := os.ReadFile(filepath.Join(dir, "values.json"))
	if err != nil {
		t.Skipf("shared cases are not here: %v", err)
	}
	var samples map[string][]float64
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	var want struct {
		A struct{ Linear map[string]float64 }
		B struct {
			P99 float64 `json:"linear_p99"`
		}
	}
	data, err = os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]float64{"p50": 0.5, "p75": 0.75, "p90": 0.9} {
		got, ok := stats.Quantile(samples["A"], q)
		near(t, "A "+name, got, ok, want.A.Linear[name])
	}
	got, ok := stats.Quantile(samples["B"], 0.99)
	near(t, "B p99", got, ok, want.B.P99)
}
