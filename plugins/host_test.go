//go:build unix

package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

// logBuffer collects what a host logs.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func specOf(t *testing.T, name string) plugins.Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return plugins.Spec{Name: "fake", Path: exe, ExtraEnv: []string{
		scenario + "=" + name,
		"GORACE=atexit_sleep_ms=0", // else every exit takes a second under -race
	}}
}

func start(t *testing.T, h *plugins.Host, name string) *plugins.Client {
	t.Helper()
	c, err := h.Start(t.Context(), specOf(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z'
}

func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// stop stops a process and waits until every thread of it stands.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "every thread of the plugin stands", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none on other systems
		return !slices.ContainsFunc(threads, func(name string) bool {
			stat, err := os.ReadFile(name)
			_, state, _ := bytes.Cut(stat, []byte(") "))
			return err == nil && !bytes.HasPrefix(state, []byte("T"))
		})
	})
}

// requireEnd asserts how a plugin that was closed has ended.
func requireEnd(t *testing.T, c *plugins.Client, how string) {
	t.Helper()
	_, err := c.Info(t.Context())
	if !errors.Is(err, core.ErrPluginExited) || !strings.Contains(err.Error(), "plugin exited: "+how) {
		t.Errorf("a call after Close gives %v, want plugin exited: %s", err, how)
	}
}

func TestStartAndClose(t *testing.T) {
	c := start(t, &plugins.Host{}, "ok")
	info, err := c.Info(t.Context())
	if err != nil || info.Name != "fake" {
		t.Fatalf("Info: %+v, %v", info, err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(c.SHA256()) {
		t.Errorf("SHA256 is %q", c.SHA256())
	}
	dir, err := c.Probe(t.Context(), core.Origin{Cmd: "SWEEPBOOK_PLUGIN_DIR"})
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(dir.Version); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("private folder: %v, %v", stat, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	requireEnd(t, c, "exit status 0")
	if alive(c.PID()) {
		t.Error("the plugin is still there after Close")
	}
	if _, err := os.Stat(dir.Version); !os.IsNotExist(err) {
		t.Errorf("the private folder is still there: %v", err)
	}
	select {
	case <-c.Done():
	case <-time.After(time.Second):
		t.Error("Done is not closed after Close")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// TestPlainPlugin is about plugins in other languages: no certificate, none of
// go-plugin's own services.
func TestPlainPlugin(t *testing.T) {
	c := start(t, &plugins.Host{}, "plain")
	info, err := c.Info(t.Context())
	if err != nil || info.Name != "fake" {
		t.Fatalf("Info: %+v, %v", info, err)
	}
	_, err = c.Plan(t.Context(), core.PlanRequest{Config: core.Config{Knobs: core.Knobs{"colour": core.Number(1)}}, Host: "127.0.0.1"})
	if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "colour") {
		t.Errorf("the sentinel or the knob's name is lost: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	requireEnd(t, c, "exit status 0") // by the end of its lifeline
}

func TestStartFails(t *testing.T) {
	cases := []struct {
		name, scenario string
		want           []string
		is             error
	}{
		{"Noise", "noise", []string{`printed "hello \\x1b[31mfrom a library" on standard output`}, nil},
		{"ExitZero", "exit", []string{"exited before the handshake: exit status 0"}, nil},
		{"ExitWithReason", "exit-reason", []string{"exit status 127", "libcuda.so.1: cannot open"}, nil},
		{"Panic", "panic", []string{"exit status 2: panic: boom at start"}, nil},
		{"Version", "version", []string{"version 3", "Sweepbook version 1"}, plugins.ErrVersion},
		{"TCP", "elsewhere", []string{"must listen on a unix socket"}, nil},
		{"SocketElsewhere", "outside", []string{"must listen on a unix socket"}, nil},
		{"HugeLine", "huge-line", []string{`printed "xxxx`, "…"}, nil},
		{"ClosedStdout", "closed-stdout", []string{"closed its standard output without a handshake"}, nil},
		{"OtherName", "other-name", []string{`says that it is engine "other"`}, core.ErrConflict},
		{"Hang", "hang", []string{"no answer within 700ms"}, nil},
		{"NoAccept", "no-accept", []string{"no answer within 700ms"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := &plugins.Host{}
			if c.name == "Hang" || c.name == "NoAccept" {
				h.StartTimeout = 700 * time.Millisecond
			}
			began := time.Now()
			got, err := h.Start(t.Context(), specOf(t, c.scenario))
			if err == nil {
				_ = got.Close(t.Context())
				t.Fatal("Start succeeds")
			}
			for _, want := range append(c.want, "engine fake: start plugin /") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error is not %v: %v", c.is, err)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := (&plugins.Host{}).Start(ctx, specOf(t, "hang"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestStartRefuses(t *testing.T) {
	spec := specOf(t, "ok")
	spec.SHA256 = strings.Repeat("0", 64)
	if _, err := (&plugins.Host{}).Start(t.Context(), spec); !errors.Is(err, plugins.ErrPinned) {
		t.Errorf("another sum than pinned: %v", err)
	}
	spec = specOf(t, "ok")
	spec.Name = "../evil"
	if _, err := (&plugins.Host{}).Start(t.Context(), spec); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a name with a separator: %v", err)
	}
	spec = specOf(t, "ok")
	spec.Path = filepath.Base(spec.Path)
	if _, err := (&plugins.Host{}).Start(t.Context(), spec); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a relative path: %v", err)
	}
}

func TestPinned(t *testing.T) {
	spec := specOf(t, "ok")
	c := start(t, &plugins.Host{}, "ok")
	spec.SHA256 = strings.ToUpper(c.SHA256())
	again, err := (&plugins.Host{}).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKilledDuringBenchmark(t *testing.T) {
	c := start(t, &plugins.Host{}, "ok")
	first := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- c.Benchmark(t.Context(), core.BenchmarkRequest{}, onSample(func() { close(first) }))
	}()
	<-first
	began := time.Now()
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, core.ErrPluginExited) || !strings.Contains(err.Error(), "signal: killed") {
			t.Errorf("got %v", err)
		}
		t.Logf("known after %v: %v", time.Since(began), err)
	case <-time.After(5 * time.Second):
		t.Fatal("the death of the plugin is not seen")
	}
}

// onSample is a sink that calls back for every batch.
type onSample func()

func (f onSample) Samples([]core.Sample) error   { f(); return nil }
func (f onSample) Progress(core.Progress)        {}
func (f onSample) Summary(map[string]core.Value) {}

func TestPanicIsQuoted(t *testing.T) {
	c := start(t, &plugins.Host{}, "ok")
	_, err := c.Probe(t.Context(), core.Origin{Version: "9"})
	if !errors.Is(err, core.ErrPluginExited) || !strings.Contains(err.Error(), "engine fake: Probe: plugin exited: exit status 2: panic: boom in probe: 9") {
		t.Errorf("got %v", err)
	}
}

func TestCloseStoppedPlugin(t *testing.T) {
	c := start(t, &plugins.Host{KillTimeout: 300 * time.Millisecond}, "ok")
	stop(t, c.PID())
	began := time.Now()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("Close took %v under a deadline of 300ms", took)
	}
	requireEnd(t, c, "signal: killed")
	if alive(c.PID()) {
		t.Error("the plugin is still there")
	}
}

func TestCloseUnderContext(t *testing.T) {
	c := start(t, &plugins.Host{}, "ok")
	stop(t, c.PID())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := c.Close(ctx); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestGrandchildHoldsPipes: with go-plugin's own runner this Close never returns.
func TestGrandchildHoldsPipes(t *testing.T) {
	var log logBuffer
	c := start(t, &plugins.Host{Logger: log.logger()}, "grandchild")
	pid := pidIn(t, &log, "grandchild")
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	began := time.Now()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if alive(c.PID()) || !alive(pid) {
		t.Errorf("plugin alive: %v, grandchild that left the group alive: %v", alive(c.PID()), alive(pid))
	}
}

func TestGroupDiesWithPlugin(t *testing.T) {
	var log logBuffer
	c := start(t, &plugins.Host{Logger: log.logger()}, "child")
	pid := pidIn(t, &log, "child")
	if !alive(pid) {
		t.Fatal("the child is not there to begin with")
	}
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Second, "the plugin's child ends with it", func() bool { return !alive(pid) })
}

func pidIn(t *testing.T, log *logBuffer, who string) (pid int) {
	t.Helper()
	line := regexp.MustCompile(`msg="` + who + ` (\d+)"`)
	eventually(t, 5*time.Second, "the log names the "+who, func() bool {
		m := line.FindStringSubmatch(log.String())
		if m != nil {
			_, _ = fmt.Sscan(m[1], &pid)
		}
		return m != nil
	})
	return pid
}

func TestHostKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(exe)
	host.Env = append(os.Environ(), scenario+"=host")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = host.Process.Kill()
		_ = host.Wait()
	}()
	var pid int
	var dir string
	if _, err := fmt.Fscan(out, &pid, &dir); err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the plugin is not there to begin with")
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, 2*time.Second, "the plugin ends by itself", func() bool { return !alive(pid) })
	t.Logf("the plugin ended %v after its host", time.Since(began))
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the plugin's private folder is left: %v", err)
	}
}

func TestServeByHand(t *testing.T) {
	cmd := exec.Command(specOf(t, "").Path)
	cmd.Env = append(os.Environ(), scenario+"=ok")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "This binary is a plugin") {
		t.Errorf("a plugin started by hand says %q, %v", out, err)
	}
}

func TestConformanceOverProcess(t *testing.T) {
	c := start(t, &plugins.Host{}, "fake")
	enginetest.Conformance(t, c, enginetest.Options{Unknown: "colour", MustBenchmark: true})
}

func TestInterruptIsIgnored(t *testing.T) {
	c := start(t, &plugins.Host{}, "ok")
	for range 3 {
		if err := syscall.Kill(c.PID(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
