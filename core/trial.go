package core

import (
	"fmt"
	"slices"
	"time"
)

// Status is where a trial stands.
type Status string

// The states of a trial.
const (
	StatusPlanned   Status = "planned"
	StatusLaunching Status = "launching"
	StatusRunning   Status = "running"
	StatusOK        Status = "ok"
	StatusFailed    Status = "failed"
	StatusStopped   Status = "stopped" // raced out: a surely losing trial
	StatusAborted   Status = "aborted" // ended by a person
	StatusLost      Status = "lost"    // its owner died
	StatusRetracted Status = "retracted"
)

// Statuses lists every state.
func Statuses() []Status {
	return []Status{StatusPlanned, StatusLaunching, StatusRunning, StatusOK, StatusFailed, StatusStopped,
		StatusAborted, StatusLost, StatusRetracted}
}

// Open reports whether the trial has not ended.
func (s Status) Open() bool {
	return s == StatusPlanned || s == StatusLaunching || s == StatusRunning
}

// Role says why a trial was run.
type Role string

// The roles. Empty is not known.
const (
	RoleBaseline     Role = "baseline"
	RoleCandidate    Role = "candidate"
	RoleVerification Role = "verification"
)

// Trial is one benchmark of one launch on one workload at one load: the row of
// the history. A planned trial exists before its launch; a failed launch fails
// all its trials; a retry is a new trial with the next Attempt.
type Trial struct {
	ID          ID           `json:"id"`
	Number      int64        `json:"number,omitempty"` // local to one history
	Study       string       `json:"study,omitempty"`
	Stage       string       `json:"stage,omitempty"`
	Option      string       `json:"option,omitempty"`
	Role        Role         `json:"role,omitempty"`
	Status      Status       `json:"status"`
	Failure     FailureClass `json:"failure,omitempty"`
	FailureText string       `json:"failure_text,omitempty"`
	Attempt     int          `json:"attempt,omitempty"`
	Repeat      int          `json:"repeat,omitempty"`

	Setup    Setup    `json:"setup"`
	Workload Workload `json:"workload"`
	Load     Load     `json:"load"`
	Launch   *Launch  `json:"launch,omitempty"`
	Host     string   `json:"host,omitempty"`

	StartedAt   time.Time `json:"started_at,omitzero"` // UTC; zero is unknown
	EndedAt     time.Time `json:"ended_at,omitzero"`
	ZoneAssumed bool      `json:"zone_assumed,omitempty"` // the source gave no zone; UTC was taken

	Figures Figures `json:"figures,omitempty"`
	// Derived says of a figure that Sweepbook worked out how it was worked out.
	Derived   map[string]string `json:"derived,omitempty"`
	Throttled Value             `json:"throttled"`
	Course    *Course           `json:"course,omitempty"` // of its GPUs; nil is none
	Quality   map[string]Value  `json:"quality,omitempty"`
	Extra     map[string]Value  `json:"extra,omitempty"`

	Tags             []string    `json:"tags,omitempty"`
	Asserted         []string    `json:"asserted,omitempty"` // fields that a person set
	SweepbookVersion string      `json:"sweepbook_version,omitempty"`
	Sources          []Source    `json:"sources,omitempty"`
	Findings         []Finding   `json:"findings,omitempty"`
	Assertions       []Assertion `json:"assertions,omitempty"`
}

// RepeatKey is equal for trials that repeat each other: the same setup, workload
// and load, seed aside.
func (t *Trial) RepeatKey() string {
	return t.Setup.Hash() + "/" + t.Workload.Hash() + "/" + t.Load.Hash()
}

// Derive works out what follows from the trial's own figures and settings and
// marks it in Derived. It forgets earlier derivations first, so that it may be
// called again after a correction. A figure that the source gives is never
// overwritten, but duration_tps is always recomputed.
func (t *Trial) Derive() {
	if t.Figures == nil {
		t.Figures = Figures{}
	}
	for name := range t.Derived {
		delete(t.Figures, name)
	}
	t.Derived = map[string]string{}
	derive := func(name string, v float64, ok bool, how string) {
		if _, given := t.Figures[name]; given || !ok {
			return
		}
		t.Figures.Set(name, v)
		t.Derived[name] = how
	}
	f := t.Figures
	completed, haveCompleted := f["completed"]
	if n, ok := f["failed"]; ok && haveCompleted {
		derive("requested", completed+n+f["incomplete"], true, "completed + failed + incomplete")
	} else if t.Load.NumPrompts.Kind == KindNumber && !t.Load.NumPrompts.IsUnlimited() {
		derive("requested", t.Load.NumPrompts.Num, true, "number of prompts of the command or profile")
	}
	if requested, ok := f["requested"]; ok && haveCompleted && requested-f["incomplete"] > 0 {
		derive("success_rate", completed/(requested-f["incomplete"]), true, "completed / (requested - incomplete)")
	}
	v, ok := f.ratio("input_tokens", "completed")
	derive("mean_input_len", v, ok, "input_tokens / completed")
	v, ok = f.ratio("output_tokens", "completed")
	derive("mean_output_len", v, ok, "output_tokens / completed")

	delete(f, "duration_tps")
	in, okIn := f["input_tokens"]
	out, okOut := f["output_tokens"]
	if d := f["duration_s"]; okIn && okOut && d > 0 {
		derive("duration_tps", (in+out)/d, true, "(input_tokens + output_tokens) / duration_s")
	}
	if _, measured := f["mean_e2el_ms"]; !measured {
		ttft, okT := f["mean_ttft_ms"]
		tpot, okP := f["mean_tpot_ms"]
		n, okN := f.ratio("output_tokens", "completed")
		derive("est_e2el_ms", ttft+tpot*(n-1), okT && okP && okN, "mean_ttft_ms + mean_tpot_ms × (output_tokens/completed - 1)")
	}
	v, ok = f.ratio("energy_j", "output_tokens")
	derive("joules_per_output_token", v, ok, "energy_j / output_tokens")
	if haveCompleted && completed == 0 {
		t.dropUnmeasured()
	}
}

// dropUnmeasured: a run in which nothing completed has no latency and no rate,
// though many tools print 0 for them, and it has failed.
func (t *Trial) dropUnmeasured() {
	for name := range t.Figures {
		f, _ := LookupField(name)
		if f.Group == GroupLatency || (f.Group == GroupRates && name != "peak_concurrency" && name != "mean_concurrency") {
			delete(t.Figures, name)
			delete(t.Derived, name)
		}
	}
	if t.Status == StatusOK {
		t.Status = StatusFailed
		if t.Failure == "" {
			t.Failure = RequestsFailed
		}
	}
}

// Validate reports the first thing that makes a trial unfit to be stored.
func (t *Trial) Validate() error {
	if t.ID.IsZero() {
		return fmt.Errorf("trial: %w: no id", ErrInvalid)
	}
	if !slices.Contains(Statuses(), t.Status) {
		return fmt.Errorf("trial %s: %w: status %q", t.ID, ErrInvalid, t.Status)
	}
	for name, v := range t.Figures {
		f, ok := LookupField(name)
		if !ok || !f.Figure() {
			return fmt.Errorf("trial %s: %w: %q is no figure", t.ID, ErrInvalid, name)
		}
		if v != v || v > maxFigure || v < -maxFigure {
			return fmt.Errorf("trial %s: %w: %s is not finite", t.ID, ErrInvalid, name)
		}
	}
	return nil
}

const maxFigure = 1.7976931348623157e308
