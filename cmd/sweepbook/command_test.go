//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core/tool"
)

// A command that was killed may keep us waiting for its output. Who wants to end
// meanwhile finds nothing left to end.
func TestInterruptOfAKilledCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		signals []os.Signal // that are seen before the end of the context that the first of them brings
		want    tool.End
	}{
		{"by its limit", time.Millisecond, nil, tool.End{TimedOut: true}},
		{"by a second signal", 0, []os.Signal{os.Interrupt, syscall.SIGTERM}, tool.End{Interrupted: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", `trap "" TERM INT; echo; while :; do sleep 1; done`)
			ownGroup(cmd)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 1)); err != nil { // it ignores signals by then
				t.Fatal(err)
			}
			again := make(chan os.Signal, len(tc.signals))
			for _, sig := range tc.signals {
				again <- sig
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := command{timeout: tc.timeout, grace: time.Millisecond}
			ended, came := make(chan error), make(chan tool.End, 1)
			go func() {
				end, err := c.await(ctx, cmd, ended, again)
				if err != nil {
					t.Error(err)
				}
				came <- end
			}()
			err = cmd.Wait()
			cancel()
			time.Sleep(50 * time.Millisecond) // the end of the context is seen before that of the output
			ended <- err
			if got := <-came; got.TimedOut != tc.want.TimedOut || got.Interrupted != tc.want.Interrupted {
				t.Errorf("ended as %+v, want %+v", got, tc.want)
			}
		})
	}
}
