package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/query"
)

func (a *app) planCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "plan",
		Usage:     "print every command, launch and trial of a study, and what it may cost",
		ArgsUsage: "STUDY.yaml",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			file, err := readStudy(cmd, "plan")
			if err != nil {
				return err
			}
			var durations study.Durations
			// The history serves for estimates and for its knob names only, so a
			// plan works where there is none yet.
			var src query.Source = nothing{}
			var store *runStore
			if db, err := a.openRead(ctx, cmd); err == nil {
				defer db.Close()
				src, store = db, &runStore{DB: db, app: a}
				if durations, err = a.seen(ctx, db); err != nil {
					return err
				}
			}
			if err := study.Check(ctx, file, a.judgeOf(src, file)); err != nil {
				return err
			}
			if err := checkAccepted(file); err != nil {
				return err
			}
			outline, err := study.NewOutline(ctx, file, a.opener(&plugins.Host{}), durations)
			if err != nil {
				return err
			}
			if store != nil {
				hostname, err := os.Hostname()
				if err != nil {
					return fmt.Errorf("host name: %w", err)
				}
				if err := outline.FindReusable(ctx, file, store, hostname, a.now()); err != nil {
					return err
				}
			}
			return a.outline(cmd, outline, file.Study.Run.Secrets)
		},
	})
}

func (a *app) outline(cmd *cli.Command, o *study.Outline, secrets []string) error {
	if cmd.String("output") != "table" {
		var rows [][]string
		for i, l := range o.Launches {
			rows = append(rows, []string{fmt.Sprint(i + 1), l.Stage, l.Option, l.When, shellLine(typed(l.Argv)), shellLine(assignments(l.Env)), strings.Join(secrets, " "), strings.Join(l.Trials, "; "), fmt.Sprint(l.Repeats), benchLines(l.Benches), fmt.Sprint(l.Times), strings.Join(l.Reused, "; ")})
		}
		return a.table(cmd, textTable([]string{"launch", "stage", "option", "when", "command", "env", "secrets", "trials", "repeats", "benches", "times", "reused"}, rows))
	}
	for i, l := range o.Launches {
		fmt.Fprintf(a.stdout, "launch %d  %s: %s\n", i+1, l.Stage, l.Option)
		if l.When != "" {
			fmt.Fprintf(a.stdout, "  only when  %s\n", l.When)
		}
		if l.OnTopOf != "" {
			fmt.Fprintf(a.stdout, "  on top of  %s\n", l.OnTopOf)
		}
		if l.Times > 1 {
			fmt.Fprintf(a.stdout, "  up to      %d times, on top of each of the best so far\n", l.Times)
		}
		if len(l.Env) > 0 {
			fmt.Fprintf(a.stdout, "  env        %s\n", shellLine(assignments(l.Env)))
		}
		if len(secrets) > 0 {
			fmt.Fprintf(a.stdout, "  secrets    %s\n", strings.Join(secrets, " "))
		}
		fmt.Fprintf(a.stdout, "  command    %s\n", shellLine(typed(l.Argv)))
		for j, t := range l.Trials {
			fmt.Fprintf(a.stdout, "  trial      %s × %d\n", t, l.Repeats)
			if l.Benches[j] != nil {
				fmt.Fprintf(a.stdout, "  by         %s\n", shellLine(l.Benches[j]))
			}
		}
		for _, text := range l.Reused {
			fmt.Fprintf(a.stdout, "  reused     %s\n", text)
		}
	}
	fmt.Fprintln(a.stdout)
	for _, text := range o.Depends {
		fmt.Fprintln(a.stdout, text)
	}
	fmt.Fprintf(a.stdout, "at most %d launches, %d trials, about %.1f GPU hours (%s)\n", o.AtMost, o.Trials, o.GPUHours, o.Assumed)
	if n := o.Parallel; n > 1 {
		fmt.Fprintf(a.stdout, "at most %d launches at once; baseline and verification alone\n", n)
	}
	if o.Budget != "" {
		fmt.Fprintln(a.stdout, o.Budget)
	}
	return nil
}

// benchLines are the commands of other tools, one for each of the trials that have
// one.
func benchLines(benches [][]string) string {
	var lines []string
	for _, argv := range benches {
		if argv != nil {
			lines = append(lines, shellLine(argv))
		}
	}
	return strings.Join(lines, "; ")
}

// seen reads how long launches and trials took in this history.
func (a *app) seen(ctx context.Context, src query.Source) (study.Durations, error) {
	d := study.Durations{Trial: map[string]time.Duration{}}
	answer, err := query.Run(ctx, src, `show workload, median(duration_s), median(ready_s) where tool == "sweepbook" and status == "ok" by workload`, query.Options{Now: a.now()})
	if err != nil {
		return d, err
	}
	for _, row := range answer.Rows {
		d.Trial[row[0].Text] = time.Duration(row[1].Num * float64(time.Second))
		d.Ready = max(d.Ready, time.Duration(row[2].Num*float64(time.Second)))
	}
	return d, nil
}
