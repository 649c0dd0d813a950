//go:build unix

package plugins_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	h := &plugins.Host{}
	for _, name := range []string{"one", "two"} {
		if _, err := h.Install(t.Context(), plugin(t, t.TempDir(), "sweepbook-engine-"+name, "named-"+name), dir, ""); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := plugins.Remove(t.Context(), dir, "one")
	if err != nil || len(removed) != 1 || removed[0] != "sweepbook-engine-one" {
		t.Errorf("removed %q, %v", removed, err)
	}
	specs, err := plugins.Discover([]string{dir})
	if err != nil || len(specs) != 1 || specs[0].Name != "two" || specs[0].SHA256 == "" {
		t.Errorf("left are %+v, %v", specs, err)
	}
	for name, want := range map[string]error{"one": core.ErrNotFound, "../two": core.ErrInvalid, "": core.ErrInvalid} {
		if removed, err := plugins.Remove(t.Context(), dir, name); !errors.Is(err, want) || len(removed) > 0 {
			t.Errorf("remove %q: %q, %v, want %v", name, removed, err, want)
		}
	}
	if _, err := plugins.Remove(t.Context(), filepath.Join(dir, "nowhere"), "one"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("no folder: %v", err)
	}
	// Of a lock that cannot be read nothing is taken out, nor the file that it may pin.
	spoil(t, filepath.Join(dir, plugins.LockFile), "abc  x\n")
	if _, err := plugins.Remove(t.Context(), dir, "two"); err == nil || !strings.Contains(err.Error(), "plugins.lock:1") {
		t.Errorf("a spoiled lock: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sweepbook-engine-two")); err != nil {
		t.Error(err)
	}
}

func TestInstallAnotherKind(t *testing.T) {
	dir := t.TempDir()
	chmod(t, dir, 0o700)
	spoil(t, filepath.Join(dir, "fake.engine.yaml"), "engine: fake\n")
	_, err := (&plugins.Host{}).Install(t.Context(), plugin(t, t.TempDir(), "sweepbook-engine-fake", "ok"), dir, "")
	if !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), "made by fake.engine.yaml there: remove it first") {
		t.Errorf("a manifest of the name is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, plugins.LockFile)); err == nil {
		t.Error("it was pinned all the same")
	}
}

func TestStagingIsSwept(t *testing.T) {
	dir := t.TempDir()
	chmod(t, dir, 0o700)
	for name, age := range map[string]time.Duration{".add-old": 2 * time.Hour, ".add-young": time.Minute, ".lock-old": 2 * time.Hour} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (&plugins.Host{}).Install(t.Context(), plugin(t, t.TempDir(), "sweepbook-engine-fake", "ok"), dir, ""); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".add-young" {
		t.Errorf("left are %q (%v), want what another installation may be at alone", left, err)
	}
}

// TestManyProcesses: installations and removals of many processes at a time are all
// there in the end, and a reader never meets half a lock.
func TestManyProcesses(t *testing.T) {
	const engines = 8
	dir := filepath.Join(t.TempDir(), "plugins")
	for i := range engines {
		name := fmt.Sprintf("gone%d", i)
		source := plugin(t, t.TempDir(), "sweepbook-engine-"+name, "named-"+name)
		if _, err := (&plugins.Host{}).Install(t.Context(), source, dir, ""); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	act := func(scene string, args ...string) {
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), scenario+"="+scene, "GORACE=atexit_sleep_ms=0")
		work.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v: %s", scene, args[0], err, out)
			}
		})
	}
	for i := range engines {
		name := fmt.Sprintf("new%d", i)
		act("installer", plugin(t, t.TempDir(), "sweepbook-engine-"+name, "named-"+name), dir)
		act("remover", fmt.Sprintf("gone%d", i), dir)
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		if _, err := plugins.Discover([]string{dir}); err != nil {
			t.Fatal(err)
		}
	}
	specs, err := plugins.Discover([]string{dir})
	if err != nil || len(specs) != engines {
		t.Errorf("%d engines are there (%v), want %d", len(specs), err, engines)
	}
	for i, s := range specs {
		if s.Name != fmt.Sprintf("new%d", i) || len(s.SHA256) != 64 {
			t.Errorf("engine %d is %q, pinned %q", i, s.Name, s.SHA256)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, plugins.LockFile))
	if err != nil || strings.Count(string(lock), "\n") != engines {
		t.Errorf("the lock is not of %d lines (%v):\n%s", engines, err, lock)
	}
}

func spoil(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
