//go:build unix

package plugins

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sweepbook/sweepbook/core"
)

// maxLinks is how many symbolic links a path may lead over, as in the kernel.
const maxLinks = 40

// onlyOurs refuses a path that others than its user and root could change: by the
// permissions or the owner of the file itself, of any folder or link on the way to
// it, or of what a link leads over. A sticky folder such as /tmp is fine on the way,
// because others cannot replace what lies in it.
func onlyOurs(path string) error {
	dir, rest := string(filepath.Separator), split(path)
	if err := entryOurs(dir, len(rest) == 0); err != nil {
		return err
	}
	for links := 0; len(rest) > 0; {
		if rest[0] == ".." {
			dir, rest = filepath.Dir(dir), rest[1:]
			continue
		}
		at := filepath.Join(dir, rest[0])
		rest = rest[1:]
		if err := entryOurs(at, len(rest) == 0); err != nil {
			return err
		}
		to, err := os.Readlink(at)
		if err != nil {
			dir = at // no link
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%w: %s leads over more than %d links", core.ErrInvalid, path, maxLinks)
		}
		if filepath.IsAbs(to) {
			dir = string(filepath.Separator)
		}
		rest = append(split(to), rest...)
	}
	return nil
}

// split gives the names of a path. It cannot be cleaned first: what is above a link
// lies where the link leads to.
func split(path string) []string {
	var names []string
	for _, name := range strings.Split(path, string(filepath.Separator)) {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// entryOurs judges one file, folder or link by itself. The permissions of a link
// mean nothing: who may replace it is said by its folder.
func entryOurs(path string, last bool) error {
	stat, err := os.Lstat(path)
	if err != nil {
		return err
	}
	isLink := stat.Mode()&fs.ModeSymlink != 0
	if !isLink && stat.Mode()&0o022 != 0 && (last || stat.Mode()&os.ModeSticky == 0) {
		return fmt.Errorf("%w: %s can be written by others: chmod go-w it", core.ErrInvalid, path)
	}
	if sys, ok := stat.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to another user", core.ErrInvalid, path)
	}
	return nil
}
