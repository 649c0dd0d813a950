package plugins

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

var _ runner.Runner = (*process)(nil)

// A process is one plugin process. It takes the place of go-plugin's own runner,
// which gives a plugin the user's terminal as standard input, kills one process
// and not its group, waits for ever while a grandchild holds an output pipe, and
// follows a plugin to whatever address it names.
type process struct {
	cmd       *exec.Cmd
	log       *pluginLog
	socketDir string // known when go-plugin asks for the runner

	lifeline *os.File // closed when the host wants the plugin gone, or is gone itself
	stdout   *os.File
	stderr   *os.File
	greeted  *io.PipeReader // what go-plugin reads: the handshake line alone
	greeter  *io.PipeWriter
	readers  sync.WaitGroup
	ended    chan struct{} // closed when the process is reaped
	exited   chan struct{} // closed when its output is read, too

	mu      sync.Mutex
	pid     int
	doomed  bool // killed, perhaps before it started
	reaped  bool
	wait    error
	problem error // why there was no handshake
	hello   greeting
}

func newProcess(cmd *exec.Cmd, log *pluginLog) *process {
	p := &process{cmd: cmd, log: log, ended: make(chan struct{}), exited: make(chan struct{})}
	p.greeted, p.greeter = io.Pipe()
	return p
}

// Start implements runner.Runner.
func (p *process) Start(context.Context) error {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	pipe := func(plugin **os.File, host **os.File, pluginReads bool) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if *plugin, *host = w, r; pluginReads {
			*plugin, *host = r, w
		}
		theirs = append(theirs, *plugin)
		return nil
	}
	var in, out, errOut *os.File
	err := errors.Join(pipe(&in, &p.lifeline, true), pipe(&out, &p.stdout, false), pipe(&errOut, &p.stderr, false))
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errOut
		p.cmd.SysProcAttr = ownGroup()
		err = p.begin()
	}
	if err != nil {
		for _, f := range []*os.File{p.lifeline, p.stdout, p.stderr} {
			_ = f.Close() // nil files say so, which is fine
		}
		p.mu.Lock()
		p.problem = err
		p.mu.Unlock()
		return err
	}
	p.readers.Go(p.readStdout)
	p.readers.Go(func() { p.log.follow(p.stderr, "stderr") })
	go p.reap()
	return nil
}

// begin starts the program, unless kill came first. The lock is not held over the
// start, which can take long where a file system hangs.
func (p *process) begin() error {
	p.mu.Lock()
	doomed := p.doomed
	p.mu.Unlock()
	if doomed {
		return errors.New("given up before the start")
	}
	if err := p.cmd.Start(); err != nil {
		return notStarted(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = p.cmd.Process.Pid
	if p.doomed {
		killGroup(p.cmd.Process)
	}
	return nil
}

// ErrNotExecutable says that the system cannot run the file at all.
var ErrNotExecutable = errors.New("not executable here")

func notStarted(err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: it was built for another system or processor, or is a script without #! in its first line: %w", ErrNotExecutable, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: it is not executable, or lies on a file system that is mounted noexec (a pinned plugin is copied to the folder for temporary files: set TMPDIR to another): %w", ErrNotExecutable, err)
	}
	return err
}

// readStdout passes the first line on if it is a handshake and logs the rest.
func (p *process) readStdout() {
	in := bufio.NewReaderSize(p.stdout, 16<<10)
	line, rest, err := shortLine(in, maxHandshake)
	if len(line) > 0 || err == nil {
		if rest > 0 {
			line = append(line, "…"...)
		}
		hello, problem := parseGreeting(string(line), p.socketDir)
		p.mu.Lock()
		p.hello, p.problem = hello, problem
		p.mu.Unlock()
		if problem == nil {
			_, _ = p.greeter.Write(append(line, '\n'))
		}
	} else {
		p.silent()
	}
	_ = p.greeter.Close()
	p.log.follow(in, "stdout")
}

// silent tells a plugin that ended without a word, which is explained by its exit
// status, from one that closed its standard output and lives on.
func (p *process) silent() {
	select {
	case <-p.ended:
	case <-time.After(leftover):
		p.mu.Lock()
		p.problem = errors.New("closed its standard output without a handshake")
		p.mu.Unlock()
	}
}

// leftover is how long the output of a dead plugin is read: a process that left
// its group may hold the pipes for ever.
const leftover = 250 * time.Millisecond

// reap waits for the process, kills what it leaves in its group, and collects its
// last words.
func (p *process) reap() {
	p.waitAndSweep()
	close(p.ended)
	_ = p.stdout.SetReadDeadline(time.Now().Add(leftover))
	_ = p.stderr.SetReadDeadline(time.Now().Add(leftover))
	_ = p.greeted.Close() // frees readStdout where go-plugin never read
	p.readers.Wait()
	p.log.end()
	for _, f := range []*os.File{p.lifeline, p.stdout, p.stderr} {
		_ = f.Close()
	}
	close(p.exited)
}

// kill ends the process and its group at once. It may be called at any time.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doomed = true
	if p.pid != 0 && !p.reaped {
		killGroup(p.cmd.Process)
	}
}

// hangUp ends the plugin's lifeline, as the death of the host would.
func (p *process) hangUp() {
	if p.processID() != 0 {
		_ = p.lifeline.Close()
	}
}

// epitaph says how the process ended and the best reason that is known.
func (p *process) epitaph() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		return "still ending"
	}
	var exit *exec.ExitError
	end := "exit status 0"
	if errors.As(p.wait, &exit) {
		end = exit.String()
	} else if p.wait != nil {
		end = p.wait.Error()
	}
	panicked, last := p.log.lastWords()
	switch {
	case panicked != "":
		return fmt.Sprintf("%s: %s", end, clip(panicked, 400))
	case last != "":
		return fmt.Sprintf("%s (its last line: %s)", end, clip(last, 400))
	}
	return end
}

// refused returns why the handshake failed, in our words; nil when it is not
// known or there was one.
func (p *process) refused() error {
	p.mu.Lock()
	problem, greeted := p.problem, p.hello != (greeting{})
	p.mu.Unlock()
	if problem != nil || greeted {
		return problem
	}
	select {
	case <-p.exited: // not merely reaped: its last words are read by now
		return fmt.Errorf("exited before the handshake: %s", p.epitaph())
	default:
		return nil
	}
}

func (p *process) greetedYet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hello != (greeting{})
}

func (p *process) processID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

func (p *process) secured() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hello.tls
}

// ownSocket refuses a plugin whose socket is something else, a link above all: the
// host would speak to whatever listens at its other end.
func (p *process) ownSocket() error {
	p.mu.Lock()
	hello := p.hello
	p.mu.Unlock()
	if hello.network != "unix" {
		return nil
	}
	stat, err := os.Lstat(hello.address)
	if err == nil && stat.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("handshake names %q, which is no socket: a plugin must listen there itself", clip(clean(hello.address), 200))
	}
	return nil // one that is not there yet is waited for
}

// Wait implements runner.Runner.
func (p *process) Wait(context.Context) error {
	<-p.exited
	return p.wait
}

// Kill implements runner.Runner.
func (p *process) Kill(context.Context) error { p.kill(); return nil }

// Diagnose implements runner.Runner. Our own errors say more.
func (p *process) Diagnose(context.Context) string { return "" }

// Stdout implements runner.Runner.
func (p *process) Stdout() io.ReadCloser { return p.greeted }

// Stderr implements runner.Runner: nothing, because pluginLog reads the stream.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements runner.Runner.
func (p *process) Name() string { return p.cmd.Path }

// ID implements runner.Runner: the process id, empty before the start.
func (p *process) ID() string {
	if pid := p.processID(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}

// PluginToHost implements runner.Runner. go-plugin asks it for every address that
// a plugin names.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	if err := (greeting{network: network, address: address, tls: p.secured()}).check(p.socketDir); err != nil {
		return "", "", err
	}
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
