package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sweepbook/sweepbook/core"
)

// ErrPinned says that a plugin's executable or manifest is not the one that was
// pinned.
var ErrPinned = errors.New("its bytes differ from the pinned ones")

// An executable is a program as it was when its sum was taken.
type executable struct {
	file   *os.File
	stat   os.FileInfo
	sha256 string
	// private says that a copy runs in its place.
	private bool
}

func openExecutable(path string) (executable, error) {
	if !filepath.IsAbs(path) {
		return executable{}, fmt.Errorf("%w: the path of a plugin must be absolute", core.ErrInvalid)
	}
	f, err := os.Open(path)
	if err != nil {
		return executable{}, err
	}
	exe := executable{file: f}
	sum := sha256.New()
	if exe.stat, err = f.Stat(); err == nil && !exe.stat.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a file", core.ErrInvalid)
	}
	if err == nil {
		_, err = io.Copy(sum, f)
	}
	if err != nil {
		_ = f.Close()
		return executable{}, err
	}
	exe.sha256 = hex.EncodeToString(sum.Sum(nil))
	return exe, nil
}

// unchanged reports an executable that was replaced or written to between its sum
// and its start. It is asked after the start and before the first call. A private
// copy cannot change.
func (e executable) unchanged(path string) error {
	if e.private {
		return nil
	}
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(e.stat, now) || now.Size() != e.stat.Size() || !now.ModTime().Equal(e.stat.ModTime()) {
		return fmt.Errorf("%w: it changed while it was started", ErrPinned)
	}
	return nil
}

// copyTo writes the very bytes whose sum was taken to a new file and returns its
// path: a plugin that is pinned runs from such a copy in a folder of its own, so
// that nothing can change between the look and the start.
//
// Note: a plugin that is not pinned runs where it lies, because scripts may load
// files beside them while they are being written.
func (e executable) copyTo(path string, mode os.FileMode) (string, error) {
	if _, err := e.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	// A child that another goroutine forks meanwhile would hold the file open for
	// writing, and the kernel refuses to execute such a file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), e.file)
	if err = errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != e.sha256 {
		return "", fmt.Errorf("%w: it changed while it was read", ErrPinned)
	}
	return path, nil
}
