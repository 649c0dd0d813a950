package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// applicationID marks a SQLite file as a history ("SWBP").
const applicationID = 0x53574250

// step is one migration: the SQL that leads from the version before to its own.
type step struct {
	name string
	sql  string
}

// readSteps reads the migrations in order; the n-th leads to version n.
func readSteps(schema fs.FS) ([]step, error) {
	names, err := fs.Glob(schema, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	slices.Sort(names)
	var steps []step
	for i, name := range names {
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, want) {
			return nil, fmt.Errorf("migrations: %s: want a name that begins with %s", name, want)
		}
		text, err := fs.ReadFile(schema, name)
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		steps = append(steps, step{name, string(text)})
	}
	return steps, nil
}

// migrate brings the file to the newest schema, with a backup of an older one.
func (db *DB) migrate(ctx context.Context, steps []step) error {
	if db.found == len(steps) {
		if err := db.writer.PingContext(ctx); err != nil {
			return fmt.Errorf("open history %s: %w", db.path, translate(err))
		}
		return nil
	}
	if db.found > 0 {
		// A run of the older program goes on writing as it knows to.
		if runs, err := db.holders(); err != nil {
			return fmt.Errorf("migrate %s: %w", db.path, err)
		} else if len(runs) > 0 {
			return fmt.Errorf("migrate %s from schema %d to %d: an older sweepbook is at work on it; let it end, or stop it, first: %w",
				db.path, db.found, len(steps), runs[0])
		}
		backup := fmt.Sprintf("%s.bak-v%d-%s", db.path, db.found, db.opt.Now().UTC().Format("20060102T150405Z"))
		if err := vacuumInto(ctx, db.path, nil, backup); err != nil {
			return fmt.Errorf("back up %s before migrating: %w", db.path, err)
		}
	}
	if err := applySteps(ctx, db.writer, steps, db.path, db.seed); err != nil {
		var newer *SchemaError
		if errors.As(err, &newer) {
			return err
		}
		return fmt.Errorf("migrate %s: %w", db.path, translate(err))
	}
	return nil
}

// applySteps applies what is missing in one transaction, in which the version is
// read again: another process may have come first.
func applySteps(ctx context.Context, pool *sql.DB, steps []step, path string, seed func(context.Context, *sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case version > len(steps):
		return &SchemaError{Path: path, Found: version, Supported: len(steps)}
	case version == len(steps):
		return nil
	}
	for i := version; i < len(steps); i++ {
		if _, err := tx.ExecContext(ctx, steps[i].sql); err != nil {
			return fmt.Errorf("%s: %w", steps[i].name, err)
		}
	}
	if version == 0 && seed != nil {
		if err := seed(ctx, tx); err != nil {
			return err
		}
	}
	if broken, err := foreignKeyFaults(ctx, tx); err != nil {
		return err
	} else if len(broken) > 0 {
		return fmt.Errorf("%w: %s", core.ErrInvalid, broken[0])
	}
	for _, p := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(steps)),
	} {
		if _, err := tx.ExecContext(ctx, p); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// seed fills the meta table of a new history.
func (db *DB) seed(ctx context.Context, tx *sql.Tx) error {
	for _, m := range []struct {
		key   string
		value any
	}{
		{"history_id", randomUUID()},
		{"created_at", db.opt.Now().UnixMicro()},
		{"created_by", "sweepbook " + db.opt.SweepbookVersion},
		{"trials", 0},
		{"audit_version", db.opt.auditVersion()},
	} {
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, ?)", m.key, m.value); err != nil {
			return err
		}
	}
	return nil
}

// randomUUID is a UUIDv4: a history's id says nothing of its machine or time.
func randomUUID() string {
	var id core.ID
	rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// readOlder replaces the place to read by a migrated private copy.
func (db *DB) readOlder(ctx context.Context, steps []step) error {
	dir := db.private
	if dir == "" {
		made, err := os.MkdirTemp("", "sweepbook-read-")
		if err != nil {
			return err
		}
		dir, db.private = made, made
	}
	file := filepath.Join(dir, "migrated.db")
	if err := vacuumInto(ctx, db.readFile, db.readMode, file); err != nil {
		return err
	}
	pool, err := openPool(file, nil, copyPragmas())
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	if err := applySteps(ctx, pool, steps, db.path, nil); err != nil {
		return err
	}
	db.readFile, db.readMode = file, []param{{"mode", "ro"}}
	return nil
}
