//go:build !unix

package load

import "time"

// processCPU is not known on this system.
func processCPU() (used time.Duration, ok bool) { return 0, false }
