//go:build unix

package plugins_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

// Beside hostile_test.go: what a plugin may do with its process, its files and its
// socket to be believed longer, or elsewhere, than it should.

func victimOf(t *testing.T, scene, path string) plugins.Spec {
	t.Helper()
	spec := specOf(t, scene)
	spec.ExtraEnv = append(spec.ExtraEnv, victim+"="+path)
	return spec
}

// shortDir is a folder whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sb-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestDrippedHandshake(t *testing.T) {
	began := time.Now()
	_, err := (&plugins.Host{StartTimeout: 700 * time.Millisecond}).Start(t.Context(), specOf(t, "drip"))
	if err == nil || !strings.Contains(err.Error(), "no answer within 700ms") {
		t.Errorf("a handshake without an end: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	c := start(t, &plugins.Host{}, "drip-whole")
	if info, err := c.Info(t.Context()); err != nil || info.Name != "fake" {
		t.Errorf("a slow handshake with an end: %+v, %v", info, err)
	}
}

// TestLinkedSocket: a link in the plugin's folder would have the host speak to
// whatever listens at its other end, another engine's plugin say.
func TestLinkedSocket(t *testing.T) {
	_, err := (&plugins.Host{}).Start(t.Context(), victimOf(t, "linked-socket", shortDir(t)))
	if err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("the host follows the link: %v", err)
	}
}

// TestSwappedFolder: what is removed after a plugin is its folder, not what a link
// at its place leads to.
func TestSwappedFolder(t *testing.T) {
	dir := shortDir(t)
	precious := filepath.Join(dir, "precious")
	spoil(t, precious, "data\n")
	c, err := (&plugins.Host{}).Start(t.Context(), victimOf(t, "swapped-folder", dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	requireEnd(t, c, "exit status 0")
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("the host removed what the link led to: %v", err)
	}
}

// TestHeirAnswers: a process that outlives its plugin, outside its group, still
// answers on its socket. What it says is no answer of the plugin.
func TestHeirAnswers(t *testing.T) {
	var log logBuffer
	c, err := (&plugins.Host{Logger: log.logger(), KillTimeout: time.Second}).Start(t.Context(), specOf(t, "heir"))
	if err != nil {
		t.Fatal(err)
	}
	heir := pidIn(t, &log, "heir")
	t.Cleanup(func() { _ = syscall.Kill(heir, syscall.SIGKILL) })
	first, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Benchmark(context.Background(), core.BenchmarkRequest{}, onSample(func() { close(first) }))
	}()
	<-first
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, core.ErrPluginExited) {
			t.Errorf("the trial in flight ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the trial goes on with the heir")
	}
	if !alive(heir) {
		t.Fatal("the heir is gone: this test shows nothing")
	}
	if info, err := c.Info(t.Context()); !errors.Is(err, core.ErrPluginExited) {
		t.Errorf("the heir is believed: %+v, %v", info, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHungUp: a plugin that closes its connection and lives on fails its trial at
// once; it is no crash, and the host does not wait for more.
func TestHungUp(t *testing.T) {
	c := start(t, &plugins.Host{}, "hang-up")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := c.Benchmark(ctx, core.BenchmarkRequest{}, onSample(func() {}))
	if err == nil || ctx.Err() != nil || errors.Is(err, core.ErrPluginExited) {
		t.Errorf("got %v", err)
	}
	if !alive(c.PID()) {
		t.Error("the plugin is gone: this test shows nothing")
	}
}

// TestReplacesItself: a pinned plugin that changes its own file goes on from the copy
// that it was started from, and is not started again.
func TestReplacesItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	h := &plugins.Host{}
	if _, err := h.Install(t.Context(), plugin(t, t.TempDir(), "sweepbook-engine-fake", "replaces-itself"), dir, ""); err != nil {
		t.Fatal(err)
	}
	specs, err := plugins.Discover([]string{dir})
	if err != nil || len(specs) != 1 {
		t.Fatalf("found %+v, %v", specs, err)
	}
	spec := specs[0]
	spec.ExtraEnv = []string{victim + "=" + spec.Path}
	c, err := h.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Probe(t.Context(), core.Origin{}); err != nil {
		t.Fatalf("it could not change its file: %v", err)
	}
	if _, err := c.Info(t.Context()); err != nil || c.SHA256() != spec.SHA256 {
		t.Errorf("what runs is another: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := h.Start(t.Context(), spec); !errors.Is(err, plugins.ErrPinned) || !strings.Contains(err.Error(), "add the plugin again") {
		t.Errorf("the changed file: %v", err)
	}
}

// TestLogOfBytes: lines cost more than their bytes. Two million of one byte each,
// which is no UTF-8, do not become a log of hundreds of megabytes.
func TestLogOfBytes(t *testing.T) {
	var log logBuffer
	c, err := (&plugins.Host{Logger: log.logger()}).Start(t.Context(), specOf(t, "bytes"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Probe(t.Context(), core.Origin{}); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	requireEnd(t, c, "exit status 0")
	said := log.String()
	if len(said) > 24<<20 || !strings.Contains(said, "plugin log is cut") {
		t.Errorf("%d MiB of log are kept; cut: %v", len(said)>>20, strings.Contains(said, "plugin log is cut"))
	}
	if strings.Contains(said, "\xff") {
		t.Error("the log is not UTF-8")
	}
}

// TestLinksOnTheWay: a plugin is as safe as the least safe folder on the way to it,
// and a link leads over more than it shows.
func TestLinksOnTheWay(t *testing.T) {
	root := shortDir(t)
	folder := func(name string, mode os.FileMode) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		chmod(t, path, mode)
		return path
	}
	link := func(to, at string) string {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	good, open := folder("good", 0o755), folder("open", 0o777)
	plugin(t, good, "sweepbook-engine-fake", "ok")
	inner := folder("good/inner", 0o755)
	for name, c := range map[string]struct{ dir, want string }{
		"the folder itself":         {good, ""},
		"a link of ours":            {link(good, filepath.Join(root, "link")), ""},
		"a relative link":           {link("../../good", filepath.Join(inner, "up")), ""},
		"a link in an open folder":  {link(good, filepath.Join(open, "link")), "open can be written by others"},
		"a link over an open one":   {link(filepath.Join(open, "link"), filepath.Join(root, "over")), "open can be written by others"},
		"a link in a sticky folder": {link(good, filepath.Join(folder("sticky", 0o777|os.ModeSticky), "link")), ""},
		"a circle":                  {link(filepath.Join(root, "circle"), filepath.Join(root, "circle")), "circle"},
		"out of an open one by ..":  {open + "/../good", "open can be written by others"},
	} {
		t.Run(name, func(t *testing.T) {
			specs, err := plugins.Discover([]string{c.dir})
			switch {
			case c.want == "" && (err != nil || len(specs) != 1):
				t.Errorf("found %+v, %v", specs, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(specs) > 0):
				t.Errorf("found %+v, %v, want %q", specs, err, c.want)
			}
		})
	}
}
