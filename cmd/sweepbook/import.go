package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
			&cli.StringFlag{Name: "pattern", Usage: "take fields from paths: `'{gpu}/{model}_tp{tp}_c{concurrency}/*.json'`"},
			&cli.StringFlag{Name: "mapping", Usage: "`FILE` that names the columns of tables and what files do not say; default an import.yaml in their folder"},
			&cli.StringFlag{Name: "where", Usage: "attach the accuracy of an evaluation to trials that meet this `CONDITION`; default those of its model"},
			&cli.StringFlag{Name: "metrics-before", Usage: "`FILE` of the server's Prometheus metrics, saved before the benchmark, for one result"},
			&cli.StringFlag{Name: "metrics-after", Usage: "`FILE` of the same after it: cache hits, preemptions and the like are the difference"},
			&cli.BoolFlag{Name: "suggest", Usage: "propose a pattern and name what the files lack; record nothing"},
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
	Attached   int    `json:"attached,omitempty"` // trials that gained accuracy figures
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
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("import: no file or folder %q", path)
		case err != nil:
			return fmt.Errorf("import: %w", err)
		case !info.IsDir() && !info.Mode().IsRegular() && path != "/dev/stdin":
			return fmt.Errorf("import: %s is neither a file nor a folder; save its content first, or read it as /dev/stdin", path)
		}
	}
	if format := cmd.String("format"); format != "" && !slices.Contains(ingest.Formats(), format) {
		return usagef("import --format %q: want one of %s", format, strings.Join(ingest.Formats(), ", "))
	}
	opt, err := a.importOptions(cmd)
	if err != nil {
		return err
	}
	server, err := readSnapshots(cmd)
	if err != nil {
		return err
	}
	if cmd.Bool("suggest") {
		return a.suggest(ctx, cmd, opt)
	}
	var db *store.DB
	if cmd.Bool("dry-run") {
		copied, remove, err := a.openCopy(ctx, cmd)
		if err != nil {
			return err
		}
		defer remove()
		db = copied
	} else if db, err = a.openWrite(ctx, cmd); err != nil {
		return err
	}
	defer db.Close()
	if !cmd.Bool("dry-run") {
		if err := a.takeIn(ctx, db); err != nil {
			return err
		}
	}
	opt.Folder = readBundle
	report := importReport{Skipped: []note{}, Errors: []note{}}
	batch := &importBatch{app: a, db: db, sets: sets, report: &report, samples: map[core.ID][]core.Sample{}, said: map[string]bool{}}
	err = ingest.Walk(ctx, cmd.Args().Slice(), opt, func(path string, res ingest.Result) error {
		if err := server.complete(a, res); err != nil {
			return err
		}
		return batch.file(ctx, res)
	})
	if err == nil {
		err = batch.record(ctx)
	}
	if err == nil {
		report.Attached, err = a.attach(ctx, db, batch.quality, cmd.String("where"))
	}
	if err != nil {
		return err
	}
	return a.importDone(cmd, report)
}

// importBatch gathers the trials of many files for one transaction, since each
// transaction judges its studies anew.
type importBatch struct {
	app     *app
	db      *store.DB
	sets    []core.Assertion
	report  *importReport
	trials  []*core.Trial
	quality []ingest.Quality
	samples map[core.ID][]core.Sample
	held    int             // of samples, about, in words of memory
	said    map[string]bool // trial and field, of assertions on known trials
}

// The bounds of a batch: trials, and memory of single requests, in words: a million
// requests, or fewer with the moments of their chunks.
const (
	batchTrials = 1000
	sampleWords = 20
	batchWords  = 1_000_000 * sampleWords
)

func (b *importBatch) file(ctx context.Context, res ingest.Result) error {
	b.report.Files++
	b.report.Records += res.Records
	for _, n := range res.Warnings {
		b.app.warn("%s", note{n.File, n.Line, n.Message}.text())
	}
	for _, n := range res.Skipped {
		b.report.Skipped = append(b.report.Skipped, note{n.File, n.Line, n.Message})
	}
	for _, n := range res.Errors {
		b.report.Errors = append(b.report.Errors, note{n.File, n.Line, n.Message})
	}
	b.quality = append(b.quality, res.Quality...)
	if err := b.studies(ctx, res.Studies); err != nil {
		return err
	}
	for _, t := range res.Trials {
		// One record that cannot be stored must not keep the others out.
		if err := store.Storable(t); err != nil {
			b.report.Errors = append(b.report.Errors, note{File: sourceName(t), Message: err.Error()})
			continue
		}
		b.trials = append(b.trials, t)
		if samples := res.Samples[t.ID]; len(samples) > 0 {
			b.samples[t.ID] = samples
			for i := range samples {
				b.held += sampleWords + len(samples[i].Chunks)
			}
		}
	}
	if len(b.trials) < batchTrials && b.held < batchWords {
		return nil
	}
	return b.record(ctx)
}

// studies records the definitions of studies that this history knows by their
// trials alone; one that was saved here stays.
func (b *importBatch) studies(ctx context.Context, defined []core.StudyVersion) error {
	for _, s := range defined {
		switch _, err := b.db.Study(ctx, s.Name); {
		case errors.Is(err, core.ErrNotFound):
			if err := b.db.SaveStudy(ctx, s.Name, s.Resolved, s.At); err != nil {
				return fmt.Errorf("import: %w", err)
			}
		case err != nil:
			return fmt.Errorf("import: %w", err)
		}
	}
	return nil
}

// record writes the batch: the trials in one transaction, then what hangs on them.
func (b *importBatch) record(ctx context.Context) error {
	if len(b.trials) == 0 {
		return nil
	}
	ids := make([]core.ID, len(b.trials))
	for i, t := range b.trials {
		ids[i] = t.ID
	}
	outcomes, err := b.db.Import(ctx, b.trials)
	if err != nil {
		return err
	}
	var assertions []core.Assertion
	for i, outcome := range outcomes {
		t, samples := b.trials[i], b.samples[ids[i]]
		switch outcome {
		case core.ImportNew:
			b.report.New++
			for _, set := range b.sets {
				set.Trial = t.ID
				assertions = append(assertions, set)
			}
			if len(samples) > 0 {
				if err := b.db.ImportSamples(ctx, t.ID, samples); err != nil {
					return fmt.Errorf("import: %w", err)
				}
			}
		case core.ImportUpdated, core.ImportDuplicate:
			filled := outcome == core.ImportUpdated
			if len(samples) > 0 {
				gained, err := b.db.FillSamples(ctx, t.Number, samples)
				if err != nil {
					return fmt.Errorf("import: %w", err)
				}
				filled = filled || gained
			}
			if filled {
				b.report.Updated++
			} else {
				b.report.Duplicates++
			}
			// What a person says of the files holds for trials known before, too.
			known, err := b.unsaid(ctx, t.Number)
			if err != nil {
				return err
			}
			assertions = append(assertions, known...)
		case core.ImportDeleted:
			b.report.Skipped = append(b.report.Skipped, note{File: sourceName(t), Message: fmt.Sprintf("trial %s was deleted here and stays deleted", t.ID)})
		}
	}
	b.trials, b.samples, b.held = nil, map[core.ID][]core.Sample{}, 0
	if len(assertions) > 0 {
		if _, err := b.db.Set(ctx, assertions); err != nil {
			return fmt.Errorf("import --set: %w", err)
		}
	}
	return nil
}

// unsaid are the assertions of this import that a stored trial does not have yet.
func (b *importBatch) unsaid(ctx context.Context, number int64) ([]core.Assertion, error) {
	if len(b.sets) == 0 {
		return nil, nil
	}
	t, err := b.db.Trial(ctx, fmt.Sprint(number))
	if err != nil {
		return nil, err
	}
	var out []core.Assertion
	for _, set := range b.sets {
		key := t.ID.String() + " " + set.Field
		if t.Value(set.Field) != set.New && !b.said[key] {
			b.said[key] = true
			set.Trial = t.ID
			out = append(out, set)
		}
	}
	return out, nil
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
	unknown := false
	for _, n := range r.Skipped {
		// What was looked for is the same for each file: said once, below.
		message, _, list := strings.Cut(n.Message, ": looked for ")
		unknown = unknown || list
		a.warn("%s", note{n.File, n.Line, message}.text())
	}
	if unknown && r.Records > 0 {
		a.hint("sweepbook reads " + strings.Join(ingest.Formats(), ", ") + "; see docs/import.md")
	}
	for _, n := range r.Errors {
		a.fail(errors.New(n.text()))
	}
	switch {
	case len(r.Errors) > 0:
		return quietError{exitError}
	case r.Attached > 0:
		a.say("accuracy figures attached to %d trials", r.Attached)
	case r.Records == 0:
		a.fail(hinted{errors.New("import: no result found in any file"), "sweepbook reads " + strings.Join(ingest.Formats(), ", ") + "; see docs/import.md"})
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

// valueFor reads a value as its field takes it: a version or a name that looks like
// a number is a text all the same.
func valueFor(field, text string) core.Value {
	if f, ok := core.LookupField(field); ok && (f.Type == core.TextType || f.Type == core.VersionType) {
		return core.String(text)
	}
	return core.ParseValue(text)
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
		out = append(out, core.Assertion{Verb: "set", Field: name, New: valueFor(name, strings.TrimSpace(value)), Why: "import --set " + text})
	}
	return out, nil
}
