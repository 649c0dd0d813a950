package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleWatch plays two requests of a run on a false clock: when each stream
// moves, and when, if ever, the watch of the first ends it.
func TestIdleWatch(t *testing.T) {
	const never = time.Duration(-1)
	at := func(seconds ...int) (ds []time.Duration) {
		for _, s := range seconds {
			ds = append(ds, time.Duration(s)*time.Second)
		}
		return ds
	}
	for _, tt := range []struct {
		name       string
		own, other []time.Duration
		want       time.Duration
	}{
		{"nothing moves anywhere", nil, nil, 10 * time.Second},
		{"waits in the queue while another moves", nil, at(5, 12, 20, 28, 35, 42, 50, 58), never},
		{"the other stops too", nil, at(5, 12, 20), 30 * time.Second},
		{"begun, then silent while another moves", at(3, 9), at(5, 12, 20, 28, 35), 19 * time.Second},
		{"moves", at(9, 18, 27, 36, 45, 54), nil, never},
		{"begins late and moves", at(25, 34, 43, 52), at(8, 16, 24), never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, ended := time.Now(), never
				run := &pulse{clock: func() time.Duration { return time.Since(start) }}
				first := &idleWatch{limit: 10 * time.Second, run: run, end: func() { ended = time.Since(start) }}
				second := &idleWatch{limit: time.Hour, run: run, end: func() { t.Error("the other was ended") }}
				first.start()
				second.start()
				for _, d := range tt.own {
					time.AfterFunc(d, func() { first.token(d); first.moved(d) })
				}
				for _, d := range tt.other {
					time.AfterFunc(d, func() { second.token(d); second.moved(d) })
				}
				time.Sleep(time.Minute)
				first.stop()
				second.stop()
				synctest.Wait()
				if ended != tt.want {
					t.Errorf("ended after %v, want %v", ended, tt.want)
				}
			})
		})
	}
}

func TestIdleWatchWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &idleWatch{run: &pulse{}, end: func() { t.Error("ended") }}
		w.start()
		w.moved(0)
		time.Sleep(24 * time.Hour)
		w.stop()
	})
}
