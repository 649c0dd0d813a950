package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// header is what tells a history from other files.
type header struct {
	application int32
	version     int
	tables      int
	pages       int // none in a file too short to be a database
}

// peek reads a database's identity and changes nothing: no -wal or -shm file is
// made, no journal mode touched.
func peek(ctx context.Context, path string, remote bool) (header, error) {
	if !hasWAL(path) {
		return readHeader(ctx, path, immutable())
	}
	if !remote {
		h, err := readHeader(ctx, path, []param{{"mode", "ro"}})
		if !cannotShare(err) {
			return h, err
		}
	}
	// A -wal file that we may not share: look at a copy.
	p, err := copyAway(path)
	if err != nil {
		return header{}, err
	}
	defer func() { _ = os.RemoveAll(p.private) }() // a copy in the system's temporary folder
	return readHeader(ctx, p.file, nil)
}

func immutable() []param { return []param{{"mode", "ro"}, {"immutable", "1"}} }

func readHeader(ctx context.Context, path string, mode []param) (header, error) {
	pool, err := openPool(path, mode, copyPragmas())
	if err != nil {
		return header{}, err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	var h header
	for _, q := range []struct {
		sql  string
		dest any
	}{
		{"PRAGMA application_id", &h.application},
		{"PRAGMA user_version", &h.version},
		{"SELECT count(*) FROM sqlite_schema", &h.tables},
		{"PRAGMA page_count", &h.pages},
	} {
		if err := pool.QueryRowContext(ctx, q.sql).Scan(q.dest); err != nil {
			return header{}, translate(err)
		}
	}
	return h, nil
}

// hasWAL reports whether committed pages may lie beside the file.
func hasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// cannotShare: SQLite could not make or map the -shm file that readers of a WAL
// database share.
func cannotShare(err error) bool {
	switch sqliteCode(err) {
	case codeReadOnly, codeCantOpen, codeIOErr:
		return true
	}
	return false
}

// place is where and how a history is read.
type place struct {
	file    string
	mode    []param
	private string // folder to remove afterwards
}

// placeToRead chooses how to read a file: shared with its writers where that is
// possible, immutable where nobody has it open for writing, else a copy.
func placeToRead(ctx context.Context, path string, remote bool) (place, error) {
	if !remote {
		shared := []param{{"mode", "ro"}}
		_, err := readHeader(ctx, path, shared)
		if err == nil {
			return place{file: path, mode: shared}, nil
		}
		if !cannotShare(err) {
			return place{}, err
		}
	}
	if !hasWAL(path) {
		_, err := readHeader(ctx, path, immutable())
		return place{file: path, mode: immutable()}, err
	}
	p, err := copyAway(path)
	if err != nil {
		return place{}, err
	}
	if err := checkCopy(ctx, p.file); err != nil {
		return place{}, errors.Join(err, os.RemoveAll(p.private))
	}
	p.mode = []param{{"mode", "ro"}}
	return p, nil
}

// copyAway copies a database and its -wal file into a private folder. It is used
// only where this process cannot write the original, so that closing the file
// here takes no lock away from a writer of ours.
func copyAway(path string) (place, error) {
	dir, err := os.MkdirTemp("", "sweepbook-read-")
	if err != nil {
		return place{}, err
	}
	p := place{file: filepath.Join(dir, "history.db"), private: dir}
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, p.file+suffix); err != nil {
			return place{}, fmt.Errorf("copy for reading: %w", errors.Join(err, os.RemoveAll(dir)))
		}
	}
	return p, nil
}

// checkCopy lets SQLite recover the copy and refuses one that was caught in the
// middle of somebody's writing.
func checkCopy(ctx context.Context, file string) error {
	pool, err := openPool(file, nil, copyPragmas())
	if err != nil {
		return err
	}
	defer pool.Close()
	var verdict string
	if err := pool.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return translate(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: the copy is not whole, somebody may be writing; repeat, or read where the writer runs: %s",
			core.ErrConflict, verdict)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// syncDir makes the names in a folder durable. Some systems cannot sync a
// folder; there the rename itself must do.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	if err := d.Sync(); err != nil && !unsyncable(err) {
		return err
	}
	return nil
}
