package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sweepbook/sweepbook/core"
)

// Reading is a history at one moment: what is written meanwhile is not seen. It
// serves one goroutine, for as long as the function of Snapshot runs, and one walk
// over rows at a time.
type Reading struct {
	db      *DB
	session *session
	looks   map[string][]core.Value // of facets, by their fields
	tables  tablesRead
	names   *core.Names
	history *core.History
}

// Snapshot runs fn on the history as it stands.
func (db *DB) Snapshot(ctx context.Context, fn func(*Reading) error) error {
	conn, err := db.reader.Conn(ctx)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = conn.Close() }() // only gives it back to the pool
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return db.explain(err)
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
			// The pool must not hand out a connection that is still in a transaction.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	return db.explain(fn(&Reading{db: db, session: &session{conn}, looks: map[string][]core.Value{}, tables: newTables()}))
}

// History names the file and counts its trials.
func (r *Reading) History(ctx context.Context) (core.History, error) {
	if r.history == nil {
		h, err := historyOf(ctx, r.session)
		if err != nil {
			return core.History{}, fmt.Errorf("history %s: %w", r.db.path, err)
		}
		r.history = &h
	}
	return *r.history, nil
}

// Names is DB.Names at this moment. Its lists are those of every call.
func (r *Reading) Names(ctx context.Context) (core.Names, error) {
	if r.names == nil {
		names, err := namesOf(ctx, r.session)
		if err != nil {
			return core.Names{}, fmt.Errorf("names: %w", err)
		}
		r.names = &names
	}
	return *r.names, nil
}

// Rows is DB.Rows at this moment, in any order: that of an index, where one holds all
// that is read.
func (r *Reading) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		for _, fields := range sel.Looks {
			// During the walk the connection is busy, and Look must find its table read.
			if _, err := r.Look(ctx, fields, 0); err != nil {
				yield(nil, fmt.Errorf("rows: %w", err))
				return
			}
		}
		stopped := false
		err := rowsOf(ctx, r.session, r.tables, sel, false, func(row []core.Value) bool {
			stopped = !yield(row, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("rows: %w", err))
		}
	}
}

// Requests gives the samples of a trial, also during a walk over rows: by a connection
// of its own, since samples are written once and only removed as a whole.
func (r *Reading) Requests(ctx context.Context, id core.ID, withChunks bool) ([]core.Sample, error) {
	return r.db.Requests(ctx, id, withChunks)
}

// NumberFromEnd is the number of the n-th last trial, that of the first where there are
// fewer, 0 where there is none.
func (r *Reading) NumberFromEnd(ctx context.Context, n int) (number int64, err error) {
	err = r.session.QueryRowContext(ctx, "SELECT ifnull(min(number), 0) FROM (SELECT number FROM trial ORDER BY number DESC LIMIT ?)", n).Scan(&number)
	return number, err
}

// session is one connection inside a transaction.
type session struct{ *sql.Conn }

// eachCells calls fn with the cells of every row until it returns false. On a
// session the driver is asked directly: database/sql would copy every cell once
// more, which takes a third of a walk over a million trials.
func eachCells(ctx context.Context, q querier, text string, args []any, fn func(cells []any) bool) error {
	if s, ok := q.(*session); ok {
		return s.Raw(func(conn any) error { return eachOf(ctx, conn, text, args, fn) })
	}
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	cells, dest := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		dest[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if !fn(cells) {
			return nil
		}
	}
	return rows.Err()
}

func eachOf(ctx context.Context, conn any, text string, args []any, fn func(cells []any) bool) (err error) {
	asked, ok := conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the driver cannot be asked")
	}
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := asked.QueryContext(ctx, text, named)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	cells := make([]any, len(values))
	for n := 1; ; n++ {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n%1024 == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		for i, v := range values {
			cells[i] = v
		}
		if !fn(cells) {
			return nil
		}
	}
}
