package sim

import (
	"syscall"
	"time"
)

// shortSleep asks the kernel directly: the runtime's own timers are rounded up to
// a millisecond when nothing else runs, which is longer than a step at a
// time_scale of ten.
func shortSleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	// An interrupted sleep is repeated by the caller, which looks at the clock.
	_ = syscall.Nanosleep(&ts, nil)
}
