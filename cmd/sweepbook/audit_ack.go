package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// ackCommand makes "audit ack" and "audit unack".
func (a *app) ackCommand(verb string) *cli.Command {
	usage := "accept what a rule says of some trials, with a reason; it bars them no longer"
	if verb == "unack" {
		usage = "take an acceptance back"
	}
	c := &cli.Command{
		Name: verb, Usage: usage, ArgsUsage: "RULE where CONDITION",
		Action: func(ctx context.Context, cmd *cli.Command) error { return a.ackAction(ctx, cmd, verb) },
	}
	if verb == "ack" {
		c.Flags = []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`TEXT` that says why", Required: true}}
	}
	return a.command(c)
}

func (a *app) ackAction(ctx context.Context, cmd *cli.Command, verb string) error {
	rule, condition, err := splitWhere(cmd, "audit "+verb)
	if err != nil {
		return err
	}
	var known []string
	for _, r := range audit.Rules() {
		known = append(known, r.ID)
	}
	if !slices.Contains(known, rule) {
		return usageError{hinted{fmt.Errorf("audit %s: no rule %q", verb, rule), "sweepbook audit --rules lists them"}}
	}
	db, err := a.openExisting(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	trials, err := a.meeting(ctx, db, condition)
	if err != nil {
		return err
	}
	var ids []core.ID
	for _, t := range trials {
		ids = append(ids, t.id)
	}
	if len(ids) == 0 {
		a.fail(errors.New("audit " + verb + ": no trial meets the condition"))
		return quietError{exitNothing}
	}
	var n int
	if verb == "ack" {
		n, err = db.Acknowledge(ctx, rule, ids, cmd.String("reason"))
	} else {
		n, err = db.Unacknowledge(ctx, rule, ids)
	}
	if err != nil {
		return fmt.Errorf("audit %s: %w", verb, err)
	}
	fmt.Fprintf(a.stdout, "audit %s %s: %d trials\n", verb, rule, n)
	return nil
}

func (a *app) refreshCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "refresh", Usage: "judge every trial anew and list the verdicts that changed", ArgsUsage: "[STUDY]",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			db, err := a.openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			changes, err := db.Reaudit(ctx, cmd.Args().First())
			if err != nil {
				return err
			}
			var rows [][]string
			for _, c := range changes {
				rows = append(rows, []string{fmt.Sprint(c.Number), c.Study, c.Rule, verdict(c.Old), verdict(c.New), c.Evidence})
			}
			if err := a.table(cmd, textTable([]string{"number", "study", "rule", "before", "now", "evidence"}, rows)); err != nil {
				return err
			}
			a.say("%d verdicts changed", len(changes))
			return nil
		},
	})
}

func verdict(s core.Severity) string {
	if s == 0 {
		return "none"
	}
	return s.String()
}
