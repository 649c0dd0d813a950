package load

import (
	"slices"
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
	every := func(step int) (ds []time.Duration) {
		for s := step; s < 300; s += step {
			ds = append(ds, at(s)...)
		}
		return ds
	}
	for _, tt := range []struct {
		name       string
		own, other []time.Duration
		want       time.Duration
	}{
		{"nothing moves anywhere", nil, nil, 100 * time.Second},
		{"waits in the queue while another moves", nil, at(99, 190, 280), never},
		{"the other stops too", nil, at(5, 12, 20), 120 * time.Second},
		{"begun, then silent while another moves", at(3, 9), at(5, 12, 20, 28, 35), 19 * time.Second},
		{"moves", every(9), nil, never},
		{"a prompt that takes long, then moves", slices.DeleteFunc(every(9), func(d time.Duration) bool { return d < 90*time.Second }), nil, never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, ended := time.Now(), never
				run := &pulse{clock: func() time.Duration { return time.Since(start) }}
				first := &idleWatch{limit: 10 * time.Second, run: run, end: func(stalled) { ended = time.Since(start) }}
				second := &idleWatch{limit: time.Hour, run: run, end: func(stalled) { t.Error("the other was ended") }}
				first.start()
				second.start()
				for _, d := range tt.own {
					time.AfterFunc(d, func() { first.token(d); first.moved(d) })
				}
				for _, d := range tt.other {
					time.AfterFunc(d, func() { second.token(d); second.moved(d) })
				}
				time.Sleep(5 * time.Minute)
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

// TestPatienceOnce: a server that hangs is waited for ten limits once, and again
// after it has given a token.
func TestPatienceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		run := &pulse{clock: func() time.Duration { return time.Since(start) }}
		waits := func() time.Duration {
			began, ended := time.Now(), make(chan stalled, 1)
			w := &idleWatch{limit: 10 * time.Second, run: run, end: func(why stalled) { ended <- why }}
			w.start()
			defer w.stop()
			<-ended
			return time.Since(began)
		}
		if first, second := waits(), waits(); first != 100*time.Second || second != 10*time.Second {
			t.Errorf("waited %v, then %v", first, second)
		}
		(&idleWatch{limit: time.Second, run: run}).token(run.clock())
		if third := waits(); third != 100*time.Second {
			t.Errorf("after a token waited %v", third)
		}
	})
}

func TestIdleWatchWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &idleWatch{run: &pulse{}, end: func(stalled) { t.Error("ended") }}
		w.start()
		w.moved(0)
		time.Sleep(24 * time.Hour)
		w.stop()
	})
}
