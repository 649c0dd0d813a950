//go:build unix

package plugins_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/proto"
)

// firstV1 is engine.proto as version 1 of the protocol began.
const firstV1 = "testdata/v1/engine.proto"

// TestProtocolOnlyGrows: what the protocol of a version once said, it says for ever.
// buf (make proto-lint) knows more rules; this one needs no network.
func TestProtocolOnlyGrows(t *testing.T) {
	was, err := os.ReadFile(firstV1)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range shrunk(statements(string(was)), statements(string(proto.Engine))) {
		t.Error(fault)
	}
	// The test can fail.
	for name, c := range map[string]struct{ old, new, want string }{
		"gone":       {"  string model = 2;\n  // What is loaded", "  // What is loaded", "Config.model"},
		"another":    {"string model = 2;", "bytes model = 2;", "Config.model"},
		"renumbered": {"string model = 2;", "string model = 12;", "Config.model"},
		"a call":     {"rpc Stop(", "rpc Halt(", "EngineService.Stop"},
		"streams":    {"returns (stream LaunchResponse)", "returns (LaunchResponse)", "EngineService.Launch"},
		"a value":    {"OUTCOME_OK = 1", "OUTCOME_OK = 4", "Outcome.OUTCOME_OK"},
		"optional":   {"optional int64 due_ns", "int64 due_ns", "Sample.due_ns"},
	} {
		changed := strings.Replace(string(proto.Engine), c.old, c.new, 1)
		if faults := shrunk(statements(string(was)), statements(changed)); changed == string(proto.Engine) || len(faults) == 0 || !strings.Contains(faults[0], c.want) {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// statements gives what each name of a protocol stands for: "Message.field" is a type
// and a number, "Service.Call" what it takes and gives.
func statements(text string) map[string]string {
	out := map[string]string{}
	block := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := openLine.FindStringSubmatch(line); m != nil {
			block = m[2]
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			number := line[strings.LastIndex(line, "="):]
			out[block+"."+m[2]] = m[1] + " " + number
		} else if m := valueLine.FindStringSubmatch(line); m != nil {
			out[block+"."+m[1]] = m[2]
		} else if m := rpcLine.FindStringSubmatch(line); m != nil {
			out[block+"."+m[1]] = m[2] + " -> " + m[3]
		}
	}
	return out
}

// shrunk lists what a protocol no longer says as it did.
func shrunk(was, is map[string]string) []string {
	var faults []string
	for name, said := range was {
		if is[name] != said {
			faults = append(faults, fmt.Sprintf("%s was %q and is %q: plugins of version 1 depend on it", name, said, is[name]))
		}
	}
	if len(was) < 100 {
		faults = append(faults, fmt.Sprintf("only %d statements were read", len(was)))
	}
	return faults
}

// oldPlugin builds testdata/v1/plugin: the source of a plugin as it was written
// against the first engine.proto, with the code that was generated from it then.
//
// Note: not a binary in testdata. One is 20 MB (5 MB compressed) for one system and
// processor; recorded bytes would leave out the handshake, the certificates and
// go-plugin, where a plugin breaks first.
func oldPlugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweepbook-engine-old")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir = "testdata/v1/plugin"
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	offline := bytes.Contains(out, []byte("module lookup disabled")) || bytes.Contains(out, []byte("dial tcp"))
	switch {
	case err != nil && offline:
		t.Skipf("the modules of the old plugin are not on this machine, and there is no network: %s", out)
	case err != nil:
		t.Fatalf("build the old plugin: %v\n%s", err, out)
	}
	return path
}

// caught is what a plugin measured.
type caught struct {
	samples []core.Sample
	steps   int
	figures map[string]core.Value
}

func (c *caught) Samples(batch []core.Sample) error {
	c.samples = append(c.samples, batch...)
	return nil
}
func (c *caught) Progress(core.Progress)                { c.steps++ }
func (c *caught) Summary(figures map[string]core.Value) { c.figures = figures }

func TestOldPlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("a plugin is built")
	}
	var log logBuffer
	c, err := (&plugins.Host{Logger: log.logger()}).Start(t.Context(), plugins.Spec{Name: "old", Path: oldPlugin(t)})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Conformance(t, c, enginetest.Options{})

	var got caught
	err = c.Benchmark(t.Context(), core.BenchmarkRequest{Workload: core.Workload{Name: "own"}}, &got)
	if err != nil {
		t.Fatalf("Benchmark: %v", err)
	}
	want := []core.Sample{
		{Index: 0, Due: core.NoTime, Sent: 10, First: 20, Last: 50, End: 60, Chunks: []time.Duration{20, 50}, InputTokens: 5, CachedTokens: -1, OutputTokens: 2, RequestedOutput: -1, Outcome: core.OutcomeOK},
		{Index: 1, Due: core.NoTime, Sent: 15, First: core.NoTime, Last: core.NoTime, End: 70, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeFailed, Error: "said no"},
	}
	if diff := cmp.Diff(caught{samples: want, steps: 1, figures: map[string]core.Value{"seen": core.Number(2)}}, got, cmp.AllowUnexported(caught{})); diff != "" {
		t.Errorf("what it measured (-want +got):\n%s", diff)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	requireEnd(t, c, "exit status 0")
	if t.Failed() {
		t.Logf("log of the plugin:\n%s", log.String())
	}
}
