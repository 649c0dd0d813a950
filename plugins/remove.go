package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sweepbook/sweepbook/core"
)

// Remove takes an engine out of a plugin folder: its executable, its manifest, and
// what the folder's lock pins of them. It returns the names of the files that it
// removed, and core.ErrNotFound where the folder knew nothing of the engine. Trials
// that were measured with it stay, and so do runs that have started it.
func Remove(ctx context.Context, dir, name string) ([]string, error) {
	removed, err := remove(ctx, dir, name)
	if err != nil {
		return removed, fmt.Errorf("remove engine %s: %w", clip(clean(name), 80), err)
	}
	return removed, nil
}

func remove(ctx context.Context, dir, name string) ([]string, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	absent := fmt.Errorf("%w: there is none in %s", core.ErrNotFound, dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, absent
	}
	release, err := hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer release()
	sums, err := readLock(dir)
	if err != nil {
		return nil, err
	}
	// The files go first: whatever ends us in between, no file is left that would
	// run without its pin.
	var removed []string
	pinned := false
	for _, file := range filesOf(name) {
		err := os.Remove(filepath.Join(dir, file))
		switch {
		case err == nil:
			removed = append(removed, file)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, err
		}
		_, known := sums[file]
		pinned = pinned || known
		delete(sums, file)
	}
	if !pinned && len(removed) == 0 {
		return nil, absent
	}
	if !pinned {
		return removed, nil
	}
	return removed, writeLock(dir, sums)
}

// filesOf are the files that can make an engine in a plugin folder.
func filesOf(name string) []string {
	program := filePrefix + name
	if runtime.GOOS == "windows" {
		return []string{program, program + ".exe", name + manifestSuffix}
	}
	return []string{program, name + manifestSuffix}
}
