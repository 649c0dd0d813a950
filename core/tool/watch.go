package tool

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Watch remembers what stood at the places of a result before a command ran, so
// that nobody takes an older result for the command's own: a benchmark that
// crashes, or ran with a wrong option, leaves the file of an earlier one behind.
type Watch struct {
	places []Place
	before map[string]stamp
	sums   map[[sha256.Size]byte]string // contents that were there, with the file
}

// stamp is a file as it was.
type stamp struct {
	size  int64
	lines int
	sum   [sha256.Size]byte
}

// The bounds of what is looked at in a folder.
const (
	maxFiles = 2000
	maxSize  = 1 << 30
)

// NewWatch looks at the places. A folder that is not there yet holds nothing.
func NewWatch(places []Place) (*Watch, error) {
	w := &Watch{places: places, before: map[string]stamp{}, sums: map[[sha256.Size]byte]string{}}
	paths, err := w.list()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		s, err := stampOf(path, -1)
		if err != nil {
			return nil, err
		}
		w.before[path] = s
		w.sums[s.sum] = path
	}
	return w, nil
}

// Fresh is a file that was written since, or the end of one.
type Fresh struct {
	Path string
	// After is the number of lines that were there before; records at or before it
	// are not of this run.
	After int
}

// Fresh lists what was written since NewWatch, and what was not, as notes for
// people: a file that is as it was, a copy of one that was there.
func (w *Watch) Fresh() (fresh []Fresh, stale []string, err error) {
	paths, err := w.list()
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		now, err := stampOf(path, -1)
		if err != nil {
			return nil, nil, err
		}
		old, known := w.before[path]
		twin, copied := w.sums[now.sum]
		switch {
		case known && now == old:
			stale = append(stale, filepath.Base(path)+" is older than the run")
			continue
		case copied:
			stale = append(stale, fmt.Sprintf("%s is a copy of %s, which is older than the run", filepath.Base(path), filepath.Base(twin)))
			continue
		case known && now.size > old.size:
			head, err := stampOf(path, old.size)
			if err != nil {
				return nil, nil, err
			}
			if head.sum == old.sum {
				fresh = append(fresh, Fresh{Path: path, After: old.lines})
				continue
			}
		}
		fresh = append(fresh, Fresh{Path: path})
	}
	return fresh, stale, nil
}

// list gives the regular files of the places.
func (w *Watch) list() ([]string, error) {
	var out []string
	add := func(path string) error {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("result: %w", err)
		case info.Mode().IsRegular() && info.Size() <= maxSize && !slices.Contains(out, path):
			out = append(out, path)
		}
		return nil
	}
	for _, place := range w.places {
		if info, err := os.Stat(place.Path); err == nil && info.IsDir() && place.Pattern == "" {
			place.Pattern = "*"
		}
		if place.Pattern == "" {
			if err := add(place.Path); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := os.ReadDir(place.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("results: %w", err)
		}
		for _, entry := range entries {
			// What vLLM writes beside its result for another reader is no second one.
			if strings.HasSuffix(entry.Name(), ".pytorch.json") {
				continue
			}
			if ok, _ := filepath.Match(place.Pattern, entry.Name()); !ok || len(out) >= maxFiles {
				continue
			}
			if err := add(filepath.Join(place.Path, entry.Name())); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// stampOf reads a file, or its first n bytes.
func stampOf(path string, n int64) (stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return stamp{}, fmt.Errorf("result: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	var r io.Reader = f
	if n >= 0 {
		r = io.LimitReader(f, n)
	}
	sum := sha256.New()
	lines := &lineCounter{}
	size, err := io.Copy(io.MultiWriter(sum, lines), r)
	if err != nil {
		return stamp{}, fmt.Errorf("result %s: %w", filepath.Base(path), err)
	}
	s := stamp{size: size, lines: lines.n}
	if size > 0 && lines.last != '\n' {
		s.lines++
	}
	sum.Sum(s.sum[:0])
	return s, nil
}

// lineCounter counts line ends.
type lineCounter struct {
	n    int
	last byte
}

func (l *lineCounter) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' {
			l.n++
		}
	}
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return len(p), nil
}
