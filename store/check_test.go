package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

func TestCheckFindsFaults(t *testing.T) {
	ctx := context.Background()
	for says, change := range map[string]string{
		"count: trials counted":           "UPDATE meta SET value = 17 WHERE key = 'trials'",
		"count: findings counted":         "UPDATE trial SET findings = 5 WHERE number = 1",
		"column severity.total_tps is":    "UPDATE verdict SET severities = '{\"*\":1}'",
		"view v_broken":                   "CREATE VIEW v_broken AS SELECT * FROM nowhere",
		"column load is \"c=9\"":          "UPDATE trial SET load = 'c=9' WHERE number = 1",
		"column tp is":                    "UPDATE config SET tp = 4",
		"reference: row":                  "PRAGMA foreign_keys = 0; UPDATE finding SET trial = 99",
		"say what their own columns say":  "INSERT INTO context (status) VALUES ('lost'); UPDATE trial SET context = last_insert_rowid()",
		"trials with samples, and trials": "INSERT INTO sample_chunk (trial, n, data) VALUES (1, 1, x'00')",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			db := openNew(t)
			for _, trial := range varied()[:2] {
				ok(t, db.SaveTrial(ctx, trial))
			}
			sound(t, db)
			ok(t, db.Exec(ctx, change))
			faults, err := db.Check(ctx)
			if err != nil || !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, says) }) {
				t.Errorf("faults %q, error %v", faults, err)
			}
		})
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	for n := range 20 {
		ok(t, db.FinishTrial(ctx, plain(n), samples(100)))
	}
	ok(t, db.Close())
	data, err := os.ReadFile(path)
	ok(t, err)
	for i := len(data) / 2 / 4096 * 4096; i < len(data)/2/4096*4096+64; i++ {
		data[i] ^= 0xff
	}
	ok(t, os.WriteFile(path, data, 0o600))
	db = openAt(t, path, options())
	faults, err := db.Check(ctx)
	if err != nil || len(faults) == 0 || !strings.Contains(faults[0], "integrity") {
		t.Errorf("faults %q, error %v", faults, err)
	}
	if err := db.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")); err == nil {
		t.Error("a damaged history was backed up as if it were sound")
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	for _, trial := range varied() {
		ok(t, db.FinishTrial(ctx, finished(trial), samples(5)))
	}
	dst := filepath.Join(t.TempDir(), "a copy?.db")
	ok(t, db.Backup(ctx, dst))
	ok(t, db.SaveTrial(ctx, plain(50)))
	ok(t, db.Backup(ctx, dst)) // replaces the one before
	if got := files(t, filepath.Dir(dst)); !slices.Equal(got, []string{"a copy?.db"}) {
		t.Errorf("files %q", got)
	}
	opt := options()
	opt.ReadOnly = true
	restored := openAt(t, dst, opt)
	if d := diff(all(t, db), all(t, restored)); d != "" {
		t.Errorf("(-history +backup):\n%s", d)
	}
	h1, err1 := db.History(ctx)
	h2, err2 := restored.History(ctx)
	if h1 != h2 || err1 != nil || err2 != nil {
		t.Errorf("history %+v, backup %+v", h1, h2)
	}
	if err := db.Backup(ctx, db.Path()); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("backup onto itself: %v", err)
	}
	if err := db.Backup(ctx, filepath.Join(t.TempDir(), "no", "such", "folder.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("backup into nowhere: %v", err)
	}
}

func finished(t *core.Trial) *core.Trial {
	if t.Status.Open() {
		t.Status = core.StatusAborted
	}
	return t
}
