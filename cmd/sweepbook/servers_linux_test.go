package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// Who clears up beside a run may take the note of a server away. The server has ended
// all the same.
func TestStopWithoutItsHandle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := serverStarter(nil)(t.Context(), study.ProcessSpec{
		Launch: core.NewID(time.Now()), Dir: dir, LogPath: filepath.Join(dir, "server.log"),
		Process: core.Process{Argv: []string{"sleep", "600"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, handleFile)); err != nil {
		t.Error(err)
	}
	if err := server.Stop(t.Context(), 5*time.Second); err != nil {
		t.Errorf("an ended server is not taken for ended: %v", err)
	}
	select {
	case <-server.Done():
	default:
		t.Error("it has not ended")
	}
}
