package supervise_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// Each way of dying, on each rig, with a tree that flees in every way.

func TestKilledCoreLeavesNothing(t *testing.T) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "tree")
			c := startCore(t, r, spec)
			members := waitReady(t, spec.LogPath, treeSize)
			checkCgroup(t, r, c.handle)
			c.kill()
			took := allGone(t, members, 3*time.Second)
			took += nothingMarked(t, spec.Marker, 3*time.Second)
			t.Logf("nothing left %v after kill -9 of the core", took)
		})
	}
}

func TestKilledShimLeavesNothing(t *testing.T) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "tree")
			c := startCore(t, r, spec)
			members := waitReady(t, spec.LogPath, treeSize)
			c.order(t, "wait")
			if err := syscall.Kill(c.handle.ShimPID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			took := allGone(t, members, 3*time.Second)
			t.Logf("nothing left %v after kill -9 of the shim", took)
			var out supervise.Outcome
			c.read(t, &out)
			if !out.ShimLost || out.KilledCount < treeSize || out.ExitCode != 137 || len(out.Left) > 0 {
				t.Errorf("outcome %+v, want the shim lost and all %d killed", out, treeSize)
			}
		})
	}
}

func TestReapAfterBothDied(t *testing.T) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "tree")
			c := startCore(t, r, spec)
			members := waitReady(t, spec.LogPath, treeSize)

			alive := reapAs(t, r, spec.Exe, c.handle)
			if alive[0].Skipped == "" || alive[0].KilledCount > 0 {
				t.Fatalf("reap of a live run: %+v, want it skipped", alive)
			}
			// A stopped shim cannot act when the core goes.
			syscall.Kill(c.handle.ShimPID, syscall.SIGSTOP)
			c.kill()
			syscall.Kill(c.handle.ShimPID, syscall.SIGKILL)
			eventually(t, patience, "shim dead", func() bool { return !supervise.Alive(c.handle.ShimPID, c.handle.ShimStart) })
			for _, m := range members {
				if !supervise.Alive(m.pid, m.start) {
					t.Fatalf("%s died by itself, so this test shows nothing", m.who)
				}
			}
			reaped := reapAs(t, r, spec.Exe, c.handle)
			if len(reaped) != 1 || reaped[0].KilledCount != treeSize || len(reaped[0].Left) > 0 {
				t.Errorf("reaped %+v, want %d processes killed", reaped, treeSize)
			}
			allGone(t, members, 0)
			if again := reapAs(t, r, spec.Exe, c.handle); again[0].KilledCount != 0 || again[0].Skipped != "" {
				t.Errorf("second reap: %+v, want nothing to do", again)
			}
		})
	}
}

func TestStop(t *testing.T) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "tree")
			c := startCore(t, r, spec)
			members := waitReady(t, spec.LogPath, treeSize)
			c.order(t, "500ms")
			var out supervise.Outcome
			c.read(t, &out)
			allGone(t, members, 0)
			// Only the one that ignores TERM had to be killed.
			if out.KilledCount != 1 || len(out.Killed) != 1 || out.ShimLost {
				t.Errorf("outcome %+v, want one process killed", out)
			}
			if out.ExitCode != 128+15 {
				t.Errorf("exit code %d, want 143 for TERM", out.ExitCode)
			}
		})
	}
}

func TestLeaderThatExitsTakesTheRestAlong(t *testing.T) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			r.need(t)
			spec := newSpec(t, r.mode, "tree", "leader-exits")
			c := startCore(t, r, spec)
			c.order(t, "wait")
			var out supervise.Outcome
			c.read(t, &out)
			if out.ExitCode != 7 || out.ShimLost {
				t.Errorf("outcome %+v, want exit code 7", out)
			}
			nothingMarked(t, spec.Marker, 0)
		})
	}
}

// storms are servers whose processes replace themselves faster than anyone can
// look: one of Go programs that execute themselves, half of them in new sessions,
// and chains of bare forks, each in a new session, that live for a fraction of a
// millisecond.
var storms = map[string]func(*supervise.Spec) error{
	"programs": func(spec *supervise.Spec) error { return nil },
	"bare forks": func(spec *supervise.Spec) error {
		perl, err := exec.LookPath("perl")
		spec.Argv = []string{perl, "-e", `use POSIX; $| = 1; $SIG{TERM} = "IGNORE";
for (1..4) { if (!fork) { my $n = 0; while (1) { POSIX::setsid(); print "generation ", $n++, "\n" if $n < 20; exit if fork; } } }
sleep 60`}
		return err
	},
}

func TestForkStormEnds(t *testing.T) {
	for _, r := range rigs {
		for storm, prepare := range storms {
			for _, victim := range []string{"core", "shim"} {
				t.Run(r.name+", "+storm+", kill -9 of the "+victim, func(t *testing.T) {
					r.need(t)
					spec := newSpec(t, r.mode, "storm", "0")
					if err := prepare(&spec); err != nil {
						t.Skipf("bare forks need perl: %v", err)
					}
					c := startCore(t, r, spec)
					eventually(t, patience, "a storm of several generations", func() bool {
						log, _ := os.ReadFile(spec.LogPath)
						return strings.Contains(string(log), "generation 6\n")
					})
					endStorm(t, c, spec, victim)
				})
			}
		}
	}
}

func endStorm(t *testing.T, c *testCore, spec supervise.Spec, victim string) {
	t.Helper()
	began := time.Now()
	if victim == "core" {
		c.kill()
		// The shim ends when it has no descendant left, and not before.
		eventually(t, patience, "shim gone", func() bool { return !supervise.Alive(c.handle.ShimPID, c.handle.ShimStart) })
	} else {
		c.order(t, "wait")
		if err := syscall.Kill(c.handle.ShimPID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		var out supervise.Outcome
		if c.read(t, &out); !out.ShimLost || len(out.Left) > 0 {
			t.Errorf("outcome %+v, want the shim lost and nothing left", out)
		}
	}
	t.Logf("storm over %v after kill -9 of the %s", time.Since(began), victim)
	nothingMarked(t, spec.Marker, 0)
}

func checkCgroup(t *testing.T, r rig, h supervise.Handle) {
	t.Helper()
	if want := r.mode == supervise.CgroupAuto && !r.ordinary; want != (h.Cgroup != "") {
		t.Fatalf("cgroup %q, want one: %t", h.Cgroup, want)
	}
}
