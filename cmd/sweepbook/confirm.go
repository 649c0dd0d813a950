package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core/study"
)

// mostConfirmations bounds what one call may ask for.
const mostConfirmations = 1000

func (a *app) confirmCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "confirm",
		Usage:     "measure again what a study could not tell from its winner, in turns",
		ArgsUsage: "STUDY.yaml N",
		Flags:     runFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := needLinux("confirm"); err != nil {
				return err
			}
			if err := checkFormat(cmd); err != nil {
				return err
			}
			if cmd.Args().Len() != 2 {
				return usageError{hinted{errors.New("confirm: want a study file and how often"), "sweepbook confirm study.yaml 5"}}
			}
			n, err := strconv.Atoi(cmd.Args().Get(1))
			if err != nil || n < 1 || n > mostConfirmations {
				return usagef("confirm: want a number of repeats from 1 to %d, got %q", mostConfirmations, cmd.Args().Get(1))
			}
			file, err := study.Read(cmd.Args().First())
			if err != nil {
				return err
			}
			if cmd.Bool("detach") {
				return a.detach(ctx, cmd, file)
			}
			db, err := a.openWrite(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			err = a.runStudy(ctx, cmd, db, file, func(ctx context.Context, r *study.Runner) (study.Result, error) { return r.Confirm(ctx, n) })
			if errors.Is(err, study.ErrUnfinished) {
				return hinted{fmt.Errorf("confirm %s: %w", file.Study.Name, err), self(cmd) + " run " + shellWord(file.Path) + " searches it"}
			}
			return err
		},
	})
}

// runFlags are those of run and confirm.
func runFlags() []cli.Flag {
	return []cli.Flag{
		noPrefetch(), progressFlag(),
		&cli.BoolFlag{Name: "detach", Usage: "go on in a process of its own, which outlives this terminal; attach, stop and status reach it"},
		&cli.IntFlag{Name: readyFlag, Hidden: true},
	}
}

func noPrefetch() cli.Flag {
	return &cli.BoolFlag{Name: "no-prefetch", Usage: "launch without looking first whether models, images, data and flags are there"}
}
