//go:build unix

package store

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock on a file and writes text into it. Where another has
// it, release is nil and held is what that one wrote. The kernel gives the lock
// back when the process dies.
func lockFile(path string, text []byte) (release func() error, held []byte, err error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			held, err := readOwner(f)
			return nil, held, errors.Join(err, f.Close())
		case errors.Is(err, unix.EINTR):
			_ = f.Close() // nothing was written
			continue
		case err != nil:
			return nil, nil, errors.Join(&os.PathError{Op: "flock", Path: path, Err: err}, f.Close())
		}
		if !sameFile(f, path) {
			// The holder before us removed the file between our open and our lock.
			_ = f.Close() // nothing was written
			continue
		}
		if err := writeOwner(f, text); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return func() error {
			// Removed while still locked, so that nobody can take a file that is
			// about to vanish.
			err := os.Remove(path)
			return errors.Join(err, f.Close())
		}, nil, nil
	}
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

func writeOwner(f *os.File, text []byte) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Sync()
}

func sameFile(f *os.File, path string) bool {
	mine, err1 := f.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(mine, there)
}

// bootID tells one life of the machine from the next. Linux only; empty elsewhere.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// processStart is when this process began; see startOf.
func processStart() string { return startOf(os.Getpid()) }

// startOf is when a process began, in clock ticks since the boot; empty for one that
// is not there or has ended. Linux only; empty elsewhere.
func startOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name in brackets may hold spaces and brackets: count from the last one.
	_, rest, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const startTime = 22 - 3 // field 22, and the third comes first here
	if !ok || len(fields) <= startTime || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[startTime]
}
