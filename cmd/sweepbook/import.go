package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) importCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "import",
		Usage:     "record the results that other tools printed or wrote",
		ArgsUsage: "FILE|FOLDER …",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "study", Usage: "keep the trials under this study `NAME`"},
			&cli.StringFlag{Name: "format", Usage: "read every file with this `READER` instead of looking at its content"},
			&cli.StringSliceFlag{Name: "set", Usage: "record `FIELD=VALUE` for every trial, beside what the source says"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be recorded and record nothing"},
		},
		Action: a.importAction,
	})
}

// importReport is what import says of its work; the JSON names are part of the
// command line's contract.
type importReport struct {
	Files      int    `json:"files"`
	Records    int    `json:"records"`
	New        int    `json:"new"`
	Duplicates int    `json:"duplicates"`
	Updated    int    `json:"updated"`
	Skipped    []note `json:"skipped"`
	Errors     []note `json:"errors"`
}

type note struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (a *app) importAction(ctx context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return usageError{hinted{errors.New("import: no file given"), "sweepbook import results/ server.log"}}
	}
	if err := checkFormat(cmd); err != nil {
		return err
	}
	sets, err := parseSets(cmd.StringSlice("set"))
	if err != nil {
		return err
	}
	for _, path := range cmd.Args().Slice() {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("import: no file or folder %q", path)
		}
	}
	var db *store.DB
	if !cmd.Bool("dry-run") {
		if db, err = a.openWrite(ctx, cmd); err != nil {
			return err
		}
		defer db.Close()
	}
	report := importReport{Skipped: []note{}, Errors: []note{}}
	opt := ingest.Options{Study: cmd.String("study"), Format: cmd.String("format"), Now: a.now()}
	err = ingest.Walk(ctx, cmd.Args().Slice(), opt, func(path string, res ingest.Result) error {
		return a.importFile(ctx, db, res, sets, &report)
	})
	if err != nil {
		return err
	}
	return a.importDone(cmd, report)
}

func (a *app) importFile(ctx context.Context, db *store.DB, res ingest.Result, sets []core.Assertion, report *importReport) error {
	report.Files++
	report.Records += len(res.Trials)
	for _, n := range res.Skipped {
		report.Skipped = append(report.Skipped, note{n.File, n.Line, n.Message})
	}
	for _, n := range res.Errors {
		report.Errors = append(report.Errors, note{n.File, n.Line, n.Message})
	}
	if db == nil || len(res.Trials) == 0 {
		return nil
	}
	outcomes, err := db.Import(ctx, res.Trials)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	var assertions []core.Assertion
	for i, outcome := range outcomes {
		t := res.Trials[i]
		switch outcome {
		case core.ImportNew:
			report.New++
			for _, set := range sets {
				set.Trial = t.ID
				assertions = append(assertions, set)
			}
			if samples := res.Samples[t.ID]; len(samples) > 0 {
				if err := db.ImportSamples(ctx, t.ID, samples); err != nil {
					return fmt.Errorf("import: %w", err)
				}
			}
		case core.ImportUpdated:
			report.Updated++
		case core.ImportDuplicate:
			report.Duplicates++
		case core.ImportDeleted:
			report.Skipped = append(report.Skipped, note{File: sourceName(t), Message: fmt.Sprintf("trial %s was deleted here and stays deleted", t.ID)})
		}
	}
	if len(assertions) > 0 {
		if _, err := db.Set(ctx, assertions); err != nil {
			return fmt.Errorf("import --set: %w", err)
		}
	}
	return nil
}

func sourceName(t *core.Trial) string {
	if len(t.Sources) == 0 {
		return ""
	}
	return t.Sources[0].File
}

func (a *app) importDone(cmd *cli.Command, r importReport) error {
	if cmd.String("output") == "json" || cmd.String("output") == "ndjson" {
		if err := a.writeJSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%d files, %d records: %d new, %d duplicates, %d updated, %d skipped, %d errors\n",
			r.Files, r.Records, r.New, r.Duplicates, r.Updated, len(r.Skipped), len(r.Errors))
	}
	for _, n := range r.Skipped {
		a.warn("%s", n.text())
	}
	for _, n := range r.Errors {
		a.fail(errors.New(n.text()))
	}
	switch {
	case len(r.Errors) > 0:
		return quietError{exitError}
	case r.Records == 0:
		a.fail(hinted{errors.New("import: no result found in any file"), "sweepbook reads printed result blocks and its own exports; see docs/import.md"})
		return quietError{exitError}
	}
	return nil
}

func (n note) text() string {
	if n.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Message)
	}
	return n.File + ": " + n.Message
}

// parseSets reads FIELD=VALUE assertions.
func parseSets(texts []string) ([]core.Assertion, error) {
	var out []core.Assertion
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, usagef("--set %q: want FIELD=VALUE", text)
		}
		if err := core.CheckFieldName(name); err != nil {
			return nil, usagef("--set: %v", err)
		}
		out = append(out, core.Assertion{Verb: "set", Field: name, New: core.ParseValue(strings.TrimSpace(value)), Why: "import --set " + text})
	}
	return out, nil
}
