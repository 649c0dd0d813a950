package supervise

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupPrefix begins the name of every cgroup that we make, and no other is
// ever killed.
const cgroupPrefix = "sweepbook-"

// cgroup is a cgroup v2 folder that holds one server and all it forks. A nil
// *cgroup is none, and its methods do nothing.
type cgroup struct{ path string }

// mount is one place where the v2 hierarchy is visible.
type mount struct{ root, point string }

// parseMounts picks the cgroup2 mounts out of /proc/self/mountinfo. On a machine
// that has v1 and v2 side by side the v2 one lies in a folder such as
// /sys/fs/cgroup/unified, so the place is looked up and never assumed.
func parseMounts(r io.Reader) ([]mount, error) {
	var mounts []mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		left, right, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(left)
		if !ok || len(fields) < 6 {
			continue
		}
		if kind, _, _ := strings.Cut(right, " "); kind == "cgroup2" {
			mounts = append(mounts, mount{unescapeMount(fields[3]), unescapeMount(fields[4])})
		}
	}
	return mounts, lines.Err()
}

// unescapeMount undoes the octal escapes of blanks and the like in mountinfo.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parseOwnCgroup returns the v2 path of /proc/PID/cgroup: the line "0::/path".
func parseOwnCgroup(data []byte) (string, bool) {
	for line := range bytes.Lines(data) {
		if path, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("0::")); ok && bytes.HasPrefix(path, []byte("/")) {
			return string(path), true
		}
	}
	return "", false
}

// folder is where the cgroup path lies under the mount, "" if it is not visible
// there.
func (m mount) folder(path string) string {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(m.root, "/"))
	if !ok || (rest != "" && rest[0] != '/') || strings.Contains(path+"/", "/../") {
		return ""
	}
	return filepath.Join(m.point, rest)
}

// plannedCgroup is where the cgroup of a marker would be made: below the cgroup
// of this process, which is the only place that may be delegated to us. It is
// "" where there is no v2 hierarchy.
func plannedCgroup(marker string) string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	own, ok := parseOwnCgroup(data)
	if !ok {
		return ""
	}
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	mounts, err := parseMounts(file)
	if err != nil {
		return ""
	}
	for _, m := range mounts {
		if folder := m.folder(own); folder != "" && isCgroup2(folder) {
			return filepath.Join(folder, cgroupName(marker))
		}
	}
	return ""
}

// cgroupName is one path element that names a marker.
func cgroupName(marker string) string {
	_, id, _ := strings.Cut(marker, "=")
	plain := strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
	if !plain || len(id) > 100 {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:8])
	}
	return cgroupPrefix + id
}

func isCgroup2(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// makeCgroup makes the folder. Most users may not, which is no failure: the
// caller then does without.
func makeCgroup(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	return &cgroup{path}, nil
}

// openCgroup returns the cgroup of a handle if it still exists and is one that
// we made for this marker: a stored path is not believed, because writing to the
// cgroup.kill of a wrong one would end strangers.
func openCgroup(path, marker string) *cgroup {
	if path == "" || filepath.Base(path) != cgroupName(marker) || !isCgroup2(path) {
		return nil
	}
	return &cgroup{path}
}

// kill ends every process in the cgroup at once, those that are being forked
// included (Linux 5.14). On older kernels it does nothing and the killer's own
// passes do the work.
func (c *cgroup) kill() {
	if c != nil {
		_ = os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0)
	}
}

// pids lists the processes in the cgroup and in those that the server may have
// made below it.
func (c *cgroup) pids() map[int]bool {
	pids := make(map[int]bool)
	if c == nil {
		return pids
	}
	for _, path := range c.folders() {
		data, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, line := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids[pid] = true
			}
		}
	}
	return pids
}

// folders lists the cgroup and those below it, each before those below it. What
// has vanished meanwhile is left out: it holds no process.
func (c *cgroup) folders() []string {
	var folders []string
	// The walk has no error, because the function never returns one.
	_ = filepath.WalkDir(c.path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	return folders
}

// remove deletes the emptied folder, deepest first. The kernel may call it busy
// for a moment after the last process has ended.
func (c *cgroup) remove() error {
	if c == nil {
		return nil
	}
	folders := c.folders()
	for i := len(folders) - 1; i >= 0; i-- {
		err := unix.Rmdir(folders[i])
		for wait := time.Millisecond; errors.Is(err, unix.EBUSY) && wait < time.Second; wait *= 2 {
			time.Sleep(wait)
			err = unix.Rmdir(folders[i])
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove cgroup %s: %w", folders[i], err)
		}
	}
	return nil
}
