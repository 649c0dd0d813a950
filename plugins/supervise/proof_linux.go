package supervise

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// proof decides which processes belong to a launch when no shim stands above
// them any more. Servers hide without meaning to: they detach, rename
// themselves and lose their environment on the way, so that one mark is not
// enough; and what is not proven is never touched.
type proof struct {
	handle Handle
	cgroup *cgroup // nil if it is gone or was never made
	// pipe is the link of the output pipe in /proc, "" where it proves nothing.
	pipe string
}

func newProof(h Handle) proof {
	f := proof{handle: h, cgroup: openCgroup(h.Cgroup, h.Marker)}
	if h.LogPipe != 0 {
		if pipe := fmt.Sprintf("pipe:[%d]", h.LogPipe); f.pipeIsOurs(pipe) {
			f.pipe = pipe
		}
	}
	return f
}

// pipeIsOurs guards against an inode number that was used again, which takes the
// kernel four billion pipes and sockets. Ours is read by the shim or, when the
// shim is dead, by nobody; a pipe in use elsewhere has a reader.
func (f proof) pipeIsOurs(pipe string) bool {
	procs, err := scan()
	if err != nil {
		return false
	}
	shim := identity{f.handle.ShimPID, f.handle.ShimStart}
	return !slices.ContainsFunc(procs, func(p ProcInfo) bool {
		return p.identity() != shim && openFor(p.PID, pipe, syscall.O_RDONLY)
	})
}

// openFor reports whether a process has a file open in the access mode given, by
// its link in /proc.
func openFor(pid int, target string, mode uint64) bool {
	for _, fd := range openAs(pid, map[string]bool{target: true}) {
		data, err := os.ReadFile(procPath(pid, "fdinfo/"+fd))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), "flags:")
		text, _, _ := strings.Cut(rest, "\n")
		if flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64); err == nil && flags&syscall.O_ACCMODE == mode {
			return true
		}
	}
	return false
}

// seize finds the living processes of the launch and stops each as soon as it is
// proven, before the next is looked at: they may be forking and exiting faster
// than all can be read. unsure says that a process vanished while it was looked
// for, so that finding nothing is no proof of there being nothing.
func (f proof) seize() (found []ProcInfo, unsure bool, err error) {
	h := f.handle
	leader := identity{h.PID, h.PIDStart}
	leaderLives := leader.alive()
	inGroup := f.cgroup.pids()
	pipe := map[string]bool{f.pipe: true}
	barred := ancestors()
	barred[identity{h.ShimPID, h.ShimStart}] = true
	allowed := func(p ProcInfo) bool { return p.Start >= h.NotBefore && !barred[p.identity()] }

	var procs []ProcInfo
	var roots []int
	unsure, err = walk(func(p ProcInfo) {
		procs = append(procs, p)
		if !allowed(p) {
			return
		}
		if p.identity() == leader || inGroup[p.PID] ||
			(leaderLives && p.session == h.PID) ||
			markerOf(p.PID, h.Marker) == h.Marker ||
			(f.pipe != "" && len(openAs(p.PID, pipe)) > 0) {
			_ = signalTo(p.identity(), syscall.SIGSTOP) // who cannot be stopped is found all the same
			found = append(found, p)
			roots = append(roots, p.PID)
		}
	})
	if err != nil {
		return nil, false, err
	}
	for _, p := range below(procs, roots...) {
		if allowed(p) {
			found = append(found, p)
		}
	}
	return found, unsure, nil
}

// ancestors is this process and what stands above it, which is never ours to
// kill, whatever it carries: someone may have started us from inside a server.
func ancestors() map[identity]bool {
	above := make(map[identity]bool)
	for pid := os.Getpid(); pid > 0; {
		p, err := readProc(pid)
		if err != nil || above[p.identity()] {
			break
		}
		above[p.identity()] = true
		pid = p.PPID
	}
	return above
}
