package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// create makes a new history under another name in the same folder and gives it
// its own when it is whole, so that nobody ever opens one half made. Where another
// process was first, that one's history stays.
func (db *DB) create(ctx context.Context, steps []step) error {
	dir := filepath.Dir(db.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	clearStale(dir, db.opt.Now())
	f, err := os.CreateTemp(dir, newPrefix+"*") // 0600; SQLite would make it 0644
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(tmp + suffix) // the history has a name of its own by then
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	if err := db.makeSchema(ctx, tmp, steps); err != nil {
		return err
	}
	// Note: a rename would replace what another process has made meanwhile.
	err = os.Link(tmp, db.path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		// Not every file system has links. There the schema is made in place, and who
		// looks in that moment finds an empty file.
		return createEmpty(db.path)
	}
	return syncDir(dir)
}

// newPrefix begins the name of a history that is being made.
const newPrefix = ".sweepbook-new-"

// staleAfter is far longer than the making of a history takes.
const staleAfter = time.Hour

// clearStale removes what was left by processes that were killed while they made a
// history. What cannot be removed is in nobody's way.
func clearStale(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), newPrefix) && info.Mode().IsRegular() && now.Sub(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// makeSchema fills a file that nobody else knows.
func (db *DB) makeSchema(ctx context.Context, file string, steps []step) error {
	pool, err := openPool(file, nil, writerPragmas())
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	err = applySteps(ctx, pool, steps, db.path, db.seed)
	if err == nil {
		// Closing would fold the -wal file in as well, and say nothing if it cannot.
		_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err = errors.Join(translate(err), pool.Close()); err != nil {
		return err
	}
	if hasWAL(file) {
		return fmt.Errorf("%s: the schema is not whole", file)
	}
	return nil
}

// createEmpty makes the empty file before SQLite does, which would leave it
// readable for everyone. Two processes may do so at once; both then find it.
func createEmpty(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
