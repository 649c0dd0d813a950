//go:build !linux

package sim

import "time"

func shortSleep(d time.Duration) { time.Sleep(d) }
