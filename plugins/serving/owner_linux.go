package serving

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PortOwner finds out whether one of the processes, a descendant or a member of
// its session listens on a TCP port. It is unknown when /proc does not show the
// socket or may not be read.
func PortOwner(pids []int, port int) Ownership {
	sockets := listeners(port)
	if len(sockets) == 0 {
		return OwnerUnknown
	}
	family := relatives(pids)
	unreadable := false
	for _, pid := range family {
		fds, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
		if err != nil {
			unreadable = unreadable || os.IsPermission(err)
			continue
		}
		for _, fd := range fds {
			target, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd.Name()))
			if err == nil && slices.Contains(sockets, target) {
				return OwnerOurs
			}
		}
	}
	if unreadable {
		return OwnerUnknown
	}
	return OwnerForeign
}

// listeners returns the sockets that listen on a port, as links under fd name them.
func listeners(port int) []string {
	const listening = "0A"
	want := strings.ToUpper(strconv.FormatInt(int64(port), 16))
	want = ":" + strings.Repeat("0", 4-len(want)) + want
	var sockets []string
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			col := strings.Fields(lines.Text())
			if len(col) > 9 && strings.HasSuffix(col[1], want) && col[3] == listening {
				sockets = append(sockets, "socket:["+col[9]+"]")
			}
		}
		_ = f.Close() // only read
	}
	return sockets
}

// relatives returns the processes themselves, their descendants, and everything
// in a session that one of them leads.
func relatives(pids []int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return pids
	}
	stats := map[int]procStat{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if st, err := readStat(pid); err == nil {
				stats[pid] = st
			}
		}
	}
	var family []int
	for pid := range stats {
		for p, depth := pid, 0; p > 0 && depth < 64; p, depth = stats[p].parent, depth+1 {
			if slices.Contains(pids, p) || slices.Contains(pids, stats[p].session) {
				family = append(family, pid)
				break
			}
		}
	}
	return family
}
