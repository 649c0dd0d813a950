package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Installed says what Install did.
type Installed struct {
	Spec
	// Replaced says that a plugin of this name was there, and Before which bytes of
	// it were pinned; "" is none.
	Replaced bool
	Before   string
}

// Install copies a plugin (an executable, or a manifest NAME.engine.yaml) into a
// plugin folder and pins its bytes in the folder's lock. Before that it is started
// once and must say that it is the engine of its name; nothing is kept of a plugin
// that does not. An empty name is that of the file. A plugin of the same name and
// kind is replaced; one of another kind is core.ErrConflict. Several processes may
// install into one folder at a time.
//
// Installing runs the plugin, with the rights of the user: who installs trusts it.
func (h *Host) Install(ctx context.Context, source, dir, name string) (Installed, error) {
	in, err := h.install(ctx, source, dir, name)
	if err != nil {
		return Installed{}, fmt.Errorf("add plugin %s: %w", source, err)
	}
	return in, nil
}

func (h *Host) install(ctx context.Context, source, dir, name string) (Installed, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return Installed{}, err
	}
	isManifest := strings.HasSuffix(source, manifestSuffix)
	if name == "" {
		name = engineOf(filepath.Base(source))
	}
	if name == "" {
		return Installed{}, fmt.Errorf("%w: its name is neither %sNAME nor NAME%s: give the engine's name", core.ErrInvalid, filePrefix, manifestSuffix)
	}
	if err := checkName(name); err != nil {
		return Installed{}, err
	}
	if err := onlyOurs(source); err != nil {
		return Installed{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Installed{}, err
	}
	if err := onlyOurs(dir); err != nil {
		return Installed{}, err
	}
	exe, err := openExecutable(source)
	if err != nil {
		return Installed{}, err
	}
	defer func() { _ = exe.file.Close() }() // only read
	if !isManifest && runtime.GOOS != "windows" && exe.stat.Mode()&0o111 == 0 {
		return Installed{}, fmt.Errorf("%w: not executable: chmod +x it", core.ErrInvalid)
	}
	file, mode := filePrefix+name, os.FileMode(0o500)
	if isManifest {
		file, mode = name+manifestSuffix, 0o400
	} else if runtime.GOOS == "windows" {
		file += ".exe"
	}
	staging, err := os.MkdirTemp(dir, stagingPrefix)
	if err != nil {
		return Installed{}, err
	}
	defer func() { _ = os.RemoveAll(staging) }() // what is left of an installation that failed
	staged, err := exe.copyTo(filepath.Join(staging, file), mode)
	if err != nil {
		return Installed{}, err
	}
	spec, err := specOf(staging, file, name)
	if err != nil {
		return Installed{}, err
	}
	spec.SHA256 = exe.sha256
	client, err := h.Start(ctx, spec)
	if err != nil {
		return Installed{}, err
	}
	if err := client.Close(context.WithoutCancel(ctx)); err != nil {
		return Installed{}, err
	}
	return h.keep(ctx, spec, staged, dir, file)
}

// keep moves a plugin that has proved itself to its place. The lock comes first:
// whatever ends us in between, a file that is not the pinned one does not run.
func (h *Host) keep(ctx context.Context, spec Spec, staged, dir, file string) (Installed, error) {
	release, err := hold(ctx, dir)
	if err != nil {
		return Installed{}, err
	}
	defer release()
	sweepStaging(dir, filepath.Dir(staged))
	for _, other := range filesOf(spec.Name) {
		if _, err := os.Lstat(filepath.Join(dir, other)); other != file && err == nil {
			return Installed{}, fmt.Errorf("%w: engine %s is made by %s there: remove it first", core.ErrConflict, spec.Name, other)
		}
	}
	in := Installed{Spec: spec}
	place := filepath.Join(dir, file)
	stat, err := os.Lstat(place)
	switch in.Replaced = err == nil; {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Installed{}, err
	case in.Replaced && stat.IsDir():
		return Installed{}, fmt.Errorf("%w: %s is a folder", core.ErrConflict, place)
	}
	sums, err := readLock(dir)
	if err != nil {
		return Installed{}, err
	}
	in.Before, sums[file] = sums[file], spec.SHA256
	if err := writeLock(dir, sums); err != nil {
		return Installed{}, err
	}
	if err := os.Rename(staged, place); err != nil {
		return Installed{}, err
	}
	if in.Manifest != "" {
		in.Manifest = place
	} else {
		in.Path = place
	}
	return in, nil
}

// stagingAge is when what an installation left behind is surely nobody's: a plugin
// that does not answer is given up much sooner.
const stagingAge = time.Hour

// sweepStaging removes what installations left that were killed.
func sweepStaging(dir, ours string) {
	for _, pattern := range []string{stagingPrefix, lockPrefix} {
		left, _ := filepath.Glob(filepath.Join(dir, pattern+"*")) // the pattern is sound
		for _, path := range left {
			if stat, err := os.Lstat(path); err == nil && path != ours && time.Since(stat.ModTime()) > stagingAge {
				_ = os.RemoveAll(path) // it is in nobody's way
			}
		}
	}
}
