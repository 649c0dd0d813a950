package ingest

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
)

// Some tools write a run into several files of one folder: a summary, the single
// requests, what was asked. The summary is the record; it takes what it lacks from
// the others, which then give none of their own.

// sibling opens a file in the folder of this one; nil where there is none, and for
// a source that is no file.
func (in *input) sibling(name string) *os.File {
	if !in.onDisk || name == "" || filepath.Base(name) != name {
		return nil
	}
	path := filepath.Join(filepath.Dir(in.path), name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	return f
}

// siblingObjects hands each JSON object of a file beside this one to take, as far
// as the file can be read.
func (in *input) siblingObjects(name string, take func(o *object)) {
	f := in.sibling(name)
	if f == nil {
		return
	}
	defer func() { _ = f.Close() }() // only read
	docs := newJSONReader(bufio.NewReaderSize(decodeText(f), 64<<10), unneeded)
	for {
		v, _, err := docs.next()
		var broken *jsonError
		switch {
		case errors.As(err, &broken):
			continue
		case err != nil:
			return // its end, or as far as it can be read
		}
		if o, ok := v.(*object); ok {
			take(o)
		}
	}
}

// heldBy reports whether a file beside this one holds the record of its run, and
// then says so once.
func (r *objectReader) heldBy(name string) bool {
	if r.held == "" {
		f := r.in.sibling(name)
		if f == nil {
			return false
		}
		_ = f.Close() // only looked for
		r.held = name
		r.out.skip(0, "read with "+name+" beside it: import that, or the folder")
	}
	return true
}
