package supervise

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The shim's limits for what only fails when the machine does.
const (
	logFlushLimit = 3 * time.Second
	chaseLimit    = 20 * time.Millisecond
	minPoll       = 2 * time.Millisecond
	maxPoll       = 100 * time.Millisecond
)

// phase is how far the shim has come.
type phase int

const (
	running phase = iota
	stopping
	killing
)

// shim is the state of one supervised server.
type shim struct {
	spec   Spec
	filter NewFilter
	status *json.Encoder
	pump   *logPump
	cgroup *cgroup
	killer killer

	pid      int
	code     int
	phase    phase
	deadline time.Time // of stopping
	poll     time.Duration
}

// ShimMain is the body of "sweepbook shim": it reads a Spec from its control
// pipe, starts the server, and returns when nothing of the server is left. The
// result is an exit code for os.Exit; 0 means that the tree is gone, whatever
// the server's own code was.
func ShimMain(args []string) int { return FilteredShimMain(args, nil) }

// FilteredShimMain is ShimMain with a filter between the server and its log.
func FilteredShimMain(args []string, filter NewFilter) int {
	if len(args) > 0 || !isPipe(controlFD) || !isPipe(statusFD) {
		fmt.Fprintln(os.Stderr, "sweepbook: shim: this command is run by sweepbook itself, not by hand")
		return 2
	}
	// Whatever this process inherited without a close-on-exec mark, the control
	// and status pipes among it, must not reach the server: a copy of them would
	// keep the run from seeing that the shim is gone.
	// Kernels before 5.11 cannot do it at once; the two pipes are then marked below.
	_ = unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(statusFD)

	// Note: signals are caught and dropped rather than ignored, because what is
	// ignored here would stay ignored in the server after exec.
	// TERM has a channel of its own, so that no burst of others can crowd it out.
	children, term := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	signal.Notify(term, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)

	control := gob.NewDecoder(os.NewFile(controlFD, "control pipe"))
	s := &shim{filter: filter, status: json.NewEncoder(os.NewFile(statusFD, "status pipe")), code: -1}
	var first command
	if err := control.Decode(&first); err != nil || first.Spec == nil {
		return 1 // the run died before it said what to start
	}
	s.spec = *first.Spec
	if err := s.launch(); err != nil {
		s.tell(event{Event: "error", Message: err.Error()})
		return 1
	}
	commands := make(chan command, 1)
	go readCommands(control, commands)
	s.supervise(commands, children, term)
	s.conclude()
	return 0
}

// tell reports to the run. One that is gone hears nothing more, and the end of the
// control pipe says so.
func (s *shim) tell(e event) { _ = s.status.Encode(e) }

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// readCommands ends with opLost: whatever is wrong with the control pipe, there
// is no run behind it any more that could end this server.
func readCommands(control *gob.Decoder, commands chan<- command) {
	for {
		var c command
		if err := control.Decode(&c); err != nil {
			commands <- command{Op: opLost}
			return
		}
		commands <- c
	}
}

// launch becomes a subreaper and starts the server.
func (s *shim) launch() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	// The core dump of a server with 70 GB in memory fills a disk.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	path, err := lookPath(s.spec)
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	defer func() { _ = null.Close() }() // only read
	var clean Filter
	if s.filter != nil {
		clean = s.filter(s.spec.secrets())
	}
	pump, output, err := startPump(s.spec.LogPath, s.spec.Log, clean)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(output) }() // the server has its own
	s.pump = pump

	attr := &syscall.ProcAttr{
		Dir:   s.spec.Dir,
		Env:   append(append([]string{}, s.spec.Env...), s.spec.Marker),
		Files: []uintptr{null.Fd(), uintptr(output), uintptr(output)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	pid, err := s.fork(path, attr)
	if err != nil {
		return fmt.Errorf("start server %s: %w", s.spec.Argv[0], err)
	}
	s.pid = pid
	s.killer = killer{find: belowSelf, cgroup: s.cgroup, groups: true}
	info, err := readProc(pid) // it cannot have vanished: only this process reaps it
	if err != nil {
		s.begin(killing, 0)
		return nil
	}
	begun := started{PID: pid, PIDStart: info.Start, LogPipe: pump.inode}
	if s.cgroup != nil {
		begun.Cgroup = s.cgroup.path
	}
	s.tell(event{Event: "started", Started: &begun})
	return nil
}

// fork starts the server inside its cgroup, or without one where that fails for
// whatever reason: the tree walk alone is enough while the shim lives.
func (s *shim) fork(path string, attr *syscall.ProcAttr) (int, error) {
	if s.spec.Cgroup == CgroupAuto {
		if pid, ok := s.forkInCgroup(path, *attr); ok {
			return pid, nil
		}
	}
	return syscall.ForkExec(path, s.spec.Argv, attr)
}

func (s *shim) forkInCgroup(path string, attr syscall.ProcAttr) (int, bool) {
	planned := plannedCgroup(s.spec.Marker)
	if planned == "" {
		return 0, false
	}
	group, err := makeCgroup(planned)
	if err != nil {
		return 0, false
	}
	folder, err := os.Open(planned)
	if err == nil {
		defer func() { _ = folder.Close() }() // only read
		sys := *attr.Sys
		sys.UseCgroupFD, sys.CgroupFD = true, int(folder.Fd())
		attr.Sys = &sys
		var pid int
		if pid, err = syscall.ForkExec(path, s.spec.Argv, &attr); err == nil {
			s.cgroup = group
			return pid, true
		}
	}
	_ = group.remove() // a folder that stays is found by the next Reap
	return 0, false
}

// supervise returns when no descendant is left.
func (s *shim) supervise(commands <-chan command, children, term <-chan os.Signal) {
	for !s.reap() {
		s.advance()
		var tick <-chan time.Time
		if s.phase != running {
			tick = time.After(s.poll)
			s.poll = min(2*s.poll, maxPoll)
		}
		select {
		case c := <-commands:
			s.obey(c)
		case <-term: // the batch system or the machine wants to end
			s.begin(stopping, s.spec.Grace)
		case <-children:
		case <-tick:
		}
	}
}

func (s *shim) obey(c command) {
	switch c.Op {
	case opStop:
		s.begin(stopping, c.Grace)
	case opLost:
		s.begin(stopping, s.spec.Grace)
	case opKill:
		s.begin(killing, 0)
	}
}

// begin enters a later phase, or shortens the one of stopping; it never goes
// back and never gives more time than was promised first.
func (s *shim) begin(next phase, grace time.Duration) {
	deadline := time.Now().Add(grace)
	if next < s.phase || (next == s.phase && !deadline.Before(s.deadline)) {
		return
	}
	entered := next > s.phase
	s.phase, s.deadline = next, deadline
	s.poll = minPoll
	if entered && next == stopping {
		s.ask()
	}
}

// ask sends TERM: to the server's first process alone while that lives, because
// engines end their workers in an order of their own, and a worker that is asked
// by someone else in the middle of it looks to its parent like one that crashed.
// Once the first process is gone, what it left is asked itself. Whom TERM does not
// reach or move is killed at the deadline.
func (s *shim) ask() {
	if s.code >= 0 {
		_ = s.killer.terminate()
		return
	}
	_ = syscall.Kill(s.pid, syscall.SIGTERM) // nobody but this process reaps it, so the number is its own
	_ = syscall.Kill(s.pid, syscall.SIGCONT) // a stopped process would not get to see it
}

func (s *shim) advance() {
	if s.phase == stopping && !time.Now().Before(s.deadline) {
		s.begin(killing, 0)
	}
	if s.phase == killing {
		_, _ = s.killer.kill() // advance comes again until reap finds nobody
		s.chase()
	}
}

// chase kills what forks and exits faster than the process table can be read: the
// parent of such a process is dead, so it is a direct child of this subreaper,
// and those can be listed and hit within microseconds. Their numbers are safe,
// because nobody but this goroutine reaps them. Reaping goes along, or the ended
// ones would pile up and slow every look at the table.
func (s *shim) chase() {
	for end := time.Now().Add(chaseLimit); time.Now().Before(end); {
		pids := children()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // a child of ours can only have ended
		}
		for _, pid := range pids {
			if p, err := readProc(pid); err == nil {
				s.killer.note([]ProcInfo{p})
			}
		}
		if s.reap() || len(pids) == 0 {
			return
		}
	}
}

// reap collects every child that has ended, ours and those reparented to us, and
// reports whether none is left. Because this process is a subreaper, having no
// child proves that there is no descendant, which no walk through /proc could.
func (s *shim) reap() (none bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return errors.Is(err, unix.ECHILD)
		case pid == 0:
			return false
		case pid == s.pid && s.code < 0:
			s.code = exitCode(status)
			s.tell(event{Event: "exited", Code: s.code})
			// What the first process leaves behind has no purpose any more.
			if s.phase == stopping {
				s.ask()
			}
			s.begin(stopping, s.spec.Grace)
		}
	}
}

func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// conclude says how it ended, once the log is on file.
func (s *shim) conclude() {
	outcome := Outcome{ExitCode: s.code, Killed: s.killer.killed, KilledCount: len(s.killer.seen)}
	_ = s.cgroup.remove() // a folder that stays is found by the next Reap
	outcome.LogLeftOut, outcome.LogLost = s.pump.finish(logFlushLimit)
	s.tell(event{Event: "clean", Code: s.code, Outcome: &outcome})
}
