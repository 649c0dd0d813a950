package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// surroundings are what stands around a file and says something of its records:
// its path, a sidecar, a log or script of the server beside it.
type surroundings struct {
	path    string
	onDisk  bool   // path is a file that was opened
	root    string // the named folder that it was found in; "" for a named file
	pattern *pathPattern
	mapping *Mapping
	beside  *companion
	copies  map[string]bool // of one walk: the records of the run files of sweeps
}

// ofName are the surroundings of a text that is no file: its name and the options.
func ofName(name string, opt Options) (*surroundings, error) {
	s := &surroundings{path: name, mapping: opt.Mapping}
	return s, s.check(opt)
}

// check refuses options that cannot be followed.
func (s *surroundings) check(opt Options) error {
	if err := s.mapping.Check(); err != nil {
		return fmt.Errorf("mapping: %w", err)
	}
	text := opt.Pattern
	if text == "" && s.mapping != nil {
		text = s.mapping.Pattern
	}
	if text == "" {
		return nil
	}
	var err error
	s.pattern, err = parsePattern(text)
	return err
}

// complete lays the surroundings around a trial, in the order in which they count.
func (s *surroundings) complete(t *core.Trial) (warnings []string) {
	warnings = s.beside.complete(t)
	if s.pattern != nil {
		warnings = append(warnings, s.pattern.apply(t, s.path)...)
	}
	return append(warnings, s.mapping.apply(t)...)
}

// isCopy reports whether a record of a sweep's summary was given by the sweep's
// run file before it.
func (s *surroundings) isCopy(r record) bool {
	if s.copies == nil || r.copyKey == "" {
		return false
	}
	if r.summary {
		return s.copies[r.copyKey]
	}
	s.copies[r.copyKey] = true
	return false
}

// folder is the name of the folder that was named for the import.
func (s *surroundings) folder() string {
	if s.root == "" {
		return ""
	}
	abs, err := filepath.Abs(s.root)
	if name := filepath.Base(abs); err == nil && name != string(filepath.Separator) {
		return name
	}
	return ""
}

// neighbourhood finds the surroundings of files, and keeps those of the latest
// folder, since a walk reads a folder's files one after the other.
type neighbourhood struct {
	opt    Options
	root   string // the named folder; "" for a named file
	copies map[string]bool
	dir    string
	known  bool
	beside *companion
	side   *Mapping
	err    error
	// companions are those of the folders that were looked into.
	companions map[string]*companion
}

// of gives the surroundings of a file. A sidecar that cannot be used is an error
// of each file that it speaks for.
func (n *neighbourhood) of(path string) (*surroundings, error) {
	if dir := filepath.Dir(path); !n.known || dir != n.dir {
		n.dir, n.known = dir, true
		n.beside = n.companion(dir)
		n.side, n.err = n.sidecar(dir)
	}
	if n.err != nil {
		return nil, n.err
	}
	s := &surroundings{path: path, onDisk: true, root: n.root, mapping: n.opt.Mapping.over(n.side), copies: n.copies}
	if !isCompanion(filepath.Base(path)) {
		s.beside = n.beside
	}
	return s, s.check(n.opt)
}

// companion gives what stands beside the files of a folder, else beside the folder
// itself, and so on up to the named one: many sweeps have one log above a folder a
// run.
func (n *neighbourhood) companion(dir string) *companion {
	if c, read := n.companions[dir]; read {
		return c
	}
	c := readCompanion(dir)
	if up := filepath.Dir(dir); c == nil && n.root != "" && filepath.Clean(dir) != filepath.Clean(n.root) && up != dir {
		if found := n.companion(up); found != nil {
			higher := *found
			higher.above++
			c = &higher
		}
	}
	if n.companions == nil {
		n.companions = map[string]*companion{}
	}
	n.companions[dir] = c
	return c
}

// maxSidecar bounds an import.yaml, in bytes.
const maxSidecar = 1 << 20

// isSidecar: the names of a mapping that stands beside results.
func isSidecar(name string) bool { return name == "import.yaml" || name == "import.yml" }

// sidecar reads the import.yaml of a folder and of those above it up to the named
// one; the nearer counts more.
func (n *neighbourhood) sidecar(dir string) (*Mapping, error) {
	if n.opt.Sidecar == nil {
		return nil, nil
	}
	var above *Mapping
	if root := filepath.Clean(n.root); n.root != "" && filepath.Clean(dir) != root {
		if up := filepath.Dir(dir); up != dir {
			var err error
			if above, err = n.sidecar(up); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{"import.yaml", "import.yml"} {
		path := filepath.Join(dir, name)
		data, err := readAtMost(path, maxSidecar)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("sidecar: %w", err)
		}
		m, err := n.opt.Sidecar(data)
		if err == nil {
			err = m.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("sidecar %s: %w", path, err)
		}
		return m.over(above), nil
	}
	return above, nil
}

// readAtMost reads a small regular file whole; a longer one is an error.
func readAtMost(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: no regular file", path, core.ErrInvalid)
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: %w: longer than %d KiB", path, core.ErrInvalid, limit>>10)
	}
	return data, err
}
