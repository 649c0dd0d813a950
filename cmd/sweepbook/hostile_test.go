//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/manifest"
)

// hostilePlugin is the body of `sweepbook hostile-plugin`: an engine that starts a
// sound server and measures it as the variable MISDEED of the configuration says.
func hostilePlugin() {
	m, err := manifest.Parse("hostile", []byte(`engine: hostile
simulated: true
command: [sweepbook, sim-server, --model, "{checkpoint}", --time-scale, "20", --host, "{host}", --port, "{port}"]
`))
	if err != nil {
		panic(err)
	}
	plugins.Serve(hostileEngine{manifest.New(m)})
}

type hostileEngine struct{ *manifest.Engine }

func (h hostileEngine) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	sample := core.Sample{First: core.NoTime, Last: core.NoTime, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeFailed}
	switch req.Config.Env["MISDEED"] {
	case "negative":
		sample.Sent, sample.End = time.Second, time.Millisecond
		return sink.Samples([]core.Sample{sample})
	case "twice":
		return sink.Samples([]core.Sample{sample, sample})
	case "panic":
		panic("boom in the middle of a trial")
	case "exit":
		os.Exit(0)
	case "escape":
		return fmt.Errorf("red \x1b[31m and a title \x1b]0;owned\x07")
	case "flood":
		for range 1 << 14 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 16<<10))
		}
	}
	return h.Engine.Benchmark(ctx, req, sink)
}
