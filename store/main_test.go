package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// childVar makes the test binary act as another process: "<act> <database>".
const childVar = "SWEEPBOOK_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if act := os.Getenv(childVar); act != "" {
		if err := child(act, os.Getenv(childVar+"_DB")); err != nil {
			fmt.Println("child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startChild starts the act and returns its output, line by line.
func startChild(t *testing.T, act, db string, change func(*exec.Cmd)) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		self, err := os.Executable()
		ok(t, err)
		cmd = exec.Command(self)
	}
	cmd.Env = append(os.Environ(), childVar+"="+act, childVar+"_DB="+db)
	if change != nil {
		change(cmd)
	}
	in, err := cmd.StdinPipe() // the child ends when we do
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func child(act, path string) error {
	ctx := context.Background()
	opt := options()
	opt.ReadOnly = act == "read"
	if act == "faulty" {
		// strace counts the calls of each thread for itself.
		runtime.LockOSThread()
	}
	db, err := store.Open(ctx, path, opt)
	if err != nil {
		return err
	}
	defer db.Close()
	switch act {
	case "write": // say the id of every trial that was acknowledged
		for n := 0; ; n++ {
			trial := plain(n)
			trial.ID, trial.Status = core.NewID(time.Now()), core.StatusRunning
			if err := db.SaveTrial(ctx, trial); err != nil {
				return err
			}
			trial.Status = core.StatusOK
			if err := db.FinishTrial(ctx, trial, samples(50)); err != nil {
				return err
			}
			fmt.Println(trial.ID)
		}
	case "hold":
		release, err := db.HoldStudy(ctx, "a study")
		if err != nil {
			fmt.Println(err)
			return nil
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		return release()
	case "read":
		h, err := db.History(ctx)
		if err != nil {
			return err
		}
		fmt.Println("trials", h.Trials)
	case "faulty":
		return faulty(ctx, db)
	case "many": // several processes make and fill one history
		for n := range 20 {
			trial := plain(n)
			trial.ID = core.NewID(time.Now())
			if err := db.SaveTrial(ctx, trial); err != nil {
				return err
			}
		}
		fmt.Println("done")
	}
	return nil
}
