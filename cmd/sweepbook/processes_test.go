//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// runProcesses lists processes of this script: those whose working folder or
// environment lies in its private folder, and their children.
func runProcesses(ts *testscript.TestScript) map[int]string {
	work := ts.Getenv("WORK")
	out := map[int]string{}
	parent := map[int]int{}
	command := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(cmdline) == 0 || pid == os.Getpid() {
			continue
		}
		command[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && len(strings.Fields(rest)) > 1 {
			parent[pid], _ = strconv.Atoi(strings.Fields(rest)[1])
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		// A script may bear a name with which that of another begins.
		if homeIn(string(environ), work) || strings.HasPrefix(cwd+"/", work+"/") {
			out[pid] = command[pid]
		}
	}
	for pid, text := range command {
		if _, ours := out[parent[pid]]; ours {
			out[pid] = text
		}
	}
	return out
}

// noProcess waits until nothing of this script runs any more.
func noProcess(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(15 * time.Second)
	for {
		left := runProcesses(ts)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %v", left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// signalProcess sends a signal to the one process of this script whose command
// line contains a word and not another: signal KILL engine-serve
func signalProcess(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	if len(args) < 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal KILL|INT|TERM|HUP|STOP|CONT WORD [NOT]")
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		for pid, text := range runProcesses(ts) {
			if strings.Contains(text, args[1]) && (len(args) == 2 || !strings.Contains(text, args[2])) {
				ts.Check(syscall.Kill(pid, signals[args[0]]))
				ts.Logf("%s to %d: %s", args[0], pid, text)
				// Two signals of one kind in a row would be one.
				time.Sleep(300 * time.Millisecond)
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("no process with %q: %v", args[1], runProcesses(ts))
}

// waitFor polls a question until it answers at least so many rows:
// waitfor a.db 2 'show number where status == "ok"'
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: waitfor DB ROWS QUESTION")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	patience := time.Minute
	if underRace {
		patience = 5 * time.Minute
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		// A question that finds no trial yet ends with exit code 3, which is no
		// fault here.
		_ = ts.Exec("sweepbook", "--db", args[0], "--output", "csv", "query", args[2])
		data := ts.ReadFile("stdout")
		if strings.Count(data, "\n")-1 >= want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("not answered in time: %s", fmt.Sprint(args))
}

// exitCode runs a command and checks its exit code: exitcode 2 sweepbook list --x
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND ...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// awaitServer waits until a server answers: serving http://127.0.0.1:$PORT
func awaitServer(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: serving URL")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(args[0] + "/v1/models")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("no answer from %s", args[0])
}

// awaitFile waits until a background command has made a file: awaitfile started
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: awaitfile FILE")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("no file %s", args[0])
}

// freePort sets a variable to a port that nobody listens on: freeport PORT
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: freeport VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
}

// awaitRunning waits until a process of this script has a word in its command line
// and has had a moment to begin: awaitrunning attach
func awaitRunning(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: awaitrunning WORD")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, text := range runProcesses(ts) {
			if strings.Contains(text, args[0]) && !strings.Contains(text, "sh -c") {
				time.Sleep(time.Second)
				return
			}
		}
	}
	ts.Fatalf("no process with %q", args[0])
}

// homeIn tells whether the HOME of an environment is a folder or lies in it.
func homeIn(environ, dir string) bool {
	_, home, found := strings.Cut("\x00"+environ, "\x00HOME=")
	home, _, _ = strings.Cut(home, "\x00")
	return found && strings.HasPrefix(home+"/", dir+"/")
}
