package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"
)

// The commands of this file make a history smaller. Neither takes a figure away.

func (a *app) dbPruneCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "prune", Usage: "remove the single requests of trials, whose figures stay", ArgsUsage: "--samples where CONDITION",
		Description: "What is worked out of single requests (attained(), goodput(), percentiles that no tool prints) cannot be asked of these trials any more.\n" +
			"The room is used again by what is recorded later; sweepbook db vacuum gives it back to the disk.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "samples", Usage: "say that it is the single requests that go"}},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Bool("samples") {
				return usageError{hinted{errors.New("db prune: say what goes"), self(cmd) + " db prune --samples where CONDITION"}}
			}
			what, condition, err := splitWhere(cmd, "db prune --samples")
			if err != nil {
				return err
			}
			if what != "" {
				return usagef("db prune: %q before where: want --samples where CONDITION", what)
			}
			db, err := a.openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			ids, err := a.selectIDs(ctx, db, condition)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				a.fail(errors.New("db prune: no trial meets the condition"))
				return quietError{exitNothing}
			}
			freed, err := db.PruneSamples(ctx, ids)
			if err != nil {
				return fmt.Errorf("db prune: %w", err)
			}
			fmt.Fprintf(a.stdout, "prune: %d bytes of the requests of %d trials\n", freed, len(ids))
			if freed > 0 {
				a.hint(self(cmd) + " db vacuum gives the room back to the disk")
			}
			return nil
		},
	})
}

func (a *app) dbVacuumCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "vacuum", Usage: "write the file anew without the room that nothing takes any more",
		Description: "For that time about twice the size of the new file has to be free on the disk. Others may read and wait to write meanwhile.",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usagef("db vacuum: takes no argument, got %q", cmd.Args().First())
			}
			db, err := a.openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			freed, err := db.Compact(ctx)
			if err != nil {
				return fmt.Errorf("db vacuum: %w", err)
			}
			fmt.Fprintf(a.stdout, "vacuum: %d bytes given back\n", freed)
			return nil
		},
	})
}
