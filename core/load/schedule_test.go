package load_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func rate(r, burstiness, seed float64) core.Load {
	return core.Load{RequestRate: core.Number(r), Burstiness: core.Number(burstiness), Seed: core.Number(seed)}
}

func TestScheduleAllAtOnce(t *testing.T) {
	for name, l := range map[string]core.Load{
		"missing rate":   {},
		"unlimited rate": {RequestRate: core.Unlimited(), Burstiness: core.Number(2)},
	} {
		got := slices.Collect(load.Schedule(l, 3))
		if !slices.Equal(got, []time.Duration{0, 0, 0}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestScheduleConstant(t *testing.T) {
	l := core.Load{RequestRate: core.Number(4), Burstiness: core.Unlimited()}
	got := slices.Collect(load.Schedule(l, 4))
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond, time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestScheduleNothing(t *testing.T) {
	for name, l := range map[string]core.Load{
		"rate 0":              {RequestRate: core.Number(0)},
		"negative rate":       {RequestRate: core.Number(-1)},
		"burstiness 0":        rate(1, 0, 0),
		"negative burstiness": rate(1, -1, 0),
	} {
		if got := slices.Collect(load.Schedule(l, 3)); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := slices.Collect(load.Schedule(rate(1, 1, 0), 0)); len(got) != 0 {
		t.Errorf("n = 0: %v", got)
	}
}

// TestScheduleMoments holds mean and variance of the gaps against the gamma
// distribution: mean 1/rate, squared coefficient of variation 1/burstiness.
func TestScheduleMoments(t *testing.T) {
	const n, r = 40000, 5.0
	for _, tt := range []struct {
		name              string
		shape, cv2, spare float64
	}{
		{"bursty", 0.25, 4, 0.35},
		{"shape below 1", 0.5, 2, 0.12},
		{"Poisson", 1, 1, 0.05},
		{"smooth", 4, 0.25, 0.01},
		{"nearly constant", 1000, 0.001, 0.0001},
	} {
		t.Run(tt.name, func(t *testing.T) {
			due := slices.Collect(load.Schedule(rate(r, tt.shape, 11), n))
			if len(due) != n {
				t.Fatalf("%d moments", len(due))
			}
			if want := time.Duration(n / r * float64(time.Second)); (due[n-1] - want).Abs() > time.Microsecond {
				t.Errorf("last at %v, want n/rate = %v", due[n-1], want)
			}
			if !slices.IsSorted(due) {
				t.Error("moments go back")
			}
			var sum, squares float64
			last := time.Duration(0)
			for _, d := range due {
				gap := (d - last).Seconds()
				last = d
				sum += gap
				squares += gap * gap
			}
			mean := sum / n
			cv2 := (squares/n - mean*mean) / (mean * mean)
			if math.Abs(cv2-tt.cv2) > tt.spare {
				t.Errorf("squared coefficient of variation %.4f, want %.4f ± %.4f", cv2, tt.cv2, tt.spare)
			}
		})
	}
}

// TestScheduleExponential holds the Poisson gaps against the exponential
// distribution by the Kolmogorov-Smirnov distance, which moments alone miss.
func TestScheduleExponential(t *testing.T) {
	const n = 20000
	var gaps []float64
	last := time.Duration(0)
	for d := range load.Schedule(core.Load{RequestRate: core.Number(1)}, n) {
		gaps = append(gaps, (d - last).Seconds())
		last = d
	}
	slices.Sort(gaps)
	distance := 0.0
	for i, g := range gaps {
		distance = max(distance, math.Abs(1-math.Exp(-g)-float64(i)/n))
	}
	if distance > 1.63/math.Sqrt(n) { // the 1 % point
		t.Errorf("distance %.5f from the exponential distribution", distance)
	}
}

func TestScheduleSeeds(t *testing.T) {
	a := slices.Collect(load.Schedule(rate(3, 0.7, 1), 50))
	if !slices.Equal(a, slices.Collect(load.Schedule(rate(3, 0.7, 1), 50))) {
		t.Error("equal loads gave different moments")
	}
	if slices.Equal(a, slices.Collect(load.Schedule(rate(3, 0.7, 2), 50))) {
		t.Error("another seed gave the same moments")
	}
	unseeded := core.Load{RequestRate: core.Number(3)}
	if !slices.Equal(slices.Collect(load.Schedule(unseeded, 50)), slices.Collect(load.Schedule(rate(3, 1, 0), 50))) {
		t.Error("no seed is not seed 0, or no burstiness is not 1")
	}
}

func TestScheduleEndless(t *testing.T) {
	const r, horizon = 100.0, 100 * time.Second
	n := 0
	for due := range load.Schedule(rate(r, 1, 3), -1) {
		if due > horizon {
			break
		}
		n++
	}
	// A Poisson count of mean 10000 has a deviation of 100.
	if n < 9600 || n > 10400 {
		t.Errorf("%d arrivals in %v at %g a second", n, horizon, r)
	}
}
