// Package servingtest holds executables that behave like the command lines of real
// serving engines, for tests without a GPU: flags and usage errors, log lines of
// the same shape, workers under other names, a port that opens when the engine
// would open it, failures with the engine's exit status. A test binary becomes one
// of them through [Main].
//
// It also reads the serve commands out of the tuning documents, where those are at
// hand, and starts a plan the way the host does.
package servingtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Fake is one engine's executable.
type Fake struct {
	Engine  string // of its knob table
	Program string // in usage errors
	Click   bool   // usage errors as click words them, else as argparse does
	// Model is the flag of the model; "" is a bare word.
	Model string
	// Extra are flags beside the knob table that it takes.
	Extra []string
	// Loading and Loaded are what it logs before and after its weights are there;
	// Ready once it answers. %s is the model.
	Loading, Loaded, Ready []string
	// Workers are the names of its further processes.
	Workers []string
	// Early says that it listens before it is warm, with /health at 503.
	Early bool
	// Wrapper is what it logs last when a worker failed.
	Wrapper []string
	// FailedExit is its exit status then; 137 ends the whole tree by SIGKILL.
	FailedExit int
	// TermExit is its exit status after SIGTERM.
	TermExit int
	// Tail follows the JSON of each streamed chunk.
	Tail string
	// Info is what GET Path answers beside the usual ones.
	Info map[string]string
}

// FaultEnv names the variable that chooses what goes wrong.
const FaultEnv = "SERVINGTEST_FAULT"

// The faults. "log:" and a text logs it and fails like a worker that died; "hang:"
// and a text logs it and stays up for ever; "slow:" and a duration loads so long;
// "work:" and a text logs it with every request.
const (
	NeverReady  = "never-ready"  // loads for ever, in silence
	SlowBar     = "slow-bar"     // loads under a progress bar that never ends its line
	PortTaken   = "port-taken"   // finds its port taken
	Answers500  = "answers-500"  // healthy, but no completion works
	WrapperOnly = "wrapper-only" // dies without a cause
	OtherModel  = "other-model"  // serves another model
	Stubborn    = "stubborn"     // ignores every signal that can be ignored, as do its workers
	Stalls      = "stalls"       // streams one token after its first answer, then nothing; and is stubborn
	Broken      = "broken"       // answers its first request, and every later one with status 500
)

// PaceEnv names the variable with the time between two tokens of an answer, "2ms"; a
// test that wants to come in between sets it.
const PaceEnv = "SERVINGTEST_PACE"

// fakeWorker is the hidden argument of a worker process.
const fakeWorker = "servingtest-worker"

// workerLife bounds a worker, so that a test that forgets one leaves nothing.
const workerLife = 2 * time.Minute

// Main is the process of a fake. It reports false when the arguments, without the
// executable's own name, ask for no fake: "fake-vllm" and the server's arguments.
func Main(args []string, fakes ...Fake) (code int, ok bool) {
	if len(args) > 0 && args[0] == fakeWorker {
		if len(args) > 1 {
			signal.Ignore(syscall.SIGTERM, os.Interrupt)
		}
		time.Sleep(workerLife)
		return 0, true
	}
	for _, f := range fakes {
		if len(args) > 0 && args[0] == "fake-"+f.Engine {
			return f.run(args[1:], os.Stdout, os.Stderr), true
		}
	}
	return 0, false
}

func (f Fake) flags() map[string]core.EngineFlag {
	known := map[string]core.EngineFlag{"--host": {}, "--port": {}, "--revision": {}}
	if f.Model != "" {
		known[f.Model] = core.EngineFlag{}
	}
	for _, flag := range f.Extra {
		known[flag] = core.EngineFlag{}
	}
	for _, flag := range core.EngineFlags(f.Engine) {
		if flag.Flag != "" {
			known[flag.Flag] = flag
		}
		if flag.Off != "" {
			known[flag.Off] = flag
		}
	}
	return known
}

type settings struct{ model, host, port string }

// parse reads the command line as the engine's parser would.
func (f Fake) parse(args []string) (settings, error) {
	s := settings{}
	known := f.flags()
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(flag, "-") {
			if s.model != "" || f.Model != "" {
				return s, f.usage(args[i])
			}
			s.model = args[i]
			continue
		}
		spec, ok := known[flag]
		if !ok {
			return s, f.usage(flag)
		}
		if spec.Kind == core.SwitchFlag {
			continue
		}
		if !joined {
			for i+1 < len(args) && (!strings.HasPrefix(args[i+1], "-") || strings.Trim(args[i+1], "-0123456789") == "") {
				i++
				value = args[i]
				if spec.Kind != core.ListFlag {
					break
				}
			}
		}
		switch flag {
		case "--host":
			s.host = value
		case "--port":
			s.port = value
		case f.Model:
			s.model = value
		}
	}
	return s, nil
}

func (f Fake) usage(flag string) error {
	if f.Click {
		return fmt.Errorf("Usage: %s [OPTIONS] MODEL\nTry '%s --help' for help.\n\nError: No such option: %s", f.Program, f.Program, flag) //nolint:staticcheck // click's own wording
	}
	return fmt.Errorf("usage: %s [options]\n%s: error: unrecognized arguments: %s", f.Program, f.Program, flag)
}

// Help is what the executable prints for --help.
func (f Fake) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [options]\n\noptions:\n  -h, --help            show this and exit\n", f.Program)
	known := f.flags()
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "--no-") {
			continue
		}
		line := "  " + name
		if off := known[name].Off; off != "" {
			line += ", " + off
		} else if known[name].Kind != core.SwitchFlag {
			line += " " + strings.ToUpper(core.SnakeKnob(name))
		}
		fmt.Fprintf(&b, "%s\n                        %s\n", line, "see also --made-up-elsewhere")
	}
	return b.String()
}

func (f Fake) run(args []string, stdout, stderr io.Writer) int {
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--help") }) {
		fmt.Fprint(stdout, f.Help())
		return 0
	}
	s, err := f.parse(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	log := func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintln(stderr, strings.ReplaceAll(line, "%s", s.model))
		}
	}
	fault := os.Getenv(FaultEnv)
	terms := make(chan os.Signal, 1)
	stubborn := fault == Stubborn || fault == Stalls
	if stubborn {
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
	} else {
		signal.Notify(terms, syscall.SIGTERM, os.Interrupt)
	}
	address := net.JoinHostPort(s.host, s.port)

	workers, err := f.startWorkers(stubborn)
	defer end(workers)
	if err != nil {
		log("cannot start workers: " + err.Error())
		return 1
	}
	log(f.Loading...)
	switch {
	case fault == NeverReady:
		<-terms
		return f.TermExit
	case strings.HasPrefix(fault, "hang:"):
		log(strings.TrimPrefix(fault, "hang:"))
		<-terms
		return f.TermExit
	case fault == SlowBar:
		return bar(stderr, terms)
	case fault == PortTaken:
		log(fmt.Sprintf("OSError: [Errno 98] error while attempting to bind on address ('%s', %s): address already in use", s.host, s.port))
		return 1
	case fault == WrapperOnly:
		return f.fail(workers, log)
	case strings.HasPrefix(fault, "log:"):
		log(strings.TrimPrefix(fault, "log:"))
		return f.fail(workers, log)
	}
	if !load(fault, terms) {
		return f.TermExit
	}
	log(f.Loaded...)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log("OSError: [Errno 98] Address already in use: " + address)
		return 1
	}
	model := s.model
	if fault == OtherModel {
		model = "other/model"
	}
	web := f.serve(listener, model, fault, log)
	log(f.Ready...)
	<-terms
	_ = web.Close()
	return f.TermExit
}

// load takes its time; false when it was ended in the middle of it.
func load(fault string, terms <-chan os.Signal) bool {
	d := 30 * time.Millisecond
	if text, slow := strings.CutPrefix(fault, "slow:"); slow {
		if given, err := time.ParseDuration(text); err == nil {
			d = given
		}
	}
	select {
	case <-time.After(d):
		return true
	case <-terms:
		return false
	}
}

// bar draws a progress bar that never ends its line.
func bar(w io.Writer, terms <-chan os.Signal) int {
	for done := 0; ; done++ {
		fmt.Fprintf(w, "\rDeepGEMM warm-up: %3d%%", done%100)
		select {
		case <-terms:
			return 0
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// fail ends as the engine does when a worker has died.
func (f Fake) fail(workers []*exec.Cmd, log func(...string)) int {
	log(f.Wrapper...)
	if f.FailedExit == 137 {
		end(workers)
		kill()
	}
	return f.FailedExit
}

// startWorkers starts the engine's further processes under their own names.
func (f Fake) startWorkers(stubborn bool) ([]*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var workers []*exec.Cmd
	for _, name := range f.Workers {
		cmd := exec.Command(exe, fakeWorker)
		if stubborn {
			cmd.Args = append(cmd.Args, "stubborn")
		}
		cmd.Args[0] = name
		if err := cmd.Start(); err != nil {
			return workers, err
		}
		workers = append(workers, cmd)
	}
	return workers, nil
}

// end ends the workers as an orderly stop does.
func end(workers []*exec.Cmd) {
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() {
			_ = w.Process.Kill()
			// That it was killed is what was wanted.
			_ = w.Wait()
		})
	}
	group.Wait()
}

// kill ends this process as SIGKILL does.
func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	time.Sleep(time.Second)
}
