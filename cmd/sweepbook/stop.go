package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/store"
)

func (a *app) stopCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "stop",
		Usage:     "ask a run to end after the trial in progress, as Ctrl-C does; --now ends it at once",
		ArgsUsage: "[STUDY]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "now", Usage: "end at once, as a second Ctrl-C does: the trial in progress is given up"},
			&cli.BoolFlag{Name: "wait", Usage: "return when the run has ended"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			path, name, err := a.runOf(ctx, cmd)
			if err != nil {
				return err
			}
			return a.stop(ctx, cmd, path, name)
		},
	})
}

func (a *app) stop(ctx context.Context, cmd *cli.Command, path, name string) error {
	h, standing, err := store.StudyHolder(path, name)
	if err != nil {
		return err
	}
	switch standing {
	case store.HolderNone:
		return hinted{fmt.Errorf("stop %s: nobody runs it", name), self(cmd) + " status lists what runs"}
	case store.HolderGone:
		return hinted{fmt.Errorf("stop %s: process %d on %s, which ran it, is gone", name, h.PID, h.Host), "its trials in progress become lost when the study is run again; servers that it left: " + self(cmd) + " gpu reap"}
	case store.HolderElsewhere:
		return hinted{fmt.Errorf("stop %s: it is run by process %d on %s, which cannot be proved to be a process of this machine; nothing was done", name, h.PID, h.Host),
			"on that machine: " + self(cmd) + " stop " + shellWord(name)}
	}
	// The process is taken hold of first and proved then, so that the signal cannot
	// reach another that came to have its number.
	p, err := os.FindProcess(h.PID)
	if err != nil {
		return fmt.Errorf("stop %s: process %d: %w", name, h.PID, err)
	}
	defer func() { _ = p.Release() }() // it is not our child
	if h.Standing() != store.HolderAlive {
		return fmt.Errorf("stop %s: process %d ended by itself", name, h.PID)
	}
	signals := []os.Signal{os.Interrupt}
	if cmd.Bool("now") {
		// Of another kind, since two of one kind may arrive as one.
		signals = append(signals, syscall.SIGTERM)
	}
	for _, sig := range signals {
		switch err := p.Signal(sig); {
		case errors.Is(err, os.ErrProcessDone):
		case errors.Is(err, os.ErrPermission):
			return hinted{fmt.Errorf("stop %s: process %d belongs to another user", name, h.PID), "who started it can stop it"}
		case err != nil:
			return fmt.Errorf("stop %s: process %d: %w", name, h.PID, err)
		}
	}
	asked := "end after the trial in progress"
	if cmd.Bool("now") {
		asked = "end at once"
	}
	if cmd.Bool("wait") {
		for h.Standing() == store.HolderAlive && a.runs(path, name, h.PID) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	a.say("asked process %d to %s", h.PID, asked)
	if !cmd.Bool("wait") {
		a.hint(self(cmd) + " attach " + shellWord(name) + " follows it to its end")
	}
	return nil
}
