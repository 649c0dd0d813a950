package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// writerState is what the writer keeps between transactions.
type writerState struct {
	stmts map[string]*sql.Stmt // by SQL text, which is a small closed set
	ids   map[string]int64     // rows of shared tables by digest or name
	pack  packer
}

func (s *writerState) close() {
	for _, stmt := range s.stmts {
		_ = stmt.Close() // what it did was reported when it did it
	}
	s.stmts = nil
}

// maxKnownIDs bounds the memory of what is already stored.
const maxKnownIDs = 1 << 17

// writeTx is one transaction of the writer.
type writeTx struct {
	ctx   context.Context //nolint:containedctx // begun with it, the transaction ends with it
	tx    *sql.Tx
	db    *DB
	state *writerState
	used  map[string]*sql.Stmt
	fresh []string // statements to keep for later transactions

	// touched are the numbers of the trials that an audit has to look at, by
	// study, and given are callers' trials that learn what it says.
	touched map[string]map[int64]bool
	given   map[int64]*core.Trial
}

// write runs fn in one immediate transaction, audits what it touched and commits.
// what names the act for errors. An error of the commit is ErrUnknown, unless SQLite
// wrote nothing for want of room or of its turn.
func (db *DB) write(ctx context.Context, what string, fn func(*writeTx) error) error {
	if db.writer == nil {
		return fmt.Errorf("%s: %w: history %s is open for reading only", what, core.ErrInvalid, db.path)
	}
	select {
	case db.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	defer func() { <-db.turn }()
	if db.state.stmts == nil {
		db.state.stmts = map[string]*sql.Stmt{}
	}
	if db.state.ids == nil || len(db.state.ids) > maxKnownIDs {
		db.state.ids = map[string]int64{}
	}
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, db.explain(err))
	}
	committed := false
	defer func() {
		if !committed {
			db.state.ids = nil // they may name rows that are rolled back
			_ = tx.Rollback()  // done already, unless an audit panicked
		}
	}()
	w := &writeTx{ctx: ctx, tx: tx, db: db, state: &db.state, used: map[string]*sql.Stmt{},
		touched: map[string]map[int64]bool{}, given: map[int64]*core.Trial{}}
	if err = fn(w); err == nil {
		err = w.audit()
	}
	if err != nil {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("%s: %w", what, db.explain(err))
	}
	if err := tx.Commit(); err != nil {
		if code := sqliteCode(err); code != codeFull && code != codeBusy {
			return fmt.Errorf("%s: commit: %w: %w", what, ErrUnknown, db.explain(err))
		}
		return fmt.Errorf("%s: commit: %w", what, db.explain(err))
	}
	committed = true
	w.keep()
	return nil
}

// keep prepares for later transactions what this one prepared for itself: while
// it ran, it had the only connection. A failure only costs speed.
func (w *writeTx) keep() {
	for _, text := range w.fresh {
		stmt, err := w.db.writer.PrepareContext(w.ctx, text) //nolint:sqlclosecheck // kept; writerState.close closes it
		if err == nil {
			w.state.stmts[text] = stmt
		}
	}
}

func (w *writeTx) stmt(text string) (*sql.Stmt, error) {
	if s := w.used[text]; s != nil {
		return s, nil
	}
	var s *sql.Stmt
	if kept := w.state.stmts[text]; kept != nil {
		s = w.tx.StmtContext(w.ctx, kept)
	} else {
		var err error
		if s, err = w.tx.PrepareContext(w.ctx, text); err != nil {
			return nil, err
		}
		w.fresh = append(w.fresh, text)
	}
	w.used[text] = s
	return s, nil
}

func (w *writeTx) exec(text string, args ...any) (sql.Result, error) {
	s, err := w.stmt(text) //nolint:sqlclosecheck // kept; database/sql closes it with the transaction
	if err != nil {
		return nil, err
	}
	return s.ExecContext(w.ctx, args...)
}

// insert returns the rowid of the new row.
func (w *writeTx) insert(text string, args ...any) (int64, error) {
	res, err := w.exec(text, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// find scans one row and reports whether there was one.
func (w *writeTx) find(dest []any, text string, args ...any) (bool, error) {
	s, err := w.stmt(text) //nolint:sqlclosecheck // kept; database/sql closes it with the transaction
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(w.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls fn after scanning every row into dest.
func (w *writeTx) each(dest []any, fn func() error, text string, args ...any) error {
	s, err := w.stmt(text) //nolint:sqlclosecheck // kept; database/sql closes it with the transaction
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(w.ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, dest, fn)
}

func eachRow(rows *sql.Rows, dest []any, fn func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// querier is what reads alike in a transaction and outside: *sql.DB, *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// read runs fn on one connection in one snapshot of the history.
func (db *DB) read(ctx context.Context, fn func(querier) error) error {
	tx, err := db.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.explain(err)
	}
	defer tx.Rollback()
	return db.explain(fn(tx))
}
