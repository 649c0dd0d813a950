package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) statusCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "status",
		Usage:     "where every study stands: who runs it, its heartbeat, what is done, failed and left, the best so far",
		ArgsUsage: "[STUDY …]",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			path, _, err := a.databasePath(cmd)
			if err != nil {
				return err
			}
			// A run tells of itself before there is a trial.
			states := map[string]progress.State{}
			names := []string{}
			for _, s := range a.states(path) {
				states[s.Study] = s
				names = append(names, s.Study)
			}
			var db *store.DB
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || len(names) == 0 {
				if db, err = a.openRead(ctx, cmd); err != nil {
					return err
				}
				defer db.Close()
				more, err := db.Studies(ctx)
				if err != nil {
					return err
				}
				names = append(names, more...)
			}
			slices.Sort(names)
			names = slices.Compact(names)
			if asked := cmd.Args().Slice(); len(asked) > 0 {
				for _, name := range asked {
					if err := a.knownStudy(ctx, cmd, path, name); err != nil {
						return err
					}
				}
				names = asked
			}
			counts, err := a.countTrials(ctx, db)
			if err != nil {
				return err
			}
			out := table{columns: statusColumns()}
			for _, name := range names {
				row, err := a.statusOf(ctx, db, path, name, states[name], counts[name])
				if err != nil {
					return fmt.Errorf("status of study %s: %w", name, err)
				}
				out.rows = append(out.rows, row)
			}
			return a.table(cmd, out)
		},
	})
}

func statusColumns() []query.Column {
	return []query.Column{
		{Name: "study", Type: core.TextType},
		{Name: "state", Type: core.TextType},
		{Name: "pid", Type: core.NumberType},
		{Name: "host", Type: core.TextType},
		{Name: "heartbeat", Type: core.TimeType},
		{Name: "at", Type: core.TextType},
		{Name: "done", Type: core.NumberType},
		{Name: "failed", Type: core.NumberType},
		{Name: "left", Type: core.NumberType},
		{Name: "time_left_s", Unit: "s", Type: core.NumberType},
		{Name: "best", Type: core.NumberType},
		{Name: "best_trial", Type: core.NumberType},
		{Name: "objective", Type: core.TextType},
	}
}

// trialCounts are the trials of one study in the history, of all its runs.
type trialCounts struct{ ended, failed float64 }

func (a *app) countTrials(ctx context.Context, db *store.DB) (map[string]trialCounts, error) {
	counts := map[string]trialCounts{}
	if db == nil {
		return counts, nil
	}
	answer, err := query.Run(ctx, db, `show study, status, count() as n where known(study) by study, status`, query.Options{Now: a.now()})
	if err != nil {
		return nil, err
	}
	for _, row := range answer.Rows {
		c := counts[row[0].Text]
		switch core.Status(row[1].Text) {
		case core.StatusOK, core.StatusStopped:
			c.ended += row[2].Num
		case core.StatusFailed:
			c.ended += row[2].Num
			c.failed += row[2].Num
		}
		counts[row[0].Text] = c
	}
	return counts, nil
}

func (a *app) statusOf(ctx context.Context, db *store.DB, path, name string, s progress.State, n trialCounts) ([]core.Value, error) {
	h, standing, err := store.StudyHolder(path, name)
	if err != nil {
		return nil, err
	}
	pid, host, heartbeat, left, seconds := core.Value{}, core.Value{}, core.Value{}, core.Value{}, core.Value{}
	if !s.Heartbeat.IsZero() {
		heartbeat = core.Number(float64(s.Heartbeat.UnixMicro()) / 1e6)
		left = core.Number(float64(s.Left.Trials))
	}
	if standing != store.HolderNone {
		pid, host = core.Number(float64(h.PID)), core.OptionalText(h.Host)
	}
	state := stateOf(s, h, standing, a.now())
	if standing == store.HolderAlive || standing == store.HolderElsewhere {
		seconds = core.Number(math.Round(s.TimeLeft(a.now()).Seconds()))
	}
	at := s.Stage
	switch {
	case len(s.Lanes) > 1:
		at += fmt.Sprintf(": %d launches", len(s.Lanes))
	case len(s.Lanes) == 1:
		at += ": " + s.Lanes[0].Phase
	case s.Phase != "":
		at += ": " + s.Phase
	}
	best, trial, objective, err := a.bestOf(ctx, db, name)
	if err != nil {
		return nil, err
	}
	return []core.Value{core.String(name), core.String(state), pid, host, heartbeat, core.OptionalText(at), core.Number(n.ended), core.Number(n.failed),
		left, seconds, best, trial, core.OptionalText(objective)}, nil
}

// stateOf says in a word what becomes of a study: running, ending (it was asked to),
// silent (its process is there and tells nothing), gone (it was killed), elsewhere, or
// how its last run ended; idle where none has told of itself.
func stateOf(s progress.State, h store.Holder, standing store.Standing, now time.Time) string {
	switch {
	case standing == store.HolderGone:
		return "gone"
	case standing == store.HolderElsewhere && now.Sub(s.Heartbeat) > silence:
		return "elsewhere"
	case standing != store.HolderNone && now.Sub(s.Heartbeat) > silence && now.Sub(h.Since) > silence:
		return "silent"
	case standing != store.HolderNone && s.Ending:
		return "ending"
	case standing != store.HolderNone:
		return "running"
	case s.End != nil:
		return s.End.Outcome
	}
	return "idle"
}

// bestOf is the best trial of a study by its own objective, on the workload that
// decides; missing where the study has none, or nothing qualifies.
func (a *app) bestOf(ctx context.Context, db *store.DB, name string) (value, number core.Value, objective string, err error) {
	if db == nil {
		return value, number, "", nil
	}
	saved, err := db.Study(ctx, name)
	if errors.Is(err, core.ErrNotFound) {
		return value, number, "", nil
	}
	if err != nil {
		return value, number, "", err
	}
	var s core.Study
	if err := json.Unmarshal(saved.Resolved, &s); err != nil {
		return value, number, "", err
	}
	answer, err := query.Run(ctx, deciding{db, name, s.DecideOn}, combined(s.Objective), query.Options{Now: a.now()})
	if query.IsUsage(err) { // written in an older language, say
		a.warn("study %s: its objective cannot be asked: %v", name, err)
		return value, number, s.Objective, nil
	}
	if err != nil || len(answer.Rows) == 0 {
		return value, number, s.Objective, err
	}
	row := answer.Rows[0]
	if answer.SoundWinner != nil && len(answer.Severity) > 0 && answer.Severity[0] == core.SeverityVoid {
		row = answer.SoundWinner
	}
	if column := answer.Column("number"); column >= 0 {
		number = row[column]
	}
	return row[0], number, s.Objective, nil
}

// deciding is a history without all but the trials by which a study decides.
type deciding struct {
	query.Source
	study, workload string
}

func (d deciding) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	sel.Where = append(slices.Clone(sel.Where),
		core.Cond{Field: "study", Op: core.OpEq, Values: []core.Value{core.String(d.study)}},
		core.Cond{Field: "workload", Op: core.OpEq, Values: []core.Value{core.String(d.workload)}})
	return d.Source.Rows(ctx, sel)
}
