package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Owns reports whether a TCP port of this machine is listened on by the process
// rootPID or its descendants, and by nobody else. It is how a run proves that it
// measures its own server: a foreign one may have taken the port, or share it on
// another address. Nobody listening is false without an error.
func Owns(listenerPort int, rootPID int) (bool, error) {
	var sockets []uint64
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return false, fmt.Errorf("look up port %d: %w", listenerPort, err)
		}
		inodes, err := parseListeners(f, listenerPort)
		_ = f.Close() // only read
		if err != nil {
			return false, fmt.Errorf("look up port %d: %s: %w", listenerPort, table, err)
		}
		sockets = append(sockets, inodes...)
	}
	if len(sockets) == 0 {
		return false, nil
	}
	tree, err := Descendants(rootPID)
	if err != nil {
		return false, fmt.Errorf("look up port %d: %w", listenerPort, err)
	}
	pids := []int{rootPID}
	for _, p := range tree {
		pids = append(pids, p.PID)
	}
	for _, inode := range sockets {
		socket := map[string]bool{fmt.Sprintf("socket:[%d]", inode): true}
		if !slices.ContainsFunc(pids, func(pid int) bool { return len(openAs(pid, socket)) > 0 }) {
			return false, nil
		}
	}
	return true, nil
}

// listenState is TCP_LISTEN as /proc/net/tcp writes it.
const listenState = "0A"

// parseListeners returns the inodes of the sockets that listen on a port in a
// table such as /proc/net/tcp, whose addresses read "0100007F:1F90".
func parseListeners(r io.Reader, port int) ([]uint64, error) {
	var inodes []uint64
	lines := bufio.NewScanner(r)
	for first := true; lines.Scan(); first = false {
		fields := strings.Fields(lines.Text())
		if first || len(fields) < 10 || fields[3] != listenState {
			continue
		}
		_, text, ok := strings.Cut(fields[1], ":")
		n, err := strconv.ParseUint(text, 16, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("address %q: want hexadecimal address:port", fields[1])
		}
		if int(n) != port {
			continue
		}
		inode, err := strconv.ParseUint(fields[9], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("inode %q: %w", fields[9], err)
		}
		inodes = append(inodes, inode)
	}
	return inodes, lines.Err()
}
