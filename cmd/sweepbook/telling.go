package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// tellerOf makes what tells of the run of a study that is held: with an estimate from
// what this history knows, and a journal for attach and status.
func (a *app) tellerOf(ctx context.Context, db *store.DB, file *study.File, j judge, ui *teller, redact func(string) string) (*runTeller, error) {
	s := &file.Study
	durations, err := a.seen(ctx, db)
	if err != nil {
		return nil, err
	}
	t := &runTeller{teller: ui, forecast: study.NewForecast(s, durations), goal: s.Objective, redact: redact, moved: map[int]moved{}}
	// What the objective says itself of groups and ties leaves no order to tell.
	if ranking, err := j.Rank(ctx, s.Objective, nil); err == nil {
		t.value = func(trial *core.Trial) (float64, bool, bool) {
			if trial.Workload.Name != s.DecideOn {
				return 0, false, false
			}
			v, ok := j.valueOf(ctx, s.Objective, trial.ID)
			return v, ranking.Lower, ok
		}
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

// valueOf is the objective's value of one trial, where it qualifies and may decide. A
// question that cannot be answered is the search's to report.
func (j judge) valueOf(ctx context.Context, objective string, trial core.ID) (float64, bool) {
	if err := j.accept(ctx); err != nil {
		return 0, false
	}
	answer, err := query.Run(ctx, subset{j.src, []core.ID{trial}}, objective, query.Options{Now: j.app.now()})
	if err != nil || len(answer.Rows) == 0 || slices.Contains(answer.Severity, core.SeverityVoid) {
		return 0, false
	}
	return answer.Rows[0][0].Num, true
}
