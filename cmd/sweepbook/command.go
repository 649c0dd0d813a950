package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/tool"
	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// command is somebody's command that is run as it is, under our eyes: its output is
// passed through and its end kept, and nothing of it outlives it.
type command struct {
	argv           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	timeout, grace time.Duration
	out, diag      tail
}

const (
	// keptOutput is how much of the end of its output is searched for a result.
	keptOutput = 8 << 20
	// lingering is how long a command that has ended may keep its output open through
	// processes that it left behind, before these are ended.
	lingering = 2 * time.Second
)

// run runs it to its end. The first end of the context asks it as Ctrl-C does; what
// does not end within the grace time is asked by TERM, then killed. A further signal
// to us kills at once. An error means that it did not start.
func (c *command) run(ctx context.Context) (tool.End, error) {
	marker := launchMarker + core.NewID(time.Now()).String()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(os.Environ(), marker)
	// The command has a process group of its own, so that we decide what ends it; one
	// in the background cannot read from the terminal.
	if f, ok := c.stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		cmd.Stdin = c.stdin
	}
	c.out.limit, c.diag.limit = keptOutput, 64<<10
	cmd.Stdout, cmd.Stderr = io.MultiWriter(c.stdout, &c.out), io.MultiWriter(c.stderr, &c.diag)
	cmd.WaitDelay = lingering
	ownGroup(cmd)
	again := make(chan os.Signal, 2)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	if err := cmd.Start(); err != nil {
		return tool.End{}, fmt.Errorf("start %s: %w", c.argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end, err := c.await(ctx, cmd, ended, again)
	endAll(cmd, marker)
	if err != nil {
		return end, err
	}
	end.ExitCode = exitCodeOf(cmd.ProcessState)
	if end.LastLine = tool.LastLine(c.diag.text()); end.LastLine == "" || end.TimedOut && c.out.last.After(c.diag.last) {
		end.LastLine = tool.LastLine(c.out.text())
	}
	return end, nil
}

// await waits for the end, or brings it about.
func (c *command) await(ctx context.Context, cmd *exec.Cmd, ended <-chan error, again <-chan os.Signal) (end tool.End, err error) {
	end.Limit = c.timeout
	var limit <-chan time.Time
	if c.timeout > 0 {
		limit = time.After(c.timeout)
	}
	// The steps of ending it; each has the grace time.
	steps := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	var next <-chan time.Time
	advance := func() {
		if len(steps) == 0 {
			return // it was killed, and something that it left keeps its output open
		}
		signalGroup(cmd, steps[0])
		next = nil
		if steps = steps[1:]; len(steps) > 0 {
			next = time.After(c.grace)
		}
	}
	stop, signals := ctx.Done(), 0
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
				return end, fmt.Errorf("run %s: %w", c.argv[0], err)
			}
			return end, nil
		case <-stop:
			// What its limit has killed, nobody interrupts.
			stop, limit, end.Interrupted = nil, nil, !end.TimedOut || len(steps) > 0
			advance()
		case <-limit:
			limit, end.TimedOut = nil, true
			steps = steps[1:] // nobody typed Ctrl-C
			advance()
		case <-next:
			advance()
		case <-again:
			// The first signal is the one that ended the context.
			if signals++; signals > 1 && len(steps) > 0 {
				steps, limit = steps[len(steps)-1:], nil
				advance()
			}
		}
	}
}

// endAll kills what a command left behind: in its process group, and what carries
// its mark wherever it went.
func endAll(cmd *exec.Cmd, marker string) {
	signalGroup(cmd, syscall.SIGKILL)
	for deadline := time.Now().Add(lingering); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		// Elsewhere than on Linux nobody can be listed, and the group is all.
		left, err := supervise.ListMarked(marker)
		if err != nil || len(left) == 0 {
			return
		}
		for _, p := range left {
			if proc, err := os.FindProcess(p.PID); err == nil {
				_ = proc.Kill() // it may have ended by itself
			}
		}
	}
}

func (c *command) printed() string { return c.out.text() }

// tail keeps the end of what is written.
type tail struct {
	limit int
	mu    sync.Mutex
	data  []byte
	last  time.Time // when something came
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	t.data = append(t.data, p...)
	if len(t.data) > 2*t.limit {
		t.data = append(t.data[:0], t.data[len(t.data)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data[max(0, len(t.data)-t.limit):])
}
