//go:build unix

package plugins_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

// plugin writes a script that runs this binary in a scenario, under the name of an
// engine's executable.
func plugin(t *testing.T, dir, file, scene string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	script := "#!/bin/sh\n" + scenario + "=" + scene + " GORACE=atexit_sleep_ms=0 exec '" + exe + "'\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	source := plugin(t, t.TempDir(), "sweepbook-engine-fake", "ok")
	h := &plugins.Host{}
	in, err := h.Install(t.Context(), source, dir, "")
	if err != nil || in.Replaced || in.Name != "fake" || len(in.SHA256) != 64 {
		t.Fatalf("%+v, %v", in, err)
	}
	lock, err := os.ReadFile(filepath.Join(dir, plugins.LockFile))
	if want := in.SHA256 + "  sweepbook-engine-fake\n"; err != nil || string(lock) != want {
		t.Errorf("lock holds %q (%v), want %q", lock, err, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v (%v): nothing but plugin and lock", entries, err)
	}

	specs, err := plugins.Discover([]string{dir})
	if err != nil || len(specs) != 1 || specs[0].SHA256 != in.SHA256 || specs[0].Path != in.Path {
		t.Fatalf("found %+v, %v", specs, err)
	}
	c, err := h.Start(t.Context(), specs[0])
	if err != nil {
		t.Fatal(err)
	}
	if c.SHA256() != in.SHA256 {
		t.Errorf("recorded is %s", c.SHA256())
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}

	// Changed bytes are refused, and added again they are meant.
	if err := os.Chmod(in.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	other := plugin(t, dir, "sweepbook-engine-fake", "fake")
	_, err = h.Start(t.Context(), specs[0])
	if !errors.Is(err, plugins.ErrPinned) || !strings.Contains(err.Error(), "add the plugin again") {
		t.Errorf("changed bytes: %v", err)
	}
	again := filepath.Join(t.TempDir(), "sweepbook-engine-fake")
	if err := os.Rename(other, again); err != nil {
		t.Fatal(err)
	}
	if in, err = h.Install(t.Context(), again, dir, ""); err != nil || in.SHA256 == specs[0].SHA256 {
		t.Errorf("added again: %+v, %v", in, err)
	}
	// A file that the lock does not name runs unpinned.
	plugin(t, dir, "sweepbook-engine-more", "ok")
	if specs, err = plugins.Discover([]string{dir}); err != nil || len(specs) != 2 || specs[1].Name != "more" || specs[1].SHA256 != "" {
		t.Errorf("found %+v, %v", specs, err)
	}
}

// TestPrivateCopy: between the look at a pinned plugin and its start nothing can
// change, because what is started is a copy of what was looked at.
func TestPrivateCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	path := filepath.Join(t.TempDir(), "sweepbook-engine-fake")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// $0 is what the kernel was given to run.
	script := "#!/bin/sh\necho \"started as $0\" >&2\n" + scenario + "=ok GORACE=atexit_sleep_ms=0 exec '" + exe + "'\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	h := &plugins.Host{Logger: log.logger()}
	if _, err := h.Install(t.Context(), path, dir, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "started as ") || strings.Contains(log.String(), "started as "+dir) || strings.Contains(log.String(), "started as "+path) {
		t.Errorf("a pinned plugin does not run from a private copy:\n%s", log.String())
	}
}

func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file, scene, engine string
		spoil               func(t *testing.T, source, dir string)
		want                string
		is                  error
	}{
		"another engine":      {"sweepbook-engine-mine", "ok", "", nil, `says that it is engine "fake"`, core.ErrConflict},
		"no plugin":           {"sweepbook-engine-fake", "exit", "", nil, "exited before the handshake", nil},
		"a name with a path":  {"sweepbook-engine-fake", "ok", "../fake", nil, `engine name "../fake"`, core.ErrInvalid},
		"a separator":         {"plugin", "ok", `a\b`, nil, "engine name", core.ErrInvalid},
		"a nameless file":     {"plugin", "ok", "", nil, "give the engine's name", core.ErrInvalid},
		"not executable":      {"sweepbook-engine-fake", "ok", "", func(t *testing.T, source, _ string) { chmod(t, source, 0o600) }, "chmod +x", core.ErrInvalid},
		"a file of others":    {"sweepbook-engine-fake", "ok", "", func(t *testing.T, source, _ string) { chmod(t, source, 0o777) }, "can be written by others", core.ErrInvalid},
		"a folder of others":  {"sweepbook-engine-fake", "ok", "", func(t *testing.T, source, _ string) { chmod(t, filepath.Dir(source), 0o777) }, "can be written by others", core.ErrInvalid},
		"an open destination": {"sweepbook-engine-fake", "ok", "", func(t *testing.T, _, dir string) { chmod(t, dir, 0o777) }, "can be written by others", core.ErrInvalid},
		"a spoiled lock": {"sweepbook-engine-fake", "ok", "", func(t *testing.T, _, dir string) {
			if err := os.WriteFile(filepath.Join(dir, plugins.LockFile), []byte("abc  x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "plugins.lock:1", core.ErrInvalid},
		"a lock of others": {"sweepbook-engine-fake", "ok", "", func(t *testing.T, _, dir string) {
			path := filepath.Join(dir, plugins.LockFile)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			chmod(t, path, 0o666)
		}, "can be written by others", core.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			chmod(t, dir, 0o700)
			source := plugin(t, t.TempDir(), c.file, c.scene)
			if c.spoil != nil {
				c.spoil(t, source, dir)
			}
			_, err := (&plugins.Host{}).Install(t.Context(), source, dir, c.engine)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v", err)
			}
			entries, err := filepath.Glob(filepath.Join(dir, "*"))
			hidden, herr := filepath.Glob(filepath.Join(dir, ".add*"))
			for _, left := range append(entries, hidden...) {
				if filepath.Base(left) != plugins.LockFile {
					t.Errorf("%s is left behind (%v, %v)", left, err, herr)
				}
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
