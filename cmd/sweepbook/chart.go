package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

func (a *app) chartCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "chart",
		Usage:     "draw the answer to a question",
		ArgsUsage: "'QUESTION'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"f"}, Usage: "picture `FILE`, .png or .svg", Value: "chart.png"},
			&cli.StringFlag{Name: "title", Usage: "`TEXT` above the picture; default the question"},
			&cli.StringFlag{Name: "x", Usage: "`COLUMN` to draw the value over, as a curve; - for bars"},
			&cli.StringSliceFlag{Name: "label", Usage: "`COLUMN` that names a bar or line; may be given again"},
			&cli.StringFlag{Name: "value", Usage: "`COLUMN` to draw; default the first measured one"},
			&cli.IntFlag{Name: "width", Usage: "in pixels", Value: 1200},
			&cli.IntFlag{Name: "height", Usage: "in pixels; default by what is drawn"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			text, err := questionOf(cmd)
			if err != nil {
				return err
			}
			if ext := filepath.Ext(cmd.String("out")); ext != ".png" && ext != ".svg" {
				return usagef("chart --out %q: want a file name that ends in .png or .svg", cmd.String("out"))
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			answer, err := answerOf(ctx, db, text, query.Options{Now: a.now(), Marks: true})
			if err != nil {
				return err
			}
			a.warnings(answer.Warnings)
			if len(answer.Rows) == 0 {
				a.fail(errors.New("chart: no trial qualifies, so there is nothing to draw"))
				return quietError{exitNothing}
			}
			out := cmd.String("out")
			format := chart.PNG
			if filepath.Ext(out) == ".svg" {
				format = chart.SVG
			}
			picture, err := chart.Draw(answer, chart.Options{
				Title: cmd.String("title"), Value: cmd.String("value"), X: cmd.String("x"), Label: cmd.StringSlice("label"),
				Format: format, Width: cmd.Int("width"), Height: cmd.Int("height"),
			})
			if err != nil {
				return fmt.Errorf("chart: %w", err)
			}
			if err := writeFile(out, picture); err != nil {
				return fmt.Errorf("chart: %w", err)
			}
			fmt.Fprintln(a.stdout, out)
			return nil
		},
	})
}
