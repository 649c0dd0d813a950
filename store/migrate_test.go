package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// A history on which an older program carries out a study is not migrated; and a
// program under which it was migrated all the same writes nothing more.
func TestMigratedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history [1].db")
	ok(t, openAt(t, path, options()).Close())
	older, out := startChild(t, "hold", path, nil)
	if out.Scan(); out.Text() != "held" {
		t.Fatalf("the other process says %q", out.Text())
	}
	newer, _ := oneMore(t)
	_, err := store.OpenIn(ctx, path, options(), newer, "")
	if !errors.Is(err, core.ErrHeld) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), strconv.Itoa(older.Process.Pid)) {
		t.Errorf("migrate under a run: %v", err)
	}
	ok(t, older.Process.Kill())
	older.Wait()

	db := openAt(t, path, options())
	ok(t, db.SaveTrial(ctx, plain(0)))
	migrated, err := store.OpenIn(ctx, path, options(), newer, "")
	ok(t, err)
	defer migrated.Close()
	var schema *store.SchemaError
	if err := db.FinishTrial(ctx, plain(1), samples(3)); !errors.As(err, &schema) || schema.Found != store.SupportedSchema()+1 || !strings.Contains(err.Error(), path) {
		t.Errorf("write what was migrated meanwhile: %v", err)
	}
	ok(t, migrated.FinishTrial(ctx, plain(2), samples(3)))
	if n := len(all(t, migrated)); n != 2 {
		t.Errorf("%d trials, want the one before and the one after", n)
	}
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
