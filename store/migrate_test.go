package store_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/migrations"
	"github.com/sweepbook/sweepbook/store"
)

// firstVersion makes a file of schema 1 with the rows of another history: what the
// first release would have written of the same trials.
func firstVersion(t *testing.T, path, from string) {
	t.Helper()
	ctx := context.Background()
	first, err := migrations.FS.ReadFile("0001_history.sql")
	ok(t, err)
	db, err := store.OpenIn(ctx, path, options(), fstest.MapFS{"0001_history.sql": {Data: first}}, "")
	ok(t, err)
	defer db.Close()
	ok(t, db.Exec(ctx, "ATTACH ? AS later", from))
	ok(t, db.Exec(ctx, "PRAGMA foreign_keys = 0"))
	// Conditions on a table of pragmas cannot name the schema of the outer table.
	var tables string
	ok(t, db.Query(ctx, &tables, "SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'meta'"))
	for _, table := range append(strings.Split(tables, ","), "meta") {
		var columns string
		ok(t, db.Query(ctx, &columns, "SELECT group_concat(name) FROM pragma_table_info(?)", table))
		quoted := `"` + strings.ReplaceAll(columns, ",", `","`) + `"`
		ok(t, db.Exec(ctx, "INSERT OR REPLACE INTO main."+table+" ("+quoted+") SELECT "+quoted+" FROM later."+table))
	}
	ok(t, db.Exec(ctx, "PRAGMA foreign_keys = 1"))
}

// A history of the first release is read as it lies, and answers the same after it is
// migrated; what is written then is read back like the rest.
func TestFirstVersionMigrates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	now, old := filepath.Join(dir, "now.db"), filepath.Join(dir, "old.db")
	db := openAt(t, now, options())
	for _, trial := range varied() {
		ok(t, db.SaveTrial(ctx, trial))
	}
	columns := slices.Concat(core.FieldNames(), dynamicColumns())
	want := rows(t, db, core.Select{Columns: columns})
	ok(t, db.Close())
	firstVersion(t, old, now)

	before, err := os.ReadFile(old)
	ok(t, err)
	read := options()
	read.ReadOnly = true
	reader := openAt(t, old, read)
	if reader.SchemaVersion() != 1 {
		t.Fatalf("the old file has schema %d", reader.SchemaVersion())
	}
	if d := diff(want, rows(t, reader, core.Select{Columns: columns})); d != "" {
		t.Errorf("an old file read (-new file +old):\n%s", d)
	}
	ok(t, reader.Close())
	if after, _ := os.ReadFile(old); !bytes.Equal(before, after) {
		t.Error("a reader has changed the old file")
	}

	db = openAt(t, old, options())
	if d := diff(want, rows(t, db, core.Select{Columns: columns})); d != "" || db.SchemaVersion() != store.SupportedSchema() {
		t.Errorf("migrated to %d (-new file +old):\n%s", db.SchemaVersion(), d)
	}
	agree(t, db)
	ok(t, db.SaveTrial(ctx, plain(77)))
	agree(t, db)
}

// Whatever changes a row, its numbers for load and context follow.
func TestContextFollows(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	for n := range 3 {
		ok(t, db.SaveTrial(ctx, plain(n)))
	}
	for _, change := range []string{
		"UPDATE trial SET status = 'lost' WHERE number = 1", "UPDATE trial SET study = NULL, host = 'elsewhere' WHERE number = 2",
		"UPDATE trial SET load = 'c=3', concurrency = 3 WHERE number = 3", "UPDATE trial SET status = 'lost' WHERE number = 1",
	} {
		ok(t, db.Exec(ctx, change))
		agree(t, db)
	}
}
