package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core/progress"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/store"
)

// readyFlag names the file descriptor on which a detached run says that it has
// begun. It is no flag for people.
const readyFlag = "ready-fd"

// runFiles are where the run of a study tells of itself.
func runFiles(history, study string) progress.Files {
	return progress.FilesOf(history, study, store.StudyKey(study))
}

// detach starts the run again in a session of its own and waits until it holds the
// study. Whatever keeps it from that is said here, as if it had run here; and who wants
// to end meanwhile ends it, which no terminal reaches.
func (a *app) detach(ctx context.Context, cmd *cli.Command, file *study.File) error {
	path, _, err := a.databasePath(cmd)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	files := runFiles(path, file.Study.Name)
	if err := os.MkdirAll(filepath.Dir(files.Log), 0o700); err != nil {
		return fmt.Errorf("log of the run: %w", err)
	}
	// Another run may hold the study: its log is replaced only once this one does.
	log, err := os.CreateTemp(filepath.Dir(files.Log), ".log-*")
	if err != nil {
		return fmt.Errorf("log of the run: %w", err)
	}
	defer func() { _ = os.Remove(log.Name()) }() // renamed by then, where all went well
	defer func() { _ = log.Close() }()           // the run has it open itself
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = ready.Close() }() // only read
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		program = "/proc/self/exe" // the very program, also where an upgrade has replaced its file
	}
	run := exec.Command(program, detachedArgs(cmd, path)...)
	run.Args[0] = "sweepbook"
	run.Stdout, run.Stderr = log, log
	run.ExtraFiles = []*os.File{theirs}
	ownSession(run)
	err = run.Start()
	_ = theirs.Close() // so that only the run keeps the pipe open
	if err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	waiting := &detached{app: a, run: run, log: log}
	begun, asked := waiting.begin(ctx, ready)
	if !begun {
		return waiting.end()
	}
	if err := os.Rename(log.Name(), files.Log); err != nil {
		a.warn("log of the run: %v", err)
	}
	pid := run.Process.Pid
	_ = run.Process.Release() // it goes on without us
	if cmd.String("output") == "table" {
		err = pairs(a.stdout, [][2]string{{"study", file.Study.Name}, {"pid", fmt.Sprint(pid)}, {"log", files.Log}})
	} else {
		err = a.table(cmd, textTable([]string{"study", "pid", "log"}, [][]string{{file.Study.Name, fmt.Sprint(pid), files.Log}}))
	}
	name := shellWord(file.Study.Name)
	sb := self(cmd)
	if asked {
		a.say("it had begun when it was asked to end: it ends after the trial in progress")
		a.hint(sb + " attach " + name + " follows it to its end")
		return quietError{exitInterrupted}
	}
	a.hint(sb + " attach " + name + " follows it; " + sb + " stop " + name + " ends it after the trial in progress; " + sb + " status shows all")
	return err
}

// detachedArgs is the command line of the run itself.
func detachedArgs(cmd *cli.Command, path string) []string {
	args := []string{"--db", path, "--output", cmd.String("output"), "--log-level", cmd.String("log-level"), cmd.Name,
		"--progress", tellPlain, "--" + readyFlag, "3"} // the first of the files that a process is given beyond the three
	if cmd.Bool("no-prefetch") {
		args = append(args, "--no-prefetch")
	}
	return append(append(args, "--"), cmd.Args().Slice()...)
}

// detached is a run in a session of its own that has not begun yet.
type detached struct {
	app *app
	run *exec.Cmd
	log *os.File // what it prints

	told int64 // how much of the log was relayed
}

// relayEvery is how long a run may take to begin before what it says is relayed, and
// how often from then on.
const relayEvery = time.Second

// begin waits until the run has begun, or ends without. The end of the context asks
// it to end, and a further signal ends it: it has launched nothing yet.
func (d *detached) begin(ctx context.Context, ready *os.File) (begun, asked bool) {
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(ready).ReadString('\n') // none where it ended
		said <- line
	}()
	relay := time.NewTicker(relayEvery)
	defer relay.Stop()
	again := make(chan os.Signal, 2)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	stop, signals := ctx.Done(), 0
	for {
		select {
		case line := <-said:
			return line != "", asked
		case <-relay.C:
			d.relay()
		case <-stop:
			stop, asked = nil, true
			_ = d.run.Process.Signal(os.Interrupt) // it may have ended by itself
		case <-again:
			// The first signal is the one that ended the context.
			if signals++; signals > 1 {
				_ = d.run.Process.Kill()
			}
		}
	}
}

// relay passes on what the run has said since the last time.
//
// Note: the run writes where the file that it shares with us stands, so that we must
// not move it by reading.
func (d *detached) relay() {
	said, err := io.ReadAll(io.NewSectionReader(d.log, d.told, math.MaxInt64-d.told))
	if err != nil {
		d.app.warn("log of the run: %v", err)
	}
	d.told += int64(len(said))
	if text := strings.TrimRight(string(said), "\n"); text != "" {
		d.app.say("%s", text)
	}
}

// end passes on the end of a run that did not come to begin.
func (d *detached) end() error {
	err := d.run.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("detach: %w", err)
	}
	d.relay()
	return quietError{max(exitError, exitCodeOf(d.run.ProcessState))}
}

// starter waits for a detached run to begin; the zero value is nobody.
type starter struct{ pipe *os.File }

func startedBy(cmd *cli.Command) starter {
	if fd := cmd.Int(readyFlag); fd > 2 {
		return starter{inherited(fd)}
	}
	return starter{}
}

func (s starter) ready() {
	if s.pipe != nil {
		_, _ = s.pipe.WriteString("ready\n") // whoever started it may be gone
	}
	s.close()
}

func (s starter) close() {
	if s.pipe != nil {
		_ = s.pipe.Close() // a second time, as a rule
	}
}
