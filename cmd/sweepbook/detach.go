package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

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
// study. Whatever keeps it from that is said here, as if it had run here.
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
	if said, _ := bufio.NewReader(ready).ReadString('\n'); said == "" {
		return a.relay(run, log.Name())
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

// relay passes on the end of a run that did not come to begin.
func (a *app) relay(run *exec.Cmd, log string) error {
	err := run.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("detach: %w", err)
	}
	said, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("detach: %w", err)
	}
	a.say("%s", strings.TrimRight(string(said), "\n"))
	return quietError{max(exitError, exitCodeOf(run.ProcessState))}
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
