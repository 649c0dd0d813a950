package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// locksOn counts the locks on a file that the kernel knows.
func locksOn(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	ok(t, err)
	locks, err := os.ReadFile("/proc/locks")
	ok(t, err)
	return strings.Count(string(locks), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// Other code in this process that opens and closes the file of the database, as a
// backup program would, takes no lock away: with those of POSIX it takes all.
func TestLocksSurviveAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(context.Background(), plain(0)))
	before := locksOn(t, path)
	if before == 0 {
		t.Fatal("a history that is open is not locked")
	}
	f, err := os.Open(path)
	ok(t, err)
	ok(t, f.Close())
	if after := locksOn(t, path); after != before {
		t.Errorf("%d locks, and %d after the file was opened and closed", before, after)
	}
}
