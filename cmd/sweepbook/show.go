package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

func (a *app) showCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "show",
		Usage:     "show everything that is known of a trial",
		ArgsUsage: "NUMBER|ID",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "raw", Usage: "also the source text of an imported trial"}},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			if cmd.Args().Len() != 1 {
				return usagef("show: want the number or id of one trial")
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			t, err := db.Trial(ctx, cmd.Args().First())
			if err != nil {
				return fmt.Errorf("show: %w", err)
			}
			if err := a.explain(cmd, t); err != nil {
				return err
			}
			switch cmd.String("output") {
			case "json":
				return a.writeJSON(t)
			case "table":
				return a.showTrial(t, cmd.Bool("raw"))
			}
			var rows [][]string
			for _, l := range trialLines(t) {
				rows = append(rows, []string{l[0], l[1]})
			}
			return a.table(cmd, textTable([]string{"field", "value"}, rows))
		},
	})
}

// explain puts the figures into the formulas of what is derived.
func (a *app) explain(cmd *cli.Command, t *core.Trial) error {
	path, _, err := a.databasePath(cmd)
	if err != nil {
		return err
	}
	ref, err := reference(path)
	if err != nil {
		return err
	}
	explainLimits(t, ref)
	return nil
}

func (a *app) showTrial(t *core.Trial, raw bool) error {
	if err := pairs(a.stdout, trialLines(t)); err != nil {
		return err
	}
	for _, s := range t.Sources {
		fmt.Fprintf(a.stdout, "\nsource  %s %s (%s)\n", s.File, s.Position, s.Format)
		if raw && s.Raw != "" {
			fmt.Fprintf(a.stdout, "%s\n", a.clean(s.Raw))
		}
	}
	return nil
}

// trialLines are the known fields of a trial in the order of the documentation,
// then its knobs, extras, findings and corrections.
func trialLines(t *core.Trial) [][2]string {
	var lines [][2]string
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, [2]string{name, value})
		}
	}
	for _, f := range core.Fields() {
		v := shown(query.Column{Name: f.Name, Unit: f.Unit, Type: f.Type}, t.Value(f.Name))
		if v != "" && f.Unit != "" {
			v += " " + f.Unit
		}
		if how := t.Derived[f.Name]; how != "" && v != "" {
			v += "  (derived: " + how + ")"
		}
		add(f.Name, v)
	}
	for _, name := range t.Figures.Names() {
		if f, ok := core.LookupField(name); ok && !fixedField(f.Name) {
			add(name, shown(query.Column{Type: f.Type}, t.Figures.Value(name))+" "+f.Unit)
		}
	}
	for _, name := range t.Workload.Params.Names() {
		add("workload."+name, t.Workload.Params[name].String())
	}
	for _, name := range t.Setup.Config.Knobs.Names() {
		add("args."+name, t.Setup.Config.Knobs[name].String())
	}
	if t.Launch != nil {
		for _, name := range t.Launch.Resolved.Names() {
			add("resolved."+name, t.Launch.Resolved[name].String())
		}
		add("command", strings.Join(t.Launch.Argv, " "))
		add("log", t.Launch.Log)
	}
	for _, name := range core.Knobs(t.Extra).Names() {
		add("extra."+name, t.Extra[name].String())
	}
	for _, name := range core.Knobs(t.Quality).Names() {
		add("quality."+name, t.Quality[name].String())
	}
	add("failure_text", t.FailureText)
	for _, f := range t.Findings {
		add("finding "+f.Rule, f.Severity.String()+" on "+strings.Join(f.Metrics, ", ")+": "+f.Evidence)
	}
	for _, as := range t.Assertions {
		add("correction", fmt.Sprintf("%s %s %s -> %s (%s, by %s; %s)", as.Verb, as.Field, as.Old, as.New, as.When.Format(time.RFC3339), as.By, as.Why))
	}
	return lines
}

func fixedField(name string) bool {
	for _, f := range core.Fields() {
		if f.Name == name {
			return true
		}
	}
	return false
}
