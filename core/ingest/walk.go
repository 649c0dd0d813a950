package ingest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk reads files, and folders in the order of their names, and hands each
// file's result to each, whose error ends the walk. A file that cannot be read
// gives a Result with that error in Errors. Hidden files and folders inside a
// folder are passed over, and so is what is no regular file; what paths name
// itself is always read, except that an import.yaml inside a folder is a sidecar.
// The summaries of a vllm bench sweep give no second record of a run whose own
// file the walk has read.
func Walk(ctx context.Context, paths []string, opt Options, each func(path string, res Result) error) error {
	one := func(path string, around *neighbourhood) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		res, err := readPath(ctx, path, around)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			res.Errors = append(res.Errors, Note{File: filepath.Base(path), Message: err.Error()})
		}
		if isCompanion(filepath.Base(path)) && around.root != "" && len(res.Trials)+len(res.Errors) == 0 {
			res.Skipped = []Note{{File: filepath.Base(path), Message: "no result: read for the server's command, version and settings"}}
		}
		return each(path, res)
	}
	copies := map[string]bool{}
	for _, root := range paths {
		if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(root); err == nil && info.IsDir() {
				root += string(filepath.Separator) // a named link to a folder is followed
			}
		}
		around := &neighbourhood{opt: opt, copies: copies}
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			around.root = root
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return each(path, Result{Errors: []Note{{File: filepath.Base(path), Message: fmt.Sprintf("read results: %v", err)}}})
			case path != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir() && path != root && ofMLflowRun(path):
				return fs.SkipDir
			case d.IsDir():
				if opt.Folder == nil {
					return nil
				}
				res, whole := opt.Folder(path)
				if !whole {
					return nil
				}
				if err := each(path, res); err != nil {
					return err
				}
				return fs.SkipDir
			case path != root && !d.Type().IsRegular():
				return nil
			}
			if path != root && isSidecar(d.Name()) {
				if opt.Sidecar == nil {
					return each(path, Result{Skipped: []Note{{File: d.Name(), Message: "sidecar: not read here"}}})
				}
				return nil
			}
			return one(path, around)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
