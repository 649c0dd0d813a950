package supervise

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// startLimit bounds the time until the shim says that the server runs. Execution
// itself takes milliseconds; a network file system may take seconds.
const startLimit = 30 * time.Second

// Intend returns the handle of a launch before it happens. Stored first, it lets
// Reap find the server even if the run dies in the middle of Start.
func Intend(spec Spec) (Handle, error) {
	spec, err := spec.resolved()
	if err != nil {
		return Handle{}, err
	}
	h := Handle{PIDNamespace: pidNamespace(), Marker: spec.Marker, CorePID: os.Getpid()}
	if h.BootID, err = bootID(); err != nil {
		return Handle{}, err
	}
	if h.NotBefore, err = ticksNow(); err != nil {
		return Handle{}, err
	}
	self, err := readProc(h.CorePID)
	if err != nil {
		return Handle{}, fmt.Errorf("read own process: %w", err)
	}
	h.CoreStart = self.Start
	if spec.Cgroup == CgroupAuto {
		h.Cgroup = plannedCgroup(spec.Marker)
	}
	return h, nil
}

// Start starts a server under a shim and returns once the server has been
// executed, which says nothing of its being ready. The context bounds this call
// only: the server lives until it ends, is stopped, or this process dies. An
// error means that nothing is left running.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	spec, err := spec.resolved()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("start server: folder %s: %w", spec.Dir, notFolder(err))
	}
	handle, err := Intend(spec)
	if err != nil {
		return nil, err
	}
	p, status, err := startShim(spec, handle)
	if err != nil {
		return nil, err
	}
	begun := make(chan struct{})
	go p.watch(status, begun)

	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	var cause error
	select {
	case <-begun:
		return p, nil
	case <-p.done:
		select {
		case <-begun: // both at once: a server that ended at once did start
			return p, nil
		default:
		}
		return nil, p.startError()
	case <-ctx.Done():
		cause = ctx.Err()
	case <-limit.C:
		cause = fmt.Errorf("the shim did not answer within %v", startLimit)
	}
	p.end(command{Op: opKill}, 0)
	<-p.done
	return nil, fmt.Errorf("start server %s: %w", spec.Argv[0], cause)
}

func notFolder(err error) error {
	if err == nil {
		return syscall.ENOTDIR
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// startShim executes the shim with its two pipes and sends it the spec.
func startShim(spec Spec, handle Handle) (*Process, *os.File, error) {
	fail := func(err error, unused ...*os.File) (*Process, *os.File, error) {
		for _, end := range unused {
			_ = end.Close() // nothing has been written to it
		}
		return nil, nil, fmt.Errorf("start shim: %w", err)
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = controlR.Close() }() // the shim has its own
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return fail(err, controlW)
	}
	defer func() { _ = statusW.Close() }() // the shim has its own

	cmd := exec.Command(spec.Exe, spec.ShimArgs...)
	cmd.Args[0] = filepath.Base(os.Args[0]) // what people see in ps, rather than "/proc/self/exe"
	cmd.Dir = "/"
	// The marker makes the shim findable as well. Two threads are plenty, and a
	// shim must not disturb what is measured.
	cmd.Env = []string{spec.Marker, "GOMAXPROCS=2"}
	cmd.Stderr = statusW // a panic of the shim arrives where its events do
	cmd.ExtraFiles = []*os.File{controlFD - 3: controlR, statusFD - 3: statusW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fail(err, controlW, statusR)
	}
	p := &Process{spec: spec, handle: handle, cmd: cmd, control: controlW, commands: gob.NewEncoder(controlW), done: make(chan struct{})}
	p.outcome.ExitCode = -1
	p.handle.ShimPID = cmd.Process.Pid
	if info, err := readProc(cmd.Process.Pid); err == nil {
		p.handle.ShimStart = info.Start
	}
	// A failure here means that the shim has died, which watch will see.
	_ = p.commands.Encode(command{Spec: &spec})
	return p, statusR, nil
}
