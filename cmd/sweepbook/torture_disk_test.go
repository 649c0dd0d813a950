//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

// TestRunOnBadDisk runs a study while the disk under its history misbehaves, by
// strace, and resumes it: a full disk is waited for, also when somebody ends the
// waiting; a disk that fails ends the run; and whatever was acknowledged is there
// once, nothing measured is lost, and no measurement is made twice.
func TestRunOnBadDisk(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here (Debian: apt-get install strace)")
	}
	if out, err := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %s", out)
	}
	k := newTorturer(t, 1)
	k.use(k.settings[0])
	engine := servingtest.Fakes()[0].Engine
	for _, c := range []struct {
		name, call, inject string
		code               int
		says               string    // by the run under the fault
		then               string    // by the one that resumes
		act                badEnding // once the run has said so
	}{
		{"full for a while", "pwrite64", "error=ENOSPC", 0, "waiting to record", "", mended},
		{"full until the end", "pwrite64", "error=ENOSPC", exitInterrupted, "waiting to record", "recorded trial", interrupted},
		{"fails when it syncs", "fdatasync", "error=EIO", exitError, "the disk fails", "recorded trial", leftAlone},
		{"fails when it writes", "pwrite64", "error=EIO", exitError, "the disk fails", "recorded trial", leftAlone},
		{"killed when it syncs", "fdatasync", "signal=SIGKILL", -1, "", "cut off", leftAlone},
		{"killed when it writes", "pwrite64", "signal=SIGKILL", -1, "", "cut off", leftAlone},
	} {
		name := strings.ReplaceAll(c.name, " ", "-")
		k.write(name+".yaml", strings.Replace(fmt.Sprintf(tortureStudy+secondStage, name, engine, engine, engine), "requests: 4", "requests: 60", 1))
		r := k.start("run", name+".yaml")
		k.awaitTrial(r, name)
		db := filepath.Join(k.dir, "history.db")
		fault := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-p", strconv.Itoa(r.cmd.Process.Pid), "-P", db, "-P", db+"-wal",
			"-e", "trace="+c.call, "-e", "inject="+c.call+":"+c.inject)
		if err := fault.Start(); err != nil {
			t.Fatal(err)
		}
		if c.says != "" {
			k.await(r, c.says)
		}
		switch c.act {
		case mended:
			time.Sleep(time.Second)
			_ = fault.Process.Signal(syscall.SIGINT) // it lets go of the run
		case interrupted:
			for range 2 {
				_ = r.cmd.Process.Signal(syscall.SIGINT)
				time.Sleep(300 * time.Millisecond) // two at once would be one
			}
		}
		code, text := r.wait(t)
		_ = fault.Process.Signal(syscall.SIGINT)
		_ = fault.Wait() // it ends by a signal
		if code != c.code || !strings.Contains(text, c.says) || c.says != "" && !strings.Contains(text, db) {
			t.Errorf("%s: code %d, want %d with %q and the name of the file:\n%s", name, code, c.code, c.says, text)
		}
		k.gone(name)
		told := []string{text}
		if code != 0 {
			code, text = k.start("run", name+".yaml").wait(t)
			if code != 0 || !strings.Contains(text, c.then) {
				t.Errorf("%s: resumed: code %d, want 0 and %q:\n%s", name, code, c.then, text)
			}
			told = append(told, text)
			k.gone(name + " resumed")
		}
		k.judge(name, told, 4)
		k.ledger.check(t, k.machine, name)
		if left, _ := filepath.Glob(filepath.Join(k.dir, "unrecorded", "*")); len(left) > 0 {
			t.Errorf("%s: not recorded: %q", name, left)
		}
		if testing.Verbose() {
			t.Logf("%s:\n%s", name, strings.Join(told, "\n---\n"))
		}
	}
	t.Log(counts(k.fates))
}

// badEnding is what happens to a run that suffers from its disk.
type badEnding int

const (
	leftAlone   badEnding = iota
	mended                // the disk is well again
	interrupted           // somebody has enough
)

// awaitTrial waits until the history says that a trial is being measured, so that
// what the fault strikes next is the record of its result.
func (k *torturer) awaitTrial(r *running, study string) {
	k.t.Helper()
	question := fmt.Sprintf("show number where study == %q and status == \"running\"", study)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if out, err := k.command("-o", "csv", "query", question).Output(); err == nil && strings.Contains(string(out), "\n") {
			return
		}
		if ended(r.cmd.Process.Pid) || time.Now().After(deadline) {
			k.t.Errorf("no trial of %s begins", study)
			return
		}
	}
}

// await waits until a run has said something.
func (k *torturer) await(r *running, what string) {
	k.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		over := ended(r.cmd.Process.Pid)
		text, _ := os.ReadFile(r.said.Name())
		if strings.Contains(string(text), what) {
			return
		}
		if over || time.Now().After(deadline) {
			k.t.Errorf("the run does not say %q:\n%s", what, text)
			return
		}
	}
}
