package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/examples"
)

func (a *app) demoCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "demo",
		Usage:     "carry out a small study on a simulated GPU: winner, chart and report",
		ArgsUsage: "[FOLDER]",
		Action:    a.demoAction,
	})
}

// demoAction runs the very commands that a person would type, and shows them.
func (a *app) demoAction(ctx context.Context, cmd *cli.Command) error {
	if err := needLinux("demo"); err != nil {
		return err
	}
	if err := checkFormat(cmd); err != nil {
		return err
	}
	dir := cmd.Args().First()
	if dir == "" {
		dir = "demo"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	text, err := examples.Demo.ReadFile("demo/study.yaml")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "study.yaml")
	if err := writeFile(file, text); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	parsed, err := study.Read(file)
	if err != nil {
		return err
	}
	db := filepath.Join(dir, "history.db")
	question := parsed.Study.Objective + ` by workload vs role == "baseline"`
	for _, line := range [][]string{
		{"--db", db, "run", file},
		{"--db", db, "query", `show stage, option, status, failure, output_tps, mean_ttft_ms, mean_tpot_ms where workload == "` + parsed.Study.DecideOn + `"`},
		{"--db", db, "query", question},
		{"--db", db, "chart", `show option, output_tps, role where status == "ok" and workload == "` + parsed.Study.DecideOn + `"`,
			"--title", "Output tokens per second, simulated H100", "--out", filepath.Join(dir, "stages.png")},
		{"--db", db, "report", parsed.Study.Name, "--out", filepath.Join(dir, "report")},
	} {
		a.say("\n$ sweepbook %s", shellLine(line))
		if code := a.run(ctx, append([]string{"sweepbook"}, line...)); code != exitOK {
			return quietError{code}
		}
	}
	return nil
}
