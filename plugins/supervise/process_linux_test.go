package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/supervise"
)

func start(t *testing.T, spec supervise.Spec) *supervise.Process {
	t.Helper()
	p, err := supervise.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		wait(t, p)
	})
	return p
}

func wait(t *testing.T, p *supervise.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Errorf("server of %s not done after %v", p.Handle().Marker, patience)
	}
	if text := p.Outcome().ShimOutput; text != "" {
		t.Errorf("the shim says %q", text)
	}
}

func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		habit []string
		want  int
	}{
		{[]string{"exit", "0"}, 0},
		{[]string{"exit", "3"}, 3},
		{[]string{"exit", "255"}, 255},
		{[]string{"signal"}, 128 + 9},
	} {
		t.Run(strings.Join(tc.habit, " "), func(t *testing.T) {
			p := start(t, newSpec(t, supervise.CgroupOff, tc.habit...))
			wait(t, p)
			out := p.Outcome()
			if p.ExitCode() != tc.want || out.ExitCode != tc.want || out.KilledCount != 0 || out.ShimLost || out.ShimOutput != "" {
				t.Errorf("exit code %d, outcome %+v, want %d and nothing else", p.ExitCode(), out, tc.want)
			}
			if tc.habit[0] == "exit" && !strings.Contains(p.LogTail(1000), "leaving with") {
				t.Errorf("log %q lacks the last words", p.LogTail(1000))
			}
		})
	}
}

func TestEnvironmentIsExact(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "environ")
	spec.Env = []string{"B=2", "A=1", "RAW=\xff\xfe", "EMPTY="}
	p := start(t, spec)
	wait(t, p)
	if got, want := strings.TrimSpace(p.LogTail(1000)), fmt.Sprintf("%q", append(spec.Env, spec.Marker)); got != want {
		t.Errorf("environment %s, want %s", got, want)
	}
}

func TestServerInheritsOnlyItsOutput(t *testing.T) {
	p := start(t, newSpec(t, supervise.CgroupOff, "limits"))
	wait(t, p)
	want := "core=0/0 nonblock=false pipes=1 intignored=false"
	if got := strings.TrimSpace(p.LogTail(1000)); got != want {
		t.Errorf("server sees %s, want %s", got, want)
	}
}

func TestStartRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*supervise.Spec)
		is     error
		text   string
	}{
		{"no command", func(s *supervise.Spec) { s.Argv = nil }, core.ErrInvalid, "empty command"},
		{"no marker", func(s *supervise.Spec) { s.Marker = "X=" }, core.ErrInvalid, "marker"},
		{"marker set twice", func(s *supervise.Spec) { s.Env = append(s.Env, markerKey+"=other") }, core.ErrInvalid, markerKey},
		{"cgroup mode", func(s *supervise.Spec) { s.Cgroup = "maybe" }, core.ErrInvalid, "maybe"},
		{"negative grace", func(s *supervise.Spec) { s.Grace = -1 }, core.ErrInvalid, "negative"},
		{"no such folder", func(s *supervise.Spec) { s.Dir += "/absent" }, fs.ErrNotExist, "absent"},
		{"folder is a file", func(s *supervise.Spec) { s.Dir = s.Exe }, syscall.ENOTDIR, "program"},
		{"no such shim", func(s *supervise.Spec) { s.Exe += "-absent" }, fs.ErrNotExist, "program-absent"},
		{"no such program", func(s *supervise.Spec) { s.Argv[0] += "-absent" }, nil, "program-absent"},
		{"not in PATH", func(s *supervise.Spec) { s.Argv[0] = "no-such-server" }, nil, "find in PATH /usr/bin:/bin no-such-server"},
		{"not executable", func(s *supervise.Spec) { s.Argv[0] = "/etc/passwd" }, nil, "permission denied"},
		{"log nowhere", func(s *supervise.Spec) { s.LogPath = filepath.Join(s.Dir, "absent", "log") }, nil, "absent/log"},
		{"shim is another program", func(s *supervise.Spec) { s.ShimArgs = []string{"server", "exit", "1"} }, nil, "shim ended before the server ran"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := newSpec(t, supervise.CgroupOff, "sleep")
			tc.change(&spec)
			p, err := supervise.Start(t.Context(), spec)
			if err == nil {
				p.Stop(t.Context(), 0)
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), tc.text) || (tc.is != nil && !errors.Is(err, tc.is)) {
				t.Errorf("error %q, want one that says %q and is %v", err, tc.text, tc.is)
			}
		})
	}
}

func TestPathOfServerCounts(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "exit", "4")
	spec.Argv[0] = "program"
	spec.Env = []string{"PATH=/nowhere:.."} // relative to the server's folder
	p := start(t, spec)
	wait(t, p)
	if p.ExitCode() != 4 {
		t.Errorf("exit code %d, want 4", p.ExitCode())
	}
}

func TestShimByHand(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "sleep")
	spec.ShimArgs = []string{"shim", "--help"}
	_, err := supervise.Start(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "not by hand") {
		t.Errorf("error %v, want one that says that people do not run it", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec := newSpec(t, supervise.CgroupOff, "sleep")
	p, err := supervise.Start(ctx, spec)
	if err == nil {
		wait(t, p) // it may have been faster than the context, and then lives on
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	nothingMarked(t, spec.Marker, 0)
}

func TestKillDoesNotWait(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "stubborn")
	p := start(t, spec)
	waitReady(t, spec.LogPath, 1)
	p.Kill()
	wait(t, p)
	if out := p.Outcome(); out.ExitCode != 137 || out.KilledCount != 1 || len(out.Killed) != 1 || !strings.Contains(out.Killed[0].Command, "server stubborn") {
		t.Errorf("outcome %+v, want the server killed and named", out)
	}
}

func TestStopReturnsWithItsContext(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "stubborn")
	p := start(t, spec)
	waitReady(t, spec.LogPath, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := p.Stop(ctx, time.Minute)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "server stubborn") {
		t.Errorf("error %v, want one of the deadline that names the process", err)
	}
	// A second, shorter stop is obeyed although the first promised a minute.
	if err := p.Stop(t.Context(), 20*time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestStoppedShimIsReplaced(t *testing.T) {
	t.Parallel() // the shim is given its margin first
	spec := newSpec(t, supervise.CgroupOff, "tree")
	p := start(t, spec)
	members := waitReady(t, spec.LogPath, treeSize)
	if err := syscall.Kill(p.ShimPID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	allGone(t, members, 0)
	if !p.Outcome().ShimLost {
		t.Errorf("outcome %+v, want the shim lost", p.Outcome())
	}
}

func TestShimSurvivesTerminalSignals(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "sleep")
	p := start(t, spec)
	waitReady(t, spec.LogPath, 1)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		if err := syscall.Kill(p.ShimPID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	// TERM is obeyed; that it is the first one to end anything is the test.
	if err := syscall.Kill(p.ShimPID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	if out := p.Outcome(); out.ShimLost || out.ExitCode != 143 || out.KilledCount != 0 {
		t.Errorf("outcome %+v, want an end by TERM with the shim alive", out)
	}
}

// Many servers take a second TERM as an order to drop everything.
func TestTermComesOnce(t *testing.T) {
	for _, r := range rigs[:2] {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "counter")
			p := start(t, spec)
			waitReady(t, spec.LogPath, 1)
			if err := p.Stop(t.Context(), patience); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(p.LogTail(1000), "\nterms: 1\n") || p.ExitCode() != 0 {
				t.Errorf("exit code %d, log %q, want one TERM", p.ExitCode(), p.LogTail(1000))
			}
		})
	}
}

// Only the first process is asked; what it left behind is asked once it is gone.
func TestTermGoesToTheLeader(t *testing.T) {
	for _, r := range rigs[:2] {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "orderly")
			p := start(t, spec)
			waitReady(t, spec.LogPath, 2)
			if err := p.Stop(t.Context(), patience); err != nil {
				t.Fatal(err)
			}
			if log := p.LogTail(1000); !strings.HasSuffix(log, "leader leaves\nworker was asked\n") {
				t.Errorf("log %q, want the worker asked after its leader has left", log)
			}
			if out := p.Outcome(); out.KilledCount != 0 || out.ExitCode != 0 {
				t.Errorf("outcome %+v, want nothing killed", out)
			}
		})
	}
}

func TestDescendants(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "tree")
	p := start(t, spec)
	members := waitReady(t, spec.LogPath, treeSize)
	below, err := supervise.Descendants(p.ShimPID())
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, proc := range below {
		found[proc.PID] = true
	}
	for _, m := range members {
		if !found[m.pid] {
			t.Errorf("%s (%d) is not among the descendants of the shim", m.who, m.pid)
		}
	}
	if found[p.ShimPID()] || found[os.Getpid()] {
		t.Error("the shim or this process counts as a descendant")
	}
	if err := p.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
