package study

import (
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Forecast is what a run may still have to do, kept up with its events. It counts
// what the study could need at most: options that turn out equal to the best so far,
// and stages whose condition does not hold, take less. A confirmation and the draws
// of a second look are not foreseen.
type Forecast struct {
	study  *core.Study
	stages []*ahead
	at     int          // index of the stage in progress
	ready  map[int]bool // the lanes in which a server is: its load lies behind
	took   Durations
	seen   map[string]mean // of this run, by workload; "" is a launch becoming ready
	spent  time.Duration   // GPU time of all runs
	ended  int             // trials that count against the budget
}

// ahead is one stage of a forecast.
type ahead struct {
	name     string
	launches int
	planned  int            // trials of all launches
	trials   map[string]int // by workload, of those what has not ended
}

type mean struct {
	sum time.Duration
	n   int
}

// Remaining is what a forecast comes to.
type Remaining struct {
	Launches, Trials int
	Time             time.Duration // on the wall; 0 where nothing is left
	GPUHours         float64
	// Budget says that the study's budget ends it before all is done.
	Budget bool
}

// NewForecast lists what a study could need, with the durations that its history
// knows.
func NewForecast(s *core.Study, d Durations) *Forecast {
	f := &Forecast{study: s, took: d, seen: map[string]mean{}, ready: map[int]bool{}}
	for _, p := range possible(s) {
		f.add(p.Stage, max(1, p.Times), []core.NamedWorkload{*workload(s, s.DecideOn)})
	}
	if rest := verified(s); len(rest) > 0 {
		f.add("verification", len(s.Verify.Configs), rest)
	}
	return f
}

func (f *Forecast) add(stage string, launches int, workloads []core.NamedWorkload) {
	i := slices.IndexFunc(f.stages, func(a *ahead) bool { return a.name == stage })
	if i < 0 {
		i = len(f.stages)
		f.stages = append(f.stages, &ahead{name: stage, trials: map[string]int{}})
	}
	f.stages[i].launches += launches
	for _, w := range workloads {
		n := launches * len(w.Loads) * f.study.Run.Repeats
		f.stages[i].planned += n
		f.stages[i].trials[w.Workload.Name] += n
	}
}

// Take follows one event of the run.
func (f *Forecast) Take(e Event) {
	if e.Kind != EventProgress {
		f.spent = e.Spent
	}
	switch e.Kind {
	case EventStage:
		clear(f.ready)
		// The stages before it are through, whatever they left out.
		f.at = slices.IndexFunc(f.stages, func(a *ahead) bool { return a.name == e.Text })
		if f.at < 0 { // one that nobody foresaw
			f.at = len(f.stages)
			f.stages = append(f.stages, &ahead{name: e.Text, trials: map[string]int{}})
			// What comes after a search comes after this one as well.
			if n := f.at; n > 0 && f.stages[n-1].name == "verification" && e.Text != confirmation {
				f.stages[n-1], f.stages[n], f.at = f.stages[n], f.stages[n-1], n-1
			}
		}
	case EventLaunch, EventStopped:
		delete(f.ready, e.Lane)
	case EventReady:
		f.ready[e.Lane] = true
		f.learn("", e.Elapsed)
	case EventTrial:
		if e.Trial.Status == core.StatusAborted {
			return // it is still to be measured
		}
		f.learn(e.Trial.Workload.Name, e.Elapsed)
		f.end(e.Trial, 1)
		f.ended++
	case EventFailed:
		if e.Trial.Status != core.StatusAborted {
			f.end(e.Trial, e.Total)
			f.ended += e.Total
		}
	case EventKnown:
		f.end(e.Trial, max(1, e.Total))
		f.ended += max(1, e.Total)
	}
}

func (f *Forecast) ofStage() *ahead {
	if f.at >= len(f.stages) {
		return &ahead{trials: map[string]int{}}
	}
	return f.stages[f.at]
}

// end takes ended trials off their stage; a stage in which more is measured than was
// foreseen, by retries, has none left.
func (f *Forecast) end(t *core.Trial, n int) {
	left := f.ofStage().trials
	if n == 1 {
		left[t.Workload.Name] = max(0, left[t.Workload.Name]-1)
		return
	}
	for name := range left { // of a launch that failed: all its trials are of one stage
		took := min(n, left[name])
		left[name] -= took
		n -= took
	}
}

func (f *Forecast) learn(of string, took time.Duration) {
	m := f.seen[of]
	f.seen[of] = mean{m.sum + took, m.n + 1}
}

// duration is how long a trial of a workload takes, or a launch: as seen in this run,
// else in the history, else what is assumed.
func (f *Forecast) duration(of string) time.Duration {
	if m := f.seen[of]; m.n > 0 {
		return m.sum / time.Duration(m.n)
	}
	if of == "" {
		if f.took.Ready > 0 {
			return f.took.Ready
		}
		return assumedReady
	}
	if known := f.took.Trial[of]; known > 0 {
		return known
	}
	var all mean // another workload of the study says more than an assumption
	for name, m := range f.seen {
		if name != "" {
			all = mean{all.sum + m.sum, all.n + m.n}
		}
	}
	if all.n > 0 {
		return all.sum / time.Duration(all.n)
	}
	return assumedTrial
}

// Assumed says what the durations rest on.
func (f *Forecast) Assumed() string {
	if len(f.seen) > 0 {
		return "durations of this run"
	}
	return assumption(f.took)
}

// Left is what may still come.
func (f *Forecast) Left() Remaining {
	var r Remaining
	var work time.Duration // of all lanes
	for i := f.at; i < len(f.stages); i++ {
		a := f.stages[i]
		trials := 0
		var took time.Duration
		for name, n := range a.trials {
			trials += n
			took += time.Duration(n) * f.duration(name)
		}
		if trials > 0 {
			launches := (a.launches*trials + a.planned - 1) / a.planned
			lanes := f.lanes(a.name, launches)
			if i == f.at {
				launches -= min(launches, len(f.ready))
			}
			r.Trials += trials
			r.Launches += launches
			took += time.Duration(launches) * f.duration("")
			work += took
			r.Time += took / time.Duration(lanes)
		}
	}
	gpus := time.Duration(max(1, f.study.Hardware.GPUs))
	if limit := f.study.Run.Trials; limit > 0 && r.Trials > limit-f.ended {
		share := float64(max(0, limit-f.ended)) / float64(r.Trials)
		r.Trials, r.Budget = max(0, limit-f.ended), true
		r.Time, work = time.Duration(share*float64(r.Time)), time.Duration(share*float64(work))
	}
	if f.study.Run.GPUHours > 0 {
		if left := max(0, time.Duration(f.study.Run.GPUHours*float64(time.Hour))-f.spent); work*gpus > left {
			share := float64(left) / float64(work*gpus)
			r.Time, work, r.Budget = time.Duration(share*float64(r.Time)), left/gpus, true
		}
	}
	r.GPUHours = (work * gpus).Hours()
	return r
}

// lanes is how many of the launches that a stage still needs are made at once.
func (f *Forecast) lanes(stage string, launches int) int {
	switch stage {
	case "baseline", "verification", inFullStage, confirmation:
		return 1
	}
	return max(1, min(f.study.Run.Parallel, launches))
}

// Settle takes off what earlier runs have settled, for an estimate before the first
// event.
func (f *Forecast) Settle(trials []*core.Trial) {
	for _, t := range trials {
		ended := t.Status == core.StatusOK || t.Status == core.StatusStopped || t.Status == core.StatusFailed && !t.Failure.Infra()
		i := slices.IndexFunc(f.stages, func(a *ahead) bool { return a.name == t.Stage })
		if ended && i >= 0 {
			f.stages[i].trials[t.Workload.Name] = max(0, f.stages[i].trials[t.Workload.Name]-1)
		}
		if t.Status == core.StatusOK || t.Status == core.StatusFailed {
			f.ended++
		}
		// What is verified was measured on the deciding workload before.
		if i := slices.IndexFunc(f.stages, func(a *ahead) bool { return a.name == "verification" }); ended && i >= 0 && t.Stage == "baseline" {
			f.stages[i].trials[f.study.DecideOn] = 0
		}
	}
	f.spent = launchTime(trials) * time.Duration(max(1, f.study.Hardware.GPUs))
}
