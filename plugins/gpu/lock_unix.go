//go:build unix

package gpu

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock on a file and writes text into it. Where another has it,
// release is nil and held is what that one wrote.
//
// Note: the file is never removed. It is a few bytes, and a lock on a file that is
// about to vanish is no lock.
func lockFile(path string, text []byte) (release func(), held []byte, err error) {
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK) && tries < 3:
			// It may be somebody who only looks; see peekFile.
			_ = f.Close() // nothing was written
			time.Sleep(20 * time.Millisecond)
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			held, err := readOwner(f)
			return nil, held, errors.Join(err, f.Close())
		case errors.Is(err, unix.EINTR):
			_ = f.Close() // nothing was written
			continue
		case err != nil:
			return nil, nil, errors.Join(&fs.PathError{Op: "flock", Path: path, Err: err}, f.Close())
		}
		if !sameFile(f, path) {
			// A cleaner of temporary folders took it between our open and our lock.
			_ = f.Close() // nothing was written
			continue
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = f.WriteAt(text, 0)
		}
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return func() { _ = f.Close() }, nil, nil // closing gives the lock back
	}
}

// peekFile reads who holds a file. A shared lock is taken for a moment where
// nobody does, so that asking never stands in a run's way for long.
func peekFile(path string) (text []byte, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it gives the shared lock back
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		text, err = readOwner(f)
		return text, true, err
	}
	return nil, false, err
}

// readOwner reads what the holder wrote. It locks first and writes then, so that
// an empty file is given a moment.
func readOwner(f *os.File) ([]byte, error) {
	for range 20 {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
		if err != nil || len(text) > 0 {
			return text, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, nil
}

func sameFile(f *os.File, path string) bool {
	mine, err1 := f.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(mine, there)
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

func private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
