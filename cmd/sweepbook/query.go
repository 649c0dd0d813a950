package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) queryCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "query",
		Usage:     "ask the history a question",
		ArgsUsage: "'QUESTION' | @SAVED [KEY=VALUE …]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "chart", Usage: "also draw the answer into this `FILE`, .png or .svg"},
			&cli.StringFlag{Name: "save", Usage: "keep the question under `NAME` beside the history; a word behind a $ is a parameter"},
			&cli.BoolFlag{Name: "saved", Usage: "list the saved questions"},
			&cli.BoolFlag{Name: "explain", Usage: "print how the question is answered: the SQL, what it reads, and the trials that each clause leaves"},
		},
		ShellComplete: a.completeQuestion,
		Description: "For example: sweepbook query 'max total_tps where success_rate == 1 by workload'\n" +
			"sweepbook fields lists what can be asked for.\n\n" + query.Help,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Bool("saved") {
				if err := checkFormat(cmd); err != nil {
					return err
				}
				return a.listSaved(cmd)
			}
			text, err := questionOf(cmd)
			if err != nil {
				return err
			}
			if name := cmd.String("save"); name != "" {
				return a.saveQuery(cmd, name, text)
			}
			if strings.HasPrefix(text, "@") {
				if text, err = a.fillSaved(cmd, cmd.Args().Slice()); err != nil {
					return err
				}
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
			if cmd.Bool("explain") {
				return a.explainQuery(ctx, cmd, db, text)
			}
			answer, err := answerOf(ctx, db, text, query.Options{Now: a.now(), Marks: picture != ""})
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

// explainQuery prints how a question is answered. It is text for people, in no other
// format.
func (a *app) explainQuery(ctx context.Context, cmd *cli.Command, db *store.DB, text string) error {
	if format := cmd.String("output"); format != "table" {
		return usagef("query: --explain prints text and not %s", format)
	}
	return db.Snapshot(ctx, func(r *store.Reading) error {
		x, err := query.Explain(ctx, r, text, query.Options{Now: a.now()})
		if err == nil {
			_, err = fmt.Fprint(a.stdout, a.clean(x.String()))
		}
		return err
	})
}

// answerOf answers a question of the history as it stands at one moment.
func answerOf(ctx context.Context, db *store.DB, text string, opt query.Options) (answer *query.Answer, err error) {
	err = db.Snapshot(ctx, func(r *store.Reading) error {
		answer, err = query.Run(ctx, r, text, opt)
		return err
	})
	return answer, err
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
	// That the figures are not of one experiment must be said, whoever reads them.
	if cmd.String("output") == "table" || len(answer.Residue) > 0 {
		a.say("%s", accounting(answer))
	}
	a.warnings(answer.Warnings)
	if len(answer.Rows) == 0 {
		return quietError{exitNothing}
	}
	return nil
}
