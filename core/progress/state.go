package progress

import (
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// State is where a run stands: what its events so far come to.
type State struct {
	Format    int       `json:"format"`
	Study     string    `json:"study"`
	Owner     Owner     `json:"owner"`
	Started   time.Time `json:"started"`
	Heartbeat time.Time `json:"heartbeat"` // when this was written

	Stage  string `json:"stage,omitempty"`
	Config string `json:"config,omitempty"` // of the launch in progress

	Phase   string    `json:"phase,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when the phase began
	Message string    `json:"message,omitempty"`
	Done    int       `json:"done,omitempty"` // requests of the trial in progress
	Total   int       `json:"total,omitempty"`
	Rate    *float64  `json:"output_tps,omitempty"`

	Left     Left   `json:"left"`
	Best     *Best  `json:"best,omitempty"`
	Failures []Fail `json:"failures,omitempty"` // the last few
	// Ending says that a person asked the run to end.
	Ending bool `json:"ending,omitempty"`
	End    *End `json:"end,omitempty"`
}

// Fail is something that failed and why.
type Fail struct {
	What   string `json:"what"`
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// keptFailures is how many failures a state names.
const keptFailures = 3

// Take lays one event over the state.
func (s *State) Take(e Event) {
	s.Heartbeat = e.At
	switch e.Event {
	case KindStart:
		*s = State{Format: Format, Study: e.Study, Started: e.At, Heartbeat: e.At}
		if e.Owner != nil {
			s.Owner = *e.Owner
		}
	case KindStage:
		s.Stage, s.Config = e.Stage, ""
		s.phase(Event{At: e.At})
	case KindLaunch:
		s.Config = e.Config
		s.phase(Event{At: e.At, Phase: "launch"})
	case KindReady:
		s.phase(Event{At: e.At, Phase: "ready"})
	case KindProgress:
		s.phase(e)
	case KindTrial, KindFailed:
		s.phase(Event{At: e.At})
		if t := e.Trial; t != nil && t.Status == core.StatusFailed {
			s.Failures = append(s.Failures, Fail{What: t.Option + " " + t.Workload + " " + t.Load, Class: string(t.Failure), Reason: t.FailureText})
			s.Failures = s.Failures[max(0, len(s.Failures)-keptFailures):]
		}
	case KindBest:
		s.Best = e.Best
	case KindEnding:
		s.Ending = true
	case KindEnd:
		s.End, s.Config = e.End, ""
		s.phase(Event{At: e.At})
	}
	if e.Left != nil {
		s.Left = *e.Left
	}
}

func (s *State) phase(e Event) {
	if e.Phase != s.Phase || e.Phase == "" {
		s.Since = e.At
	}
	s.Phase, s.Message, s.Done, s.Total, s.Rate = e.Phase, e.Text, e.Done, e.Total, e.Rate
}
