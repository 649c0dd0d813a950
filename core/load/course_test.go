package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// playing is a telemetry without a command, on a false clock.
func playing(t *testing.T) *Telemetry {
	ctx, cancel := context.WithCancel(t.Context())
	tel := &Telemetry{cancel: cancel, done: make(chan struct{}), start: time.Now(), gpus: map[string]*gpuTrack{}}
	go func() { <-ctx.Done(); close(tel.done) }()
	return tel
}

// The course sums the GPUs of each moment, forgets what was before the window, and knows
// no sum where one GPU said nothing.
func TestCourse(t *testing.T) {
	n := core.Number
	synctest.Test(t, func(t *testing.T) {
		tel := playing(t)
		tel.take(GPUReading{UUID: "a", PowerW: n(999), SMClockMHz: n(1), MemoryUsedMiB: n(1)})
		time.Sleep(time.Second)
		tel.Begin()
		for i := range 3 {
			time.Sleep(time.Second)
			b := GPUReading{UUID: "b", PowerW: n(100), SMClockMHz: n(1200)}
			tel.take(GPUReading{UUID: "a", PowerW: n(300 + float64(i)), SMClockMHz: n(1800), MemoryUsedMiB: n(1000)})
			tel.take(b)
		}
		tel.Stop()
		want := &core.Course{AtMS: []int64{1000, 2000, 3000}, PowerW: []float64{400, 401, 402}, SMClockMHz: []float64{1500, 1500, 1500}}
		got := tel.Course()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if err := got.Validate(); err != nil {
			t.Error(err)
		}
		empty := playing(t)
		empty.Stop()
		if c := empty.Course(); c != nil {
			t.Errorf("of nothing: %+v", c)
		}
	})
}

// A window of a day keeps no more moments than one of two hours, from its begin to its end.
func TestCourseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel := playing(t)
		tel.Begin()
		for range 24 * 3600 {
			time.Sleep(time.Second)
			tel.take(GPUReading{UUID: "a", PowerW: core.Number(100)})
		}
		tel.Stop()
		c := tel.Course()
		if n := len(c.AtMS); n < maxCourse/2 || n > maxCourse || c.AtMS[0] > 60_000 || c.AtMS[n-1] < 86_000_000 || len(c.PowerW) != n {
			t.Errorf("%d moments from %d to %d ms", n, c.AtMS[0], c.AtMS[n-1])
		}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	})
}
