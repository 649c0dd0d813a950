package main

import (
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/store"
)

func TestStateOfAStudy(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fresh, old := now.Add(-2*time.Second), now.Add(-2*time.Minute)
	ended := &progress.End{Outcome: "stopped"}
	for name, c := range map[string]struct {
		state    progress.State
		since    time.Time
		standing store.Standing
		want     string
	}{
		"nothing is known":                {progress.State{}, time.Time{}, store.HolderNone, "idle"},
		"it ended":                        {progress.State{Heartbeat: old, End: ended}, time.Time{}, store.HolderNone, "stopped"},
		"it runs":                         {progress.State{Heartbeat: fresh}, old, store.HolderAlive, "running"},
		"it began and has told nothing":   {progress.State{}, fresh, store.HolderAlive, "running"},
		"it runs again after an end":      {progress.State{Heartbeat: old, End: ended}, fresh, store.HolderAlive, "running"},
		"it was asked to end":             {progress.State{Heartbeat: fresh, Ending: true}, old, store.HolderAlive, "ending"},
		"its process is stopped":          {progress.State{Heartbeat: old}, old, store.HolderAlive, "silent"},
		"its process is stopped, asked":   {progress.State{Heartbeat: old, Ending: true}, old, store.HolderAlive, "silent"},
		"it was killed":                   {progress.State{Heartbeat: fresh}, old, store.HolderGone, "gone"},
		"another machine, heard of":       {progress.State{Heartbeat: fresh}, old, store.HolderElsewhere, "running"},
		"another machine, not heard of":   {progress.State{Heartbeat: old}, old, store.HolderElsewhere, "elsewhere"},
		"another machine, never heard of": {progress.State{}, old, store.HolderElsewhere, "elsewhere"},
	} {
		if got := stateOf(c.state, store.Holder{Since: c.since}, c.standing, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
