//go:build !unix

package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// lockFile makes a file that must not be there yet and writes text into it.
// Where another has it, release is nil and held is what that one wrote. The file
// of a process that is gone is taken over.
//
// Note: this is weaker than the lock of a Unix kernel, which a dead process
// cannot keep; studies run on Linux.
func lockFile(path string, text []byte) (release func() error, held []byte, err error) {
	for range 3 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(text)
			if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
				return nil, nil, errors.Join(err, os.Remove(path))
			}
			return func() error { return os.Remove(path) }, nil, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
		held, err = os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		var by owner
		if err == nil && (json.Unmarshal(held, &by) != nil || alive(by)) {
			return nil, held, nil
		}
		_ = os.Remove(path) // the next turn sees whether it is gone
	}
	return nil, held, nil
}

// alive reports whether a holder may still be there; on Windows a process that
// is gone cannot be found.
func alive(by owner) bool {
	host, _ := os.Hostname()
	if by.Host != host {
		return true
	}
	p, err := os.FindProcess(by.PID)
	if err != nil {
		return false
	}
	_ = p.Release() // only looked up
	return true
}

func bootID() string { return "" }

func processStart() string { return "" }

func startOf(int) string { return "" }
