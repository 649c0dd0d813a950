package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// defaultMaxChunks is up to how many chunk moments a trial keeps.
const defaultMaxChunks = 1_000_000

// saveSamples replaces the samples of a trial; none leaves what is there.
func (w *writeTx) saveSamples(number int64, samples []core.Sample) error {
	if len(samples) == 0 {
		return nil
	}
	data, err := w.state.pack.data(encodeSamples(samples))
	if err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	if _, err := w.exec("INSERT OR REPLACE INTO sample (trial, n, data) VALUES (?, ?, ?)", number, len(samples), data); err != nil {
		return err
	}
	most := w.db.opt.MaxChunks
	if most == 0 {
		most = defaultMaxChunks
	}
	n := chunkCount(samples)
	if n == 0 || n > most {
		_, err := w.exec("DELETE FROM sample_chunk WHERE trial = ?", number)
		return err
	}
	if data, err = w.state.pack.moments(encodeChunks(samples)); err != nil {
		return fmt.Errorf("chunks: %w", err)
	}
	_, err = w.exec("INSERT OR REPLACE INTO sample_chunk (trial, n, data) VALUES (?, ?, ?)", number, n, data)
	return err
}

// ImportSamples gives an imported trial its requests, in place of any it has.
func (db *DB) ImportSamples(ctx context.Context, id core.ID, samples []core.Sample) error {
	return db.write(ctx, "import samples of trial "+id.String(), func(w *writeTx) error {
		s, err := w.stored(id)
		if err != nil {
			return err
		}
		if s.number == 0 {
			return core.ErrNotFound
		}
		return w.saveSamples(s.number, samples)
	})
}

// FillSamples gives the trial with a number its requests where it has none, as an
// import does with another print of a trial that is here, and reports whether it
// did.
func (db *DB) FillSamples(ctx context.Context, number int64, samples []core.Sample) (bool, error) {
	filled := false
	err := db.write(ctx, fmt.Sprintf("import samples of trial %d", number), func(w *writeTx) error {
		var kept bool
		found, err := w.find([]any{&kept}, "SELECT EXISTS (SELECT 1 FROM sample s WHERE s.trial = number) FROM trial WHERE number = ?", number)
		switch {
		case err != nil:
			return err
		case !found:
			return core.ErrNotFound
		case kept || len(samples) == 0:
			return nil
		}
		filled = true
		return w.saveSamples(number, samples)
	})
	return filled && err == nil, err
}

// Samples returns the requests of a trial, nil where none are kept (any more);
// moments are rounded to microseconds. Chunks are nil where a trial has more of them than
// are kept. An unknown trial is core.ErrNotFound.
func (db *DB) Samples(ctx context.Context, id core.ID) ([]core.Sample, error) {
	return db.Requests(ctx, id, true)
}

// Requests is Samples with or without the moments of chunks, which take most of the
// time and memory where answers are long.
func (db *DB) Requests(ctx context.Context, id core.ID, withChunks bool) ([]core.Sample, error) {
	columns, join := "s.data, NULL", ""
	if withChunks {
		columns, join = "s.data, c.data", " LEFT JOIN sample_chunk c ON c.trial = t.number"
	}
	var samples []core.Sample
	err := db.read(ctx, func(q querier) error {
		var data, chunks []byte
		err := q.QueryRowContext(ctx, "SELECT "+columns+" FROM trial t LEFT JOIN sample s ON s.trial = t.number"+join+" WHERE t.id = ?", id[:]).Scan(&data, &chunks)
		if errors.Is(err, sql.ErrNoRows) {
			return core.ErrNotFound
		}
		if err != nil || data == nil {
			return err
		}
		if data, err = unpack(data); err != nil {
			return err
		}
		if samples, err = decodeSamples(data); err != nil || chunks == nil {
			return err
		}
		if chunks, err = unpack(chunks); err != nil {
			return err
		}
		return decodeChunks(chunks, samples)
	})
	if err != nil {
		return nil, fmt.Errorf("samples of trial %s: %w", id, err)
	}
	return samples, nil
}
