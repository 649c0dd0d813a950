package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/core/load"
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
	r := &recording{app: a, cmd: cmd, argv: argv, inv: tool.Recognise(argv, dir), sets: sets, redact: serving.NewRedactor(environmentSecrets())}
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
		place := tool.Place{Path: path}
		if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator)) {
			place.Pattern = "*"
		}
		r.inv.Results = append(r.inv.Results, place)
	}
}

// run runs the command under observation and records what came of it. Its exit
// code becomes ours.
func (r *recording) run(ctx context.Context) error {
	a := r.app
	if err := r.lookAtServer(ctx); err != nil {
		return err
	}
	what := load.Observation{}
	if r.srv != nil {
		what = load.Observation{BaseURL: r.srv.url, GPUs: r.srv.gpus}
	}
	observer := load.Observe(ctx, &benchSink{report: func(core.Progress) {}}, what)
	observer.Progress(core.Progress{Phase: "measure"}) // what is watched is the whole run of the command
	began := a.now().UTC()
	c := command{argv: r.argv, stdin: a.stdin, stdout: a.stdout, stderr: a.stderr, timeout: r.cmd.Duration("timeout"), grace: r.cmd.Duration("grace")}
	end, err := c.run(ctx)
	ended := a.now().UTC()
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
		t.trial.StartedAt, t.trial.EndedAt, t.trial.ZoneAssumed = began, ended, false
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
		a.say("recorded trial %s", trialText(t.trial))
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
	switch {
	case end.Interrupted:
		return quietError{exitInterrupted}
	case end.ExitCode != 0:
		return quietError{end.ExitCode}
	case t.Status != core.StatusOK:
		err := fmt.Errorf("record: %s: %s", t.Failure, t.FailureText)
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
	if err := checkAddress("record", r.inv.BaseURL); err != nil {
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

// recorded is a trial with its requests.
type recorded struct {
	trial   *core.Trial
	samples []core.Sample
}

// results makes trials of what the command wrote, or printed; a failed one where
// there is nothing.
func (r *recording) results(ctx context.Context, printed string, end *tool.End) ([]recorded, error) {
	fresh, stale, err := r.watch.Fresh()
	if err != nil {
		return nil, err
	}
	opt := ingest.Options{Now: r.app.now().UTC()}
	res, err := tool.ReadFiles(ctx, fresh, opt)
	if err != nil {
		return nil, err
	}
	end.Notes = append(stale, res.Notes...)
	line := shellLine(r.redact.Argv(r.argv))
	if len(res.Trials) == 0 {
		shown, err := tool.ReadPrinted(ctx, "stdout", line, r.redact.String(printed), opt)
		if err != nil {
			return nil, err
		}
		res.Trials, res.Samples = shown.Trials, shown.Samples
	}
	found := len(res.Trials) > 0
	if !found {
		res.Trials = []*core.Trial{{Status: core.StatusRunning, Figures: core.Figures{}}}
	}
	version := serving.PackageVersion(ctx, r.inv.Program, tool.Package(r.inv.Tool))
	var out []recorded
	for _, t := range res.Trials {
		samples := res.Samples[t.ID]
		r.complete(t, line, version)
		end.Apply(t, found)
		out = append(out, recorded{t, samples})
	}
	return out, nil
}

// complete adds to an imported trial what is known of its run. What the result says
// itself stays.
func (r *recording) complete(t *core.Trial, line, toolVersion string) {
	now := r.app.now()
	t.ID, t.Study, t.Attempt, t.Repeat, t.SweepbookVersion = core.NewID(now), r.cmd.String("study"), 1, max(1, t.Repeat), version()
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	t.Extra["bench_command"] = core.String(line)
	s := &t.Setup
	fill(&s.Tool, r.inv.Tool)
	fill(&s.ToolVersion, toolVersion)
	asked := r.inv.Asked
	fill(&s.Config.Model, asked.Model)
	fillWorkload(&t.Workload, asked.Workload)
	for _, f := range []struct {
		to   *core.Value
		from core.Value
	}{
		{&t.Load.Concurrency, asked.Load.Concurrency}, {&t.Load.RequestRate, asked.Load.RequestRate}, {&t.Load.Burstiness, asked.Load.Burstiness},
		{&t.Load.NumPrompts, asked.Load.NumPrompts}, {&t.Load.Seed, asked.Load.Seed},
	} {
		if f.to.IsMissing() {
			*f.to = f.from
		}
	}
	if r.srv == nil {
		if host, err := os.Hostname(); err == nil {
			fill(&t.Host, host)
		}
		return
	}
	r.completeServer(t)
}

// completeServer adds what the server and this machine said.
func (r *recording) completeServer(t *core.Trial) {
	s, known := &t.Setup, r.srv.setup
	if s.Config.Engine == "" || s.Config.Engine == known.Config.Engine {
		s.Config.Engine = known.Config.Engine
		fill(&s.EngineVersion, known.EngineVersion)
	}
	fill(&s.Config.Model, known.Config.Model)
	fill(&s.Config.Checkpoint, known.Config.Checkpoint)
	fill(&s.GPU, known.GPU)
	fill(&s.Driver, known.Driver)
	fill(&s.WeightDtype, known.WeightDtype)
	fill(&s.KVDtype, known.KVDtype)
	fill(&s.SpecMethod, known.SpecMethod)
	if s.GPUs == 0 {
		s.GPUs = known.GPUs
	}
	if s.PowerLimitW == 0 {
		s.PowerLimitW = known.PowerLimitW
	}
	s.Simulated = s.Simulated || known.Simulated
	fill(&t.Host, r.srv.host)
	if t.Launch == nil {
		launch := *r.srv.launch
		launch.Setup = t.Setup
		t.Launch = &launch
	}
	maps.Copy(t.Extra, r.srv.extra)
}

func fill(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

// fillWorkload completes what a result leaves out of the workload.
func fillWorkload(w *core.Workload, from core.Workload) {
	if w.Dataset != "" && from.Dataset != "" && w.Dataset != from.Dataset {
		return
	}
	fill(&w.Dataset, from.Dataset)
	fill(&w.Path, from.Path)
	fill(&w.Endpoint, from.Endpoint)
	fill(&w.Name, from.Name)
	for _, f := range []struct {
		to   *core.Value
		from core.Value
	}{{&w.InputLen, from.InputLen}, {&w.OutputLen, from.OutputLen}, {&w.IgnoreEOS, from.IgnoreEOS}} {
		if f.to.IsMissing() {
			*f.to = f.from
		}
	}
	if len(w.Params) == 0 {
		w.Params = from.Params
	}
}
