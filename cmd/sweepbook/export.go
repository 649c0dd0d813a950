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
	"time"

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
			&cli.StringFlag{Name: "out", Aliases: []string{"o", "f"}, Usage: "`FILE` to write, or folder of bundles; default stdout"},
			&cli.StringFlag{Name: "format", Value: "ndjson", Usage: "ndjson (whole trials, importable), bundle (a folder for each, importable), csv or parquet (a row a trial), vllm-json (results as vllm bench serve writes them) or gobench (lines for benchstat)"},
			&cli.StringFlag{Name: "where", Usage: "only trials that meet this `CONDITION`"},
			&cli.BoolFlag{Name: "no-samples", Usage: "leave single requests out"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			format := cmd.String("format")
			if !slices.Contains(exportFormats, format) {
				return usagef("export --format %q: want one of %s", format, strings.Join(exportFormats, ", "))
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
			samples := !cmd.Bool("no-samples")
			write := func(w io.Writer) error { return a.exportRecords(ctx, db, where, samples, w) }
			switch format {
			case "csv", "parquet":
				t, err := a.exportTable(ctx, db, where)
				if err != nil {
					return err
				}
				if write = t.writeCSV; format == "parquet" {
					write = t.writeParquet
				}
			case "vllm-json":
				write = func(w io.Writer) error { return a.exportVLLM(ctx, db, where, samples, w) }
			case "gobench":
				write = func(w io.Writer) error { return a.exportGoBench(ctx, db, where, w) }
			}
			if format == "bundle" {
				if cmd.String("out") == "" {
					return usageError{hinted{errors.New("export --format bundle: want a folder"), "sweepbook export --format bundle --out bundles/"}}
				}
				return a.exportBundles(ctx, db, where, samples, cmd.String("out"))
			}
			if path := cmd.String("out"); path != "" {
				return writeStream(path, write)
			}
			return write(a.stdout)
		},
	})
}

var exportFormats = []string{"ndjson", "bundle", "csv", "parquet", "vllm-json", "gobench"}

// eachMeasured hands over each trial that meets the condition and has the figures
// of a measurement, and counts the others.
func eachMeasured(ctx context.Context, db *store.DB, where string, now time.Time, write func(*core.Trial) error) (left int, err error) {
	answer, err := query.Run(ctx, db, "show id where "+where, query.Options{Now: now})
	if err != nil {
		return 0, err
	}
	wanted := map[string]bool{}
	for _, row := range answer.Rows {
		wanted[row[0].Text] = true
	}
	for t, err := range db.AllTrials(ctx) {
		if err != nil {
			return left, fmt.Errorf("export: %w", err)
		}
		_, completed := t.Figures["completed"]
		switch {
		case !wanted[t.ID.String()]:
		case !completed || t.Status != core.StatusOK:
			left++
		default:
			if err := write(t); err != nil {
				return left, fmt.Errorf("export: %w", err)
			}
		}
	}
	return left, nil
}

// sayLeft tells of trials that a format has no place for.
func (a *app) sayLeft(format string, n int) {
	if n > 0 {
		a.warn("export --format %s: trials without a result left out: %d; ndjson holds all", format, n)
	}
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
