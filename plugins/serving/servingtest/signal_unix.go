//go:build unix

package servingtest

import (
	"os"
	"syscall"
)

// signalOf is the signal that ended a process.
func signalOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}
