package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) auditCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "audit",
		Usage:     "say which figures must not be believed, and why",
		ArgsUsage: "[CONDITION]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fail-on", Usage: "end with code 4 if a finding is as bad as `SEVERITY`: void, hard, note or info"},
			&cli.BoolFlag{Name: "all", Usage: "every finding in full, not only void and hard ones"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules instead"},
		},
		Commands: []*cli.Command{a.ackCommand("ack"), a.ackCommand("unack"), a.refreshCommand()},
		Action:   a.auditAction,
	})
}

func (a *app) auditAction(ctx context.Context, cmd *cli.Command) error {
	if err := checkFormat(cmd); err != nil {
		return err
	}
	if cmd.Bool("rules") {
		return a.table(cmd, ruleTable())
	}
	limit, err := severityOf(cmd.String("fail-on"))
	if err != nil {
		return err
	}
	db, err := a.openRead(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	trials, err := a.meeting(ctx, db, strings.Join(cmd.Args().Slice(), " "))
	if err != nil {
		return err
	}
	all, err := db.Findings(ctx, core.SeverityInfo)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	r := auditReport(trials, all)
	if err := a.auditOutput(cmd, r); err != nil {
		return err
	}
	if err := a.auditAge(ctx, db); err != nil {
		return err
	}
	if limit > 0 && r.worst >= limit {
		return quietError{exitCheckFailed}
	}
	return nil
}

// auditAge says when the findings were made by older rules.
func (a *app) auditAge(ctx context.Context, db *store.DB) error {
	made, err := db.AuditVersion(ctx)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if made < rulesVersion() {
		a.warn("some findings were made by older rules (version %d, now %d)", made, rulesVersion())
		a.hint("sweepbook audit refresh judges every trial anew and lists what changed")
	}
	return nil
}

// rulesVersion is the version of the rules as a whole: it grows with any of them.
func rulesVersion() int {
	sum := 0
	for _, r := range audit.Rules() {
		sum += r.Version
	}
	return sum
}

// judged is a trial with what the audit says of it.
type judged struct {
	id                    core.ID
	number, study, option string
	findings              []core.Finding
}

// meeting lists the trials that meet a condition, in the order of their numbers.
func (a *app) meeting(ctx context.Context, src query.Source, condition string) ([]judged, error) {
	text := "show id, number, study, option"
	if condition != "" {
		text += " where " + condition
	}
	answer, err := query.Run(ctx, src, text+" order by number", query.Options{Now: a.now()})
	if err != nil {
		return nil, err
	}
	var out []judged
	for _, row := range answer.Rows {
		id, err := core.ParseID(row[0].Text)
		if err != nil {
			return nil, err
		}
		out = append(out, judged{id: id, number: row[1].String(), study: row[2].String(), option: row[3].String()})
	}
	return out, nil
}

// auditResult is one screen: a line for each rule that judges trials of a study,
// the worst first.
type auditResult struct {
	trials, clean int
	worst         core.Severity
	findings      []judged // trials that have any
	verdicts      []verdictLine
}

// verdictLine is what one rule says of the trials of one study.
type verdictLine struct {
	study, rule string
	severity    core.Severity
	numbers     []string // of the trials
	acked       int
	evidence    string // of the first of them
}

func auditReport(trials []judged, all map[core.ID][]core.Finding) auditResult {
	r := auditResult{trials: len(trials)}
	index := map[string]int{}
	for _, t := range trials {
		t.findings = all[t.id]
		if len(t.findings) == 0 {
			r.clean++
			continue
		}
		r.findings = append(r.findings, t)
		for _, f := range t.findings {
			if f.Ack == "" {
				r.worst = max(r.worst, f.Severity)
			}
			key := fmt.Sprint(t.study, "\x00", f.Rule, "\x00", f.Severity)
			i, known := index[key]
			if !known {
				i = len(r.verdicts)
				index[key] = i
				r.verdicts = append(r.verdicts, verdictLine{study: t.study, rule: f.Rule, severity: f.Severity, evidence: f.Evidence})
			}
			v := &r.verdicts[i]
			if n := len(v.numbers); n == 0 || v.numbers[n-1] != t.number {
				v.numbers = append(v.numbers, t.number)
			}
			if f.Ack != "" {
				v.acked++
			}
		}
	}
	slices.SortStableFunc(r.verdicts, func(x, y verdictLine) int {
		if x.severity != y.severity {
			return int(y.severity) - int(x.severity)
		}
		return strings.Compare(x.study, y.study)
	})
	return r
}

func (a *app) auditOutput(cmd *cli.Command, r auditResult) error {
	switch {
	case cmd.String("output") != "table":
		return a.table(cmd, findingTable(r.findings))
	case cmd.Bool("all"):
		if err := findingTable(r.findings).writeTable(a.stdout); err != nil {
			return err
		}
	case len(r.verdicts) > 0:
		if err := verdictTable(r.verdicts).writeTable(a.stdout); err != nil {
			return err
		}
	}
	a.say("%d trials audited, %d without a finding", r.trials, r.clean)
	return nil
}

func verdictTable(verdicts []verdictLine) table {
	titles := ruleTitles()
	var rows [][]string
	for _, v := range verdicts {
		evidence := ""
		if v.severity >= core.SeverityNote {
			evidence = v.evidence
		}
		if v.acked > 0 {
			evidence = fmt.Sprintf("%d acknowledged", v.acked)
		}
		rows = append(rows, []string{v.severity.String(), v.rule, v.study, fmt.Sprint(len(v.numbers)), numberList(v.numbers), titles[v.rule], evidence})
	}
	return textTable([]string{"severity", "rule", "study", "trials", "numbers", "what", "evidence of the first"}, rows)
}

// ruleTitles says what each rule says, by its id.
func ruleTitles() map[string]string {
	titles := map[string]string{}
	for _, rule := range audit.Rules() {
		titles[rule.ID] = rule.Title
	}
	return titles
}

// numberList names the first few of many trials.
func numberList(numbers []string) string {
	const shown = 5
	if len(numbers) <= shown {
		return strings.Join(numbers, " ")
	}
	return strings.Join(numbers[:shown], " ") + " …"
}

// findingTable lists every finding, the worst first and then by trial.
func findingTable(trials []judged) table {
	t := table{columns: []query.Column{
		{Name: "severity", Type: core.TextType}, {Name: "rule", Type: core.TextType}, {Name: "number", Type: core.NumberType},
		{Name: "study", Type: core.TextType}, {Name: "option", Type: core.TextType}, {Name: "metrics", Type: core.TextType},
		{Name: "evidence", Type: core.TextType}, {Name: "acknowledged", Type: core.TextType},
	}}
	for severity := core.SeverityVoid; severity >= core.SeverityInfo; severity-- {
		for _, j := range trials {
			for _, f := range j.findings {
				if f.Severity == severity {
					t.rows = append(t.rows, []core.Value{core.String(severity.String()), core.String(f.Rule), core.ParseValue(j.number),
						core.OptionalText(j.study), core.OptionalText(j.option), core.OptionalText(strings.Join(f.Metrics, " ")),
						core.String(f.Evidence), core.OptionalText(f.Ack)})
				}
			}
		}
	}
	return t
}

func ruleTable() table {
	var rows [][]string
	for _, r := range audit.Rules() {
		rows = append(rows, []string{r.ID, r.Severity.String(), fmt.Sprint(r.Version), r.Title, strings.Join(r.Metrics, " "), r.Doc})
	}
	return textTable([]string{"rule", "severity", "version", "title", "metrics", "what"}, rows)
}

// severityOf reads the name of a severity; "" is none.
func severityOf(name string) (core.Severity, error) {
	if name == "" {
		return 0, nil
	}
	for s := core.SeverityInfo; s <= core.SeverityVoid; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, usagef("--fail-on %q: want void, hard, note or info", name)
}
