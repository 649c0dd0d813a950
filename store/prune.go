package store

import (
	"context"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// PruneSamples removes the requests of trials, whose figures stay, and says how
// many bytes of the file they took. What was worked out of them (percentiles,
// goodput) cannot be worked out again. Ids that are not there, and trials without
// requests, are left out. The room is used again by what is written later;
// Compact gives it back to the disk.
func (db *DB) PruneSamples(ctx context.Context, ids []core.ID) (freed int64, err error) {
	err = db.write(ctx, "prune samples", func(w *writeTx) error {
		for _, id := range ids {
			var number, size int64
			found, err := w.find([]any{&number, &size}, `SELECT s.trial, length(s.data) + ifnull((SELECT length(c.data) FROM sample_chunk c WHERE c.trial = s.trial), 0)
				FROM sample s WHERE s.trial = (SELECT number FROM trial WHERE id = ?)`, id[:])
			if err == nil && found {
				_, err = w.exec("DELETE FROM sample_chunk WHERE trial = ?", number)
			}
			if err == nil && found {
				_, err = w.exec("DELETE FROM sample WHERE trial = ?", number)
			}
			if err != nil {
				return fmt.Errorf("trial %s: %w", id, err)
			}
			freed += size
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return freed, nil
}

// Compact writes the history anew without the room that nothing takes any more
// and says how many bytes the file became smaller. For that time it needs about
// as much free disk as the new file takes, twice. Others may read meanwhile, and
// the file may then shrink only once they have ended.
func (db *DB) Compact(ctx context.Context) (freed int64, err error) {
	if db.writer == nil {
		return 0, fmt.Errorf("compact: %w: history %s is open for reading only", core.ErrInvalid, db.path)
	}
	select {
	case db.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, fmt.Errorf("compact: %w", ctx.Err())
	}
	defer func() { <-db.turn }()
	size := func() (n int64) {
		if err == nil {
			err = db.writer.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&n)
		}
		return n
	}
	before := size()
	for _, text := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err == nil {
			_, err = db.writer.ExecContext(ctx, text)
		}
	}
	after := size()
	if err != nil {
		return 0, fmt.Errorf("compact: %w", db.explain(err))
	}
	return before - after, nil
}
