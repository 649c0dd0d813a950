package supervise

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lookPath finds the server's executable as a shell in the server's own folder
// and environment would. The shim's PATH plays no part.
func lookPath(spec Spec) (string, error) {
	name := spec.Argv[0]
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(spec.Dir, path)
		}
		if err := executable(path); err != nil {
			return "", fmt.Errorf("start server: %w", err)
		}
		return path, nil
	}
	var search string
	for _, entry := range spec.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(spec.Dir, dir)
		}
		if path := filepath.Join(dir, name); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("start server: %w", &fs.PathError{Op: "find in PATH " + search, Path: name, Err: syscall.ENOENT})
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return &fs.PathError{Op: "execute", Path: path, Err: syscall.EACCES}
	}
	return nil
}
