//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sweepbook/sweepbook/plugins/gpu"
	"github.com/sweepbook/sweepbook/plugins/gpu/gputest"
)

// machine is a folder with a history, an nvidia-smi that knows one GPU, and processes
// that are known by it.
type machine struct {
	t        *testing.T
	dir, bin string
	settings []setting
	now      setting
}

// setting is who runs and where.
type setting struct {
	name   string
	uid    int
	cgroup string // in which the run starts; "" for that of the test
	// confined says whether servers get a cgroup of their own: 1 yes, -1 no, 0 unknown.
	confined int
}

// ordinary is a user without rights or a name.
const ordinary = 64001

// newMachine makes the machine. What an ordinary user runs must lie where that one
// can look, so that the programs are copied.
func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir(), bin: t.TempDir(), now: setting{uid: os.Getuid()}}
	smi := gputest.Install(t, gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1)}}})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(m.bin, "sweepbook")
	copyProgram(t, exe, self)
	script, err := os.ReadFile(smi.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(m.bin, "nvidia-smi"), bytes.ReplaceAll(script, []byte(exe), []byte(self)), 0o755),
		os.Chmod(filepath.Join(filepath.Dir(smi.Path), "state.json"), 0o644),
		os.Chmod(filepath.Dir(m.dir), 0o711), // the folder of all that t.TempDir makes
		os.WriteFile(filepath.Join(m.dir, "local.yaml"), fmt.Appendf(nil, "ports: %d\n", testPorts()), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m.settings = m.makeSettings()
	if last := m.settings[len(m.settings)-1]; last.uid != os.Getuid() {
		m.now = last
		if out, err := m.command("version").CombinedOutput(); err != nil {
			t.Logf("no other user: %s %v; the folder for temporary files must be one that all may enter", out, err)
			m.settings = slices.DeleteFunc(m.settings, func(s setting) bool { return s.uid != os.Getuid() })
		}
		m.now = setting{uid: os.Getuid()}
	}
	t.Cleanup(func() {
		for pid, text := range m.processes() {
			t.Errorf("left at the end: %d %s", pid, text)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return m
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// makeSettings finds out what this machine allows: only root can be another user as
// well, and only where cgroups can be made are there runs with and without.
func (m *machine) makeSettings() []setting {
	if os.Getuid() != 0 {
		m.t.Log("not root: one user, with a cgroup only where this one may make it")
		return []setting{{name: "as an ordinary user", uid: os.Getuid()}}
	}
	base, err := makeCgroups()
	if err != nil {
		m.t.Logf("no cgroups here: %v", err)
		return []setting{{name: "as root", confined: -1}, {name: "as a user", uid: ordinary, confined: -1}}
	}
	m.t.Cleanup(func() {
		// The kernel calls a folder busy for a moment after its last process has ended.
		for _, name := range []string{"root", "user", "none", ""} {
			err := os.Remove(filepath.Join(base, name))
			for range 100 {
				if err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
				err = os.Remove(filepath.Join(base, name))
			}
			if err != nil {
				m.t.Error(err)
			}
		}
	})
	return []setting{
		{"as root with a cgroup", 0, filepath.Join(base, "root"), 1},
		{"as root without", 0, filepath.Join(base, "none"), -1},
		{"as a user with a cgroup", ordinary, filepath.Join(base, "user"), 1},
		{"as a user without", ordinary, filepath.Join(base, "none"), -1},
	}
}

// makeCgroups makes three cgroups: one as it is, one that belongs to the ordinary
// user, and one below which none can be made.
func makeCgroups() (base string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(left); strings.HasPrefix(right, "cgroup2 ") && len(fields) > 4 && fields[3] == "/" {
			base = fields[4]
		}
	}
	if base == "" {
		return "", errors.New("no cgroup v2")
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			base = filepath.Join(base, path)
		}
	}
	base = filepath.Join(base, fmt.Sprintf("torture-%d", os.Getpid()))
	user := filepath.Join(base, "user")
	for _, dir := range []string{base, filepath.Join(base, "root"), user, filepath.Join(base, "none")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
	}
	return base, errors.Join(os.WriteFile(filepath.Join(base, "none", "cgroup.max.descendants"), []byte("0"), 0),
		os.Chown(user, ordinary, -1), os.Chown(filepath.Join(user, "cgroup.procs"), ordinary, -1))
}

// confined checks that a server lies in a cgroup of its own exactly where it should.
func (m *machine) confined(pid int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || m.now.confined == 0 {
		return // it has just ended
	}
	if got := strings.Contains(string(data), "/sweepbook-"); got != (m.now.confined > 0) && !bytes.Contains(data, []byte("0::/\n")) {
		m.t.Errorf("%s: a server is in cgroup %s", m.now.name, data)
	}
}

// use makes a setting that of what follows; all that the machine has is then that
// user's.
func (m *machine) use(s setting) {
	if s.uid != m.now.uid {
		err := filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, s.uid, -1))
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	m.now = s
}

// running is a command in progress.
type running struct {
	cmd  *exec.Cmd
	said *os.File
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(m.bin, "sweepbook"), append([]string{"--db", "history.db"}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "HOME="+m.dir, "XDG_STATE_HOME=", "XDG_DATA_HOME="+filepath.Join(m.dir, "data"), "TMPDIR="+m.dir,
		"SWEEPBOOK_LOCK_DIR="+filepath.Join(m.dir, "locks"), "PATH="+m.bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if m.now.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(m.now.uid), Gid: uint32(m.now.uid)}
	}
	return cmd
}

// start starts a command under the setting of the round.
func (m *machine) start(args ...string) *running {
	m.t.Helper()
	said, err := os.CreateTemp(m.bin, "*.said")
	if err != nil {
		m.t.Fatal(err)
	}
	r := &running{m.command(args...), said}
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if m.now.cgroup != "" {
		fd, err := unix.Open(m.now.cgroup, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			m.t.Fatal(err)
		}
		defer unix.Close(fd)
		r.cmd.SysProcAttr.UseCgroupFD, r.cmd.SysProcAttr.CgroupFD = true, fd
	}
	if err := r.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return r
}

// wait waits for the end of a run and returns its exit code and what it said.
func (r *running) wait(t *testing.T) (int, string) {
	t.Helper()
	limit := time.AfterFunc(2*time.Minute, func() {
		t.Error("a run does not end")
		_ = r.cmd.Process.Kill()
	})
	err := r.cmd.Wait()
	limit.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.said.Name())
	if err = errors.Join(err, r.said.Close(), os.Remove(r.said.Name())); err != nil {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode(), string(text)
}

// processes lists what is alive of this machine: what has its folder as its home,
// works in it, or carries the marker of one of its launches.
func (m *machine) processes() map[int]string {
	out := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(command) == 0 || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains("\x00"+string(environ), "\x00HOME="+m.dir+"\x00") || strings.HasPrefix(cwd, m.dir) || m.launched(string(environ)) {
			out[pid] = strings.ReplaceAll(string(command), "\x00", " ")
		}
	}
	return out
}

// launched reports whether an environment carries the marker of a launch of this
// machine: it is all that a shim has.
func (m *machine) launched(environ string) bool {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if launch, ok := strings.CutPrefix(entry, launchMarker); ok {
			_, err := os.Stat(filepath.Join(m.dir, "launches", launch))
			return err == nil
		}
	}
	return false
}

// ended reports whether a child that nobody has waited for has ended.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// gone waits until nothing of the machine runs and nobody holds its GPU.
func (m *machine) gone(when string) {
	m.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := m.processes()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("%s: still running: %v", when, left)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if by, held, err := (gpu.Locks{Dir: filepath.Join(m.dir, "locks")}).Holder(gputest.UUID(1)); held || err != nil {
		m.t.Errorf("%s: the GPU is held by %+v, %v", when, by, err)
	}
	if bad, err := (gpu.Quarantine{Dir: filepath.Join(m.dir, ".local", "state", "sweepbook", "quarantine")}).All(); len(bad) > 0 || err != nil {
		m.t.Errorf("%s: in quarantine: %+v, %v", when, bad, err)
	}
	if m.now.cgroup != "" {
		if left, err := filepath.Glob(filepath.Join(m.now.cgroup, "sweepbook-*")); len(left) > 0 || err != nil {
			m.t.Errorf("%s: cgroups left: %q, %v", when, left, err)
		}
	}
}
