package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

func (a *app) listCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "list",
		Usage:     "list trials, or studies with --studies",
		ArgsUsage: "[CONDITION]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "studies", Usage: "one line a study"},
			&cli.IntFlag{Name: "limit", Usage: "at most `N` rows; 0 is all"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			columns := "number, study, stage, option, status, engine, workload, load, total_tps, success_rate"
			if cmd.Bool("studies") {
				columns = "study, count() as trials, min(started_at) as first, max(started_at) as last"
			}
			text := "show " + columns
			if cmd.Args().Present() {
				text += " where " + strings.Join(cmd.Args().Slice(), " ")
			}
			if cmd.Bool("studies") {
				text += " by study"
			} else if text += " order by number"; cmd.Int("limit") > 0 {
				text += fmt.Sprintf(" limit %d", cmd.Int("limit"))
			}
			answer, err := answerOf(ctx, db, text, query.Options{Now: a.now()})
			if err != nil {
				return err
			}
			return a.table(cmd, table{answer.Columns, answer.Rows})
		},
	})
}

func (a *app) fieldsCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "fields",
		Usage:     "list what a query can name, with unit and definition",
		ArgsUsage: "[WORD]",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			var rows [][]string
			add := func(f core.Field) {
				word := cmd.Args().First()
				if word == "" || strings.Contains(f.Name+" "+f.Doc+" "+string(f.Group), word) {
					rows = append(rows, []string{f.Name, string(f.Group), f.Type.String(), f.Unit, better(f.Better), f.Doc})
				}
			}
			for _, f := range core.Fields() {
				add(f)
			}
			// Knobs and extras are known once a history has recorded them.
			if db, err := a.openRead(ctx, cmd); err == nil {
				defer db.Close()
				names, err := db.Names(ctx)
				if err != nil {
					return err
				}
				for _, of := range []struct {
					prefix string
					names  []string
				}{{"args.", names.Knobs}, {"quality.", names.Quality}, {"extra.", names.Extra}} {
					for _, name := range of.names {
						if f, ok := core.LookupField(of.prefix + name); ok {
							add(f)
						}
					}
				}
			}
			return a.table(cmd, textTable([]string{"field", "group", "type", "unit", "better", "definition"}, rows))
		},
	})
}

func better(b core.Better) string {
	switch b {
	case core.HigherBetter:
		return "higher"
	case core.LowerBetter:
		return "lower"
	}
	return ""
}
