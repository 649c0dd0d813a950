//go:build unix

package plugins

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryHold takes the one lock of a plugin folder, which the kernel gives back when
// its process dies; nil where another process has it.
func tryHold(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil // closing gives the lock back
	}
	_ = f.Close() // nothing was locked
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	return nil, err
}
