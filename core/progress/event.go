package progress

import (
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Format is the version of Event and State that this code writes. A reader takes
// members that it does not know for additions.
const Format = 1

// Kind tells events apart.
type Kind string

// The kinds, in the order in which they usually come.
const (
	KindStart    Kind = "start"    // the first line: who runs what, and the estimate
	KindStage    Kind = "stage"    // a stage begins
	KindLaunch   Kind = "launch"   // a server is being started
	KindReady    Kind = "ready"    // it answers
	KindProgress Kind = "progress" // what is going on; these are thinned out and may be missed
	KindTrial    Kind = "trial"    // a trial was measured, well or not
	KindFailed   Kind = "failed"   // a launch failed, and with it its trials
	KindKnown    Kind = "known"    // trials of earlier runs that are not measured again
	KindBest     Kind = "best"     // a trial is the best so far
	KindLeft     Kind = "left"     // what has ended and what is left
	KindStopped  Kind = "stopped"  // the server has ended
	KindDecision Kind = "decision" // the search decided something
	KindWarning  Kind = "warning"
	KindEnding   Kind = "ending" // a person asked the run to end after the trial in progress
	KindNote     Kind = "note"   // anything else that is said on stderr
	KindEnd      Kind = "end"    // the last line: how the run ended
)

// Event is one step of a run. Which members an event has hangs on its kind;
// docs/studies.md has the table. Times are UTC, durations seconds.
type Event struct {
	Event Kind      `json:"event"`
	At    time.Time `json:"at,omitzero"`
	Text  string    `json:"text,omitempty"` // for people

	// Lane tells launches apart that are in progress at once, from 1 on; 0 is the only one.
	Lane int `json:"lane,omitempty"` // launch, ready, progress, trial, failed, stopped

	Format int      `json:"format,omitempty"` // start
	Study  string   `json:"study,omitempty"`  // start
	Owner  *Owner   `json:"owner,omitempty"`  // start
	Stage  string   `json:"stage,omitempty"`
	Option string   `json:"option,omitempty"`
	Config string   `json:"config,omitempty"` // launch: in one line
	Trials int      `json:"trials,omitempty"` // launch, failed, known: how many it is about
	Ready  *float64 `json:"ready_s,omitempty"`

	Phase   string   `json:"phase,omitempty"` // progress: load, warm-up, measure, stop, …
	Done    int      `json:"done,omitempty"`  // progress: requests
	Total   int      `json:"total,omitempty"`
	Elapsed *float64 `json:"elapsed_s,omitempty"`  // progress, trial, stopped
	Rate    *float64 `json:"output_tps,omitempty"` // progress: tokens of ended answers per second

	Trial *Trial `json:"trial,omitempty"`
	Best  *Best  `json:"best,omitempty"`
	Left  *Left  `json:"left,omitempty"` // start, left, end
	End   *End   `json:"end,omitempty"`
}

// Owner is the process that runs a study.
type Owner struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Trial is a trial as an event has it. The history has the whole of it.
type Trial struct {
	ID          core.ID           `json:"id"`
	Number      int64             `json:"number,omitempty"` // absent where it is recorded nowhere
	Workload    string            `json:"workload"`
	Load        string            `json:"load"`
	Repeat      int               `json:"repeat,omitempty"`
	Attempt     int               `json:"attempt,omitempty"`
	Stage       string            `json:"stage,omitempty"`
	Option      string            `json:"option,omitempty"`
	Status      core.Status       `json:"status"`
	Failure     core.FailureClass `json:"failure,omitempty"`
	FailureText string            `json:"failure_text,omitempty"`
	Figures     core.Figures      `json:"figures,omitempty"`
}

// TrialOf is what an event says of a trial.
func TrialOf(t *core.Trial) *Trial {
	if t == nil {
		return nil
	}
	return &Trial{ID: t.ID, Number: t.Number, Workload: t.Workload.Label(), Load: t.Load.Label(), Repeat: t.Repeat, Attempt: t.Attempt,
		Stage: t.Stage, Option: t.Option, Status: t.Status, Failure: t.Failure, FailureText: t.FailureText, Figures: t.Figures}
}

// Best is the trial with the best value of the objective so far.
type Best struct {
	Trial  core.ID `json:"trial"`
	Number int64   `json:"number,omitempty"`
	Stage  string  `json:"stage,omitempty"`
	Option string  `json:"option,omitempty"`
	Value  float64 `json:"value"`
	Of     string  `json:"of"` // the objective
}

// Left counts trials: of this run, and at most to come.
type Left struct {
	Done   int `json:"done"`   // measured by this run, well or not
	Failed int `json:"failed"` // of those
	Known  int `json:"known"`  // that earlier runs had measured
	Trials int `json:"trials"` // at most to come
	// Seconds are about how long that takes; GPUHours what it costs.
	Seconds  float64 `json:"seconds"`
	GPUHours float64 `json:"gpu_hours"`
	// Budget says that the study's budget ends the run before all is done.
	Budget  bool   `json:"budget,omitempty"`
	Assumed string `json:"assumed,omitempty"` // what seconds rests on
}

// End is how a run ended.
type End struct {
	// Outcome is done, stopped (a person ended it), budget, nothing (no trial qualifies)
	// or error.
	Outcome  string   `json:"outcome"`
	ExitCode int      `json:"exit_code"`
	Error    string   `json:"error,omitempty"`
	Baseline string   `json:"baseline,omitempty"` // configurations in one line
	Winner   string   `json:"winner,omitempty"`
	Tied     []string `json:"tied,omitempty"`
}
