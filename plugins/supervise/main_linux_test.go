package supervise_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// markerKey is one of our own, so that a check for leftovers sees the processes
// of this test binary and of nobody else.
const markerKey = "SUPERVISE_TEST_LAUNCH"

// TestMain makes one binary of four: the tests, the shim, a server with the
// habits of real ones, and a core that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			exit(supervise.ShimMain(os.Args[2:]))
		case "server":
			exit(serve(os.Args[2:]))
		case "core":
			exit(runCore())
		case "reap":
			exit(runReap())
		}
	}
	code := m.Run()
	left, err := supervise.ListMarked(markerKey + "=")
	if err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests left processes behind: %v %v\n", left, err)
		code = 1
	}
	os.Exit(code)
}

// exit leaves without the second that the race detector waits at each end.
func exit(code int) { syscall.Exit(code) }

// serve is the server. Its first argument says which habit it has; a line
// "ready <who> <pid> <start>" on stdout says that a process has come so far.
func serve(args []string) int {
	habit := args[0]
	switch habit {
	case "exit":
		code, _ := strconv.Atoi(args[1])
		fmt.Println("leaving with", code)
		return code
	case "signal":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "environ":
		fmt.Printf("%q\n", os.Environ())
		return 0
	case "limits":
		var core syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_CORE, &core)
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, 1, syscall.F_GETFL, 0)
		entries, _ := os.ReadDir("/proc/self/fd")
		pipes := map[string]bool{}
		for _, e := range entries {
			if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(link, "pipe:") {
				pipes[link] = true
			}
		}
		fmt.Printf("core=%d/%d nonblock=%t pipes=%d intignored=%t\n", core.Cur, core.Max,
			flags&syscall.O_NONBLOCK != 0, len(pipes), signal.Ignored(syscall.SIGINT) || signal.Ignored(syscall.SIGPIPE))
		return 0
	case "spam":
		return spam(args[1])
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 1
		}
		fmt.Println("port", l.Addr().(*net.TCPAddr).Port)
		time.Sleep(time.Minute)
	case "sleep":
		ready("sleeper")
		time.Sleep(time.Minute)
	case "stubborn": // ignores what can be ignored
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		ready("stubborn")
		time.Sleep(time.Minute)
	case "counter": // ends a little after the first TERM, counting
		terms := make(chan os.Signal, 10)
		signal.Notify(terms, syscall.SIGTERM)
		ready("counter")
		<-terms
		time.Sleep(100 * time.Millisecond)
		fmt.Println("terms:", 1+len(terms))
	case "shy": // hides its environment, as setproctitle does
		hideEnvironment()
		ready("shy")
		time.Sleep(time.Minute)
	case "orderly": // ends its worker itself, in an order of its own
		terms := make(chan os.Signal, 10)
		signal.Notify(terms, syscall.SIGTERM)
		child("worker", true)
		ready("leader")
		<-terms
		time.Sleep(300 * time.Millisecond)
		fmt.Println("leader leaves")
	case "worker": // says when it is asked to end
		terms := make(chan os.Signal, 10)
		signal.Notify(terms, syscall.SIGTERM)
		ready("worker")
		<-terms
		fmt.Println("worker was asked")
	case "daemon": // the middle of a double fork
		child("sleep", true)
		return 0
	case "tree": // a server whose processes flee in every way
		child("sleep", true)
		child("daemon", true)
		child("stubborn", false)
		child("shy", true)
		if len(args) > 1 && args[1] == "leader-exits" {
			time.Sleep(300 * time.Millisecond)
			return 7
		}
		ready("leader")
		time.Sleep(time.Minute)
	case "storm": // every child replaces itself and adds another
		generation, _ := strconv.Atoi(args[1])
		fmt.Println("generation", generation)
		signal.Ignore(syscall.SIGTERM)
		next := strconv.Itoa(generation + 1)
		child2("storm", next, generation%2 == 0)
		if generation < 3 {
			child2("storm", next, generation%2 == 1)
		}
		if generation == 0 {
			time.Sleep(time.Minute)
		}
		return 0
	}
	return 0
}

func ready(who string) {
	p, _ := supervise.ReadProc(os.Getpid())
	fmt.Printf("ready %s %d %d\n", who, p.PID, p.Start)
}

func child(habit string, session bool) { child2(habit, "", session) }

func child2(habit, arg string, session bool) {
	cmd := exec.Command("/proc/self/exe", "server", habit, arg)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := cmd.Start(); err != nil {
		fmt.Println("child:", err)
	}
}

// hideEnvironment overwrites the memory that /proc/PID/environ shows.
func hideEnvironment() {
	stat, _ := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	from, _ := strconv.ParseUint(fields[47], 10, 64)
	to, _ := strconv.ParseUint(fields[48], 10, 64)
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		fmt.Println("hide:", err)
		return
	}
	defer mem.Close()
	mem.WriteAt(make([]byte, to-from), int64(from))
}

// spam writes as many bytes as it is told and says on a file how long it took.
func spam(size string) int {
	n, _ := strconv.Atoi(size)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	start := time.Now()
	line := strings.Repeat("x", 89)
	for i := 0; n > 0; i++ {
		m, _ := fmt.Fprintf(out, "%010d%s\n", i, line)
		n -= m
	}
	fmt.Fprintf(out, "last line\n")
	out.Flush()
	if path := os.Getenv("SPAM_TOOK"); path != "" {
		os.WriteFile(path, []byte(time.Since(start).String()), 0o644)
	}
	return 0
}

// runCore is a run that can be killed: it starts the spec on its first line of
// stdin, prints the handle, and then does what the next lines say.
func runCore() int {
	lines := bufio.NewReader(os.Stdin)
	var spec supervise.Spec
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &spec)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := supervise.Start(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	json.NewEncoder(os.Stdout).Encode(p.Handle())
	if line, err = lines.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	switch order := strings.TrimSpace(string(line)); order {
	case "wait":
		<-p.Done()
	default:
		grace, _ := time.ParseDuration(order)
		if err := p.Stop(context.Background(), grace); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	json.NewEncoder(os.Stdout).Encode(p.Outcome())
	return 0
}

// runReap reaps the handles on stdin.
func runReap() int {
	var handles []supervise.Handle
	if err := json.NewDecoder(os.Stdin).Decode(&handles); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reaped, err := supervise.Reap(ctx, handles, markerKey+"=")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	json.NewEncoder(os.Stdout).Encode(reaped)
	return 0
}
