package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/sim"
)

// With sleeps that are up to 3 ms too long, no output comes early, none comes
// later than one sleep's error after its moment, however many came before. Steps
// last 0.7 ms here, or a few µs.
func TestPacingIsAbsolute(t *testing.T) {
	const worst = 3 * time.Millisecond
	for _, scale := range []float64{10, 1000} {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			due, came := sim.Pace(2000, scale, func(_ context.Context, until time.Time) {
				if left := time.Until(until); left > 0 {
					time.Sleep(left + time.Duration(random.Int64N(int64(worst))))
				}
			})
			for i := range came {
				if late := came[i] - due[i]; late < 0 || late > worst {
					t.Fatalf("scale %g: output %d came %v after its moment", scale, i, late)
				}
			}
		})
	}
}

// timed repeats a comparison of real with scheduled time until it holds. Attempts
// during which this machine itself oversleeps, because others use it, are worth
// nothing; a server that is too slow on an idle machine fails.
func timed(t *testing.T, compare func() error) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector makes the server several times slower")
	}
	var err error
	for range 6 {
		var worst time.Duration
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				time.Sleep(time.Millisecond)
				worst = max(worst, time.Since(began))
			}
		}()
		result := compare()
		close(stop)
		<-stopped
		switch {
		case result == nil:
			return
		case worst < 10*time.Millisecond:
			err = errors.Join(err, result)
		default:
			t.Logf("%v, while this machine overslept by %v", result, worst)
		}
	}
	if err == nil {
		t.Skip("this machine is too busy for a comparison of times")
	}
	t.Fatal(err)
}

// One stream through HTTP must take what the scheduler says, whatever the scale:
// errors of single sleeps must not add up.
func TestPacingDoesNotDrift(t *testing.T) {
	const tokens = 1000
	want, err := sim.Loop([]string{"--model", "Qwen/Qwen3-0.6B"}, 1, 1, func(int) (int, int) { return 128, tokens })
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		scale float64
	}{{"steps of 0.4 ms", 5}, {"steps below the timer's grain", 100}} {
		t.Run(tc.name, func(t *testing.T) {
			base := startInside(t, "--model", "Qwen/Qwen3-0.6B", "--time-scale", plain(tc.scale))
			c := config(core.Knobs{"time_scale": core.Number(tc.scale)}).With(core.Config{Checkpoint: "Qwen/Qwen3-0.6B"})
			// The end is due to the microsecond. How late it is seen is up to this
			// machine, so the tolerance is in real time: 10 ms over the stream.
			tolerance := time.Duration(float64(10*time.Millisecond) * tc.scale / tokens)
			timed(t, func() error {
				var got collector
				if err := newEngine().Benchmark(context.Background(), closedLoop(base, c, 1, 1, 128, tokens), &got); err != nil {
					t.Fatal(err)
				}
				if n := got.samples[0].OutputTokens; n != tokens {
					t.Fatalf("%d tokens", n)
				}
				if mean := tpot(got.samples[0]); (mean - want.TPOT).Abs() > tolerance {
					return fmt.Errorf("TPOT %v at scale %g, the scheduler says %v (tolerance %v)", mean, tc.scale, want.TPOT, tolerance)
				}
				return nil
			})
		})
	}
}

// 64 streams at ten times real time are what a demo on two cores needs.
func TestManyStreamsKeepPace(t *testing.T) {
	const n, concurrency, in, out = 128, 64, 32, 200
	want, err := sim.Loop([]string{"--model", "Qwen/Qwen3-8B"}, n, concurrency, func(int) (int, int) { return in, out })
	if err != nil {
		t.Fatal(err)
	}
	base := startInside(t, "--time-scale", "10")
	c := config(core.Knobs{"time_scale": core.Number(10)})
	timed(t, func() error {
		var got collector
		if err := newEngine().Benchmark(context.Background(), closedLoop(base, c, n, concurrency, in, out), &got); err != nil {
			t.Fatal(err)
		}
		mean := mean(got.samples, tpot)
		t.Logf("TPOT %v, the scheduler says %v; latest step %.1f ms late", mean, want.TPOT, 1000*metric(t, base, "pacing_late_seconds_max"))
		// Arrivals come one by one here and all at once there, hence the margin.
		if ratio := float64(mean) / float64(want.TPOT); ratio < 0.9 || ratio > 1.2 {
			return fmt.Errorf("TPOT %v, the scheduler says %v", mean, want.TPOT)
		}
		return nil
	})
}
