package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// sqliteMagic begins every SQLite file.
const sqliteMagic = "SQLite format 3\x00"

func isSQLite(head []byte, _ *input) bool { return strings.HasPrefix(string(head), sqliteMagic) }

// database is another program's SQLite file, open for reading. Queries name each
// column that they take, so that what is never looked at is never loaded.
type database struct {
	ctx     context.Context //nolint:containedctx // lives within the reading of one file
	db      *sql.DB
	columns map[string][]string // of each table; no views, whose text is the file's own
}

// openDatabase opens a file beside the input, or the input itself. It needs a file:
// SQLite reads at random.
func (in *input) openDatabase(ctx context.Context, path string) (*database, error) {
	switch {
	case in.opt.SQLite == nil:
		return nil, fmt.Errorf("SQLite file: %w: not read here", core.ErrInvalid)
	case !in.onDisk:
		return nil, fmt.Errorf("SQLite file: %w: it cannot be read from a pipe; name the file", core.ErrInvalid)
	}
	db, err := in.opt.SQLite(ctx, path)
	if err != nil {
		return nil, err
	}
	d := &database{ctx: ctx, db: db, columns: map[string][]string{}}
	if err := d.readColumns(); err != nil {
		return nil, errors.Join(fmt.Errorf("SQLite file: %w: %w", core.ErrInvalid, err), db.Close())
	}
	return d, nil
}

func (d *database) close() { _ = d.db.Close() } // only read

// maxTables bounds what is looked at of a schema.
const maxTables = 1000

func (d *database) readColumns() error {
	return d.each(`SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' LIMIT `+fmt.Sprint(100*maxTables),
		nil, func(row []any) {
			table, column := cellText(row[0]), cellText(row[1])
			if len(d.columns) < maxTables || d.columns[table] != nil {
				d.columns[table] = append(d.columns[table], column)
			}
		})
}

// has reports whether a table is there with these columns.
func (d *database) has(table string, columns ...string) bool {
	have, ok := d.columns[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// orNull names a column, or NULL where the table of this version has none. Long
// texts are cut off: none that is kept is that long.
func (d *database) orNull(table, column string) string {
	if !d.has(table, column) {
		return "NULL"
	}
	return fmt.Sprintf("CASE WHEN typeof(%[1]q) IN ('text','blob') THEN substr(CAST(%[1]q AS TEXT), 1, %[2]d) ELSE %[1]q END", column, maxCell)
}

// maxCell is the longest text that is taken out of a cell, in characters: the gaps
// of an answer of a hundred thousand tokens.
const maxCell = 4 << 20

// each hands over the rows of a query, with values of nil, float64, int64, string.
func (d *database) each(query string, args []any, row func(values []any)) error {
	rows, err := d.db.QueryContext(d.ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		row(values)
	}
	return rows.Err()
}

// cellText gives a cell as text, "" for NULL.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return strings.ToValidUTF8(string(v), "�")
	case string:
		return strings.ToValidUTF8(v, "�")
	}
	return fmt.Sprint(v)
}

// cellNumber gives a cell as the JSON readers have numbers, nil for what is none.
func cellNumber(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string, []byte:
		return cellText(v)
	}
	return nil
}

// readSQLite reads a file of any kind whose tables are known.
func readSQLite(in *input, out *collector) error { return readSQLiteAs(nil, in, out) }

func readSQLiteAs(forced *format, in *input, out *collector) error {
	head, err := in.head()
	switch {
	case err != nil:
		return err
	case !isSQLite(head, in):
		out.skip(0, "unknown content: no SQLite file")
		return nil
	}
	if in.onDisk && in.name != filepath.Base(in.path) {
		return fmt.Errorf("SQLite file: %w: compressed; unpack it first", core.ErrInvalid)
	}
	db, err := in.openDatabase(in.ctx, in.path)
	if err != nil {
		return err
	}
	defer db.close()
	kind := forced
	kinds := formats()
	for i := range kinds {
		if kind == nil && kinds[i].holds != nil && kinds[i].holds(db) {
			kind = &kinds[i]
		}
	}
	switch {
	case kind != nil && !kind.holds(db):
		out.skip(0, "SQLite file without the tables of "+kind.name)
		return nil
	case kind == nil && db.has("trial") && db.has("knobset") && db.has("source_file"):
		out.skip(0, "a history of Sweepbook: open it with --db, or export from it")
		return nil
	case kind == nil:
		out.skip(0, "unknown content: SQLite without known tables: looked for "+lookedFor())
		return nil
	}
	if err := kind.database(db, in, out); err != nil {
		if in.ctx.Err() != nil {
			return in.ctx.Err()
		}
		// What was read before stays.
		out.begin()
		out.fail(0, fmt.Sprintf("SQLite file: %v: rows after it are not read", err))
	}
	return nil
}
