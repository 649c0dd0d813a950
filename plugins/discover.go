package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

const (
	selfExe        = "/proc/self/exe"
	filePrefix     = "sweepbook-engine-"
	manifestSuffix = ".engine.yaml"
)

// ServeCommand is the hidden command of the sweepbook binary under which it is a
// plugin of one of its built-in engines: `sweepbook engine-serve NAME`.
const ServeCommand = "engine-serve"

// Builtin returns the spec of an engine that is part of this binary. On Linux the
// running binary itself is executed again, so that an upgrade of the file on disk
// cannot mix versions.
func Builtin(name string) (Spec, error) {
	if err := checkName(name); err != nil {
		return Spec{}, err
	}
	path, err := self()
	if err != nil {
		return Spec{}, fmt.Errorf("engine %s: %w", name, err)
	}
	return Spec{Name: name, Path: path, Args: []string{ServeCommand, name}}, nil
}

// self is this binary.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return selfExe, nil
	}
	return os.Executable()
}

var engineName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func checkName(name string) error {
	if !engineName.MatchString(name) {
		return fmt.Errorf("engine name %q: %w: want lower-case letters, digits, dots, dashes and underscores", clip(clean(name), 80), core.ErrInvalid)
	}
	return nil
}

// Discover finds the executables sweepbook-engine-NAME and the manifests
// NAME.engine.yaml in the folders of a plugin path, in its order; the first of a
// name wins and folders that do not exist are passed over. What the folder's lock
// pins carries its sum. What must not be run is left out and reported in the error,
// beside the specs that are fine: names that are no engine names, a folder whose
// lock cannot be read, and files that somebody else could have written, because the
// file, its folder or a folder above can be written by others.
func Discover(pluginPath []string) ([]Spec, error) {
	var specs []Spec
	var refused []error
	found := map[string]string{} // name -> file
	for _, dir := range pluginPath {
		entries, err := readPluginDir(dir)
		if err != nil {
			refused = append(refused, err)
		}
		if len(entries) == 0 {
			continue
		}
		pinned, err := readLock(dir)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		for _, e := range entries {
			spec, ok, err := candidate(dir, e.Name())
			if _, gone := os.Lstat(filepath.Join(dir, e.Name())); err != nil && errors.Is(gone, fs.ErrNotExist) {
				continue // removed since the folder was listed
			}
			switch {
			case err != nil:
				refused = append(refused, fmt.Errorf("plugin %s: %w", filepath.Join(dir, e.Name()), err))
			case ok && found[spec.Name] != "" && filepath.Dir(found[spec.Name]) == filepath.Clean(dir):
				// Another folder may overrule; which of two in one folder is meant, nobody said.
				refused = append(refused, fmt.Errorf("plugin %s: %w: engine %s is %s already: remove one", spec.File(), core.ErrConflict, spec.Name, found[spec.Name]))
			case ok && found[spec.Name] == "":
				found[spec.Name] = spec.File()
				spec.SHA256 = pinned[e.Name()]
				specs = append(specs, spec)
			}
		}
	}
	return specs, errors.Join(refused...)
}

func readPluginDir(dir string) ([]fs.DirEntry, error) {
	if dir == "" {
		return nil, nil
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("plugin path %q: %w: want an absolute folder", dir, core.ErrInvalid)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("plugin path: %w", err)
	}
	return entries, nil
}

// engineOf is the engine that a file's name promises; "" for files that do not
// mean to be plugins.
func engineOf(file string) string {
	if name, ok := strings.CutSuffix(file, manifestSuffix); ok {
		return name
	}
	name, ours := strings.CutPrefix(file, filePrefix)
	if !ours {
		return ""
	}
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(name, ".exe")
	}
	return name
}

// candidate judges one file of a plugin folder; ok is false for files that do not
// mean to be plugins.
func candidate(dir, file string) (spec Spec, ok bool, err error) {
	if !strings.HasSuffix(file, manifestSuffix) && !strings.HasPrefix(file, filePrefix) {
		return Spec{}, false, nil
	}
	name := engineOf(file)
	if err := checkName(name); err != nil {
		return Spec{}, false, err
	}
	path := filepath.Join(dir, file)
	for _, p := range []string{path, dir} {
		if err := onlyOurs(p); err != nil {
			return Spec{}, false, err
		}
	}
	if spec, err = specOf(dir, file, name); err != nil {
		return Spec{}, false, err
	}
	stat, err := os.Stat(path)
	switch {
	case err != nil:
		return Spec{}, false, err
	case !stat.Mode().IsRegular():
		return Spec{}, false, fmt.Errorf("%w: not a file", core.ErrInvalid)
	case spec.Manifest == "" && runtime.GOOS != "windows" && stat.Mode()&0o111 == 0:
		return Spec{}, false, fmt.Errorf("%w: not executable: chmod +x it", core.ErrInvalid)
	}
	return spec, true, nil
}

// specOf says how the plugin in a file is started: a manifest by this binary.
func specOf(dir, file, name string) (Spec, error) {
	path := filepath.Join(dir, file)
	if !strings.HasSuffix(file, manifestSuffix) {
		return Spec{Name: name, Path: path}, nil
	}
	program, err := self()
	if err != nil {
		return Spec{}, err
	}
	return Spec{Name: name, Path: program, Args: []string{ServeCommand, name}, Manifest: path}, nil
}
