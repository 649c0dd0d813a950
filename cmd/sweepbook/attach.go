package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) attachCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "attach",
		Usage:     "follow a run of this or another process until it ends; Ctrl-C leaves the run alone",
		ArgsUsage: "[STUDY]",
		Flags:     []cli.Flag{progressFlag()},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			path, name, err := a.runOf(ctx, cmd)
			if err != nil {
				return err
			}
			return a.attachTo(ctx, cmd, path, name)
		},
	})
}

// silence is how long a run elsewhere may be silent and count as alive.
const silence = time.Minute

func (a *app) attachTo(ctx context.Context, cmd *cli.Command, path, name string) error {
	files := runFiles(path, name)
	t, err := a.newTeller(cmd.String("progress"))
	if err != nil {
		return err
	}
	defer t.end()
	var owner progress.Owner
	var end *progress.End
	if err = a.awaitTelling(ctx, cmd, path, name, files); err == nil {
		err = progress.Follow(ctx, files, func() bool { return a.runs(path, name, owner.PID) }, func(e progress.Event) {
			if e.Owner != nil {
				owner = *e.Owner
			}
			if e.End != nil {
				end = e.End
			}
			t.take(e)
		})
	}
	t.end()
	sb := self(cmd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hinted{fmt.Errorf("attach %s: no run of this study has told of itself here", name), sb + " status lists what runs"}
	case ctx.Err() != nil:
		a.say("left the run alone: it goes on")
		a.hint(sb + " stop " + shellWord(name) + " ends it after the trial in progress")
		return quietError{exitInterrupted}
	case errors.Is(err, progress.ErrGone):
		return hinted{fmt.Errorf("attach %s: %w: process %d on %s is gone", name, err, owner.PID, owner.Host), sb + " run STUDY.yaml takes it up again; what was measured is recorded"}
	case err != nil:
		return fmt.Errorf("attach %s: %w", name, err)
	}
	return a.sayEnd(cmd, end)
}

// awaitTelling waits while the process that holds a study has not told of itself: what
// lies there meanwhile is of the run before. It takes hold first and may then wait for
// a history that others write to.
func (a *app) awaitTelling(ctx context.Context, cmd *cli.Command, path, name string, files progress.Files) error {
	var awaited store.Holder
	for {
		h, standing, err := store.StudyHolder(path, name)
		if err != nil {
			return err
		}
		s, err := progress.ReadState(files) // after the look at the holder: what it told before its end is seen
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		switch {
		case standing != store.HolderAlive && awaited.PID != 0 && !tellsOf(s, awaited):
			return hinted{fmt.Errorf("process %d, which held the study, ended before it told of itself", awaited.PID), self(cmd) + " run STUDY.yaml takes it up again"}
		case standing != store.HolderAlive, tellsOf(s, h):
			return nil
		case awaited.PID != h.PID:
			a.say("process %d holds the study and has not told of itself yet: waiting for it", h.PID)
			awaited = h
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tellsOf tells whether a state is that of the run of a holder. Process numbers come
// again, in containers soon.
func tellsOf(s progress.State, h store.Holder) bool {
	return s.Owner.Host == h.Host && s.Owner.PID == h.PID && !s.Started.Before(h.Since)
}

// runs tells whether the run of a process may still be there.
func (a *app) runs(path, name string, pid int) bool {
	h, standing, err := store.StudyHolder(path, name)
	switch {
	case err != nil || standing == store.HolderNone || standing == store.HolderGone:
		return false
	case standing == store.HolderAlive:
		return pid == 0 || h.PID == pid
	}
	s, err := progress.ReadState(runFiles(path, name))
	return err == nil && s.End == nil && a.now().Sub(s.Heartbeat) < silence
}

// sayEnd says how a run ended as the run itself does, and ends with its code.
func (a *app) sayEnd(cmd *cli.Command, end *progress.End) error {
	var rows [][]string
	if end.Winner != "" {
		rows = append(rows, []string{"baseline", end.Baseline}, []string{"winner", end.Winner})
		for _, tied := range end.Tied {
			rows = append(rows, []string{"tied", tied})
		}
	}
	if cmd.String("output") == "table" {
		var lines [][2]string
		for _, row := range rows {
			lines = append(lines, [2]string{row[0], row[1]})
		}
		if err := pairs(a.stdout, lines); err != nil {
			return err
		}
	} else if err := a.table(cmd, textTable([]string{"role", "configuration"}, rows)); err != nil {
		return err
	}
	a.say("ended: %s", progress.EndText(*end))
	if end.ExitCode != exitOK {
		return quietError{end.ExitCode}
	}
	return nil
}

// runOf is the history and the study that a command means: by its name, by its file,
// or, where nothing is named, the only one that runs.
func (a *app) runOf(ctx context.Context, cmd *cli.Command) (path, name string, err error) {
	if path, _, err = a.databasePath(cmd); err != nil {
		return "", "", err
	}
	switch cmd.Args().Len() {
	case 0:
		var running []string
		for _, s := range a.states(path) {
			if a.runs(path, s.Study, 0) { // also one that has not told of itself yet
				running = append(running, s.Study)
			}
		}
		if len(running) == 1 {
			return path, running[0], nil
		}
		return "", "", usageError{hinted{fmt.Errorf("%s: want the name of a study: %d run here", cmd.Name, len(running)), self(cmd) + " status lists them"}}
	case 1:
	default:
		return "", "", usagef("%s: want one study", cmd.Name)
	}
	name = cmd.Args().First()
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		if _, err := os.Stat(name); err == nil {
			file, err := study.Read(name)
			if err != nil {
				return "", "", err
			}
			return path, file.Study.Name, nil
		}
	}
	return path, name, a.knownStudy(ctx, cmd, path, name)
}

// knownStudy refuses a name that neither a run nor a trial has, with the nearest.
func (a *app) knownStudy(ctx context.Context, cmd *cli.Command, path, name string) error {
	var names []string
	for _, s := range a.states(path) {
		names = append(names, s.Study)
	}
	if !slices.Contains(names, name) {
		if db, err := a.openRead(ctx, cmd); err == nil {
			defer db.Close()
			more, err := db.Studies(ctx)
			if err != nil {
				return err
			}
			names = append(names, more...)
			slices.Sort(names)
			names = slices.Compact(names)
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	hint := self(cmd) + " status lists the studies of this history"
	if near := core.NearestNames(name, names); len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ")
	}
	return hinted{fmt.Errorf("%s: no study %q in %s: %w", cmd.Name, name, path, core.ErrNotFound), hint}
}

// states are what the runs of a history last told of themselves.
func (a *app) states(path string) []progress.State {
	var out []progress.State
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "runs", "*.state")) // the pattern is ours
	for _, file := range found {
		s, err := progress.ReadState(progress.Files{State: file})
		if err == nil && runFiles(path, s.Study).State == file {
			out = append(out, s)
		}
	}
	return out
}
