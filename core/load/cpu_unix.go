//go:build unix

package load

import (
	"syscall"
	"time"
)

// processCPU is the CPU time that this process has used, in user and kernel.
func processCPU() (used time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
