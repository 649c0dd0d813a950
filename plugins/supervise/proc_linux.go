package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, the unit of start times in /proc. It is 100 on
// every platform that serving engines run on.
const ticksPerSecond = 100

// identity names one process for the whole life of the machine's boot.
type identity struct {
	pid   int
	start uint64
}

func (p ProcInfo) identity() identity { return identity{p.PID, p.Start} }

// gone reports whether the process holds nothing any more. A first thread that
// has ended shows as a zombie while others still run, and they hold the GPU.
func (p ProcInfo) gone() bool {
	return p.State == "X" || (p.State == "Z" && p.threads <= 1)
}

// parseStat reads /proc/PID/stat. The name in brackets may itself hold brackets,
// blanks and line ends, so the fields are counted from the last bracket.
func parseStat(data string) (ProcInfo, error) {
	open, end := strings.IndexByte(data, '('), strings.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return ProcInfo{}, fmt.Errorf("process status %.40q: no name in brackets", data)
	}
	fields := strings.Fields(data[end+1:])
	if len(fields) < 20 {
		return ProcInfo{}, fmt.Errorf("process status %.40q: %d fields after the name, want 20", data, len(fields))
	}
	p := ProcInfo{State: fields[0], Command: "[" + data[open+1:end] + "]"}
	var err error
	number := func(text string) int {
		n, e := strconv.Atoi(text)
		err = errors.Join(err, e)
		return n
	}
	p.PID = number(strings.TrimSpace(data[:open]))
	p.PPID = number(fields[1])
	p.group = number(fields[2])
	p.session = number(fields[3])
	p.threads = number(fields[17])
	start, e := strconv.ParseUint(fields[19], 10, 64)
	if err = errors.Join(err, e); err != nil {
		return ProcInfo{}, fmt.Errorf("process status %.40q: %w", data, err)
	}
	p.Start = start
	return p, nil
}

// readProc reads one process; the error is fs.ErrNotExist or ESRCH when it has
// ended and was reaped.
func readProc(pid int) (ProcInfo, error) {
	data, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return ProcInfo{}, err
	}
	return parseStat(string(data))
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// alive reports whether exactly this process still holds anything.
func (id identity) alive() bool {
	if id.pid <= 0 {
		return false
	}
	p, err := readProc(id.pid)
	return err == nil && p.Start == id.start && !p.gone()
}

// scan reads every process that is not gone. A process that ends meanwhile is
// left out; one that starts meanwhile may be.
func scan() ([]ProcInfo, error) {
	var procs []ProcInfo
	_, err := walk(func(p ProcInfo) { procs = append(procs, p) })
	return procs, err
}

// walk visits every process that is not gone, the newest first: between the
// listing and the visit of what forks and exits without end, there is then the
// least time. It reports whether a listed process was gone when its turn came,
// which means that another may have taken its place unseen.
func walk(visit func(ProcInfo)) (vanished bool, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = dir.Close() }() // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false, fmt.Errorf("list processes: %w", err)
	}
	for _, name := range slices.Backward(names) {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := readProc(pid)
		switch {
		case err != nil:
			vanished = true
		case !p.gone():
			visit(p)
		}
	}
	return vanished, nil
}

// commandLine is the command as people know it, cut to 300 bytes; the name in
// brackets where the process has none.
func commandLine(p ProcInfo) string {
	data, err := os.ReadFile(procPath(p.PID, "cmdline"))
	text := strings.TrimSpace(strings.ToValidUTF8(string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})), "?"))
	if err != nil || text == "" {
		return p.Command
	}
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// findMarker returns the first entry of an environment block that begins with
// prefix, "" if there is none.
func findMarker(environ []byte, prefix string) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(prefix)) {
			return string(entry)
		}
	}
	return ""
}

// markerOf reads the environment that a process was started with. What another
// user's process carries cannot be read and so is never taken for ours.
func markerOf(pid int, prefix string) string {
	data, err := os.ReadFile(procPath(pid, "environ"))
	if err != nil {
		return ""
	}
	return findMarker(data, prefix)
}

// openAs lists the descriptors under which a process has a file open whose link
// in /proc reads as one of the targets, "pipe:[4711]" or "socket:[4711]".
func openAs(pid int, targets map[string]bool) []string {
	dir, err := os.Open(procPath(pid, "fd"))
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool {
		link, err := os.Readlink(procPath(pid, "fd/"+name))
		return err != nil || !targets[link]
	})
}

// bootID names this boot of the kernel.
func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// pidNamespace names the namespace in which process numbers hold; "" where the
// system does not say.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return link
}

// ticksNow is the present in the unit of start times, one tick early, because
// the kernel rounds a start time down.
func ticksNow() (uint64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("read boot clock: %w", err)
	}
	ticks := uint64(ts.Nano()) / (1e9 / ticksPerSecond)
	return max(ticks, 1) - 1, nil
}
