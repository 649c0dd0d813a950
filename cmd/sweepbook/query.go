package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

func (a *app) queryCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "query",
		Usage:     "ask the history a question",
		ArgsUsage: "'QUESTION'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "chart", Usage: "also draw the answer into this `FILE`, .png or .svg"},
		},
		Description: "For example: sweepbook query 'max total_tps where success_rate == 1 by workload'\n" +
			"sweepbook fields lists what can be asked for.",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			text, err := questionOf(cmd)
			if err != nil {
				return err
			}
			picture, format := cmd.String("chart"), chart.PNG
			if picture != "" {
				if format, err = pictureFormat("query --chart", picture); err != nil {
					return err
				}
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			answer, err := query.Run(ctx, db, text, query.Options{Now: a.now(), Marks: picture != ""})
			if err != nil {
				return err
			}
			if err := a.answer(cmd, answer); err != nil || picture == "" {
				return err
			}
			if err := a.drawAnswer(ctx, db, answer, chart.Options{Format: format}, picture); err != nil {
				return fmt.Errorf("query --chart: %w", err)
			}
			a.say("chart: %s", picture)
			return nil
		},
	})
}

// questionOf joins the arguments, so that an unquoted question works where the
// shell leaves it whole.
func questionOf(cmd *cli.Command) (string, error) {
	if err := checkFormat(cmd); err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.Join(cmd.Args().Slice(), " "))
	if text == "" {
		return "", usageError{hinted{errNoQuestion, "sweepbook query 'max total_tps where success_rate == 1'"}}
	}
	return text, nil
}

// answer writes an answer; an empty one ends with its own code.
func (a *app) answer(cmd *cli.Command, answer *query.Answer) error {
	if cmd.String("output") == "json" {
		if err := a.writeJSON(answer); err != nil {
			return err
		}
	} else if len(answer.Rows) > 0 {
		if err := a.table(cmd, table{answer.Columns, answer.Rows}); err != nil {
			return err
		}
	}
	if cmd.String("output") == "table" {
		a.say("%s", accounting(answer))
	}
	a.warnings(answer.Warnings)
	if len(answer.Rows) == 0 {
		return quietError{exitNothing}
	}
	return nil
}
