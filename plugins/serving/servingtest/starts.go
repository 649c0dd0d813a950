package servingtest

import (
	"os"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// ReadStart is what an adapter reads out of the log of a start, which lies in a
// file, and of a server of a model that tells nothing more.
func ReadStart(t testing.TB, engine core.Engine, log, base, model string) core.Ready {
	t.Helper()
	if _, err := os.Stat(log); err != nil {
		t.Fatal(err)
	}
	ready, err := engine.Launch(t.Context(), core.LaunchRequest{
		Plan:    core.Plan{Processes: []core.Process{{Name: "server", Argv: []string{"server"}}}, Ready: core.ReadyRule{BaseURL: base, Model: model}},
		PIDs:    []int{os.Getpid()},
		LogPath: log,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ready
}
