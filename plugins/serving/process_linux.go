package serving

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Alive reports whether a process exists and has not ended: one that waits to be
// reaped by its parent counts as ended.
func Alive(pid int) bool {
	st, err := readStat(pid)
	return err == nil && st.state != 'Z' && st.state != 'X'
}

// procStat is the part of /proc/<pid>/stat that tells whose process it is.
type procStat struct {
	state           byte
	parent, session int
}

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	// The command name may hold anything, even parentheses.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 4 {
		return procStat{}, fmt.Errorf("/proc/%d/stat: unexpected form", pid)
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	session, err2 := strconv.Atoi(string(f[3]))
	if err1 != nil || err2 != nil {
		return procStat{}, fmt.Errorf("/proc/%d/stat: unexpected form", pid)
	}
	return procStat{state: f[0][0], parent: parent, session: session}, nil
}
