//go:build unix

package plugins_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

// What a plugin may see of its host, and what its host shows of it.

func TestEnvironment(t *testing.T) {
	for name, v := range map[string]string{"HF_TOKEN": "canary", "VLLM_API_KEY": "canary", "AWS_SECRET": "canary", "HF_HUB_TOKEN": "canary", "CUDA_VISIBLE_DEVICES": "3", "MY_CACHE": "c", "MY_TOKEN": "canary"} {
		t.Setenv(name, v)
	}
	spec := specOf(t, "ok")
	spec.ExtraEnv = append(spec.ExtraEnv, "GIVEN_TOKEN=given")
	c, err := (&plugins.Host{Env: []string{"MY_*"}}).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for name, want := range map[string]string{
		"HF_TOKEN": "", "VLLM_API_KEY": "", "AWS_SECRET": "", "HF_HUB_TOKEN": "", "MY_TOKEN": "",
		"CUDA_VISIBLE_DEVICES": "3", "MY_CACHE": "c", "GIVEN_TOKEN": "given", "PATH": os.Getenv("PATH"),
	} {
		got, err := c.Probe(t.Context(), core.Origin{Cmd: name})
		if err != nil || got.Version != want {
			t.Errorf("the plugin sees %s=%q (%v), want %q", name, got.Version, err, want)
		}
	}
	// Nothing else carries a secret either.
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.PID()))
	if err == nil && bytes.Contains(environ, []byte("canary")) {
		t.Error("a secret of the host is in the plugin's environment")
	}
}

func TestLogs(t *testing.T) {
	var log logBuffer
	c := start(t, &plugins.Host{Logger: log.logger()}, "evil-log")
	if _, err := c.Probe(t.Context(), core.Origin{Image: "log"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`level=WARN msg=loud engine=fake n=map[a:1]`,
		`level=INFO msg=probing engine=fake image=log stream=stderr`,
		`msg="printed while serving" engine=fake stream=stdout`,
		`level=DEBUG msg="esc \\x1b]0;title\\x07"`,
		`cut_bytes=1044480`,
	} {
		eventually(t, 5*time.Second, "the log holds "+want, func() bool { return strings.Contains(log.String(), want) })
	}
	if got := log.String(); strings.ContainsRune(got, '\x1b') || len(got) > 64<<10 {
		t.Errorf("the log holds an escape sequence, or %d bytes", len(got))
	}
}
