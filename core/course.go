package core

import (
	"fmt"
	"math"
	"slices"
)

// Course is what the GPUs of a trial showed over its measured window, about once a
// second. All columns are as long as AtMS, or empty where nothing was read.
type Course struct {
	AtMS       []int64   `json:"at_ms"`                  // since the window began, ascending
	PowerW     []float64 `json:"power_w,omitempty"`      // summed over the GPUs
	SMClockMHz []float64 `json:"sm_clock_mhz,omitempty"` // mean of the GPUs
	MemoryMiB  []float64 `json:"memory_mib,omitempty"`   // summed over the GPUs
}

// Validate refuses columns of other lengths, moments that go back, and figures that are
// not finite; the error wraps ErrInvalid.
func (c *Course) Validate() error {
	if c == nil {
		return nil
	}
	if !slices.IsSorted(c.AtMS) {
		return fmt.Errorf("course: %w: moments go back", ErrInvalid)
	}
	for name, column := range map[string][]float64{"power_w": c.PowerW, "sm_clock_mhz": c.SMClockMHz, "memory_mib": c.MemoryMiB} {
		if len(column) != 0 && len(column) != len(c.AtMS) {
			return fmt.Errorf("course: %w: %d figures of %s at %d moments", ErrInvalid, len(column), name, len(c.AtMS))
		}
		if slices.ContainsFunc(column, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			return fmt.Errorf("course: %w: a figure of %s is not finite", ErrInvalid, name)
		}
	}
	return nil
}
