//go:build unix

package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sweepbook/sweepbook/core"
)

// onlyOurs refuses a path that others than its user and root could have written:
// by its own permissions and owner, or by those of a folder above. A sticky folder
// such as /tmp is fine above, because others cannot replace what lies in it.
func onlyOurs(path string) error {
	for p, first := path, true; ; p, first = filepath.Dir(p), false {
		stat, err := os.Stat(p)
		if err != nil {
			return err
		}
		if stat.Mode()&0o022 != 0 && (first || stat.Mode()&os.ModeSticky == 0) {
			return fmt.Errorf("%w: %s can be written by others: chmod go-w it", core.ErrInvalid, p)
		}
		if sys, ok := stat.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Getuid() {
			return fmt.Errorf("%w: %s belongs to another user", core.ErrInvalid, p)
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
