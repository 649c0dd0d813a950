//go:build !linux

package supervise

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Process is a supervised server; there is none on this system.
type Process struct{}

// ShimMain reports on stderr that supervision needs Linux and returns 1.
func ShimMain([]string) int {
	fmt.Fprintln(os.Stderr, "sweepbook:", ErrUnsupported)
	return 1
}

// FilteredShimMain does the same.
func FilteredShimMain(args []string, _ NewFilter) int { return ShimMain(args) }

// Start answers ErrUnsupported.
func Start(context.Context, Spec) (*Process, error) { return nil, ErrUnsupported }

// Intend answers ErrUnsupported.
func Intend(Spec) (Handle, error) { return Handle{}, ErrUnsupported }

// Descendants answers ErrUnsupported.
func Descendants(int) ([]ProcInfo, error) { return nil, ErrUnsupported }

// ListMarked answers ErrUnsupported.
func ListMarked(string) ([]ProcInfo, error) { return nil, ErrUnsupported }

// Reap answers ErrUnsupported.
func Reap(context.Context, []Handle, string) ([]Reaped, error) { return nil, ErrUnsupported }

// Owns answers ErrUnsupported.
func Owns(int, int) (bool, error) { return false, ErrUnsupported }

// PID is 0: nothing runs.
func (*Process) PID() int { return 0 }

// ShimPID is 0: nothing runs.
func (*Process) ShimPID() int { return 0 }

// Done is nil: nothing ends.
func (*Process) Done() <-chan struct{} { return nil }

// ExitCode is -1: nothing has run.
func (*Process) ExitCode() int { return -1 }

// Outcome is empty.
func (*Process) Outcome() Outcome { return Outcome{ExitCode: -1} }

// LogTail is empty.
func (*Process) LogTail(int) string { return "" }

// Handle is empty.
func (*Process) Handle() Handle { return Handle{} }

// Stop answers ErrUnsupported.
func (*Process) Stop(context.Context, time.Duration) error { return ErrUnsupported }

// Kill does nothing.
func (*Process) Kill() {}
