package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) whyCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "why",
		Usage:     "say what keeps a trial from winning a query, and by how much",
		ArgsUsage: "NUMBER|ID 'QUESTION'",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			args := cmd.Args().Slice()
			if len(args) < 2 {
				return usageError{hinted{errors.New("why: want a trial and a question"), "sweepbook why 12 'max total_tps where success_rate == 1'"}}
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			t, err := db.Trial(ctx, args[0])
			if err != nil {
				return fmt.Errorf("why: %w", err)
			}
			var causes []query.Cause
			var answer *query.Answer
			err = db.Snapshot(ctx, func(r *store.Reading) error {
				causes, answer, err = query.Why(ctx, r, t.Number, strings.Join(args[1:], " "), query.Options{Now: a.now()})
				return err
			})
			if err != nil {
				return fmt.Errorf("why: %w", err)
			}
			number := core.Number(float64(t.Number)).String()
			var rows [][]string
			var lines [][2]string
			for _, c := range causes {
				rows = append(rows, []string{number, c.Clause, c.Text})
				lines = append(lines, [2]string{cmp.Or(c.Clause, "trial "+number), c.Text})
			}
			if cmd.String("output") != "table" {
				return a.table(cmd, textTable([]string{"trial", "clause", "why"}, rows))
			}
			a.say("%s", accounting(answer))
			return pairs(a.stdout, lines)
		},
	})
}
