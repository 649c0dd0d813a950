package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// dirPrefix starts the name of every private folder.
const dirPrefix = "sweepbook-p-"

// privateDir makes the plugin's folder, 0700. Its path is kept short, because that
// of a socket in it may take little more than a hundred bytes.
func privateDir() (string, error) {
	base := os.TempDir()
	if len(base) > 40 && runtime.GOOS != "windows" {
		base = "/tmp"
	}
	clearStale(base, time.Now())
	dir, err := os.MkdirTemp(base, dirPrefix)
	if err != nil {
		return "", fmt.Errorf("folder for the plugin's socket: %w", err)
	}
	return dir, nil
}

// staleAfter is far longer than a plugin takes to make its socket.
const staleAfter = time.Hour

// clearStale removes the folders of plugins whose host was killed: old ones without a
// socket at which anybody answers. Those of other users cannot be removed, and stay.
func clearStale(base string, now time.Time) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), dirPrefix) || now.Sub(info.ModTime()) < staleAfter {
			continue
		}
		if dir := filepath.Join(base, e.Name()); !answered(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

// answered reports whether somebody listens at a socket in a folder, or it cannot be told.
func answered(dir string) bool {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSocket == 0 {
			return err
		}
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			return nil //nolint:nilerr // nobody listens there any more
		}
		return fmt.Errorf("%s is in use: %w", path, errors.Join(fs.ErrExist, conn.Close()))
	})
	return err != nil
}
