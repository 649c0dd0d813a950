package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/store"
)

func (a *app) dbCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "db",
		Usage: "check, back up and shrink the history file",
		Commands: []*cli.Command{
			a.command(&cli.Command{
				Name: "check", Usage: "read the whole file and report any damage",
				Action: func(ctx context.Context, cmd *cli.Command) error {
					db, err := a.openRead(ctx, cmd)
					if err != nil {
						return err
					}
					defer db.Close()
					problems, err := db.Check(ctx)
					if err != nil {
						return fmt.Errorf("db check: %w", err)
					}
					for _, p := range problems {
						a.fail(errors.New(p))
					}
					if len(problems) > 0 {
						return quietError{exitError}
					}
					fmt.Fprintln(a.stdout, "ok")
					return nil
				},
			}),
			a.command(&cli.Command{
				Name: "backup", Usage: "write a consistent copy, also while a run records", ArgsUsage: "FILE",
				Action: func(ctx context.Context, cmd *cli.Command) error {
					if cmd.Args().Len() != 1 {
						return usagef("db backup: want one file name")
					}
					if _, err := os.Stat(cmd.Args().First()); err == nil {
						return fmt.Errorf("db backup: %s is there already; name a file that is not", cmd.Args().First())
					}
					db, err := a.openRead(ctx, cmd)
					if err != nil {
						return err
					}
					defer db.Close()
					if err := db.Backup(ctx, cmd.Args().First()); err != nil {
						return fmt.Errorf("db backup: %w", err)
					}
					fmt.Fprintln(a.stdout, cmd.Args().First())
					return nil
				},
			}),
			a.command(&cli.Command{
				Name: "info", Usage: "history id, number of trials and schema version",
				Action: func(ctx context.Context, cmd *cli.Command) error {
					db, err := a.openRead(ctx, cmd)
					if err != nil {
						return err
					}
					defer db.Close()
					h, err := db.History(ctx)
					if err != nil {
						return err
					}
					return a.table(cmd, textTable([]string{"history", "trials", "schema", "supported"}, [][]string{{
						h.ID, strconv.Itoa(h.Trials), strconv.Itoa(db.SchemaVersion()), strconv.Itoa(store.SupportedSchema()),
					}}))
				},
			}),
			a.dbPruneCommand(), a.dbVacuumCommand(),
		},
	})
}
