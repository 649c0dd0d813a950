package progress

import (
	"slices"
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

	Stage string `json:"stage,omitempty"`
	Doing
	// Lanes are the launches in progress where a study makes several at once; Doing is
	// empty meanwhile.
	Lanes []Doing `json:"lanes,omitempty"`

	Left     Left   `json:"left"`
	Best     *Best  `json:"best,omitempty"`
	Failures []Fail `json:"failures,omitempty"` // the last few
	// Ending says that a person asked the run to end.
	Ending bool `json:"ending,omitempty"`
	End    *End `json:"end,omitempty"`
}

// Doing is a launch in progress and what is going on with it.
type Doing struct {
	Lane   int    `json:"lane,omitempty"`   // from 1 on
	Config string `json:"config,omitempty"` // in one line
	Option string `json:"option,omitempty"` // what sets it apart in its stage

	Phase   string    `json:"phase,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when the phase began
	Message string    `json:"message,omitempty"`
	Done    int       `json:"done,omitempty"` // requests of the trial in progress
	Total   int       `json:"total,omitempty"`
	Rate    *float64  `json:"output_tps,omitempty"`
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
	d := s.doing(e)
	switch e.Event {
	case KindStart:
		*s = State{Format: Format, Study: e.Study, Started: e.At, Heartbeat: e.At}
		if e.Owner != nil {
			s.Owner = *e.Owner
		}
	case KindStage:
		s.Stage, s.Config, s.Option, s.Lanes = e.Stage, "", "", nil
		s.phase(Event{At: e.At})
	case KindLaunch:
		d.Config, d.Option = e.Config, e.Option
		d.phase(Event{At: e.At, Phase: "launch"})
	case KindReady:
		d.phase(Event{At: e.At, Phase: "ready"})
	case KindProgress:
		d.phase(e)
	case KindStopped:
		d.Config, d.Option = "", ""
		d.phase(Event{At: e.At})
		s.Lanes = slices.DeleteFunc(s.Lanes, func(l Doing) bool { return l.Lane == e.Lane })
	case KindTrial, KindFailed:
		d.phase(Event{At: e.At})
		if t := e.Trial; t != nil && t.Status == core.StatusFailed {
			s.Failures = append(s.Failures, Fail{What: t.Option + " " + t.Workload + " " + t.Load, Class: string(t.Failure), Reason: t.FailureText})
			s.Failures = s.Failures[max(0, len(s.Failures)-keptFailures):]
		}
	case KindBest:
		s.Best = e.Best
	case KindEnding:
		s.Ending = true
	case KindEnd:
		s.End, s.Config, s.Option, s.Lanes = e.End, "", "", nil
		s.phase(Event{At: e.At})
	}
	if e.Left != nil {
		s.Left = *e.Left
	}
}

// doing is what an event is about: the one launch, or the one of its lane, which a
// launch begins. What comes late of a lane that has ended is about nothing.
func (s *State) doing(e Event) *Doing {
	if e.Lane == 0 {
		return &s.Doing
	}
	i := slices.IndexFunc(s.Lanes, func(l Doing) bool { return l.Lane >= e.Lane })
	switch {
	case i >= 0 && s.Lanes[i].Lane == e.Lane:
		return &s.Lanes[i]
	case e.Event != KindLaunch:
		return &Doing{}
	case i < 0:
		i = len(s.Lanes)
	}
	s.Lanes = slices.Insert(slices.Clone(s.Lanes), i, Doing{Lane: e.Lane})
	return &s.Lanes[i]
}

func (d *Doing) phase(e Event) {
	if e.Phase != d.Phase || e.Phase == "" {
		d.Since = e.At
	}
	d.Phase, d.Message, d.Done, d.Total, d.Rate = e.Phase, e.Text, e.Done, e.Total, e.Rate
}
