package supervise

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// shimMargin is how long the shim may take beyond a grace time before this
	// process ends the tree itself.
	shimMargin = 5 * time.Second
	// takeOverLimit is how long that may take before survivors are reported.
	takeOverLimit = 10 * time.Second
	// shimOutputLimit bounds what is kept of a shim's own words.
	shimOutputLimit = 8 << 10
)

// Process is a server under supervision. Its methods may be called from several
// goroutines.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}

	control  *os.File // the lifeline: it is closed when this process ends, however
	commands *gob.Encoder

	mu      sync.Mutex
	handle  Handle
	outcome Outcome
	refused string // why the shim could not start the server
	clean   bool   // the shim has said that nothing is left
}

// PID is the server's first process.
func (p *Process) PID() int { return p.Handle().PID }

// ShimPID is the shim, above every process of the server.
func (p *Process) ShimPID() int { return p.Handle().ShimPID }

// Handle is what recovery needs, to be stored.
func (p *Process) Handle() Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handle
}

// Done is closed when no process of the server is left, or when those that are
// left could not be ended (Outcome.Left).
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode of the server's first process: its status, 128+n for signal n, -1
// while it runs. It may be known before Done.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome.ExitCode
}

// Outcome is how it ended; complete once Done is closed.
func (p *Process) Outcome() Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

// LogTail is the end of the log, at most n bytes, beginning with a whole line
// where it holds one. It is "" where there is no log.
func (p *Process) LogTail(n int) string {
	info, err := os.Stat(p.spec.LogPath)
	if err != nil || n <= 0 || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(p.spec.LogPath)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	from := max(0, info.Size()-int64(n))
	data, err := io.ReadAll(io.NewSectionReader(f, from, int64(n)))
	if err != nil {
		return ""
	}
	text := string(data)
	if from > 0 {
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return strings.ToValidUTF8(text, "?")
}

// Stop asks the server's first process to end by TERM, and what it leaves behind
// once it has ended; after the grace time whatever is left is killed. A zero grace
// kills at once. It returns when nothing is left. An error means that this could not be reached: the context ended first,
// while the ending goes on, or processes survived KILL, which are then named.
// What had to be killed stands in Outcome and is no error.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	c := command{Op: opStop, Grace: grace}
	if grace <= 0 {
		c, grace = command{Op: opKill}, 0
	}
	p.end(c, grace)
	select {
	case <-p.done:
	case <-ctx.Done():
		left, _ := Descendants(p.ShimPID())
		return fmt.Errorf("stop server: %w; still there: %s", ctx.Err(), describe(left))
	}
	if left := p.Outcome().Left; len(left) > 0 {
		return fmt.Errorf("stop server: processes survived KILL and may hold a GPU: %s", describe(left))
	}
	return nil
}

// Kill ends the whole tree without grace and does not wait; Done says when.
func (p *Process) Kill() { p.end(command{Op: opKill}, 0) }

// end tells the shim to end the tree. A shim that does not get it done, because
// it is itself stopped or broken, is killed, and watch then does its work.
func (p *Process) end(c command, grace time.Duration) {
	if err := p.commands.Encode(c); err != nil && !errors.Is(err, os.ErrClosed) {
		grace = 0 // the shim does not listen any more
	}
	time.AfterFunc(grace+shimMargin, func() {
		select {
		case <-p.done:
		default:
			_ = p.cmd.Process.Kill() // it fails where the shim has just ended
		}
	})
}

// watch follows the shim until it ends. If it ends without having said that
// nothing is left, this process ends the tree at once.
func (p *Process) watch(status *os.File, begun chan<- struct{}) {
	defer close(p.done)
	defer func() {
		// Nobody is left at the other ends.
		_ = status.Close()
		_ = p.control.Close()
	}()
	lines := bufio.NewReader(status)
	for {
		line, err := lines.ReadBytes('\n')
		if p.take(line) {
			close(begun)
		}
		if err != nil {
			break
		}
	}
	_ = p.cmd.Wait() // what the shim said tells how it ended
	p.mu.Lock()
	finished := p.clean || p.refused != ""
	p.mu.Unlock()
	if !finished {
		p.takeOver()
	}
}

// take records one line of the shim and reports whether it says that the server
// has begun. What is no event are the shim's dying words.
func (p *Process) take(line []byte) (begun bool) {
	var e event
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(line) == 0 {
		return false
	}
	if err := json.Unmarshal(line, &e); err != nil || e.Event == "" {
		if room := shimOutputLimit - len(p.outcome.ShimOutput); room > 0 {
			p.outcome.ShimOutput += strings.ToValidUTF8(string(line[:min(room, len(line))]), "?")
		}
		return false
	}
	switch {
	case e.Event == "started" && e.Started != nil && p.handle.PID == 0:
		p.handle.PID, p.handle.PIDStart = e.Started.PID, e.Started.PIDStart
		p.handle.Cgroup, p.handle.LogPipe = e.Started.Cgroup, e.Started.LogPipe
		return true
	case e.Event == "exited":
		p.outcome.ExitCode = e.Code
	case e.Event == "clean" && e.Outcome != nil:
		output := p.outcome.ShimOutput
		p.outcome = *e.Outcome
		p.outcome.ShimOutput = output
		p.clean = true
	case e.Event == "error":
		p.refused = e.Message
	}
	return false
}

// takeOver ends the tree of a shim that is gone.
func (p *Process) takeOver() {
	ctx, cancel := context.WithTimeout(context.Background(), takeOverLimit)
	defer cancel()
	killed, left, _ := endMembers(ctx, p.Handle())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.ShimLost = true
	p.outcome.Killed, p.outcome.KilledCount, p.outcome.Left = killed.list, killed.count, left
	if p.outcome.ExitCode < 0 {
		p.outcome.ExitCode = 128 + 9
	}
}

// startError is why no server came to be.
func (p *Process) startError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused != "" {
		return errors.New(p.refused)
	}
	return fmt.Errorf("start server %s: shim ended before the server ran: %s", p.spec.Argv[0], strings.TrimSpace(p.outcome.ShimOutput))
}

func describe(procs []ProcInfo) string {
	if len(procs) == 0 {
		return "nothing that could be listed"
	}
	var b strings.Builder
	for i, proc := range procs {
		if i > 0 {
			b.WriteString("; ")
		}
		if i == 10 {
			fmt.Fprintf(&b, "and %d more", len(procs)-i)
			break
		}
		fmt.Fprintf(&b, "%d (%s, state %s)", proc.PID, proc.Command, proc.State)
	}
	return b.String()
}
