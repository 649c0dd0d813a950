package supervise_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// patience bounds every wait of a test; a healthy run needs a fraction of it.
const patience = 20 * time.Second

// nobody is the ordinary user of the tests that run as root.
const nobody = 65534

// rig is one way of running a server: with a cgroup or without, as who we are or
// as an ordinary user.
type rig struct {
	name     string
	mode     supervise.CgroupMode
	ordinary bool
}

var rigs = []rig{
	{"cgroup", supervise.CgroupAuto, false},
	{"no cgroup", supervise.CgroupOff, false},
	{"ordinary user", supervise.CgroupAuto, true},
}

// need skips what this machine does not allow.
func (r rig) need(t *testing.T) {
	t.Helper()
	if r.ordinary && os.Geteuid() != 0 {
		t.Skip("only root can become another user; the other variants run as an ordinary user already")
	}
	if r.mode == supervise.CgroupAuto && !r.ordinary {
		path := supervise.PlannedCgroup(markerKey + "=probe-" + strconv.Itoa(os.Getpid()))
		if path == "" {
			t.Skip("no cgroup v2 hierarchy is mounted here")
		}
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Skipf("this user may not make a cgroup: %v", err)
		}
		os.Remove(path)
	}
}

func (r rig) credential() *syscall.SysProcAttr {
	if !r.ordinary {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// folder is a directory that the server's user can use, with this test binary
// in it as "program": the one of the go command lies where only we can read.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "supervise")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.Link(self, program); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "w"), 0o755), os.Chmod(filepath.Join(dir, "w"), 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var launches atomic.Int64

// newSpec describes a server of this test binary with a marker of its own, and
// makes sure at the end of the test that nothing carries it any more.
func newSpec(t *testing.T, mode supervise.CgroupMode, habit ...string) supervise.Spec {
	t.Helper()
	dir := folder(t)
	spec := supervise.Spec{
		Exe:      filepath.Join(dir, "program"),
		ShimArgs: []string{"shim"},
		Argv:     append([]string{filepath.Join(dir, "program"), "server"}, habit...),
		Env:      []string{"PATH=/usr/bin:/bin"},
		Dir:      filepath.Join(dir, "w"),
		LogPath:  filepath.Join(dir, "w", "server.log"),
		Marker:   fmt.Sprintf("%s=%d-%d-%d", markerKey, os.Getpid(), time.Now().UnixNano(), launches.Add(1)),
		Grace:    200 * time.Millisecond,
		Cgroup:   mode,
	}
	t.Cleanup(func() {
		nothingMarked(t, spec.Marker, patience)
		if path := supervise.PlannedCgroup(spec.Marker); path != "" {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("cgroup %s is left behind", path)
			}
		}
	})
	return spec
}

// eventually polls until the condition holds.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !holds() {
		if time.Since(start) > limit {
			t.Fatalf("%s: not so after %v", what, limit)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}

// nothingMarked waits until no process carries the marker. One that is left is
// killed, so that a failing test does not leave it to the machine.
func nothingMarked(t *testing.T, marker string, limit time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	for {
		left, err := supervise.ListMarked(marker)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return time.Since(start)
		}
		if time.Since(start) > limit {
			for _, p := range left {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
			t.Fatalf("left after %v: %+v", limit, left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// member is a process that said "ready" in a log.
type member struct {
	who   string
	pid   int
	start uint64
}

var readyLine = regexp.MustCompile(`(?m)^ready (\S+) (\d+) (\d+)$`)

// waitReady reads the log until n processes of the server are ready.
func waitReady(t *testing.T, logPath string, n int) []member {
	t.Helper()
	var members []member
	eventually(t, patience, fmt.Sprintf("%d processes ready in %s", n, logPath), func() bool {
		data, _ := os.ReadFile(logPath)
		members = nil
		for _, m := range readyLine.FindAllStringSubmatch(string(data), -1) {
			pid, _ := strconv.Atoi(m[2])
			start, _ := strconv.ParseUint(m[3], 10, 64)
			members = append(members, member{m[1], pid, start})
		}
		return len(members) >= n
	})
	return members
}

// treeSize is how many processes of the habit "tree" say that they are ready:
// the leader, one in a session of its own, one forked twice, one that ignores
// TERM and one without an environment.
const treeSize = 5

// allGone waits until none of the processes lives, marked or not.
func allGone(t *testing.T, members []member, limit time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	for {
		var left []member
		for _, m := range members {
			if supervise.Alive(m.pid, m.start) {
				left = append(left, m)
			}
		}
		if len(left) == 0 {
			return time.Since(start)
		}
		if time.Since(start) > limit {
			for _, m := range left {
				syscall.Kill(m.pid, syscall.SIGKILL)
			}
			t.Fatalf("left after %v: %+v", limit, left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// testCore is a run in a process of its own, which can be killed.
type testCore struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	handle supervise.Handle
}

// startCore starts a run that starts the spec.
func startCore(t *testing.T, r rig, spec supervise.Spec) *testCore {
	t.Helper()
	c := &testCore{cmd: exec.Command(spec.Exe, "core")}
	c.cmd.Dir = spec.Dir
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = r.credential()
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	if err := json.NewEncoder(c.in).Encode(spec); err != nil {
		t.Fatal(err)
	}
	c.read(t, &c.handle)
	return c
}

func (c *testCore) read(t *testing.T, v any) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), v)
	}
	if err != nil {
		t.Fatalf("core says %q: %v", strings.TrimSpace(line), err)
	}
}

// order lets the core go on: "wait", or a grace time to stop with.
func (c *testCore) order(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// kill is kill -9.
func (c *testCore) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

// reapAs reaps in another process, as the user of the rig.
func reapAs(t *testing.T, r rig, program string, handles ...supervise.Handle) []supervise.Reaped {
	t.Helper()
	data, err := json.Marshal(handles)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "reap")
	cmd.Stdin = strings.NewReader(string(data))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = r.credential()
	out, err := cmd.Output()
	var reaped []supervise.Reaped
	if err == nil {
		err = json.Unmarshal(out, &reaped)
	}
	if err != nil {
		t.Fatalf("reap says %s: %v", out, err)
	}
	return reaped
}
