package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/query"
)

func (a *app) benchCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "bench",
		Usage: "measure a server that runs already, and record the trial",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "base `URL` of an OpenAI-compatible server, http://127.0.0.1:8000", Required: true},
			&cli.StringFlag{Name: "model", Usage: "served model `ID`", Required: true},
			&cli.StringFlag{Name: "engine", Usage: "`NAME` of the engine, for the record"},
			&cli.StringFlag{Name: "study", Usage: "keep the trial under this study `NAME`", Value: "bench"},
			&cli.StringFlag{Name: "dataset", Usage: "`NAME`: random, sharegpt, custom or builtin", Value: "random"},
			&cli.StringFlag{Name: "data", Usage: "`FILE` of the data set"},
			&cli.StringFlag{Name: "endpoint", Usage: "chat or completions", Value: "chat"},
			&cli.IntFlag{Name: "input", Usage: "prompt `TOKENS`, for random"},
			&cli.IntFlag{Name: "output-len", Usage: "output `TOKENS`, for random"},
			&cli.IntFlag{Name: "requests", Usage: "`N` requests to send", Value: 100},
			&cli.StringFlag{Name: "concurrency", Usage: "`N` requests in flight at most, or unlimited", Value: "unlimited"},
			&cli.StringFlag{Name: "rate", Usage: "requests per second, or unlimited", Value: "unlimited"},
			&cli.IntFlag{Name: "warmup", Usage: "`N` requests before, never counted"},
			&cli.IntFlag{Name: "seed", Usage: "`N` for prompts and arrivals", Value: 0},
			&cli.BoolFlag{Name: "no-record", Usage: "print the figures only"},
		},
		Action: a.benchAction,
	})
}

func (a *app) benchAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	t, req, err := a.benchTrial(cmd)
	if err != nil {
		return err
	}
	sink := &benchSink{}
	observer := load.Observe(ctx, sink, load.Observation{BaseURL: req.BaseURL})
	err = load.Run(ctx, req, observer)
	seen := observer.Finish(ctx)
	t.EndedAt = a.now().UTC()
	if err != nil {
		return fmt.Errorf("bench %s: %w", req.BaseURL, err)
	}
	t.Figures, t.Status = load.Figures(sink.samples), core.StatusOK
	for name, v := range seen.Figures {
		if _, measured := t.Figures[name]; !measured {
			t.Figures.Set(name, v)
		}
	}
	t.Extra = map[string]core.Value{}
	maps.Copy(t.Extra, sink.extra)
	maps.Copy(t.Extra, seen.Extra)
	t.Derive()
	if t.Status != core.StatusOK {
		t.FailureText = firstFailure(sink.samples)
	}
	// The figures are shown first: they must not be lost with a history that
	// cannot be written.
	if err := a.benchOutput(cmd, t); err != nil {
		return err
	}
	if !cmd.Bool("no-record") {
		if err := a.recordBench(ctx, cmd, t, sink.samples); err != nil {
			return err
		}
	}
	if t.Status != core.StatusOK {
		a.fail(fmt.Errorf("bench %s: no request completed: %s", req.BaseURL, t.FailureText))
		return quietError{exitError}
	}
	if n := t.Figures["failed"]; n > 0 {
		a.warn("%.0f of %.0f requests failed, the first with: %s", n, t.Figures["requested"], firstFailure(sink.samples))
	}
	return nil
}

func (a *app) recordBench(ctx context.Context, cmd *cli.Command, t *core.Trial, samples []core.Sample) error {
	db, err := a.openWrite(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := (runStore{DB: db, app: a, redact: serving.NewRedactor(nil), ended: ctx.Done()}).FinishTrial(ctx, t, samples); err != nil {
		return fmt.Errorf("record trial: %w", err)
	}
	return nil
}

// firstFailure is the text of the first request that failed.
func firstFailure(samples []core.Sample) string {
	for _, s := range samples {
		if s.Outcome == core.OutcomeFailed {
			return s.Error
		}
	}
	return "no request was answered"
}

func (a *app) benchOutput(cmd *cli.Command, t *core.Trial) error {
	var out table
	out.columns = []query.Column{{Name: "figure", Type: core.TextType}, {Name: "value", Type: core.NumberType}, {Name: "unit", Type: core.TextType}}
	for _, f := range core.Fields() {
		if v := t.Figures.Value(f.Name); !v.IsMissing() {
			out.rows = append(out.rows, []core.Value{core.String(f.Name), v, core.OptionalText(f.Unit)})
		}
	}
	return a.table(cmd, out)
}

func (a *app) benchTrial(cmd *cli.Command) (*core.Trial, core.BenchmarkRequest, error) {
	w := core.Workload{Name: cmd.String("dataset"), Dataset: cmd.String("dataset"), Path: baseName(cmd.String("data")), Endpoint: cmd.String("endpoint"), Turns: core.Number(1)}
	if w.Dataset == "random" {
		if cmd.Int("input") < 1 || cmd.Int("output-len") < 1 {
			return nil, core.BenchmarkRequest{}, usagef("bench: dataset random needs --input and --output-len")
		}
		w.Name = ""
		w.InputLen, w.OutputLen, w.IgnoreEOS = core.Number(float64(cmd.Int("input"))), core.Number(float64(cmd.Int("output-len"))), core.Bool(true)
	}
	l := core.Load{NumPrompts: core.Number(float64(cmd.Int("requests"))), Seed: core.Number(float64(cmd.Int("seed")))}
	for _, f := range []struct {
		flag string
		to   *core.Value
	}{{"concurrency", &l.Concurrency}, {"rate", &l.RequestRate}} {
		*f.to = core.ParseValue(cmd.String(f.flag))
		if f.to.Kind != core.KindNumber || f.to.Num <= 0 {
			return nil, core.BenchmarkRequest{}, usagef("bench --%s %q: want a positive number or unlimited", f.flag, cmd.String(f.flag))
		}
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, core.BenchmarkRequest{}, fmt.Errorf("host name: %w", err)
	}
	now := a.now().UTC()
	t := &core.Trial{ID: core.NewID(now), Study: cmd.String("study"), Status: core.StatusRunning, Attempt: 1, Repeat: 1, Workload: w, Load: l,
		Host: hostname, StartedAt: now, SweepbookVersion: version(),
		Setup: core.Setup{Tool: "sweepbook", ToolVersion: release, Config: core.Config{Engine: cmd.String("engine"), Model: cmd.String("model"), Checkpoint: cmd.String("model")}}}
	return t, core.BenchmarkRequest{Trial: t.ID, BaseURL: cmd.String("url"), Model: cmd.String("model"), Workload: w, Load: l,
		Warmup: cmd.Int("warmup"), DataPath: cmd.String("data")}, nil
}

// baseName is the last part of a path, "" for none.
func baseName(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

// benchSink keeps the samples of one benchmark.
type benchSink struct {
	mu      sync.Mutex
	samples []core.Sample
	extra   map[string]core.Value
}

func (s *benchSink) Samples(batch []core.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, batch...)
	return nil
}

func (s *benchSink) Progress(core.Progress) {}

func (s *benchSink) Summary(extra map[string]core.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = extra
}
