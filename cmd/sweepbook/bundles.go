package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/bundle"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// bundledLog is how much of the end of a server's log a bundle takes along.
const bundledLog = 1 << 20

// writeBundle makes the bundle of a trial in a folder.
func (a *app) writeBundle(dir string, t *core.Trial, samples []core.Sample, definition *core.StudyVersion) (string, error) {
	host, _ := os.Hostname()
	b := bundle.Bundle{Trial: t, Study: definition, Samples: samples}
	if t.Launch != nil && t.Launch.Log != "" {
		b.Log = bundle.TailOf(t.Launch.Log, bundledLog)
	}
	return bundle.Write(dir, b, bundle.Manifest{Written: a.now().UTC(), Host: host, Sweepbook: version()})
}

// readBundle reads a folder that is a bundle as an importer wants it.
func readBundle(path string) (ingest.Result, bool) {
	if !bundle.Is(path) {
		return ingest.Result{}, false
	}
	b, err := bundle.Read(path)
	if err != nil {
		return ingest.Result{Records: 1, Rejected: 1, Errors: []ingest.Note{{File: filepath.Base(path), Message: err.Error()}}}, true
	}
	res := ingest.Result{Records: 1, Trials: []*core.Trial{b.Trial}, Samples: map[core.ID][]core.Sample{b.Trial.ID: b.Samples}}
	if b.Study != nil {
		res.Studies = []core.StudyVersion{*b.Study}
	}
	return res, true
}

// takeIn records the bundles that runs left beside the history while it could not be
// written, and removes each once it is recorded.
func (a *app) takeIn(ctx context.Context, db *store.DB) error {
	dir := unrecorded(db.Path())
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unrecorded trials: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !entry.IsDir() || filepath.Ext(path) != bundle.Suffix {
			continue
		}
		b, err := bundle.Read(path)
		if err != nil {
			if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
				continue // another process was faster
			}
			return hinted{fmt.Errorf("unrecorded trial: %w", err), "move it out of " + dir + " to go on without it"}
		}
		if b.Study != nil {
			if _, err := db.Study(ctx, b.Study.Name); errors.Is(err, core.ErrNotFound) {
				err = db.SaveStudy(ctx, b.Study.Name, b.Study.Resolved, b.Study.At)
				if err != nil {
					return fmt.Errorf("unrecorded trial %s: %w", path, err)
				}
			}
		}
		if _, err := db.Import(ctx, []*core.Trial{b.Trial}); err != nil {
			return fmt.Errorf("unrecorded trial %s: %w", path, err)
		}
		if b.Trial.Number > 0 { // else it was deleted here
			if _, err := db.FillSamples(ctx, b.Trial.Number, b.Samples); err != nil {
				return fmt.Errorf("unrecorded trial %s: %w", path, err)
			}
		}
		if err := removeBundle(path); err != nil {
			return fmt.Errorf("unrecorded trial: %w", err)
		}
		a.warn("recorded trial %s, which an earlier run had kept in a bundle", b.Trial.ID)
	}
	return nil
}

// removeBundle takes a bundle's name away first, so that a crash leaves none cut.
func removeBundle(path string) error {
	gone := filepath.Join(filepath.Dir(path), ".done-"+filepath.Base(path))
	err := os.Rename(path, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// exportBundles writes a bundle for each trial that meets the condition and has ended.
func (a *app) exportBundles(ctx context.Context, db *store.DB, where string, samples bool, dir string) error {
	answer, err := query.Run(ctx, db, "show id where "+where, query.Options{Now: a.now()})
	if err != nil {
		return err
	}
	var ids []string
	for _, row := range answer.Rows {
		ids = append(ids, row[0].Text)
	}
	slices.Sort(ids)
	written, open := 0, 0
	for t, err := range db.AllTrials(ctx) {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if _, wanted := slices.BinarySearch(ids, t.ID.String()); !wanted {
			continue
		}
		if t.Status.Open() {
			open++
			continue
		}
		var requests []core.Sample
		if samples {
			if requests, err = db.Samples(ctx, t.ID); err != nil {
				return fmt.Errorf("export trial %s: %w", t.ID, err)
			}
		}
		definition, err := definitionOf(ctx, db, t.Study)
		if err != nil {
			return fmt.Errorf("export trial %s: %w", t.ID, err)
		}
		_, err = a.writeBundle(dir, t, requests, definition)
		if errors.Is(err, fs.ErrExist) {
			return hinted{fmt.Errorf("export: %w", err), "bundles are never written over: name a new folder with --out"}
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		written++
	}
	if open > 0 {
		a.warn("export --format bundle: trials that have not ended left out: %d", open)
	}
	a.say("%d bundles in %s", written, dir)
	return nil
}

// definitionOf is a study as it was saved, nil where it is known by its trials alone.
func definitionOf(ctx context.Context, db *store.DB, name string) (*core.StudyVersion, error) {
	if name == "" {
		return nil, nil
	}
	s, err := db.Study(ctx, name)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return &s, err
}
