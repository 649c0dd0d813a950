package load_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestRampSchedule(t *testing.T) {
	constant := core.Load{Burstiness: core.Unlimited()}
	gaps := func(r load.Ramp, n int, window time.Duration) (found []float64) {
		last := time.Duration(0)
		for at := range load.RampSchedule(r, constant, n, window) {
			found = append(found, (at - last).Seconds())
			last = at
			if len(found) == 1000 {
				break
			}
		}
		return found
	}
	near := func(name string, got, want []float64) {
		t.Helper()
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("%s: gaps %v, want %v", name, got, want)
		}
	}
	near("linear", gaps(load.Ramp{Shape: "linear", From: 1, To: 5}, 5, 0), []float64{1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5})
	near("exponential", gaps(load.Ramp{Shape: "exponential", From: 1, To: 8}, 4, 0), []float64{1, 1.0 / 2, 1.0 / 4, 1.0 / 8})
	near("one", gaps(load.Ramp{Shape: "linear", From: 2, To: 5}, 1, 0), []float64{0.5})
	byTime := gaps(load.Ramp{Shape: "linear", From: 1, To: 11}, -1, 10*time.Second)
	if byTime[0] != 1 || math.Abs(byTime[1]-0.5) > 1e-6 || math.Abs(byTime[999]-1.0/11) > 1e-6 {
		t.Errorf("by time: first gaps %v, %v, after the window %v", byTime[0], byTime[1], byTime[999])
	}
	seeded := core.Load{Seed: core.Number(3)}
	a := slices.Collect(load.RampSchedule(load.Ramp{Shape: "linear", From: 1, To: 2}, seeded, 50, 0))
	b := slices.Collect(load.RampSchedule(load.Ramp{Shape: "linear", From: 1, To: 2}, seeded, 50, 0))
	if !slices.Equal(a, b) || !slices.IsSorted(a) {
		t.Error("a ramp is not a function of its load")
	}
}

func TestRunRamp(t *testing.T) {
	f := serve(t, nil)
	var s sink
	l := core.Load{NumPrompts: core.Number(6), Burstiness: core.Unlimited(), RequestRate: core.Number(70)}
	growing := core.Knobs{"ramp": core.String("linear"), "ramp_from": core.Number(20)}
	if err := load.Run(t.Context(), request(f.URL, random(4, 1, "", growing), l), &s); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(s.samples, func(a, b core.Sample) int { return a.Index - b.Index })
	want := slices.Collect(load.RampSchedule(load.Ramp{Shape: "linear", From: 20, To: 70}, l, 6, 0))
	for i, a := range s.samples {
		if a.Due != want[i] || a.Sent < a.Due {
			t.Errorf("sample %d due %v, sent %v; want %v", i, a.Due, a.Sent, want[i])
		}
	}
	text, number := core.String, core.Number
	for name, params := range map[string]core.Knobs{
		"shape": {"ramp": text("wavy"), "ramp_from": number(1)}, "from 0": {"ramp": text("linear"), "ramp_from": number(0)}, "no from": {"ramp": text("linear")},
		"from alone": {"ramp_from": number(1)}, "opening": {"opening_s": number(-1)}, "speed without a trace": {"speed": number(2)},
	} {
		if err := load.Run(t.Context(), request(f.URL, random(4, 1, "", params), l), &s); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.RequestRate = core.Unlimited()
	if err := load.Check(random(4, 1, "", growing), l); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a ramp to no rate: %v", err)
	}
}

// TestRunOpening: the slots of a closed loop open one by one.
func TestRunOpening(t *testing.T) {
	f := serve(t, nil)
	f.pause = 150 * time.Millisecond
	var s sink
	opening := core.Knobs{"opening_s": core.Number(0.4)}
	if err := load.Run(t.Context(), request(f.URL, random(4, 4, "", opening), closed(4, 4)), &s); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(s.samples, func(a, b core.Sample) int { return a.Index - b.Index })
	for i, a := range s.samples {
		if want := time.Duration(i) * 100 * time.Millisecond; a.Sent < want || a.Sent > want+80*time.Millisecond || a.Due != a.Sent {
			t.Errorf("sample %d sent %v, due %v; want %v", i, a.Sent, a.Due, want)
		}
	}
}
