package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// Who was beside a trial is named, also where a longer one of its own launch hides it,
// and several are.
func TestNeighboursAreNamed(t *testing.T) {
	began := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	var trials []*core.Trial
	add := func(launch string, from, to time.Duration) {
		trials = append(trials, trial(fmt.Sprint(launch, from), func(t *core.Trial) {
			t.Number = int64(len(trials) + 1)
			t.Host, t.StartedAt, t.EndedAt = "node1", began.Add(from), began.Add(to)
			t.Launch = &core.Launch{ID: core.HashID(launch)}
		}))
	}
	add("a", 0, 100*time.Second)
	add("a", 10*time.Second, 200*time.Second)
	add("b", 20*time.Second, 50*time.Second)
	add("c", 30*time.Second, 60*time.Second)
	add("d", 59500*time.Millisecond, 70*time.Second) // half a second beside c is none
	for i := range 5 {
		add(fmt.Sprint("e", i), 300*time.Second, 400*time.Second)
	}
	found := audit.Trials(trials, audit.DefaultReference())
	want := []string{
		"on node1 at the same time as #3, #4, #5",
		"on node1 at the same time as #3, #4, #5",
		"on node1 at the same time as #1, #2, #4",
		"on node1 at the same time as #1, #2, #3",
		"on node1 at the same time as #1, #2",
		"on node1 at the same time as #7, #8, #9, #10",
	}
	for i, text := range want {
		got := ""
		for _, f := range found[trials[i].ID] {
			if f.Rule == "E6" {
				got = f.Evidence
			}
		}
		if got != text {
			t.Errorf("trial %d: %q, want %q", i+1, got, text)
		}
	}
}
