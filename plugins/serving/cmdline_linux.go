package serving

import (
	"os"
	"strconv"
	"strings"
)

// commandLine is the argv of a running process; nil when it is gone.
func commandLine(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
