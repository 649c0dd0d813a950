//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"
)

// written keeps what several write.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// What a detached run says before it begins is said here while it waits, in its order
// and once, and stands in its log.
func TestDetachedRunIsHeard(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, then       string // then is what the run does once it is to go on
		interrupt, begun bool
		code             int
		said             string
	}{
		{name: "begins", then: "echo ready >&3; echo later", begun: true, said: "first\nsecond\n"},
		{name: "ends", then: "echo third; exit 7", code: 7, said: "first\nsecond\nthird\n"},
		{name: "is interrupted", then: "echo asked; exit 130", interrupt: true, code: 130, said: "first\nsecond\nasked\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.interrupt && signal.Ignored(os.Interrupt) {
				t.Skip("a shell cannot trap what is ignored here")
			}
			dir := t.TempDir()
			log, err := os.CreateTemp(dir, "log")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = log.Close() }()
			ready, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ready.Close() }()
			run := exec.Command("sh", "-c", `trap "touch go" INT; echo first; sleep 1.5; echo second; while ! [ -e go ]; do sleep 0.05; done; `+tc.then)
			run.Dir, run.Stdout, run.Stderr, run.ExtraFiles = dir, log, log, []*os.File{theirs}
			ownSession(run)
			err = run.Start()
			_ = theirs.Close()
			if err != nil {
				t.Fatal(err)
			}
			var heard written
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for !strings.Contains(heard.String(), "second") && ctx.Err() == nil {
					time.Sleep(20 * time.Millisecond)
				}
				if tc.interrupt {
					cancel()
				} else if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
					t.Error(err)
				}
			}()
			d := &detached{app: newApp(nil, &heard, &heard), run: run, log: log}
			begun, asked := d.begin(ctx, ready)
			if begun != tc.begun || asked != tc.interrupt {
				t.Errorf("begun %t, asked to end %t", begun, asked)
			}
			if tc.begun {
				if err := run.Wait(); err != nil {
					t.Error(err)
				}
			} else if err := d.end(); !errors.Is(err, quietError{tc.code}) {
				t.Errorf("%v, want exit code %d", err, tc.code)
			}
			got, want := heard.String(), tc.said
			if tc.begun { // what came later may have been heard too
				got = got[:min(len(got), len(want))]
			}
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
			if text, err := os.ReadFile(log.Name()); err != nil || !strings.HasPrefix(string(text), want) {
				t.Errorf("log %q, %v, want %q first", text, err, want)
			}
		})
	}
}
