package supervise_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// bystander starts a plain process with the given environment, not under a shim,
// and returns what identifies it.
func bystander(t *testing.T, env ...string) member {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "server", "sleep")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// Start returns while the program is still being executed.
	eventually(t, patience, "bystander executed", func() bool {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		return err == nil && strings.Contains(string(data), "sleep")
	})
	info, err := supervise.ReadProc(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return member{"bystander", info.PID, info.Start}
}

// deadRun is the handle of a launch whose run is dead and which began now.
func deadRun(t *testing.T, marker string) supervise.Handle {
	t.Helper()
	h, err := supervise.Intend(supervise.Spec{Argv: []string{"x"}, Marker: marker})
	if err != nil {
		t.Fatal(err)
	}
	h.CorePID, h.CoreStart = os.Getpid(), h.CoreStart+1 // a number that was used again
	return h
}

func TestReapLeavesWhatIsNotProven(t *testing.T) {
	marker := markerKey + "=reap-" + t.Name()
	type scene struct {
		handle  supervise.Handle
		victim  member
		skipped string
	}
	marked := func(t *testing.T, change func(*scene)) scene {
		s := scene{handle: deadRun(t, marker)}
		s.victim = bystander(t, marker)
		change(&s)
		return s
	}
	for name, make := range map[string]func(*testing.T) scene{
		"other boot": func(t *testing.T) scene {
			return marked(t, func(s *scene) {
				s.handle.BootID = "11111111-2222-3333-4444-555555555555"
				s.handle.PID, s.handle.PIDStart = s.victim.pid, s.victim.start
				s.skipped = "restarted"
			})
		},
		"other container": func(t *testing.T) scene {
			return marked(t, func(s *scene) { s.handle.PIDNamespace = "pid:[1]"; s.skipped = "container" })
		},
		"run alive": func(t *testing.T) scene {
			return marked(t, func(s *scene) { s.handle.CoreStart--; s.skipped = "alive" })
		},
		"foreign prefix": func(t *testing.T) scene {
			return marked(t, func(s *scene) { s.handle.Marker = "OTHER=1"; s.skipped = "does not begin" })
		},
		"no time of launch": func(t *testing.T) scene {
			return marked(t, func(s *scene) { s.handle.NotBefore = 0; s.skipped = "does not say" })
		},
		"started before the launch": func(t *testing.T) scene {
			return marked(t, func(s *scene) { s.handle.NotBefore = s.victim.start + 1 })
		},
		"other launch, same prefix": func(t *testing.T) scene {
			s := scene{handle: deadRun(t, marker)}
			s.victim = bystander(t, marker+"-and-more")
			return s
		},
		"number used again": func(t *testing.T) scene {
			s := scene{handle: deadRun(t, marker)}
			s.victim = bystander(t)
			s.handle.PID, s.handle.PIDStart = s.victim.pid, s.victim.start+1
			s.handle.ShimPID, s.handle.ShimStart = s.victim.pid, s.victim.start+1
			return s
		},
		"cgroup that is not the launch's": func(t *testing.T) scene {
			s := scene{handle: deadRun(t, marker)}
			s.victim = bystander(t)
			path := supervise.PlannedCgroup(markerKey + "=foreign")
			if path == "" || os.Mkdir(path, 0o755) != nil {
				t.Skip("no cgroup can be made here")
			}
			t.Cleanup(func() {
				eventually(t, patience, "foreign cgroup removed", func() bool { return os.Remove(path) == nil })
			})
			pid := strconv.Itoa(s.victim.pid)
			if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(pid), 0); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { syscall.Kill(s.victim.pid, syscall.SIGKILL) })
			s.handle.Cgroup = path
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := make(t)
			reaped, err := supervise.Reap(t.Context(), []supervise.Handle{s.handle}, markerKey+"=")
			if err != nil {
				t.Fatal(err)
			}
			if len(reaped) != 1 || reaped[0].KilledCount != 0 || (reaped[0].Skipped == "") != (s.skipped == "") || !strings.Contains(reaped[0].Skipped, s.skipped) {
				t.Errorf("reaped %+v, want nothing killed and the reason %q", reaped, s.skipped)
			}
			if !supervise.Alive(s.victim.pid, s.victim.start) {
				t.Error("a process that is not proven ours was killed")
			}
		})
	}
}

func TestReapByEachProof(t *testing.T) {
	marker := markerKey + "=proof"
	for _, tc := range []struct {
		name string
		env  []string
		fill func(*supervise.Handle, member)
	}{
		{"marker alone, as after a crash inside Start", []string{marker}, func(*supervise.Handle, member) {}},
		{"number and start time", nil, func(h *supervise.Handle, m member) { h.PID, h.PIDStart = m.pid, m.start }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := deadRun(t, marker)
			m := bystander(t, tc.env...)
			tc.fill(&h, m)
			other := bystander(t)
			reaped, err := supervise.Reap(context.Background(), []supervise.Handle{h}, markerKey+"=")
			if err != nil {
				t.Fatal(err)
			}
			if reaped[0].KilledCount != 1 || len(reaped[0].Killed) != 1 || reaped[0].Killed[0].PID != m.pid || !strings.Contains(reaped[0].Killed[0].Command, "server sleep") {
				t.Errorf("reaped %+v, want process %d", reaped, m.pid)
			}
			if supervise.Alive(m.pid, m.start) || !supervise.Alive(other.pid, other.start) {
				t.Error("the wrong process is alive")
			}
		})
	}
}

func TestListMarked(t *testing.T) {
	marker := markerKey + "=listed"
	m := bystander(t, "A=1", marker)
	bystander(t, "A=1")
	found, err := supervise.ListMarked(marker)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].PID != m.pid || found[0].Marker != marker || !strings.Contains(found[0].Command, "server sleep") {
		t.Errorf("listed %+v, want process %d", found, m.pid)
	}
	if _, err := supervise.ListMarked(""); err == nil {
		t.Error("an empty prefix lists every process")
	}
}
