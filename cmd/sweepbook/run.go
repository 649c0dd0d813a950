package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/plugins/supervise"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) runCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "run",
		Usage:     "carry out a study; run it again to resume",
		ArgsUsage: "STUDY.yaml",
		Flags:     runFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := needLinux("run"); err != nil {
				return err
			}
			if err := checkFormat(cmd); err != nil {
				return err
			}
			file, err := readStudy(cmd, "run")
			if err != nil {
				return err
			}
			if cmd.Bool("detach") {
				return a.detach(ctx, cmd, file)
			}
			db, err := a.openWrite(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			return a.runStudy(ctx, cmd, db, file, func(ctx context.Context, r *study.Runner) (study.Result, error) { return r.Run(ctx) })
		},
	})
}

func readStudy(cmd *cli.Command, verb string) (*study.File, error) {
	if cmd.Args().Len() != 1 {
		return nil, usageError{hinted{fmt.Errorf("%s: want one study file", verb), "sweepbook " + verb + " study.yaml"}}
	}
	return study.Read(cmd.Args().First())
}

// runStudy checks the study as a whole before anything is launched, takes hold of
// it, clears what a dead run left, and carries it out: the search or a confirmation.
func (a *app) runStudy(ctx context.Context, cmd *cli.Command, db *store.DB, file *study.File, carryOut func(context.Context, *study.Runner) (study.Result, error)) error {
	s := &file.Study
	started := startedBy(cmd)
	defer started.close()
	ui, err := a.newTeller(cmd.String("progress"))
	if err != nil {
		return err
	}
	defer ui.end()
	history := runStore{DB: db, app: a, ended: ctx.Done()}
	j := a.judgeOf(db, file)
	j.accept = func(ctx context.Context) error {
		return history.patiently(ctx, func() error { return accept(ctx, db, s) })
	}
	j.void = func(ctx context.Context, ids []core.ID) ([]string, error) { return voidRules(ctx, db, ids) }
	if err := study.Check(ctx, file, j); err != nil {
		return err
	}
	if err := checkAccepted(file); err != nil {
		return err
	}
	for name := range s.Engines {
		if _, err := a.engineSpec(name); err != nil {
			return file.Fault("engines."+name, err)
		}
	}
	letGo, err := db.HoldStudy(ctx, s.Name)
	if err != nil {
		return err
	}
	defer func() { _ = letGo() }() // the kernel takes the lock back in any case
	if err := history.patiently(ctx, func() error { return a.recover(ctx, db, s.Name) }); err != nil {
		return err
	}
	resolved, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("study %s: %w", s.Name, err)
	}
	now := a.now().UTC()
	if err := history.patiently(ctx, func() error { return db.SaveStudy(ctx, s.Name, resolved, now) }); err != nil {
		return fmt.Errorf("study %s: %w", s.Name, err)
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	log, err := runLog(cmd, workDir(db.Path()))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // what engines said; nothing depends on it
	host := &plugins.Host{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: log.level}))}
	guard, err := a.gpuGuard(file)
	if err != nil {
		return err
	}
	defer guard.Close()
	secrets := a.secretsOf(s.Run.Secrets)
	redact := serving.NewRedactor(secrets)
	teller, err := a.tellerOf(ctx, db, file, j, ui, redact.String)
	if err != nil {
		return err
	}
	history.redact = redact
	runner := &study.Runner{
		File: file, Store: history, Judge: j, Open: a.opener(host), Start: serverStarter(secrets), Reserve: reserver(guard), HoldPort: a.portHolder(s.Name),
		WorkDir: workDir(db.Path()), Host: hostname, Version: version(), Release: release, Now: a.now,
		Events: teller.event, Stopping: a.stopping, ToolVersion: serving.PackageVersion,
	}
	a.interrupt.Store(true)
	defer outliveReaders()()
	runner.Fetch, runner.Unprepared = fetcher(secrets, log), cmd.Bool("no-prefetch")
	started.ready()
	res, err := carryOut(ctx, runner)
	teller.finish(res, err)
	// Also what was verified at the end, and what ended before a run was stopped.
	if err := accept(context.WithoutCancel(ctx), db, s); err != nil {
		a.warn("%v", err)
	}
	return a.runDone(cmd, file, res, err)
}

// workDir is where launches keep their files and logs: beside the history.
func workDir(db string) string {
	abs, err := filepath.Abs(db)
	if err != nil {
		abs = db
	}
	return filepath.Join(filepath.Dir(abs), "launches")
}

// recover ends what an earlier run left and marks its open trials as lost. The
// study is held, so that no living run can be meant.
func (a *app) recover(ctx context.Context, db *store.DB, name string) error {
	reaped, err := reap(ctx, workDir(db.Path()))
	if err != nil {
		return fmt.Errorf("servers of an earlier run: %w", err)
	}
	for _, r := range reaped {
		if r.KilledCount > 0 {
			a.warn("ended %d processes that a dead run had left", r.KilledCount)
		}
	}
	if err := a.unspill(ctx, db); err != nil {
		return err
	}
	lost, err := db.ReapLost(ctx, name)
	if err != nil {
		return fmt.Errorf("study %s: %w", name, err)
	}
	if lost > 0 {
		a.warn("%d trials of an earlier run were cut off; they are kept as lost and run again", lost)
	}
	return nil
}

func (a *app) runDone(cmd *cli.Command, file *study.File, res study.Result, err error) error {
	reused := ""
	if res.Reused > 0 {
		reused = fmt.Sprintf(", %d taken over from other studies", res.Reused)
	}
	fmt.Fprintf(a.stderr, "%d trials measured, %d failed, %d known before%s\n", res.Ran, res.Failed, res.Known, reused)
	switch {
	case errors.Is(err, study.ErrStopped):
		return hinted{err, self(cmd) + " " + again(cmd, file) + " goes on where it stopped"}
	case errors.As(err, new(*study.MissingError)):
		return hinted{err, self(cmd) + " prefetch " + shellWord(file.Path) + " shows what is here; run --no-prefetch launches without looking"}
	case err != nil:
		return err
	}
	if res.Void != nil {
		a.fail(hinted{fmt.Errorf("no winner on %s: %s", file.Study.DecideOn, res.Void),
			"accept: [" + strings.Join(ruleIDs(res.Void.Rules), ", ") + "] in " + shellWord(file.Path) + " lets such figures decide; sweepbook audit prints the evidence"})
		return quietError{exitNothing}
	}
	if len(res.Winners) == 0 {
		a.fail(hinted{fmt.Errorf("no trial on %s meets the objective: %s", file.Study.DecideOn, file.Study.Objective),
			self(cmd) + " list " + shellWord(`study == "`+file.Study.Name+`"`) + " shows what became of each"})
		return quietError{exitNothing}
	}
	if cmd.String("output") == "table" {
		// In full: a table would cut the configuration that one came for.
		lines := [][2]string{{"baseline", study.Describe(res.Baseline)}, {"winner", study.Describe(res.Winner)}}
		for _, tied := range res.Tied {
			lines = append(lines, [2]string{"tied", study.Describe(tied)})
		}
		err := pairs(a.stdout, lines)
		a.tieHint(cmd, file, res)
		return errors.Join(err, a.reportHint(cmd, file))
	}
	rows := [][]string{
		{"baseline", res.Baseline.Hash(), study.Describe(res.Baseline)},
		{"winner", res.Winner.Hash(), study.Describe(res.Winner)},
	}
	for _, tied := range res.Tied {
		rows = append(rows, []string{"tied", tied.Hash(), study.Describe(tied)})
	}
	if err := a.table(cmd, textTable([]string{"role", "config", "configuration"}, rows)); err != nil {
		return err
	}
	a.tieHint(cmd, file, res)
	return a.reportHint(cmd, file)
}

// tieHint says that the winner is one of several, and how to tell them apart.
func (a *app) tieHint(cmd *cli.Command, file *study.File, res study.Result) {
	if len(res.Tied) == 0 {
		return
	}
	verb := "configurations tie with the winner"
	if len(res.Tied) == 1 {
		verb = "configuration ties with the winner"
	}
	a.say("%d %s: it cannot be told which is the best (%s)", len(res.Tied), verb, res.Basis)
	a.hint(self(cmd) + " confirm " + shellWord(file.Path) + " 5 measures them again, in turns")
}

// again is the command line that takes up what was stopped.
func again(cmd *cli.Command, file *study.File) string {
	if cmd.Name == "confirm" {
		return "confirm " + shellWord(file.Path) + " " + cmd.Args().Get(1)
	}
	return "run " + shellWord(file.Path)
}

// ruleIDs are the names of rules without their titles.
func ruleIDs(rules []string) []string {
	ids := make([]string, len(rules))
	for i, rule := range rules {
		ids[i], _, _ = strings.Cut(rule, " ")
	}
	return ids
}

func (a *app) reportHint(cmd *cli.Command, file *study.File) error {
	a.hint(self(cmd) + " report " + shellWord(file.Study.Name))
	return nil
}

// hidden serves the commands that this binary calls itself by; they are no part
// of the command line for people.
func (a *app) hidden(args []string) (int, bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case "shim":
		return supervise.FilteredShimMain(args[2:], logFilter), true
	case "engine-serve":
		return a.engineServe(args[2:]), true
	case "sim-server":
		return simServer(args[2:], a.stdout, a.stderr), true
	}
	return 0, false
}
