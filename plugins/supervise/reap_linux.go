package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// ListMarked lists every living process that this user may look into and that
// carries an environment entry beginning with the prefix, "SWEEPBOOK_LAUNCH=" for
// all launches. Nothing is killed. A process that has overwritten its
// environment, as setproctitle does, is not seen here.
func ListMarked(markerPrefix string) ([]ProcInfo, error) {
	if markerPrefix == "" {
		return nil, fmt.Errorf("list marked processes: %w: empty marker", core.ErrInvalid)
	}
	var marked []ProcInfo
	_, err := walk(func(p ProcInfo) {
		if p.PID == os.Getpid() {
			return
		}
		if p.Marker = markerOf(p.PID, markerPrefix); p.Marker != "" {
			marked = append(marked, p)
		}
	})
	if err != nil {
		return nil, err
	}
	return withCommands(marked), nil
}

// Reap ends what earlier runs left behind: for each handle that belongs to this
// boot, and whose run is dead, every process that is provably part of the
// launch. The proofs are: it is in the cgroup that was made for the launch; it
// is the server's first process, by number and start time; it carries the
// launch's marker, or holds the pipe of its output; or it descends from, or is in
// the session of, one of these. Whatever started before the launch is never
// ours. Handles whose marker does not begin with markerPrefix are skipped.
//
// The answer has one entry for each handle. The error joins what went wrong; a
// process that survives KILL until the context ends is one such thing.
func Reap(ctx context.Context, handles []Handle, markerPrefix string) ([]Reaped, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	reaped := make([]Reaped, 0, len(handles))
	var problems []error
	for _, h := range handles {
		r := Reaped{Handle: h, Skipped: skip(h, boot, markerPrefix)}
		if r.Skipped == "" {
			killed, left, err := endMembers(ctx, h)
			r.Killed, r.KilledCount, r.Left = killed.list, killed.count, left
			if err != nil {
				problems = append(problems, fmt.Errorf("reap %s: %w", h.Marker, err))
			}
		}
		reaped = append(reaped, r)
	}
	return reaped, errors.Join(problems...)
}

// skip says why a handle must not be acted on, "" if it may.
func skip(h Handle, boot, markerPrefix string) string {
	key, id, _ := strings.Cut(h.Marker, "=")
	switch {
	case key == "" || id == "" || markerPrefix == "" || !strings.HasPrefix(h.Marker, markerPrefix):
		return fmt.Sprintf("marker %q does not begin with %q", h.Marker, markerPrefix)
	case h.BootID != boot:
		return "launched before the machine restarted, nothing of it is alive"
	case h.PIDNamespace != pidNamespace():
		return "launched in another container, its process numbers mean nothing here"
	case h.CorePID == 0 || h.NotBefore == 0:
		return "the record does not say when and by whom it was launched"
	case identity{h.CorePID, h.CoreStart}.alive():
		return fmt.Sprintf("its run is alive (process %d)", h.CorePID)
	}
	return ""
}

// casualties are the processes that had to be killed.
type casualties struct {
	list  []ProcInfo
	count int
}

const (
	// clearLooks is how many looks in a row must find nothing. One is not enough: a
	// process that is just executing its program shows no environment for a moment.
	clearLooks = 3
	// unsureLimit is how long a look that may have missed something is repeated. On
	// a machine where processes come and go all the time every look is such a one.
	unsureLimit = time.Second
)

// endMembers kills the members of a launch without a shim above them, until
// several looks in a row find none. The shim, where it still lives, is left a
// moment to end by itself, because it is the subreaper to which fleeing children
// fall.
func endMembers(ctx context.Context, h Handle) (casualties, []ProcInfo, error) {
	proof := newProof(h)
	unsure := false
	k := killer{cgroup: proof.cgroup}
	k.find = func() (found []ProcInfo, err error) {
		found, unsure, err = proof.seize()
		return found, err
	}
	var err error
	clear, seen := 0, time.Now()
	for wait := minPoll; clear < clearLooks; wait = min(2*wait, maxPoll) {
		var found []ProcInfo
		found, err = k.kill()
		switch {
		case err != nil || len(found) > 0:
			clear, seen = 0, time.Now()
		case unsure && time.Since(seen) < unsureLimit:
			clear, wait = 0, minPoll
		default:
			clear++
		}
		if ctx.Err() != nil {
			break
		}
		time.Sleep(wait)
	}
	dead := casualties{k.killed, len(k.seen)}
	if clear < clearLooks {
		left, _, lookErr := proof.seize()
		if err = errors.Join(err, lookErr, ctx.Err()); len(left) > 0 {
			err = fmt.Errorf("processes survive KILL: %s: %w", describe(withCommands(left)), err)
		}
		return dead, withCommands(left), err
	}
	endShim(ctx, identity{h.ShimPID, h.ShimStart})
	return dead, nil, proof.cgroup.remove()
}

// endShim waits for a shim without a server and a run to end, and ends it if it
// does not, as one that was stopped.
func endShim(ctx context.Context, shim identity) {
	deadline := time.Now().Add(logFlushLimit)
	for wait := minPoll; shim.alive(); wait = min(2*wait, maxPoll) {
		if p, err := readProc(shim.pid); err == nil && (p.State == "T" || time.Now().After(deadline) || ctx.Err() != nil) {
			_ = signalTo(shim, syscall.SIGKILL) // the next turn sees whether it ended
		}
		time.Sleep(wait)
		if time.Now().After(deadline.Add(time.Second)) {
			return
		}
	}
}
