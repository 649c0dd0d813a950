package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// ErrPinned says that an executable is not the one that was pinned.
var ErrPinned = errors.New("executable differs from the pinned one")

// An executable is a program as it was when its sum was taken.
type executable struct {
	file   *os.File
	stat   os.FileInfo
	sha256 string
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
// and its start. It is asked after the start and before the first call.
//
// Note: executing a private copy would leave no gap at all, but breaks scripts
// that load files beside them.
func (e executable) unchanged(path string) error {
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(e.stat, now) || now.Size() != e.stat.Size() || !now.ModTime().Equal(e.stat.ModTime()) {
		return fmt.Errorf("%w: it changed while it was started", ErrPinned)
	}
	return nil
}
