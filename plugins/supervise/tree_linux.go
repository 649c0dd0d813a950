package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descendants lists the living children of a process, their children and so on,
// without the process itself. Who has detached from the tree is in it only
// where a subreaper stands above, as the shim does.
func Descendants(pid int) ([]ProcInfo, error) {
	procs, err := scan()
	if err != nil {
		return nil, err
	}
	return withCommands(below(procs, pid)), nil
}

// below picks the descendants of the roots out of a scan.
func below(procs []ProcInfo, roots ...int) []ProcInfo {
	children := make(map[int][]ProcInfo, len(procs))
	for _, p := range procs {
		children[p.PPID] = append(children[p.PPID], p)
	}
	var found []ProcInfo
	visited := make(map[int]bool)
	for _, root := range roots {
		visited[root] = true
	}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			if !visited[child.PID] {
				visited[child.PID] = true
				found = append(found, child)
				queue = append(queue, child.PID)
			}
		}
	}
	return found
}

func withCommands(procs []ProcInfo) []ProcInfo {
	for i := range procs {
		procs[i].Command = commandLine(procs[i])
	}
	return procs
}

// signalTo sends a signal to exactly the process that was seen. The descriptor is
// opened first and the start time read after it, so that the number cannot pass
// to another process between the check and the signal.
func signalTo(p identity, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMFILE):
		// Note: kernels before 5.3 and some sandboxes lack pidfd. What is left is a
		// window of microseconds between the check and the signal.
		if !p.alive() {
			return nil
		}
		return ignoreGone(syscall.Kill(p.pid, sig))
	case err != nil:
		return fmt.Errorf("open process %d: %w", p.pid, err)
	}
	defer func() { _ = unix.Close(fd) }() // it was only signalled through
	now, err := readProc(p.pid)
	if err != nil || now.Start != p.start {
		return nil
	}
	return ignoreGone(unix.PidfdSendSignal(fd, sig, nil, 0))
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// killedListed bounds how many killed processes are listed by name.
const killedListed = 64

// killer ends a set of processes that may be forking while it works.
type killer struct {
	find   func() ([]ProcInfo, error) // the living members of the set
	cgroup *cgroup                    // where they live, nil if in none of their own
	// groups signals the process group of each member instead. A signal to a group
	// reaches a process and the child that it is forking at that moment alike,
	// which no list of numbers can. It is right only where every group that a
	// member is in consists of members: below the shim, since the server began in
	// a session of its own.
	groups bool

	seen   map[identity]bool
	killed []ProcInfo
}

// terminate asks every member to end. CONT follows, because a stopped process
// would not get to see it.
func (k *killer) terminate() error {
	procs, err := k.find()
	if err != nil {
		return err
	}
	k.signalAll(procs, syscall.SIGTERM)
	k.signalAll(procs, syscall.SIGCONT)
	return nil
}

// kill does one pass: whoever is there is stopped, until a look finds no new
// one, and then killed. Stopping first keeps a parent from replacing the
// children that it loses. It returns who was there; none means that the set was
// empty.
func (k *killer) kill() ([]ProcInfo, error) {
	found, err := k.find()
	if err != nil || len(found) == 0 {
		return nil, err
	}
	k.note(found)
	k.cgroup.kill()
	stopped := make(map[identity]bool)
	const rounds = 5 // what outruns this many looks meets the next pass
	for range rounds {
		fresh := slices.DeleteFunc(slices.Clone(found), func(p ProcInfo) bool { return stopped[p.identity()] })
		if len(fresh) == 0 {
			break
		}
		k.signalAll(fresh, syscall.SIGSTOP)
		for _, p := range fresh {
			stopped[p.identity()] = true
		}
		next, err := k.find()
		if err != nil {
			break // who was found is killed all the same
		}
		k.note(next)
		found = next
	}
	k.signalAll(found, syscall.SIGKILL)
	return found, nil //nolint:nilerr // a look that failed on the way left found as it was
}

// signalAll signals each process once, alone or through its group: many servers
// take a second TERM as an order to drop everything. A failure shows in the next
// look: the process is still there.
func (k *killer) signalAll(procs []ProcInfo, sig syscall.Signal) {
	own := syscall.Getpgrp()
	reached := make(map[int]bool)
	for _, p := range procs {
		if !k.groups || p.group <= 1 || p.group == own {
			_ = signalTo(p.identity(), sig)
		} else if !reached[p.group] {
			reached[p.group] = true
			_ = syscall.Kill(-p.group, sig)
		}
	}
}

// note remembers who had to be killed, with the commands of the first ones.
func (k *killer) note(procs []ProcInfo) {
	if k.seen == nil {
		k.seen = make(map[identity]bool)
	}
	for _, p := range procs {
		if k.seen[p.identity()] {
			continue
		}
		k.seen[p.identity()] = true
		if len(k.killed) < killedListed {
			p.Command = commandLine(p)
			k.killed = append(k.killed, p)
		}
	}
}

// children lists the direct children of this process, ended ones included. It
// costs one small file for each thread, however many processes the machine has.
// It is empty where the kernel does not offer the list.
func children() []int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, thread := range threads {
		data, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// belowSelf finds the living descendants of this process.
func belowSelf() ([]ProcInfo, error) {
	procs, err := scan()
	if err != nil {
		return nil, err
	}
	return below(procs, os.Getpid()), nil
}
