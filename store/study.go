package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// SaveStudy records the resolved object of a study (JSON) as it was at a time.
// Earlier ones stay in the file; saving the same again changes nothing.
func (db *DB) SaveStudy(ctx context.Context, name string, resolved []byte, at time.Time) error {
	return db.write(ctx, "save study "+name, func(w *writeTx) error {
		if name == "" {
			return fmt.Errorf("%w: no name", core.ErrInvalid)
		}
		var last []byte
		if _, err := w.find([]any{&last}, "SELECT resolved FROM study WHERE name = ? ORDER BY id DESC LIMIT 1", name); err != nil {
			return err
		}
		if last != nil && bytes.Equal(last, resolved) {
			return nil
		}
		if resolved == nil {
			resolved = []byte{}
		}
		_, err := w.exec("INSERT INTO study (name, at, resolved) VALUES (?, ?, ?)", name, at.UnixMicro(), resolved)
		return err
	})
}

// Study returns the resolved object of a study as last saved, or
// core.ErrNotFound: a study that other tools' results made has trials only.
func (db *DB) Study(ctx context.Context, name string) (core.StudyVersion, error) {
	s := core.StudyVersion{Name: name}
	err := db.read(ctx, func(q querier) error {
		var at int64
		err := q.QueryRowContext(ctx, "SELECT at, resolved FROM study WHERE name = ? ORDER BY id DESC LIMIT 1", name).Scan(&at, (*[]byte)(&s.Resolved))
		if errors.Is(err, sql.ErrNoRows) {
			return core.ErrNotFound
		}
		s.At = time.UnixMicro(at).UTC()
		return err
	})
	if err != nil {
		return core.StudyVersion{}, fmt.Errorf("study %s: %w", name, err)
	}
	return s, nil
}

// Studies lists, in order, the names of all studies that were saved or that some
// trial belongs to.
func (db *DB) Studies(ctx context.Context) ([]string, error) {
	var names []string
	err := db.read(ctx, func(q querier) error {
		// One step in the index a name: DISTINCT would read an entry for every trial.
		rows, err := q.QueryContext(ctx, `WITH RECURSIVE named (name) AS (
				SELECT min(study) FROM trial
				UNION ALL
				SELECT (SELECT min(study) FROM trial WHERE study > named.name) FROM named WHERE named.name IS NOT NULL)
			SELECT name FROM named WHERE name IS NOT NULL UNION SELECT name FROM study ORDER BY 1`)
		if err != nil {
			return err
		}
		var name string
		return eachRow(rows, []any{&name}, func() error { names = append(names, name); return nil })
	})
	if err != nil {
		return nil, fmt.Errorf("studies: %w", err)
	}
	return names, nil
}

// ReapLost marks as lost the trials of a study that an earlier run left launching
// or running, and says how many. Only the holder of the study may call it: it
// alone knows that nobody else is at work. Planned trials stay planned.
func (db *DB) ReapLost(ctx context.Context, study string) (int, error) {
	n := 0
	err := db.write(ctx, "reap lost trials of study "+study, func(w *writeTx) error {
		n = 0
		trials, err := newLoader(w.ctx, w.tx, rowAlone).trials("study = ? AND status IN ('launching', 'running')", study)
		if err != nil {
			return err
		}
		for _, t := range trials {
			s, err := w.stored(t.ID)
			if err != nil {
				return err
			}
			if s.asserted {
				original, err := w.original(t.Number)
				if err != nil {
					return err
				}
				original.Status = core.StatusLost
				if err := w.saveOriginal(t.Number, original); err != nil {
					return err
				}
			}
			if _, err := w.exec("UPDATE trial SET status = 'lost' WHERE number = ?", t.Number); err != nil {
				return err
			}
			w.touchIn(study, t.Number)
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
