package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// param is one URI parameter of a connection.
type param struct{ key, value string }

// pragma is a setting of a connection and what SQLite must answer when asked
// for it. The driver ignores a misspelt pragma, so that only reading back shows
// that it holds.
type pragma struct{ name, set, want string }

func writerPragmas() []pragma {
	return []pragma{
		{"busy_timeout", "10000", "10000"},
		{"journal_mode", "WAL", "wal"},
		{"synchronous", "FULL", "2"}, // NORMAL loses acknowledged trials when the power fails
		{"foreign_keys", "1", "1"},
		{"trusted_schema", "0", "0"},
		{"cell_size_check", "1", "1"},
		{"journal_size_limit", "67108864", "67108864"},
		// KiB. The index by which an import finds its twin is in no order, so that with
		// SQLite's 2 MiB a large import writes and reads its pages over and over.
		{"cache_size", "-65536", "-65536"},
	}
}

func readerPragmas() []pragma {
	return []pragma{
		{"busy_timeout", "10000", "10000"},
		{"trusted_schema", "0", "0"},
		{"cell_size_check", "1", "1"},
		{"query_only", "1", "1"},
	}
}

// copyPragmas are those of a connection that copies a database: query_only
// would forbid VACUUM INTO another file.
func copyPragmas() []pragma {
	return []pragma{{"busy_timeout", "10000", "10000"}, {"trusted_schema", "0", "0"}, {"cell_size_check", "1", "1"}}
}

// setDriver makes the process-wide choices of the driver. It may be called
// again at every open.
func setDriver() error {
	sqlite.StrictPragmas(true)
	// Locks of an open file description survive when other code in this process
	// opens and closes the database file. Linux only.
	if _, err := sqlite.OFDLocking(true); err != nil && !errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return fmt.Errorf("file locks: %w", err)
	}
	// fdatasync is as durable as fsync and spares the journal of the file system.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return fmt.Errorf("file sync: %w", err)
	}
	return nil
}

// dsn names a database file for the driver. A path pasted into a DSN would be
// cut at its first ? or #, and its mode ignored, so it is built as a URL.
func dsn(path string, params []param, pragmas []pragma) string {
	v := url.Values{}
	for _, p := range params {
		v.Add(p.key, p.value)
	}
	for _, p := range pragmas {
		v.Add("_pragma", p.name+"("+p.set+")")
	}
	v.Set("_txlock", "deferred")
	if !readsOnly(params) {
		// A deferred transaction that reads and then writes fails at once when
		// another process wrote in between, whatever the busy timeout.
		v.Set("_txlock", "immediate")
	}
	v.Set("_defensive", "1")
	v.Set("_dqs", "0")
	v.Set("_error_rc", "1")
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: v.Encode()}).String()
}

func readsOnly(params []param) bool {
	for _, p := range params {
		if p == (param{"mode", "ro"}) {
			return true
		}
	}
	return false
}

// openPool returns a pool whose connections all have the pragmas. It opens none.
func openPool(path string, params []param, pragmas []pragma) (*sql.DB, error) {
	inner, err := sqlite.NewConnector(dsn(path, params, pragmas))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&connector{inner, pragmas}), nil
}

// connector checks every connection that the driver makes, since the pool may
// replace one at any time.
type connector struct {
	driver.Connector
	pragmas []pragma
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pragmas {
		got, err := readPragma(ctx, conn, p.name)
		if err == nil && got != p.want {
			err = fmt.Errorf("pragma %s: asked for %s, SQLite answers %q", p.name, p.set, got)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

func readPragma(ctx context.Context, conn driver.Conn, name string) (string, error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return "", errors.New("pragma: the driver cannot be asked")
	}
	rows, err := q.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	dest := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(dest); err != nil || len(dest) != 1 {
		return "", fmt.Errorf("pragma %s: no answer", name)
	}
	return fmt.Sprint(dest[0]), nil
}
