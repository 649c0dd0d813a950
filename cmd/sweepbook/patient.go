package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// A measurement costs GPU time, so that a history that cannot be written at the
// moment must not lose it: a run waits for a full disk to be freed, and for
// another writer up to patience; after that, or where the disk fails, the trial goes
// into a bundle beside the history, which the next run or import records.

// patience is how long a run waits for another writer, unless $SWEEPBOOK_PATIENCE says
// otherwise.
func (a *app) patience() time.Duration {
	if d, err := time.ParseDuration(a.getenv("SWEEPBOOK_PATIENCE")); err == nil && d >= 0 {
		return d
	}
	return 5 * time.Minute
}

// between is the pause between two tries.
const between = 2 * time.Second

// patiently repeats a write while the history is busy or the disk is full. Both
// mean that nothing was written, so that a repetition cannot write twice.
func (s runStore) patiently(ctx context.Context, write func() error) error {
	began := s.app.now()
	var said time.Time
	for {
		err := write()
		full := errors.Is(err, store.ErrDiskFull)
		busy := errors.Is(err, store.ErrBusy)
		if !full && (!busy || s.app.now().Sub(began) > s.app.patience()) {
			return err
		}
		if now := s.app.now(); now.Sub(said) > 30*time.Second {
			said = now
			s.app.warn("waiting to record: %v", err)
		}
		select {
		case <-time.After(between):
		case <-s.ended:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

func (s runStore) SaveTrial(ctx context.Context, t *core.Trial) error {
	s.clean(t, nil)
	return s.patiently(ctx, func() error { return s.DB.SaveTrial(ctx, t) })
}

func (s runStore) FinishTrial(ctx context.Context, t *core.Trial, samples []core.Sample) error {
	s.clean(t, samples)
	err := s.patiently(ctx, func() error { return s.DB.FinishTrial(ctx, t, samples) })
	// What the history refuses is no loss. Of any other fault it is not known whether the
	// trial was recorded; a bundle of it does no harm where it was.
	if err == nil || errors.Is(err, core.ErrConflict) || store.Storable(t) != nil {
		return err
	}
	definition, _ := definitionOf(ctx, s.DB, t.Study) // it may be as unreadable as the rest
	path, errSpill := s.app.writeBundle(unrecorded(s.Path()), t, samples, definition)
	if errSpill != nil {
		return errors.Join(err, errSpill)
	}
	s.app.warn("trial %s could not be recorded and lies in %s; the next run or import records it", t.ID, path)
	if errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrDiskFull) {
		return nil
	}
	// A disk that fails may have recorded it all the same. It is not tried again here:
	// the next run reads first.
	return err
}

// clean redacts what a server or client said, before it is written anywhere.
func (s runStore) clean(t *core.Trial, samples []core.Sample) {
	if s.redact == nil {
		return
	}
	t.FailureText = s.redact.String(t.FailureText)
	if t.Launch != nil {
		t.Launch.Argv = s.redact.Argv(t.Launch.Argv)
		t.Launch.Env = s.redact.Env(t.Launch.Env)
		t.Launch.FailureText = s.redact.String(t.Launch.FailureText)
		s.cleanValues(t.Launch.Resolved)
	}
	s.cleanValues(t.Extra)
	for i := range samples {
		if samples[i].Error != "" {
			samples[i].Error = s.redact.String(samples[i].Error)
		}
	}
}

func (s runStore) cleanValues(values map[string]core.Value) {
	for name, v := range values {
		if v.Kind == core.KindText {
			values[name] = core.String(s.redact.String(v.Text))
		}
	}
}

// unrecorded is the folder beside a history where such trials wait.
func unrecorded(db string) string { return filepath.Join(filepath.Dir(db), "unrecorded") }

// unspill records what earlier runs could not, also as versions before bundles kept it.
func (a *app) unspill(ctx context.Context, db *store.DB) error {
	if err := a.takeIn(ctx, db); err != nil {
		return err
	}
	entries, err := os.ReadDir(unrecorded(db.Path()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unrecorded trials: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(unrecorded(db.Path()), entry.Name())
		if filepath.Ext(path) != ".ndjson" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("unrecorded trial: %w", err)
		}
		var rec core.Record
		if err := json.Unmarshal(data, &rec); err != nil || rec.Trial == nil {
			return fmt.Errorf("unrecorded trial %s: %w: not a record; move it away to go on", path, core.ErrInvalid)
		}
		// core.ErrConflict: it was recorded after all, and only the file was left.
		if err := db.FinishTrial(ctx, rec.Trial, rec.Samples); err != nil && !errors.Is(err, core.ErrConflict) {
			return fmt.Errorf("unrecorded trial %s: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("unrecorded trial: %w", err)
		}
		a.warn("recorded trial %s, which an earlier run had kept in a file", rec.Trial.ID)
	}
	return nil
}
