package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/query"
)

func (a *app) benchCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "bench",
		Usage:     "measure a server that runs already, at one load or along a curve, and record each trial",
		ArgsUsage: "URL",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "workload", Usage: "`NAME` of a published workload, or of one in the file of --workloads"},
			&cli.StringFlag{Name: "workloads", Usage: "study `FILE` that defines the workload"},
			&cli.StringFlag{Name: "load", Usage: "the `CURVE`: concurrency=1,2,4,8 or rate=1,2,4,unlimited"},
			&cli.IntFlag{Name: "repeats", Usage: "measure the curve `N` times, with fresh prompts each time", Value: 1},
			&cli.StringFlag{Name: "model", Usage: "served model `ID`; default the only one that the server offers"},
			&cli.StringFlag{Name: "engine", Usage: "`NAME` of the engine; default what the server says of itself"},
			keyFlag(),
			&cli.StringFlag{Name: "study", Usage: "keep the trials under this study `NAME`", Value: "bench"},
			&cli.StringFlag{Name: "dataset", Usage: "`NAME`: random, prefix_repetition, sharegpt, custom, trace or builtin", Value: "random"},
			&cli.StringFlag{Name: "data", Usage: "`FILE` of the data set"},
			&cli.StringFlag{Name: "endpoint", Usage: "chat or completions", Value: "chat"},
			&cli.IntFlag{Name: "input", Usage: "prompt `TOKENS`, for random"},
			&cli.IntFlag{Name: "output-len", Usage: "output `TOKENS`"},
			&cli.BoolFlag{Name: "ignore-eos", Usage: "have every answer reach its length; default for random"},
			&cli.FloatFlag{Name: "temperature", Usage: "`T` of the sampling"},
			&cli.IntFlag{Name: "turns", Usage: "questions of each conversation, for sharegpt and builtin", Value: 1},
			&cli.StringSliceFlag{Name: "param", Usage: "a further `NAME=VALUE` of the workload, as range_ratio=0.5 or top_p=0.9; again for more"},
			&cli.IntFlag{Name: "requests", Usage: "`N` requests to send at each load", Value: 100},
			&cli.DurationFlag{Name: "duration", Usage: "`TIME` to send requests at each load, such as 60s"},
			&cli.StringFlag{Name: "concurrency", Usage: "`N` requests in flight at most, or unlimited", Value: "unlimited"},
			&cli.StringFlag{Name: "rate", Usage: "requests per second, or unlimited", Value: "unlimited"},
			&cli.StringFlag{Name: "warmup", Usage: "`N` requests before each load, never counted: 8, concurrency or '2 * concurrency'", Value: "concurrency"},
			&cli.DurationFlag{Name: "stall", Usage: "`TIME` without a line after which a stream has failed; ten times as long without any token, for one that waits for its first", Value: core.StallAfter},
			&cli.IntFlag{Name: "seed", Usage: "`N` for prompts and arrivals; default another one each time"},
			&cli.StringSliceFlag{Name: "goodput", Usage: "count requests within `METRIC:MS`, as ttft:200; again for further limits"},
			&cli.BoolFlag{Name: "flush-cache", Usage: "empty the server's prefix cache before each load"},
			&cli.StringFlag{Name: "gpus", Usage: "which `GPUS` of this machine serve: all, none, or indexes as 0,1; default all where the server is on this machine"},
			&cli.BoolFlag{Name: "no-record", Usage: "print the figures only"},
		},
		Action: a.benchAction,
	})
}

func (a *app) benchAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	address, err := benchAddress(cmd)
	if err != nil {
		return err
	}
	asked, err := a.benchAsked(cmd)
	if err != nil {
		return err
	}
	ctx, secrets, err := a.withKey(ctx, cmd)
	if err != nil {
		return err
	}
	srv, err := a.findServer(ctx, address, serverFlags{engine: cmd.String("engine"), model: cmd.String("model"), gpus: cmd.String("gpus"), needModel: true})
	if err != nil {
		return fmt.Errorf("bench %s: %w", address, err)
	}
	ui, err := a.newTeller(tellAuto)
	if err != nil {
		return err
	}
	b := &benchRun{app: a, cmd: cmd, asked: asked, srv: srv, ui: &runTeller{teller: ui, moved: map[int]moved{}}, redact: serving.NewRedactor(secrets)}
	defer b.ui.end()
	if !cmd.Bool("no-record") {
		db, err := a.openWrite(ctx, cmd)
		if err != nil {
			return err
		}
		defer db.Close()
		b.store = runStore{DB: db, app: a, redact: b.redact, ended: ctx.Done()}
	}
	// The whole curve is measured and recorded, whoever reads of it.
	stop := outliveReaders()
	err = b.curve(ctx)
	b.ui.end()
	stop()
	if len(b.trials) > 0 {
		if shown := a.benchOutput(cmd, b.trials, len(asked.goodput) > 0); err == nil {
			err = shown
		}
	}
	if err != nil {
		return err
	}
	return b.verdict()
}

// benchAddress is the server's address: the argument, or --url as it once was.
func benchAddress(cmd *cli.Command) (string, error) {
	args := cmd.Args().Slice()
	if len(args) != 1 {
		return "", usageError{hinted{errors.New("bench: want the address of one server"), "sweepbook bench http://127.0.0.1:8000 --workload short --load concurrency=1,2,4,8"}}
	}
	return args[0], checkAddress("bench", args[0])
}

// verdict ends with an error where a load got no answer, and tells of failures.
func (b *benchRun) verdict() error {
	a := b.app
	for _, t := range b.trials {
		switch n := t.Figures["failed"]; {
		case t.Status != core.StatusOK:
			a.fail(fmt.Errorf("bench %s: no request completed: %s", b.srv.url, t.FailureText))
			return quietError{exitError}
		case n > 0:
			a.warn("%s: %.0f of %.0f requests failed, the first with: %s", t.Load.Label(), n, t.Figures["requested"], b.failures[t.ID])
		}
	}
	return nil
}

// benchOutput shows one trial figure by figure, several as a curve.
func (a *app) benchOutput(cmd *cli.Command, trials []*core.Trial, goodput bool) error {
	var out table
	if len(trials) > 1 {
		names := []string{"load", "repeat", "status", "completed", "success_rate", "rps", "output_tps", "total_tps", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "prefix_hit_rate"}
		if goodput {
			names = append(names, "goodput_rps")
		}
		for _, name := range names {
			f, _ := core.LookupField(name)
			out.columns = append(out.columns, query.Column{Name: name, Type: f.Type, Unit: f.Unit})
		}
		for _, t := range trials {
			var row []core.Value
			for _, name := range names {
				row = append(row, t.Value(name))
			}
			out.rows = append(out.rows, row)
		}
		return a.table(cmd, out)
	}
	out.columns = []query.Column{{Name: "figure", Type: core.TextType}, {Name: "value", Type: core.NumberType}, {Name: "unit", Type: core.TextType}}
	for _, f := range core.Fields() {
		if v := trials[0].Figures.Value(f.Name); !v.IsMissing() {
			out.rows = append(out.rows, []core.Value{core.String(f.Name), v, core.OptionalText(f.Unit)})
		}
	}
	return a.table(cmd, out)
}

// say tells one step through the progress line, which must not be overwritten.
func (b *benchRun) say(kind study.EventKind, t *core.Trial, text string) {
	b.ui.event(study.Event{Kind: kind, Trial: t, Text: text})
}
