package store_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// stranger is a user of no account. Not nobody, under whom other things run.
const stranger = 54321

// TestUnwritableFolder reads as another user, since root may write anywhere.
func TestUnwritableFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	db := openAt(t, path, options())
	ok(t, db.SaveTrial(context.Background(), plain(1)))
	for _, state := range []string{"in use", "with a -wal of a dead writer", "closed"} {
		t.Run(state, func(t *testing.T) {
			switch state {
			case "with a -wal of a dead writer":
				wal, err := os.ReadFile(path + "-wal")
				ok(t, err)
				main, err := os.ReadFile(path)
				ok(t, err)
				ok(t, db.Close())
				ok(t, os.WriteFile(path, main, 0o600))
				ok(t, os.WriteFile(path+"-wal", wal, 0o600))
			case "closed":
				ok(t, os.Chmod(dir, 0o700))
				ok(t, openAt(t, path, options()).Close())
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				os.Chmod(path+suffix, 0o644)
			}
			ok(t, os.Chmod(dir, 0o555))
			ok(t, os.Chmod(filepath.Dir(dir), 0o755))
			before := files(t, dir)
			cmd, out := startChild(t, "read", path, func(cmd *exec.Cmd) {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
			})
			if out.Scan(); out.Text() != "trials 1" {
				t.Errorf("the reader says %q", out.Text())
			}
			ok(t, cmd.Wait()) // it removes its private copy
			if after := files(t, dir); !slices.Equal(before, after) {
				t.Errorf("files %q, before %q", after, before)
			}
		})
	}
}
