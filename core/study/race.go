package study

import (
	"context"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// raced says why a candidate needs no further repeats, "" where it may still win.
func (s standings) raced(c candidate) string {
	best, own := s.pair(c)
	if best == nil || own == nil || !s.loses(*best, *own) {
		return ""
	}
	return fmt.Sprintf("raced out: %.2g %% behind the best so far after %s", 100*s.gain(best.value, own.value), times(len(own.repeats), "repeat"))
}

// pair finds a candidate and what it is put against, nil where one does not qualify.
func (s standings) pair(c candidate) (best, own *standing) {
	for i := range s.rows {
		switch s.rows[i].config.Hash() {
		case c.against.Hash():
			best = &s.rows[i]
		case c.config.Hash():
			own = &s.rows[i]
		}
	}
	return best, own
}

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// raceKnown gives up what is left of a candidate by what is on record of it.
func (r *Runner) raceKnown(ctx context.Context, c candidate, workloads []core.NamedWorkload) error {
	if r.racing == nil {
		return nil
	}
	why, err := r.racing(ctx)
	if err != nil {
		return fmt.Errorf("objective: %w", err)
	}
	if why == "" {
		return nil
	}
	rest, _ := r.trials(c, workloads)
	return r.stopRest(ctx, rest, "", why)
}

// stopRest records trials that are not measured any more, with the reason. They are
// settled: running the study again does not measure them either.
func (r *Runner) stopRest(ctx context.Context, trials []*core.Trial, class core.FailureClass, why string) error {
	for _, t := range trials {
		t.Status, t.Failure, t.FailureText = core.StatusStopped, class, why
		t.EndedAt = r.Now().UTC()
		if err := r.Store.FinishTrial(context.WithoutCancel(ctx), t, nil); err != nil {
			return fmt.Errorf("record trial %s: %w", t.ID, err)
		}
		r.remember(t)
	}
	return nil
}
