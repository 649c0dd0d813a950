package servingtest

import (
	"os"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

// ReadStart is what an adapter reads out of the log of a start, which lies in a
// file, and of a server that tells nothing more.
func ReadStart(t testing.TB, engine core.Engine, log string) core.Ready {
	t.Helper()
	if _, err := os.Stat(log); err != nil {
		t.Fatal(err)
	}
	server := enginetest.NewServer(t, testModel)
	ready, err := engine.Launch(t.Context(), core.LaunchRequest{
		Plan:    core.Plan{Processes: []core.Process{{Name: "server", Argv: []string{"server"}}}, Ready: core.ReadyRule{BaseURL: server.URL, Model: testModel}},
		PIDs:    []int{os.Getpid()},
		LogPath: log,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ready
}
