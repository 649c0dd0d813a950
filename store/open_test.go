package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/migrations"
	"github.com/sweepbook/sweepbook/store"
)

// files lists a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// oneMore is the schema with one more version, and more the name of that step.
func oneMore(t *testing.T) (schema fstest.MapFS, more string) {
	t.Helper()
	schema = fstest.MapFS{}
	names, err := fs.Glob(migrations.FS, "*.sql")
	ok(t, err)
	for _, name := range names {
		text, err := migrations.FS.ReadFile(name)
		ok(t, err)
		schema[name] = &fstest.MapFile{Data: text}
	}
	more = fmt.Sprintf("%04d_more.sql", len(names)+1)
	schema[more] = &fstest.MapFile{Data: []byte("CREATE TABLE more (x REAL) STRICT; INSERT INTO more VALUES (2);")}
	return schema, more
}

func TestOddPaths(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"plain.db", "a b.db", "what?mode=memory.db", "we#ird.db", "100%25.db", "история.db", "quote'\".db", "-dash.db", "a;b&c=d.db"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir "+name)
			db := openAt(t, filepath.Join(dir, name), options())
			ok(t, db.SaveTrial(ctx, plain(1)))
			ok(t, db.Close())
			if got := files(t, dir); !slices.Equal(got, []string{name}) {
				t.Errorf("files %q", got)
			}
			opt := options()
			opt.ReadOnly = true
			h, err := openAt(t, filepath.Join(dir, name), opt).History(ctx)
			ok(t, err)
			if h.Trials != 1 || len(h.ID) != 36 {
				t.Errorf("read back %+v", h)
			}
		})
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	dir := filepath.Join(t.TempDir(), "new", "deep")
	path := filepath.Join(dir, "history.db")
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(context.Background(), plain(1)))
	ok(t, db.Backup(context.Background(), filepath.Join(dir, "copy.db")))
	for name, want := range map[string]os.FileMode{".": 0o700, "history.db": 0o600, "history.db-wal": 0o600, "history.db-shm": 0o600, "copy.db": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		ok(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.db")
	ok(t, openAt(t, real, options()).Close())
	link := filepath.Join(dir, "link.db")
	ok(t, os.Symlink(real, link))
	db := openAt(t, link, options())
	want, err := filepath.EvalSymlinks(real)
	ok(t, err)
	if db.Path() != want {
		t.Errorf("path %s, want %s", db.Path(), want)
	}
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	write := func(path string, data []byte) { ok(t, os.WriteFile(path, data, 0o600)) }
	read, must := options(), options()
	read.ReadOnly, must.MustExist = true, true
	newer := func(path string) {
		newer, _ := oneMore(t)
		db, err := store.OpenIn(ctx, path, options(), newer, "")
		ok(t, err)
		ok(t, db.SaveTrial(ctx, plain(1)))
		ok(t, db.Close())
	}
	foreign := func(path string) {
		db, err := store.OpenIn(ctx, path, options(), migrations.FS, "")
		ok(t, err)
		ok(t, db.Exec(ctx, "PRAGMA application_id = 7"))
		ok(t, db.Close())
	}
	var schema *store.SchemaError
	for _, c := range []struct {
		name string
		make func(path string)
		opt  store.Options
		want error
		says string
	}{
		{"newer schema", newer, options(), core.ErrInvalid,
			fmt.Sprintf("schema version %d and this sweepbook knows up to %d", store.SupportedSchema()+1, store.SupportedSchema())},
		{"newer schema for reading", newer, read, core.ErrInvalid, "use a newer sweepbook"},
		{"text", func(p string) { write(p, []byte(strings.Repeat("not a database\n", 100))) }, options(), core.ErrInvalid, "not a Sweepbook history"},
		{"short text", func(p string) { write(p, []byte("x")) }, options(), core.ErrInvalid, "not a Sweepbook history"},
		{"text for reading", func(p string) { write(p, []byte(strings.Repeat("not a database\n", 100))) }, read, core.ErrInvalid, "not a Sweepbook history"},
		{"another program's", foreign, options(), core.ErrInvalid, "another program"},
		{"empty", func(p string) { write(p, nil) }, must, core.ErrInvalid, "the file is empty"},
		{"empty for reading", func(p string) { write(p, nil) }, read, core.ErrInvalid, "the file is empty"},
		{"missing", func(string) {}, must, core.ErrNotFound, "history.db"},
		{"missing for reading", func(string) {}, read, core.ErrNotFound, "history.db"},
		{"folder", func(p string) { ok(t, os.Mkdir(p, 0o700)) }, options(), core.ErrInvalid, "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "history.db")
			c.make(path)
			before, _ := os.ReadFile(path)
			names := files(t, dir)
			_, err := store.Open(ctx, path, c.opt)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %v that says %q and names the file", err, c.want, c.says)
			}
			if strings.HasPrefix(c.name, "newer") && (!errors.As(err, &schema) || schema.Found != store.SupportedSchema()+1) {
				t.Errorf("error %#v is no SchemaError", err)
			}
			after, _ := os.ReadFile(path)
			if !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
			if got := files(t, dir); !slices.Equal(got, names) {
				t.Errorf("files %q, before %q", got, names)
			}
		})
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(ctx, plain(1)))
	history, err := db.History(ctx)
	ok(t, err)
	ok(t, db.Close())

	// A reader leaves the older file as it is.
	before, err := os.ReadFile(path)
	ok(t, err)
	read := options()
	read.ReadOnly = true
	newer, step := oneMore(t)
	version := store.SupportedSchema()
	old, err := store.OpenIn(ctx, path, read, newer, "")
	ok(t, err)
	var more int
	ok(t, old.Query(ctx, &more, "SELECT x FROM more"))
	if old.SchemaVersion() != version || more != 2 || len(all(t, old)) != 1 {
		t.Errorf("read an older schema: version %d", old.SchemaVersion())
	}
	ok(t, old.Close())
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a reader has changed the file")
	}

	// A migration that fails changes nothing, and leaves the backup.
	bad, _ := oneMore(t)
	bad[step] = &fstest.MapFile{Data: []byte("CREATE TABLE more (x REAL) STRICT; SELECT no_such_function();")}
	if _, err := store.OpenIn(ctx, path, options(), bad, ""); err == nil || !strings.Contains(err.Error(), step) {
		t.Errorf("error %v does not name the step", err)
	}
	db = openAt(t, path, options())
	if db.SchemaVersion() != version {
		t.Errorf("after a failed migration: version %d", db.SchemaVersion())
	}
	ok(t, db.Close())

	db, err = store.OpenIn(ctx, path, options(), newer, "")
	ok(t, err)
	defer db.Close()
	now, err := db.History(ctx)
	ok(t, err)
	if db.SchemaVersion() != version+1 || now != history {
		t.Errorf("migrated to %d, history %+v, was %+v", db.SchemaVersion(), now, history)
	}
	backups, _ := filepath.Glob(fmt.Sprintf("%s.bak-v%d-20261130T130000Z", path, version))
	if len(backups) != 1 {
		t.Fatalf("backups: %q of %q", backups, files(t, dir))
	}
	kept := openAt(t, backups[0], options())
	if kept.SchemaVersion() != version || len(all(t, kept)) != 1 {
		t.Error("the backup is not the history before")
	}
}

func TestNetworkFileSystem(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "history.db")
	_, err := store.OpenIn(ctx, path, options(), migrations.FS, "NFS")
	if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), "--db") {
		t.Errorf("writing: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made all the same")
	}
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(ctx, plain(1)))
	read := options()
	read.ReadOnly = true
	// With a -wal file a private copy is read, without one the file itself.
	for _, state := range []string{"in use", "closed"} {
		remote, err := store.OpenIn(ctx, path, read, migrations.FS, "NFS")
		ok(t, err)
		if len(all(t, remote)) != 1 {
			t.Errorf("%s: the trial is not seen", state)
		}
		ok(t, remote.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")))
		ok(t, remote.Close())
		if state == "in use" {
			ok(t, db.SaveTrial(ctx, plain(2))) // the reader took no lock away
			_, err := db.Delete(ctx, []core.ID{plain(2).ID}, "")
			ok(t, err)
			ok(t, db.Close())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sweepbook-read-*")); len(left) > 0 {
		t.Errorf("private copies left: %q", left)
	}
}

func TestReadOnlyRefusesWrites(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	ok(t, openAt(t, path, options()).Close())
	opt := options()
	opt.ReadOnly = true
	db := openAt(t, path, opt)
	if err := db.SaveTrial(ctx, plain(1)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "reading only") {
		t.Errorf("save: %v", err)
	}
	if _, err := db.HoldStudy(ctx, "s"); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("hold: %v", err)
	}
}

func TestUnfinishedCreation(t *testing.T) {
	// The process died after it had made the file, before the schema.
	path := filepath.Join(t.TempDir(), "history.db")
	ok(t, os.WriteFile(path, nil, 0o600))
	ok(t, openAt(t, path, options()).SaveTrial(context.Background(), plain(1)))
}

// Who opens a history while others make it finds none, or a whole one.
func TestReaderDuringCreation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	read := options()
	read.ReadOnly = true
	for range 10 {
		path := filepath.Join(t.TempDir(), "history.db")
		var makers, readers sync.WaitGroup
		for range 2 {
			makers.Go(func() {
				db, err := store.Open(ctx, path, options())
				if err != nil {
					t.Errorf("make: %v", err)
					return
				}
				t.Cleanup(func() { db.Close() })
			})
		}
		for range 2 {
			readers.Go(func() {
				for {
					db, err := store.Open(ctx, path, read)
					if errors.Is(err, core.ErrNotFound) {
						continue
					}
					if err != nil {
						t.Errorf("open while others make it: %v", err)
						return
					}
					if h, err := db.History(ctx); err != nil || h.ID == "" {
						t.Errorf("history %+v: %v", h, err)
					}
					db.Close()
					return
				}
			})
		}
		makers.Wait()
		readers.Wait()
		for _, name := range files(t, filepath.Dir(path)) {
			if !strings.HasPrefix(name, "history.db") {
				t.Errorf("left behind: %s", name)
			}
		}
	}
}

func TestLinkToNowhere(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "history.db")
	ok(t, os.Symlink(filepath.Join(dir, "gone", "real.db"), link))
	if _, err := store.Open(context.Background(), link, options()); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), link) {
		t.Errorf("error %v", err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"history.db"}) {
		t.Errorf("files %q", got)
	}
}

func TestInspect(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	if _, err := store.Inspect(ctx, path); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(ctx, plain(1)))
	info, err := store.Inspect(ctx, path)
	ok(t, err)
	if info.Path != db.Path() || !info.History || info.SchemaVersion != store.SupportedSchema() || info.Size == 0 || info.WAL == 0 {
		t.Errorf("in use: %+v", info)
	}
	ok(t, db.Close())
	info, err = store.Inspect(ctx, path)
	ok(t, err)
	if info.WAL != 0 || info.SchemaVersion != store.SupportedSchema() || len(files(t, filepath.Dir(path))) != 1 {
		t.Errorf("closed: %+v, files %q", info, files(t, filepath.Dir(path)))
	}
	ok(t, os.WriteFile(path, []byte(strings.Repeat("text\n", 500)), 0o600))
	if _, err := store.Inspect(ctx, path); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("text: %v", err)
	}
}

// What a process left that was killed while it made a history goes when the next one
// makes one; what another process is making at the moment stays.
func TestCreateClearsWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".sweepbook-new-1", ".sweepbook-new-1-wal", ".sweepbook-new-2", "mine.db"} {
		ok(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		if name != ".sweepbook-new-2" {
			ok(t, os.Chtimes(filepath.Join(dir, name), old, old))
		}
	}
	db, err := store.Open(t.Context(), filepath.Join(dir, "history.db"), store.Options{})
	ok(t, err)
	ok(t, db.Close())
	if diff := cmp.Diff([]string{".sweepbook-new-2", "history.db", "mine.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
}
