package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) reportCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "report",
		Usage:     "write what a study found: decision, tables, charts, how to repeat it",
		ArgsUsage: "STUDY",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o", "f"}, Usage: "`FOLDER` for report.md, report.html and the charts; default the study's name"},
			&cli.StringFlag{Name: "objective", Usage: "`QUESTION` that decides, for an imported study"},
			&cli.StringFlag{Name: "decide-on", Usage: "`WORKLOAD` that decides, for an imported study"},
			&cli.FloatFlag{Name: "usd-per-gpu-hour", Usage: "`PRICE` for the cost of a million tokens; default the study's own"},
			&cli.StringFlag{Name: "baseline", Usage: "`CONDITION` that marks the baseline, where the source does not"},
		},
		Action: a.reportAction,
	})
}

func (a *app) reportAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	db, err := a.openRead(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	name, err := a.studyName(ctx, db, strings.Join(cmd.Args().Slice(), " "))
	if err != nil {
		return err
	}
	def, err := definition(ctx, db, name)
	if err != nil {
		return err
	}
	r, err := report.Build(ctx, db, name, def, report.Options{
		Now: a.now().UTC(), Version: version(), Objective: cmd.String("objective"), DecideOn: cmd.String("decide-on"), Baseline: cmd.String("baseline"),
		USDPerGPUHour: cmd.Float("usd-per-gpu-hour"),
		Details:       func(ctx context.Context, id string) (report.Details, error) { return details(ctx, db, id) },
		RuleTitles:    ruleTitles(),
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	dir := cmd.String("out")
	if dir == "" {
		dir = strings.Map(func(c rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, c) || c <= ' ' {
				return '-'
			}
			return c
		}, name)
	}
	return a.writeReport(dir, r)
}

func (a *app) writeReport(dir string, r *report.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	files := map[string][]byte{"report.md": r.Markdown(""), "report.html": r.HTML()}
	for name, picture := range r.Charts {
		files[name] = picture
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := writeFile(path, files[name]); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		fmt.Fprintln(a.stdout, path)
	}
	return nil
}

// studyName finds the study that is meant: its whole name, or a part of it that
// only one study has.
func (a *app) studyName(ctx context.Context, db *store.DB, word string) (string, error) {
	names, err := studies(ctx, db)
	if err != nil {
		return "", err
	}
	if slices.Contains(names, word) {
		return word, nil
	}
	var matching []string
	for _, name := range names {
		if word != "" && strings.Contains(strings.ToLower(name), strings.ToLower(word)) {
			matching = append(matching, name)
		}
	}
	if len(matching) == 1 {
		return matching[0], nil
	}
	list := "studies here: " + strings.Join(names, "; ")
	switch {
	case word == "":
		return "", usageError{hinted{errors.New("report: want the name of one study"), list}}
	case len(matching) > 1:
		return "", usageError{hinted{fmt.Errorf("report: %q is part of several studies", word), "one of: " + strings.Join(matching, "; ")}}
	}
	return "", hinted{fmt.Errorf("report: no study %q: %w", word, core.ErrNotFound), list}
}

// studies lists every study of a history, run or imported.
func studies(ctx context.Context, db *store.DB) ([]string, error) {
	var names []string
	for row, err := range db.Rows(ctx, core.Select{Columns: []string{"study"}}) {
		if err != nil {
			return nil, err
		}
		if row[0].Kind == core.KindText && !slices.Contains(names, row[0].Text) {
			names = append(names, row[0].Text)
		}
	}
	slices.Sort(names)
	return names, nil
}

// definition is the study as it was resolved when it ran; nil for an import.
func definition(ctx context.Context, db *store.DB, name string) (*core.Study, error) {
	saved, err := db.Study(ctx, name)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", name, err)
	}
	var def core.Study
	if err := json.Unmarshal(saved.Resolved, &def); err != nil {
		return nil, fmt.Errorf("study %s: %w", name, err)
	}
	return &def, nil
}

// details gives the commands of a trial: as launched, or as its source shows them.
func details(ctx context.Context, db *store.DB, id string) (report.Details, error) {
	t, err := db.Trial(ctx, id)
	if err != nil {
		return report.Details{}, err
	}
	d := report.Details{FailureLine: t.FailureText, Findings: t.Findings}
	asked := t.Extra["bench_command"].Text
	if t.Launch != nil && len(t.Launch.Argv) > 0 {
		d.Serve = shellLine(portable(t.Launch.Argv))
		if d.Bench = asked; asked == "" {
			d.Bench = benchLine(t)
		}
		return d, nil
	}
	if asked != "" {
		d.Bench = asked
		return d, nil
	}
	// Only printed text has commands before the result; JSON has none.
	if len(t.Sources) > 0 && t.Sources[0].Format == "serving-block" {
		d.Serve, d.Bench = printedCommands(t.Sources[0].Raw)
		if strings.HasPrefix(d.Serve, "-") {
			d.Serve = strings.TrimSpace(serveCommand(t.Setup.Config) + " " + d.Serve)
		}
	}
	return d, nil
}

// serveCommand is how an engine is started by hand, for sources that print its
// flags alone.
func serveCommand(c core.Config) string {
	switch c.Engine {
	case "vllm":
		return "vllm serve " + c.Checkpoint
	case "sglang":
		return "python3 -m sglang.launch_server --model-path " + c.Checkpoint
	case "trtllm":
		return "trtllm-serve " + c.Checkpoint
	}
	return ""
}

// printedCommands finds the commands that stand before the result in the source
// text of an imported trial.
func printedCommands(raw string) (serve, bench string) {
	for line := range strings.Lines(raw) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "==="):
			return serve, bench
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Contains(line, "bench serve") || strings.Contains(line, "bench_serving") || strings.Contains(line, "benchmark_serving"):
			bench = line
		case serve == "" || strings.HasPrefix(line, "--"):
			serve = strings.TrimSpace(serve + " " + line)
		}
	}
	return serve, bench
}

// portable is a server command as a person would type it elsewhere: without the
// address that a run allotted.
func portable(argv []string) []string {
	var out []string
	argv = typed(argv)
	for i := 0; i < len(argv); i++ {
		switch flag, _, joined := strings.Cut(argv[i], "="); {
		case flag != "--host" && flag != "--port":
			out = append(out, argv[i])
		case !joined:
			i++
		}
	}
	return out
}

// portableURL is where a server listens that was started without an address.
func portableURL(engine string) string {
	if engine == "sglang" {
		return "http://127.0.0.1:30000"
	}
	return "http://127.0.0.1:8000"
}

// typed names this program as people call it: a built-in engine starts it as
// /proc/self/exe.
func typed(argv []string) []string {
	if len(argv) == 0 || argv[0] != "/proc/self/exe" {
		return argv
	}
	return append([]string{"sweepbook"}, argv[1:]...)
}

// benchLine is the command that measures the same again on a running server.
func benchLine(t *core.Trial) string {
	args := []string{"sweepbook", "bench", portableURL(t.Setup.Config.Engine), "--model", t.Setup.Config.Checkpoint, "--dataset", t.Workload.Dataset}
	add := func(flag string, v core.Value) {
		if v.Kind == core.KindNumber {
			args = append(args, flag, v.String())
		}
	}
	if t.Workload.Path != "" {
		args = append(args, "--data", t.Workload.Path)
	}
	if t.Workload.Endpoint == "completions" {
		args = append(args, "--endpoint", t.Workload.Endpoint)
	}
	add("--input", t.Workload.InputLen)
	add("--output-len", t.Workload.OutputLen)
	if t.Workload.IgnoreEOS.True() && t.Workload.Dataset != "random" {
		args = append(args, "--ignore-eos")
	}
	if v := t.Workload.Turns; v.Num > 1 {
		add("--turns", v)
	}
	for _, name := range t.Workload.Params.Names() {
		args = append(args, "--param", name+"="+t.Workload.Params[name].String())
	}
	add("--requests", t.Load.NumPrompts)
	if v := t.Load.DurationS; v.Kind == core.KindNumber {
		args = append(args, "--duration", (time.Duration(v.Num * float64(time.Second))).String())
	}
	add("--concurrency", t.Load.Concurrency)
	add("--rate", t.Load.RequestRate)
	add("--seed", t.Load.Seed)
	return shellLine(args)
}
