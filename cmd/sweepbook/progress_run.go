package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/study"
)

// runTeller makes events for people and programs of what a runner does: with the
// best so far, and what is left. It tells them to who called, and keeps them in a
// journal for other processes.
type runTeller struct {
	*teller
	journal  *progress.Journal // nil keeps none
	forecast *study.Forecast   // nil foresees nothing
	// value is the objective's value of one trial, and whether lower is better; not ok
	// where the trial does not qualify.
	value func(*core.Trial) (v float64, lower, ok bool)
	goal  string // the objective
	// redact keeps secrets out of what servers said, since it goes into files; nil keeps
	// it as it is.
	redact func(string) string

	counting sync.Mutex
	left     progress.Left
	best     *progress.Best
	moved    map[int]moved // the progress that was told last, by lane
}

type moved struct {
	told  time.Time
	phase string
}

// tell gives one event on.
func (t *runTeller) tell(e progress.Event) {
	if e.At.IsZero() {
		e.At = t.app.now().UTC()
	}
	if t.journal != nil {
		t.journal.Take(e)
	}
	t.take(e)
}

// start is the first event, with the estimate.
func (t *runTeller) start(name string, left study.Remaining, assumed string) {
	host, _ := os.Hostname()
	l := leftOf(left)
	l.Assumed = assumed
	t.tell(progress.Event{Event: progress.KindStart, Format: progress.Format, Study: name, Owner: &progress.Owner{Host: host, PID: os.Getpid()}, Left: &l})
}

func leftOf(r study.Remaining) progress.Left {
	return progress.Left{Trials: r.Trials, Seconds: r.Time.Seconds(), GPUHours: r.GPUHours, Budget: r.Budget}
}

// event takes what the runner says. Progress comes from other goroutines.
func (t *runTeller) event(e study.Event) {
	if t.redact != nil {
		e.Text = t.redact(e.Text)
	}
	t.counting.Lock()
	if t.forecast != nil {
		t.forecast.Take(e)
	}
	t.counting.Unlock()
	trial := progress.TrialOf(e.Trial)
	switch e.Kind {
	case study.EventStage:
		t.tell(progress.Event{Event: progress.KindStage, Stage: e.Text})
		t.tellLeft(0, 0)
	case study.EventLaunch:
		out := progress.Event{Event: progress.KindLaunch, Lane: e.Lane, Config: e.Text, Trials: e.Total}
		if trial != nil {
			out.Stage, out.Option = trial.Stage, trial.Option
		}
		t.tell(out)
	case study.EventReady:
		s := e.Elapsed.Seconds()
		t.tell(progress.Event{Event: progress.KindReady, Lane: e.Lane, Ready: &s})
	case study.EventFailed:
		t.tell(progress.Event{Event: progress.KindFailed, Lane: e.Lane, Trial: trial, Trials: e.Total})
		if e.Trial.Status == core.StatusFailed { // else it was ended by a person, and is still to be measured
			t.tellLeft(e.Total, e.Total)
		}
	case study.EventKnown:
		t.tell(progress.Event{Event: progress.KindKnown, Trial: trial, Trials: e.Total})
		t.known(max(1, e.Total))
		t.tellBest(e.Trial)
	case study.EventTrial:
		out := progress.Event{Event: progress.KindTrial, Lane: e.Lane, Trial: trial}
		if e.Elapsed > 0 {
			s := e.Elapsed.Seconds()
			out.Elapsed = &s
		}
		t.tell(out)
		t.tellBest(e.Trial)
		switch e.Trial.Status {
		case core.StatusFailed:
			t.tellLeft(1, 1)
		case core.StatusAborted:
		default:
			t.tellLeft(1, 0)
		}
	case study.EventStopped:
		s := e.Elapsed.Seconds()
		t.tell(progress.Event{Event: progress.KindStopped, Lane: e.Lane, Elapsed: &s})
	case study.EventDecision:
		t.tell(progress.Event{Event: progress.KindDecision, Text: e.Text})
	case study.EventWarning:
		t.tell(progress.Event{Event: progress.KindWarning, Text: e.Text})
	case study.EventProgress:
		t.moves(e)
	}
}

// moves tells what is going on, thinned out: programs and files want no more of it
// than an eye does.
func (t *runTeller) moves(e study.Event) {
	phase, text, _ := strings.Cut(strings.TrimSpace(e.Text), " ")
	now := t.app.now()
	t.counting.Lock()
	last := t.moved[e.Lane]
	recent := now.Sub(last.told) < redraw && phase == last.phase
	if !recent {
		t.moved[e.Lane] = moved{now, phase}
	}
	t.counting.Unlock()
	if recent {
		return
	}
	out := progress.Event{Event: progress.KindProgress, Lane: e.Lane, Phase: strings.TrimSuffix(phase, ":"), Text: oneLine(text), Done: e.Done, Total: e.Total}
	if e.Elapsed > 0 {
		s := e.Elapsed.Seconds()
		rate := float64(e.Tokens) / s
		out.Elapsed, out.Rate = &s, &rate
	}
	t.tell(out)
}

func (t *runTeller) known(n int) {
	t.counting.Lock()
	defer t.counting.Unlock()
	t.left.Known += n
}

// tellLeft counts what ended and says what is left.
func (t *runTeller) tellLeft(done, failed int) {
	t.counting.Lock()
	t.left.Done += done
	t.left.Failed += failed
	if t.forecast != nil {
		l := leftOf(t.forecast.Left())
		t.left.Trials, t.left.Seconds, t.left.GPUHours, t.left.Budget = l.Trials, l.Seconds, l.GPUHours, l.Budget
		t.left.Assumed = t.forecast.Assumed()
	}
	left := t.left
	t.counting.Unlock()
	if t.forecast != nil {
		t.tell(progress.Event{Event: progress.KindLeft, Left: &left})
	}
}

// tellBest says where a trial is the best so far. It is a single trial: what decides
// is the search, over repeats.
func (t *runTeller) tellBest(trial *core.Trial) {
	if t.value == nil || trial == nil || trial.Status != core.StatusOK {
		return
	}
	v, lower, ok := t.value(trial)
	if !ok || t.best != nil && (v == t.best.Value || (v < t.best.Value) != lower) {
		return
	}
	t.best = &progress.Best{Trial: trial.ID, Number: trial.Number, Stage: trial.Stage, Option: trial.Option, Value: v, Of: t.goal}
	t.tell(progress.Event{Event: progress.KindBest, Best: t.best})
}

// finish is the last event, and gives stderr back.
func (t *runTeller) finish(res study.Result, err error) {
	t.counting.Lock()
	left := t.left
	t.counting.Unlock()
	e := progress.End{Outcome: "done", Baseline: describe(res.Baseline)}
	switch {
	case errors.Is(err, study.ErrStopped):
		e.Outcome, e.ExitCode, e.Error = "stopped", exitInterrupted, err.Error()
	case errors.Is(err, study.ErrBudget):
		e.Outcome, e.ExitCode, e.Error = "budget", exitError, err.Error()
	case err != nil:
		e.Outcome, e.ExitCode, e.Error = "error", codeOf(context.Background(), err), err.Error()
	case len(res.Winners) == 0:
		e.Outcome, e.ExitCode = "nothing", exitNothing
	default:
		e.Winner = describe(res.Winner)
		for _, c := range res.Tied {
			e.Tied = append(e.Tied, describe(c))
		}
	}
	if err == nil {
		left.Trials, left.Seconds, left.GPUHours = 0, 0, 0
	}
	t.tell(progress.Event{Event: progress.KindEnd, End: &e, Left: &left})
	t.end()
	if t.journal != nil {
		_ = t.journal.Close() // nothing hangs on it
	}
}

func describe(c core.Config) string {
	if c.Engine == "" {
		return ""
	}
	return study.Describe(c)
}
