package plugins

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// tryHold takes the one lock of a plugin folder, which the system gives back when
// its process dies; nil where another process has it. Folders cannot be locked
// here, so that a file in it is.
func tryHold(dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".hold"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return func() { _ = f.Close() }, nil // closing gives the lock back
	}
	_ = f.Close() // nothing was locked
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, nil
	}
	return nil, err
}
