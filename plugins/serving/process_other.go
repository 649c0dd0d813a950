//go:build !linux

package serving

import (
	"os"
	"runtime"
	"syscall"
)

// Alive reports whether a process exists.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // only looked up
	// Windows opens the process in FindProcess and knows no signal 0.
	return runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil
}

// PortOwner cannot be told on this system.
func PortOwner([]int, int) Ownership { return OwnerUnknown }
