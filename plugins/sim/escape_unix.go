//go:build unix

package sim

import (
	"os"
	"os/exec"
	"syscall"
)

// startEscaped starts a child in a session of its own, as schedulers of real
// engines do: killing the server's process group does not reach it.
func startEscaped() (pid int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(exe, serverCommand, escapedFlag)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}
