package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) exportCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "export",
		Usage: "write whole trials for another history, or a table for other programs",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"f"}, Usage: "`FILE` to write; default stdout"},
			&cli.StringFlag{Name: "format", Value: "ndjson", Usage: "ndjson (whole trials, importable) or csv (fixed fields)"},
			&cli.StringFlag{Name: "where", Usage: "only trials that meet this `CONDITION`"},
			&cli.BoolFlag{Name: "no-samples", Usage: "leave single requests out"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			format := cmd.String("format")
			if format != "ndjson" && format != "csv" {
				return usagef("export --format %q: want ndjson or csv", format)
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			where := cmd.String("where")
			if where == "" {
				where = "true"
			}
			write := func(w io.Writer) error { return a.exportRecords(ctx, db, where, !cmd.Bool("no-samples"), w) }
			if format == "csv" {
				write = func(w io.Writer) error { return a.exportCSV(ctx, db, where, w) }
			}
			if path := cmd.String("out"); path != "" {
				return writeStream(path, write)
			}
			return write(a.stdout)
		},
	})
}

// exportRecords writes a line for each study that was defined here, then one for
// each trial: a core.Record.
func (a *app) exportRecords(ctx context.Context, db *store.DB, where string, samples bool, w io.Writer) error {
	answer, err := query.Run(ctx, db, "show id, study where "+where, query.Options{Now: a.now()})
	if err != nil {
		return err
	}
	wanted, studies := map[string]bool{}, map[string]bool{}
	for _, row := range answer.Rows {
		wanted[row[0].Text], studies[row[1].Text] = true, true
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, name := range slices.Sorted(maps.Keys(studies)) {
		s, err := db.Study(ctx, name)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err == nil {
			err = enc.Encode(core.Record{Format: core.RecordFormat, Study: &s})
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	for t, err := range db.AllTrials(ctx) {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if !wanted[t.ID.String()] {
			continue
		}
		record := core.Record{Format: core.RecordFormat, Trial: t}
		if samples {
			if record.Samples, err = db.Samples(ctx, t.ID); err != nil {
				return fmt.Errorf("export trial %s: %w", t.ID, err)
			}
		}
		if err := enc.Encode(record); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return out.Flush()
}

func (a *app) exportCSV(ctx context.Context, db *store.DB, where string, w io.Writer) error {
	var names []string
	for _, f := range core.Fields() {
		names = append(names, f.Name)
	}
	answer, err := query.Run(ctx, db, "show "+strings.Join(names, ", ")+" where "+where, query.Options{Now: a.now()})
	if err != nil {
		return err
	}
	return table{answer.Columns, answer.Rows}.writeCSV(w)
}
