package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// faultPoints is at how many places of each kind TestFaults fails; 0 is all.
var faultPoints = flag.Int("faults", 4, "places at which TestFaults lets each system call fail; 0 is every one")

// faultyTrials is how many trials the process under faults records.
const faultyTrials = 3

// faulty records trials as a run does and says which were acknowledged. A full disk
// is waited for, a few times; any other error ends it.
func faulty(ctx context.Context, db *store.DB) error {
	write := func(fn func() error) error {
		err := fn()
		for range 3 {
			if !errors.Is(err, store.ErrDiskFull) {
				break
			}
			err = fn()
		}
		return err
	}
	for n := range faultyTrials {
		trial := plain(n)
		trial.Status = core.StatusRunning
		// A second attempt at the whole finds what the first one left.
		err := write(func() error { return db.SaveTrial(ctx, trial) })
		if err == nil {
			trial.Status = core.StatusOK
			err = write(func() error { return db.FinishTrial(ctx, trial, samples(40)) })
		}
		if err != nil && !errors.Is(err, core.ErrConflict) {
			return err
		}
		fmt.Println("recorded", trial.ID)
	}
	return nil
}

// fault is one way in which a system call goes wrong.
type fault struct {
	call   string
	inject string // for strace, without the place
	after  string // what follows the place: "+" for from there on
	says   string // a pattern of what the error must say where the process lives to report one
}

var faults = []fault{
	{"pwrite64", "signal=SIGKILL", "", ""},
	{"fdatasync", "signal=SIGKILL", "", ""},
	{"ftruncate", "signal=SIGKILL", "", ""},
	{"unlink", "signal=SIGKILL", "", ""},
	{"linkat", "signal=SIGKILL", "", ""},
	{"pwrite64", "error=ENOSPC", "", "disk full.* free some space"},
	{"pwrite64", "error=ENOSPC", "+", "disk full.* free some space"},
	{"pwrite64", "error=EIO", "", "the disk fails"},
	{"pwrite64", "error=EIO", "+", "the disk fails"},
	{"pread64", "error=EIO", "", "the disk"},
	{"fdatasync", "error=EIO", "", "the disk fails"},
	{"fdatasync", "error=EIO", "+", "the disk fails"},
	{"fdatasync", "error=ENOSPC", "", "the disk fails"},
	{"fsync", "error=EIO", "", "input/output error"},
	{"ftruncate", "error=ENOSPC", "", "the disk fails"},
}

// TestFaults lets the n-th of each kind of system call fail that SQLite makes, for n
// over all of them (make faults) or a few, while a process makes a history and
// records trials: what was acknowledged is there, whole and once, the file is sound,
// and repeating the work finishes it.
func TestFaults(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here (Debian: apt-get install strace)")
	}
	counts := countCalls(t, strace)
	for _, f := range faults {
		most := counts[f.call]
		if most == 0 {
			t.Errorf("%s is never called: %v", f.call, counts)
			continue
		}
		t.Run(strings.NewReplacer("=", " ").Replace(f.call+" "+f.inject+f.after), func(t *testing.T) {
			t.Parallel()
			step := 1
			if *faultPoints > 0 {
				step = max(1, most / *faultPoints)
			}
			n, reported := 0, 0
			// A run differs a little from the one that was counted: the last places may not come.
			for at := 1 + (step-1)/2; at <= most; at += step {
				n++
				if f.strike(t, strace, at) {
					reported++
				}
			}
			t.Logf("%d of %d places, %d ended with an error", n, most, reported)
		})
	}
}

// trace runs the process under strace and returns what it recorded and said.
func trace(t *testing.T, strace, db string, args ...string) (recorded []string, said string) {
	t.Helper()
	cmd := exec.Command(strace, append(append([]string{"-f", "-qq"}, args...), os.Args[0])...)
	cmd.Env = append(os.Environ(), childVar+"=faulty", childVar+"_DB="+db)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output() // it may well fail
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "recorded "); ok {
			recorded = append(recorded, id)
		} else {
			said += lines.Text() + "\n"
		}
	}
	return recorded, said + errs.String()
}

var tracedCall = regexp.MustCompile(`(?m)^\d+ +(\w+)\(`)

func countCalls(t *testing.T, strace string) map[string]int {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	recorded, said := trace(t, strace, filepath.Join(dir, "history.db"), "-o", calls, "-e", "trace=pread64,pwrite64,fsync,fdatasync,ftruncate,unlink,linkat")
	if len(recorded) != faultyTrials {
		if strings.Contains(said, "ptrace") {
			t.Skipf("strace may not trace here: %s", said)
		}
		t.Fatalf("recorded %q:\n%s", recorded, said)
	}
	log, err := os.ReadFile(calls)
	ok(t, err)
	counts := map[string]int{}
	for _, m := range tracedCall.FindAllStringSubmatch(string(log), -1) {
		counts[m[1]]++
	}
	return counts
}

// strike lets one call fail and reports whether the process ended with an error.
func (f fault) strike(t *testing.T, strace string, at int) bool {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	recorded, said := trace(t, strace, path, "-o", "/dev/null", "-e", "trace="+f.call, "-e", fmt.Sprintf("inject=%s:%s:when=%d%s", f.call, f.inject, at, f.after))
	where := fmt.Sprintf("%s %s at %d%s", f.call, f.inject, at, f.after)
	failed := strings.Contains(said, "child:")
	if failed && (!regexp.MustCompile(f.says).MatchString(said) || !strings.Contains(said, dir)) {
		t.Errorf("%s: the error does not say %q and name the file: %s", where, f.says, said)
	}
	if !failed && f.says != "" && len(recorded) != faultyTrials {
		t.Errorf("%s: recorded %q without an error: %s", where, recorded, said)
	}
	f.whole(t, path, where, recorded)
	// The same work once more, on a sound disk.
	cmd, out := startChild(t, "faulty", path, nil)
	var again []string
	for out.Scan() {
		again = append(again, strings.TrimPrefix(out.Text(), "recorded "))
	}
	if err := cmd.Wait(); err != nil || len(again) != faultyTrials {
		t.Errorf("%s: repeated: recorded %q: %v", where, again, err)
	}
	f.whole(t, path, where+", repeated", again)
	return failed
}

// whole checks the history after a fault.
func (f fault) whole(t *testing.T, path, where string, recorded []string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil && len(recorded) == 0 {
		return // it was not made yet
	}
	db, err := store.Open(context.Background(), path, options())
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	defer db.Close()
	sound(t, db)
	there := map[string]bool{}
	for _, trial := range all(t, db) {
		if there[trial.ID.String()] {
			t.Errorf("%s: trial %s is there twice", where, trial.ID)
		}
		if trial.Status == core.StatusRunning {
			continue
		}
		there[trial.ID.String()] = true
		if s, err := db.Samples(context.Background(), trial.ID); err != nil || len(s) != 40 || trial.Status != core.StatusOK {
			t.Errorf("%s: trial %s is %s with %d samples: %v", where, trial.ID, trial.Status, len(s), err)
		}
	}
	for _, id := range recorded {
		if !there[id] {
			t.Errorf("%s: acknowledged trial %s is gone", where, id)
		}
	}
}
