package study_test

import (
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// foreseen has a baseline, a stage of two, one of one, and verifies two
// configurations on two workloads: 4 launches of 1 load × 2 repeats, then 2 launches
// of 2 workloads × 2 repeats.
const foreseen = `study: foreseen
model: {name: m}
hardware: {gpus: 2}
engines: {sim: {}}
run: {repeats: 2}
load: {concurrency: 4}
workloads:
  chat: {dataset: random, input: 16, output: 4, requests: 4, seed: 1}
  long: {dataset: random, input: 64, output: 4, requests: 4, seed: 1}
objective: max output_tps
decide_on: chat
baseline: {engine: sim}
stages:
  - {name: first, try: [{max_num_seqs: 1}, {max_num_seqs: 2}]}
  - {name: second, try: [{max_num_batched_tokens: 64}]}
verify: {configs: [baseline, winner], workloads: all}
`

func whole(t *testing.T, text string) *study.File {
	t.Helper()
	file, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestForecast(t *testing.T) {
	file := whole(t, foreseen)
	f := study.NewForecast(&file.Study, study.Durations{Ready: time.Minute, Trial: map[string]time.Duration{"chat": 10 * time.Second}})
	expect := func(what string, launches, trials int, took time.Duration, budget bool) {
		t.Helper()
		r := f.Left()
		if r.Launches != launches || r.Trials != trials || r.Time != took || r.Budget != budget {
			t.Errorf("%s: %d launches, %d trials, %v, budget %v are left; want %d, %d, %v, %v", what, r.Launches, r.Trials, r.Time, r.Budget, launches, trials, took, budget)
		}
		if want := (2 * took).Hours(); r.GPUHours != want {
			t.Errorf("%s: %g GPU hours on two GPUs, want %g", what, r.GPUHours, want)
		}
	}
	chat := &core.Trial{Status: core.StatusOK, Workload: core.Workload{Name: "chat"}}
	const long = 2 * time.Minute // nobody has seen it
	expect("before", 6, 16, 6*time.Minute+12*10*time.Second+4*long, false)
	f.Take(study.Event{Kind: study.EventStage, Text: "baseline"})
	f.Take(study.Event{Kind: study.EventReady, Elapsed: 30 * time.Second})
	f.Take(study.Event{Kind: study.EventTrial, Trial: chat, Elapsed: 20 * time.Second})
	// The durations of this run count, the launch in progress is loaded, and one workload
	// stands for another.
	expect("after one trial", 5, 15, 5*30*time.Second+15*20*time.Second, false)
	f.Take(study.Event{Kind: study.EventTrial, Trial: &core.Trial{Status: core.StatusAborted, Workload: chat.Workload}})
	expect("after an aborted one", 5, 15, 5*30*time.Second+15*20*time.Second, false)
	f.Take(study.Event{Kind: study.EventTrial, Trial: chat, Elapsed: 20 * time.Second})
	f.Take(study.Event{Kind: study.EventStage, Text: "first"})
	f.Take(study.Event{Kind: study.EventFailed, Trial: &core.Trial{Status: core.StatusFailed, Workload: chat.Workload}, Total: 2})
	expect("after a failed launch", 4, 12, 4*30*time.Second+12*20*time.Second, false)
	// A stage that begins leaves behind what the one before did not need.
	f.Take(study.Event{Kind: study.EventStage, Text: "second"})
	expect("in the second stage", 3, 10, 3*30*time.Second+10*20*time.Second, false)
	// One that nobody foresaw comes before the end.
	f.Take(study.Event{Kind: study.EventStage, Text: "second look"})
	expect("in a second look", 2, 8, 2*30*time.Second+8*20*time.Second, false)
	f.Take(study.Event{Kind: study.EventStage, Text: "verification"})
	f.Take(study.Event{Kind: study.EventKnown, Trial: chat})
	expect("in the verification", 2, 7, 2*30*time.Second+7*20*time.Second, false)
}

func TestForecastOfABudget(t *testing.T) {
	file := whole(t, foreseen)
	file.Study.Run.GPUHours = 0.1 // six minutes of one GPU
	f := study.NewForecast(&file.Study, study.Durations{})
	if r := f.Left(); r.Time != 3*time.Minute || !r.Budget {
		t.Errorf("six GPU minutes on two GPUs last %v, budget %v", r.Time, r.Budget)
	}
	f.Take(study.Event{Kind: study.EventStage, Text: "baseline", Spent: 4 * time.Minute})
	if r := f.Left(); r.Time != time.Minute {
		t.Errorf("after four of the six %v are left", r.Time)
	}
	file.Study.Run.GPUHours, file.Study.Run.Trials = 0, 4
	f = study.NewForecast(&file.Study, study.Durations{})
	if r := f.Left(); r.Trials != 4 || !r.Budget {
		t.Errorf("a budget of 4 trials leaves %d, budget %v", r.Trials, r.Budget)
	}
}

// A launch that failed counts against the budget as the run counts it.
func TestForecastCountsFailedLaunches(t *testing.T) {
	file := whole(t, foreseen)
	file.Study.Run.Trials = 6
	f := study.NewForecast(&file.Study, study.Durations{})
	ended := func(status core.Status) *core.Trial {
		return &core.Trial{Status: status, Workload: core.Workload{Name: "chat"}}
	}
	for _, step := range []struct {
		event study.Event
		left  int
	}{
		{study.Event{Kind: study.EventTrial, Trial: ended(core.StatusOK)}, 5},
		{study.Event{Kind: study.EventFailed, Trial: ended(core.StatusFailed), Total: 2}, 3},
		{study.Event{Kind: study.EventFailed, Trial: ended(core.StatusAborted), Total: 2}, 3},
		{study.Event{Kind: study.EventFailed, Trial: ended(core.StatusFailed), Total: 1}, 2},
	} {
		f.Take(step.event)
		if r := f.Left(); r.Trials != step.left || !r.Budget {
			t.Errorf("after %d of status %s: %d trials of the budget are left, want %d", step.event.Total, step.event.Trial.Status, r.Trials, step.left)
		}
	}
}

// What earlier runs settled is not estimated again; what was lost is.
func TestForecastSettles(t *testing.T) {
	file := whole(t, foreseen)
	f := study.NewForecast(&file.Study, study.Durations{})
	before := f.Left().Trials
	f.Settle([]*core.Trial{
		{Stage: "baseline", Status: core.StatusOK, Workload: core.Workload{Name: "chat"}},
		{Stage: "first", Status: core.StatusFailed, Failure: core.OOMKV, Workload: core.Workload{Name: "chat"}},
		{Stage: "first", Status: core.StatusFailed, Failure: core.PluginCrash, Workload: core.Workload{Name: "chat"}},
		{Stage: "first", Status: core.StatusLost, Workload: core.Workload{Name: "chat"}},
	})
	// The four on the deciding workload that are to be verified are known by then.
	if got := before - f.Left().Trials; got != 2+4 {
		t.Errorf("%d trials are settled, want 6", got)
	}
}

// Several launches at once take less time and as many GPU hours.
func TestForecastOfLanes(t *testing.T) {
	file := whole(t, foreseen)
	file.Study.Run.Parallel = 2
	f := study.NewForecast(&file.Study, study.Durations{Ready: time.Minute, Trial: map[string]time.Duration{"chat": 10 * time.Second, "long": 2 * time.Minute}})
	const launch = 80 * time.Second // with its two trials of chat
	expect := func(what string, took, work time.Duration) {
		t.Helper()
		if r := f.Left(); r.Time != took || r.GPUHours != (2*work).Hours() {
			t.Errorf("%s: %v and %g GPU hours are left; want %v and %g", what, r.Time, r.GPUHours, took, (2 * work).Hours())
		}
	}
	verification := 2*time.Minute + 40*time.Second + 8*time.Minute
	expect("before", 3*launch+verification, 4*launch+verification)
	f.Take(study.Event{Kind: study.EventStage, Text: "first"})
	expect("in the stage of two", 2*launch+verification, 3*launch+verification)
	for lane := 1; lane <= 2; lane++ {
		f.Take(study.Event{Kind: study.EventLaunch, Lane: lane})
		f.Take(study.Event{Kind: study.EventReady, Lane: lane, Elapsed: time.Minute})
	}
	expect("with both loaded", 20*time.Second+launch+verification, 40*time.Second+launch+verification)
}
