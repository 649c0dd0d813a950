package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/store"
)

// Who holds a study is proved by host, boot, process id and its time of start: one
// that differs is another process, and nothing must be done to it.
func TestStudyHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	standing := func() store.Standing {
		t.Helper()
		_, s, err := store.StudyHolder(path, "s")
		ok(t, err)
		return s
	}
	if got := standing(); got != store.HolderNone {
		t.Errorf("nobody holds it: %d", got)
	}
	letGo, err := db.HoldStudy(t.Context(), "s")
	ok(t, err)
	h, alive, err := store.StudyHolder(path, "s")
	if err != nil || alive != store.HolderAlive || h.PID != os.Getpid() || h.Study != "s" || h.Since.IsZero() {
		t.Fatalf("held by this process: %+v, %d, %v", h, alive, err)
	}
	locks, err := filepath.Glob(path + ".*.lock")
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	text, err := os.ReadFile(locks[0])
	ok(t, err)
	for name, c := range map[string]struct {
		change func(string) string
		want   store.Standing
	}{
		"another host":                    {func(s string) string { return strings.Replace(s, h.Host, "elsewhere", 1) }, store.HolderElsewhere},
		"another boot":                    {func(s string) string { return strings.Replace(s, `"boot_id":"`, `"boot_id":"0`, 1) }, store.HolderGone},
		"a process with the number again": {func(s string) string { return strings.Replace(s, `"process_start":"`, `"process_start":"1`, 1) }, store.HolderGone},
		"no boot":                         {func(s string) string { return strings.Replace(s, `"boot_id"`, `"boot"`, 1) }, store.HolderElsewhere},
		"no start":                        {func(s string) string { return strings.Replace(s, `"process_start"`, `"start"`, 1) }, store.HolderElsewhere},
		"locked and not written yet":      {func(string) string { return "" }, store.HolderElsewhere},
		"as it was":                       {func(s string) string { return s }, store.HolderAlive},
	} {
		changed := c.change(string(text))
		if name != "as it was" && changed == string(text) {
			t.Fatalf("%s: nothing was changed in %s", name, text)
		}
		ok(t, os.WriteFile(locks[0], []byte(changed), 0o600))
		if got := standing(); got != c.want {
			t.Errorf("%s: standing %d, want %d", name, got, c.want)
		}
	}
	ok(t, letGo())
	if got := standing(); got != store.HolderNone {
		t.Errorf("let go: %d", got)
	}
}
