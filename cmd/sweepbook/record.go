package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/tool"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

func (a *app) recordCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "record",
		Usage:     "run somebody's benchmark command unchanged and record its result with what the server and the GPUs did",
		ArgsUsage: "-- COMMAND …",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "study", Usage: "keep the trials under this study `NAME`", Value: "record"},
			&cli.StringSliceFlag{Name: "result", Usage: "`FILE` or folder that the command writes; default what its options say, else what it prints"},
			&cli.StringFlag{Name: "url", Usage: "base `URL` of the server that it asks; default what its options say"},
			&cli.StringFlag{Name: "engine", Usage: "`NAME` of the engine; default what the server says of itself"},
			keyFlag(),
			&cli.StringFlag{Name: "gpus", Usage: "which `GPUS` of this machine serve: all, none, or indexes as 0,1; default all where the server is on this machine"},
			&cli.DurationFlag{Name: "timeout", Usage: "end the command after this `TIME`"},
			&cli.DurationFlag{Name: "grace", Usage: "`TIME` that it may take to end when it is asked to", Value: 10 * time.Second},
			&cli.StringSliceFlag{Name: "set", Usage: "record `FIELD=VALUE` for every trial, beside what its result says"},
		},
		Action: a.recordAction,
	})
}

func (a *app) recordAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	argv := cmd.Args().Slice()
	if len(argv) == 0 {
		return usageError{hinted{errors.New("record: no command given"), "sweepbook record -- vllm bench serve --model … --save-result"}}
	}
	sets, err := parseSets(cmd.StringSlice("set"))
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	ctx, secrets, err := a.withKey(ctx, cmd)
	if err != nil {
		return err
	}
	r := &recording{app: a, cmd: cmd, argv: argv, inv: tool.Recognise(argv, dir), sets: sets, redact: serving.NewRedactor(secrets)}
	if url := cmd.String("url"); url != "" {
		if err := checkAddress("record --url", url); err != nil {
			return err
		}
		r.inv.BaseURL = url
	}
	r.namedResults(dir)
	db, err := a.openWrite(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	r.store = runStore{DB: db, app: a, redact: r.redact, ended: ctx.Done()}
	if r.watch, err = tool.NewWatch(r.inv.Results); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return r.run(ctx)
}

// environmentSecrets are the values of variables whose names say that they hold
// one: the command has them, and may print them.
func environmentSecrets() map[string]string {
	secrets := map[string]string{}
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok && serving.SecretName(name) {
			secrets[name] = value
		}
	}
	return secrets
}

// recording is one command that is run and recorded.
type recording struct {
	app    *app
	cmd    *cli.Command
	argv   []string
	inv    tool.Invocation
	sets   []core.Assertion
	redact *serving.Redactor
	store  runStore
	watch  *tool.Watch
	srv    *target
}

// namedResults takes the places of --result in place of what the options say.
func (r *recording) namedResults(dir string) {
	if !r.cmd.IsSet("result") {
		return
	}
	r.inv.Results = nil
	for _, path := range r.cmd.StringSlice("result") {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		r.inv.Results = append(r.inv.Results, tool.Place{Path: path})
	}
}

// run runs the command under observation and records what came of it. Its exit
// code becomes ours.
func (r *recording) run(ctx context.Context) error {
	a := r.app
	defer outliveReaders()()
	if err := r.lookAtServer(ctx); err != nil {
		return err
	}
	what := load.Observation{}
	if r.srv != nil {
		what = load.Observation{BaseURL: r.srv.url, GPUs: r.srv.gpus}
	}
	observer := load.Observe(ctx, &benchSink{report: func(core.Progress) {}}, what)
	observer.Progress(core.Progress{Phase: "measure"}) // what is watched is the whole run of the command
	began := a.now()
	lost := func(err error) { a.warn("output of the command: %v", err) }
	c := command{argv: r.argv, stdin: a.stdin, stdout: &unread{w: a.stdout, lost: lost}, stderr: &unread{w: a.stderr, lost: lost},
		timeout: r.cmd.Duration("timeout"), grace: r.cmd.Duration("grace")}
	end, err := c.run(ctx)
	ended := a.now()
	seen := observer.Finish(ctx)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	// What the command did is kept also when the user wants to end.
	ctx = context.WithoutCancel(ctx)
	end.LastLine = r.redact.String(end.LastLine)
	trials, err := r.results(ctx, c.printed(), &end)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for i, t := range trials {
		t.trial.StartedAt, t.trial.ZoneAssumed = began.UTC(), false
		t.trial.EndedAt = t.trial.StartedAt.Add(ended.Sub(began)) // by the clock that nobody sets
		if len(trials) == 1 {
			tool.Observe(t.trial, seen, ended.Sub(began))
		} else {
			t.trial.Extra["record_part"] = core.String(fmt.Sprintf("%d of %d", i+1, len(trials)))
			// Each has a part of the run; what was seen is of the whole.
			tool.Observe(t.trial, seen, math.MaxInt64)
		}
		if err := r.store.FinishTrial(ctx, t.trial, t.samples); err != nil {
			return fmt.Errorf("record trial: %w", err)
		}
		if err := r.assert(ctx, t.trial); err != nil {
			return err
		}
		a.say("recorded trial %s", progress.TrialText(progress.TrialOf(t.trial)))
	}
	return r.verdict(end, trials)
}

func (r *recording) assert(ctx context.Context, t *core.Trial) error {
	var list []core.Assertion
	for _, set := range r.sets {
		set.Trial, set.Why = t.ID, "record --set "+set.Field+"="+set.New.String()
		list = append(list, set)
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := r.store.Set(ctx, list); err != nil {
		return fmt.Errorf("record --set: %w", err)
	}
	return nil
}

// verdict ends with the command's own exit code, or with an error where it ended
// well and there is nothing to show for it.
func (r *recording) verdict(end tool.End, trials []recorded) error {
	t := trials[0].trial
	for _, other := range trials {
		if t.Status == core.StatusOK {
			t = other.trial
		}
	}
	switch {
	case end.Interrupted:
		return quietError{exitInterrupted}
	case end.ExitCode != 0:
		return quietError{end.ExitCode}
	case t.Status != core.StatusOK:
		why := t.FailureText
		if why == "" {
			why = fmt.Sprintf("none of %s requests completed", t.Figures.Value("requested"))
		}
		err := fmt.Errorf("record: %s: %s", t.Failure, why)
		if t.Failure == core.NoResult && len(r.inv.Results) == 0 {
			err = hinted{err, "--result FILE names what the command writes"}
		}
		r.app.fail(err)
		return quietError{exitError}
	}
	return nil
}

// lookAtServer asks the server who it is before the command adds its load.
func (r *recording) lookAtServer(ctx context.Context) error {
	if r.inv.BaseURL == "" {
		r.app.warn("the server that the command asks is not known, and not watched; --url names it")
		return nil
	}
	if !isAddress(r.inv.BaseURL) {
		r.app.warn("%q is no address of a server; it is not watched", r.inv.BaseURL)
		return nil
	}
	srv, err := r.app.findServer(ctx, r.inv.BaseURL, serverFlags{engine: r.cmd.String("engine"), model: r.inv.Asked.Model, gpus: r.cmd.String("gpus")})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.srv = srv
	return nil
}
