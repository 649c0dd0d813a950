package plugins

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// LockFile is the file of a plugin folder that pins what lies beside it. Its lines
// are those of sha256sum, so that `sha256sum -c plugins.lock` checks it, too.
const LockFile = "plugins.lock"

// Names of what is written before it is put in its place.
const (
	lockPrefix    = ".lock-"
	stagingPrefix = ".add-"
)

// maxLock bounds what is read of a lock file.
const maxLock = 1 << 20

// readLock gives the pinned sum of each file of a plugin folder. A folder without
// a lock pins nothing; a lock that cannot be read whole pins nothing either, and is
// an error, because a pin that is passed over is none.
func readLock(dir string) (map[string]string, error) {
	path := filepath.Join(dir, LockFile)
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]string{}, nil
	case err != nil:
		return nil, fmt.Errorf("plugin lock: %w", err)
	case !stat.Mode().IsRegular() || stat.Size() > maxLock:
		return nil, fmt.Errorf("plugin lock %s: %w: no lock file", path, core.ErrInvalid)
	}
	if err := onlyOurs(path); err != nil {
		return nil, fmt.Errorf("plugin lock %s: %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("plugin lock: %w", err)
	}
	sums := map[string]string{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		sum, file, ok := strings.Cut(line, "  ")
		raw, err := hex.DecodeString(sum)
		if line == "" && len(data) == 0 {
			break
		}
		if !ok || err != nil || len(raw) != 32 || file == "" || file != filepath.Base(file) {
			return nil, fmt.Errorf("%s:%d: %w: want a sha256, two blanks and a file of this folder: take the line out, or add its plugin again", path, i+1, core.ErrInvalid)
		}
		sums[file] = strings.ToLower(sum)
	}
	return sums, nil
}

// writeLock replaces the lock of a folder as a whole. Whoever calls it holds the
// folder from before the lock was read.
func writeLock(dir string, sums map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	tmp, err := os.CreateTemp(dir, lockPrefix)
	if err != nil {
		return fmt.Errorf("plugin lock: %w", err)
	}
	_, err = tmp.WriteString(b.String())
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, LockFile))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("plugin lock: %w", err)
	}
	return nil
}
