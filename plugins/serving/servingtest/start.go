package servingtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Process is a server that a test started from a plan, as the host does.
type Process struct {
	Cmd   *exec.Cmd
	Plan  core.Plan
	Log   string
	Ended chan struct{} // closed when it was reaped
}

// FreePort is one that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it only found a port
	return l.Addr().(*net.TCPAddr).Port
}

// Start plans a configuration and starts its process, which is ended with the
// test.
func Start(t testing.TB, engine core.Engine, req core.PlanRequest) *Process {
	t.Helper()
	req.Host, req.Port, req.WorkDir = "127.0.0.1", FreePort(t), t.TempDir()
	plan, err := engine.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return StartPlan(t, plan, req.WorkDir)
}

// StartPlan writes the files of a plan into a folder and starts its process.
func StartPlan(t testing.TB, plan core.Plan, dir string) *Process {
	t.Helper()
	process := plan.Processes[0]
	for _, f := range process.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &Process{Plan: plan, Log: filepath.Join(dir, "server.log"), Ended: make(chan struct{})}
	log, err := os.Create(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process holds it
	p.Cmd = exec.Command(process.Argv[0], process.Argv[1:]...)
	p.Cmd.Stdout, p.Cmd.Stderr, p.Cmd.Dir = log, log, dir
	p.Cmd.Env = os.Environ()
	for name, value := range process.Env {
		p.Cmd.Env = append(p.Cmd.Env, name+"="+value)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.Ended)
		// The status is read from ProcessState.
		_ = p.Cmd.Wait()
	}()
	t.Cleanup(func() {
		// Politely first, so that it ends its workers.
		_ = p.Cmd.Process.Signal(os.Interrupt)
		select {
		case <-p.Ended:
		case <-time.After(2 * time.Second):
			_ = p.Cmd.Process.Kill()
			<-p.Ended
		}
	})
	return p
}

// killTree ends a server that heeds no signal, with its workers.
func (p *Process) killTree() {
	for _, pid := range append(childrenOf(p.Cmd.Process.Pid), p.Cmd.Process.Pid) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill() // one that has ended is no matter
		}
	}
	<-p.Ended
}

// Request is what the host hands to Launch.
func (p *Process) Request() core.LaunchRequest {
	return core.LaunchRequest{Plan: p.Plan, PIDs: []int{p.Cmd.Process.Pid}, LogPath: p.Log}
}

// LogText is the whole log so far.
func (p *Process) LogText(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ExitCode waits for the end: 128+n for a signal, as the host tells it.
func (p *Process) ExitCode(t testing.TB) int {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not end")
	}
	if code := p.Cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 128 + signalOf(p.Cmd.ProcessState)
}

// Launch brings the fake of an engine to ready, as [Behaviour] does.
func Launch(t testing.TB, engine core.Engine, name string) core.Ready {
	t.Helper()
	p := Start(t, engine, core.PlanRequest{
		Config: core.Config{Engine: name, Checkpoint: testModel, CommandKnown: true},
		Origin: core.Origin{Cmd: os.Args[0] + " fake-" + name},
	})
	ready, err := engine.Launch(t.Context(), p.Request(), nil)
	if err != nil {
		t.Fatalf("%v; log:\n%s", err, p.LogText(t))
	}
	return ready
}

// WantKnobs compares settings and reports each that differs.
func WantKnobs(t testing.TB, want, got core.Knobs) {
	t.Helper()
	for _, name := range want.Names() {
		if got[name] != want[name] {
			t.Errorf("%s: %v, want %v", name, got[name], want[name])
		}
	}
	for _, name := range got.Names() {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %v was not expected", name, got[name])
		}
	}
}
