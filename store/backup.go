package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// Backup writes a consistent copy of the history to dst while others go on
// reading and writing. The copy is made beside dst and renamed, so that dst is
// absent, as it was before, or whole. It is readable by its owner only.
func (db *DB) Backup(ctx context.Context, dst string) error {
	dst, err := realPath(dst)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if dst == db.path+suffix {
			return fmt.Errorf("backup to %s: %w: that is the history itself", dst, core.ErrInvalid)
		}
	}
	if err := vacuumInto(ctx, db.readFile, db.readMode, dst); err != nil {
		return fmt.Errorf("backup to %s: %w", dst, err)
	}
	return nil
}

// vacuumInto copies a database through SQLite, checks the copy and puts it at
// dst. A file that is copied byte by byte while it is in use may be broken.
func vacuumInto(ctx context.Context, src string, mode []param, dst string) error {
	if mode == nil {
		mode = []param{{"mode", "ro"}}
	}
	f, err := os.CreateTemp(filepath.Dir(dst), ".sweepbook-copy-*") // 0600; SQLite would make it 0644
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer func() { _ = os.Remove(tmp) }() // renamed by then, unless something failed
	if err := f.Close(); err != nil {
		return err
	}
	pool, err := openPool(src, mode, copyPragmas())
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	// VACUUM rebuilds what it can of a damaged file, and the copy would then take
	// the place of a sound one.
	var verdict string
	if err := pool.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return translate(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: the history is damaged, earlier backups are left alone: %s", core.ErrInvalid, verdict)
	}
	if _, err := pool.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return translate(err)
	}
	faults, err := checkFile(ctx, tmp)
	if err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: the copy is damaged: %s", core.ErrInvalid, faults[0])
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dst); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dst))
}

// checkFile runs the integrity check on a file that nobody else has open.
func checkFile(ctx context.Context, file string) ([]string, error) {
	pool, err := openPool(file, immutable(), copyPragmas())
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	faults, err := integrityFaults(ctx, pool)
	return faults, translate(err)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
