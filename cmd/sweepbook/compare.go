package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query/report"
)

func (a *app) compareCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "compare",
		Usage:     "compare trials: every metric, what differs, and whether it can be told from noise",
		ArgsUsage: "A B [along FIELD]",
		Description: "A and B are a trial's number or id, the hash of a setup or configuration, a condition such as\n" +
			"'engine == \"vllm\" and concurrency == 4', or a question with max or min.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "along", Usage: "compare whole curves over this `FIELD`, one load at a time"},
			&cli.StringSliceFlag{Name: "metric", Usage: "only this `METRIC`; may be given again"},
			&cli.StringFlag{Name: "fail-on", Usage: "end with code 4 on `regression=3%` or worse"},
		},
		Action: a.compareAction,
	})
}

func (a *app) compareAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	args := cmd.Args().Slice()
	along := cmd.String("along")
	if len(args) == 4 && args[2] == "along" {
		args, along = args[:2], args[3]
	}
	if len(args) != 2 {
		return usageError{hinted{errors.New("compare: want two sides"), `sweepbook compare 12 17, or sweepbook compare 'engine == "vllm"' 'engine == "sglang"' along concurrency`}}
	}
	limit, err := regressionLimit(cmd.String("fail-on"))
	if err != nil {
		return err
	}
	db, err := a.openRead(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := report.Compare(ctx, db, report.Side{Trials: args[0]}, report.Side{Trials: args[1]},
		report.CompareOptions{Along: along, Metrics: cmd.StringSlice("metric"), Now: a.now()})
	if err != nil {
		return err
	}
	if err := a.compareOutput(cmd, c); err != nil {
		return err
	}
	if limit < 0 {
		return nil
	}
	found, doubtful := c.Regressions(limit)
	for _, m := range doubtful {
		a.warn("%s of %s %s may be a regression, but the audit doubts the figure", m.Metric, m.Workload, m.Load)
	}
	for _, m := range c.Metrics {
		if loss := m.Gain(); m.Verdict == stats.CannotTell && loss.Kind == core.KindNumber && -loss.Num > limit {
			a.warn("%s of %s %s is worse by %s, which cannot be told from noise: repeat both sides", m.Metric, m.Workload, m.Load, m.GainText())
		}
	}
	for _, m := range found {
		a.fail(fmt.Errorf("regression: %s of %s %s: %s", m.Metric, m.Workload, m.Load, m.GainText()))
	}
	if len(found) > 0 {
		return quietError{exitCheckFailed}
	}
	return nil
}

func (a *app) compareOutput(cmd *cli.Command, c *report.Comparison) error {
	switch cmd.String("output") {
	case "json":
		if err := a.writeJSON(c); err != nil {
			return err
		}
	case "table":
		columns, rows := c.Brief()
		if err := (table{columns, rows}).writeTable(a.stdout); err != nil {
			return err
		}
		for _, along := range c.Along {
			if along.Mixed() {
				fmt.Fprintf(a.stdout, "along %s: %s\n", along.Field, oneLine(strings.TrimSpace(along.Workload+" "+along.String())))
			}
		}
		for _, d := range c.Differences {
			fmt.Fprintf(a.stdout, "differs: %s\n", oneLine(d.String()))
		}
		a.say("%s", c.Summary())
	default:
		columns, rows := c.Rows()
		if err := a.table(cmd, table{columns, rows}); err != nil {
			return err
		}
	}
	for _, w := range c.Warnings {
		a.warn("%s", w)
	}
	return nil
}

// regressionLimit reads "regression=3%"; -1 is none.
func regressionLimit(text string) (float64, error) {
	if text == "" {
		return -1, nil
	}
	value, ok := strings.CutPrefix(text, "regression=")
	percent, isPercent := strings.CutSuffix(value, "%")
	f, err := strconv.ParseFloat(percent, 64)
	if !ok || err != nil || f < 0 {
		return 0, usagef("--fail-on %q: want regression=3%% or regression=0.03", text)
	}
	if isPercent {
		f /= 100
	}
	return f, nil
}
