package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// The commands of this file change what is recorded, always as a dated assertion
// beside what the source says.

func (a *app) setCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "set",
		Usage:     "record a value that a file does not know, or correct one",
		ArgsUsage: "FIELD=EXPRESSION where CONDITION",
		Description: "The expression may name fields of the trial: sweepbook set 'requested=completed where study == \"x\"'.\n" +
			"The source's own value stays beside it; answers that rest on the correction say so.",
		Action: a.setAction,
	})
}

func (a *app) setAction(ctx context.Context, cmd *cli.Command) error {
	assignment, condition, err := splitWhere(cmd, "set")
	if err != nil {
		return err
	}
	field, expression, ok := strings.Cut(assignment, "=")
	field, expression = strings.TrimSpace(field), strings.TrimSpace(expression)
	if !ok || field == "" || expression == "" || strings.HasPrefix(expression, "=") {
		return usagef("set %q: want FIELD=EXPRESSION where CONDITION", assignment)
	}
	if err := core.CheckFieldName(field); err != nil {
		return usagef("set: %v", err)
	}
	value, spread, uncertain := strings.Cut(expression, "±")
	if uncertain && !strings.HasPrefix(field, "quality.") {
		return usagef("set %s: ± is for quality figures", field)
	}
	expression = strings.TrimSpace(value)
	db, err := a.openExisting(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	answer, err := a.selectTrials(ctx, db, "id, ("+expression+") as new_value", condition)
	if err != nil && bareWord(expression) {
		// A bare word that is no field is a text: set gpu=H100.
		answer, err = a.selectTrials(ctx, db, "id", condition)
	}
	if err != nil {
		return err
	}
	var sets []core.Assertion
	for _, row := range answer.Rows {
		id, err := core.ParseID(row[0].Text)
		if err != nil {
			return err
		}
		value := valueFor(field, strings.Trim(expression, `"'`))
		if len(row) > 1 {
			value = row[1]
		}
		if value.Kind == core.KindNumber {
			value = valueFor(field, value.String())
		}
		if value.IsMissing() {
			a.warn("trial %s: %s is unknown, nothing set", id, expression)
			continue
		}
		set := core.Assertion{Trial: id, Verb: "set", Field: field, New: value, When: a.now().UTC(), Why: assignment + " where " + condition}
		sets = append(sets, set)
		if uncertain {
			set.Field, set.New = field+"_stderr", core.ParseValue(strings.TrimSpace(spread))
			sets = append(sets, set)
		}
	}
	return a.assert(ctx, db, sets, fmt.Sprintf("set %s", field))
}

// bareWord reports whether an expression is a single word, which may be meant as
// text.
func bareWord(expression string) bool { return !strings.ContainsAny(expression, " ()+*/") }

// splitWhere separates what to do from the condition, at the last word "where".
func splitWhere(cmd *cli.Command, verb string) (what, condition string, err error) {
	text := strings.TrimSpace(strings.Join(cmd.Args().Slice(), " "))
	at := strings.LastIndex(" "+text, " where ")
	if at < 0 {
		return "", "", usageError{hinted{fmt.Errorf("%s: no condition given", verb), verb + " … where CONDITION; where true means every trial"}}
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+len("where "):]), nil
}

func (a *app) selectTrials(ctx context.Context, db *store.DB, columns, condition string) (*query.Answer, error) {
	return query.Run(ctx, db, "show "+columns+" where "+condition, query.Options{Now: a.now()})
}

// selectIDs names the trials that meet a condition.
func (a *app) selectIDs(ctx context.Context, db *store.DB, condition string) ([]core.ID, error) {
	answer, err := a.selectTrials(ctx, db, "id", condition)
	if err != nil {
		return nil, err
	}
	var ids []core.ID
	for _, row := range answer.Rows {
		id, err := core.ParseID(row[0].Text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (a *app) assert(ctx context.Context, db *store.DB, sets []core.Assertion, what string) error {
	if len(sets) == 0 {
		a.fail(errors.New(what + ": no trial meets the condition"))
		return quietError{exitNothing}
	}
	if _, err := db.Set(ctx, sets); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	trials := map[core.ID]bool{}
	for _, set := range sets {
		trials[set.Trial] = true
	}
	fmt.Fprintf(a.stdout, "%s: %d trials\n", what, len(trials))
	return nil
}

// textAssertion makes the commands that attach a text to trials.
func (a *app) textAssertion(verb, usage, argument string) *cli.Command {
	return a.command(&cli.Command{
		Name: verb, Usage: usage, ArgsUsage: argument + " where CONDITION",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			text, condition, err := splitWhere(cmd, verb)
			if err != nil {
				return err
			}
			if text == "" {
				return usagef("%s: want %s where CONDITION", verb, argument)
			}
			db, err := a.openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			ids, err := a.selectIDs(ctx, db, condition)
			if err != nil {
				return err
			}
			var sets []core.Assertion
			for _, id := range ids {
				sets = append(sets, core.Assertion{Trial: id, Verb: verb, New: core.OptionalText(text), When: a.now().UTC(), Why: "where " + condition})
			}
			return a.assert(ctx, db, sets, verb)
		},
	})
}

func (a *app) tagCommand() *cli.Command {
	return a.textAssertion("tag", "give trials a tag", "TAG")
}

func (a *app) noteCommand() *cli.Command {
	return a.textAssertion("note", "attach a remark to trials", "TEXT")
}

func (a *app) retractCommand() *cli.Command {
	return a.textAssertion("retract", "take trials out of every ranking, with a reason", "REASON")
}

func (a *app) deleteCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "delete",
		Usage:     "remove trials for good; a later import does not bring them back",
		ArgsUsage: "REASON where CONDITION",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			reason, condition, err := splitWhere(cmd, "delete")
			if err != nil {
				return err
			}
			if reason == "" {
				return usagef("delete: want REASON where CONDITION")
			}
			db, err := a.openExisting(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			answer, err := a.selectTrials(ctx, db, "id, study, status", condition)
			if err != nil {
				return err
			}
			var ids []core.ID
			open := map[string]bool{}
			for _, row := range answer.Rows {
				id, err := core.ParseID(row[0].Text)
				if err != nil {
					return err
				}
				ids = append(ids, id)
				if core.Status(row[2].Text).Open() {
					open[row[1].Text] = true
				}
			}
			// Trials that a run is at work on are its own: held, they stay.
			for study := range open {
				letGo, err := db.HoldStudy(ctx, study)
				if err != nil {
					return fmt.Errorf("delete: %w", err)
				}
				defer func() { _ = letGo() }() // the kernel takes the lock back in any case
			}
			if len(ids) == 0 {
				a.fail(errors.New("delete: no trial meets the condition"))
				return quietError{exitNothing}
			}
			n, err := db.Delete(ctx, ids, reason)
			if err != nil {
				return fmt.Errorf("delete: %w", err)
			}
			fmt.Fprintf(a.stdout, "delete: %d trials\n", n)
			return nil
		},
	})
}
