package plugins

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Folders whose plugin is gone are cleared; one that is young, that somebody listens
// in, or that is none of ours stays.
func TestClearStale(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "p") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	old := time.Now().Add(-2 * time.Hour)
	listen := func(dir string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(base, dir, "d", "s"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, name := range []string{dirPrefix + "empty", dirPrefix + "dead", dirPrefix + "alive", dirPrefix + "young", "another"} {
		if err := os.MkdirAll(filepath.Join(base, name, "d"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dead, alive := listen(dirPrefix+"dead"), listen(dirPrefix+"alive")
	defer alive.Close()
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "dead", "alive"} {
		if err := os.Chtimes(filepath.Join(base, dirPrefix+name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(base, "another"), old, old); err != nil {
		t.Fatal(err)
	}
	clearStale(base, time.Now())
	for name, want := range map[string]bool{dirPrefix + "empty": false, dirPrefix + "dead": false, dirPrefix + "alive": true, dirPrefix + "young": true, "another": true} {
		if _, err := os.Stat(filepath.Join(base, name)); (err == nil) != want {
			t.Errorf("%s: kept %v, want %v", name, err == nil, want)
		}
	}
}
