package main

import (
	"context"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/store"
)

// tellerOf makes what tells of the run of a study that is held: with an estimate from
// what this history knows, and a journal for attach and status.
func (a *app) tellerOf(ctx context.Context, db *store.DB, file *study.File, j judge, ui *teller) (*runTeller, error) {
	s := &file.Study
	durations, err := a.seen(ctx, db)
	if err != nil {
		return nil, err
	}
	t := &runTeller{teller: ui, forecast: study.NewForecast(s, durations), goal: s.Objective}
	t.value = func(trial *core.Trial) (float64, bool, bool) {
		if trial.Workload.Name != s.DecideOn {
			return 0, false, false
		}
		// What the objective says itself of ties leaves no order, and a void figure decides
		// nothing: neither is told.
		r, err := j.Rank(ctx, s.Objective, []core.ID{trial.ID})
		v, ok := r.Figures[trial.ID]
		return v, r.Lower, err == nil && ok
	}
	if t.journal, err = progress.NewJournal(runFiles(db.Path(), s.Name), a.now, func(err error) { a.warn("%v", err) }); err != nil {
		return nil, err
	}
	trials, err := runStore{DB: db, app: a}.Trials(ctx, s.Name)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", s.Name, err)
	}
	left := study.NewForecast(s, durations)
	left.Settle(trials)
	t.start(s.Name, left.Left(), left.Assumed())
	go func() {
		select {
		case <-a.stopping:
			t.journal.Take(progress.Event{Event: progress.KindEnding, At: a.now().UTC()})
		case <-t.journal.Done():
		}
	}()
	return t, nil
}
