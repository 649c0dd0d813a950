package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// OpenForeign opens the SQLite file of another program to read it. Nothing of the
// file or beside it is written: no log is replayed, no index of a log is made. A
// file whose last changes stand beside it only, with no program that has it open,
// is refused with what to do; the error unwraps to core.ErrInvalid.
//
// Functions and virtual tables of the file's own schema are not run, since the file
// may be anyone's. The caller closes the database.
func OpenForeign(ctx context.Context, path string) (*sql.DB, error) {
	if err := setDriver(); err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	params, err := foreignParams(full)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	db, err := openPool(full, params, readerPragmas())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", filepath.Base(path), err), db.Close())
	}
	return db, nil
}

// foreignParams says how a file can be read without a trace. In the mode with a
// write-ahead log SQLite makes two files beside it unless they are there, or unless
// it is told that nobody writes.
func foreignParams(path string) ([]param, error) {
	params := []param{{"mode", "ro"}}
	if hasContent(path + "-journal") {
		return nil, fmt.Errorf("%w: %s holds a change that was cut off: open the file once with its own program, then import it", core.ErrInvalid, filepath.Base(path)+"-journal")
	}
	logged, err := isLogged(path)
	switch {
	case err != nil:
		return nil, err
	case !logged:
	case !hasContent(path + "-wal"):
		params = append(params, param{"immutable", "1"})
	case !hasContent(path + "-shm"):
		return nil, fmt.Errorf("%w: its last changes stand in %s: open the file once with its own program, then import it", core.ErrInvalid, filepath.Base(path)+"-wal")
	}
	return params, nil
}

func hasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// isLogged reports whether the header asks for a write-ahead log.
func isLogged(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	var header [20]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return false, fmt.Errorf("%w: no SQLite file: %w", core.ErrInvalid, err)
	}
	return header[18] == 2 || header[19] == 2, nil
}
