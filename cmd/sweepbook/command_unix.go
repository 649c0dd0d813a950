//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals the command and what it started. A group that is gone is none
// to be told.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, sig) }

// exitCodeOf is the code as a shell gives it: 128+n for signal n.
func exitCodeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// ownSession takes a command out of the reach of this terminal: its Ctrl-C and its
// hang-up.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// inherited is a file that the caller of this process gave to it, and to nobody whom
// this process starts.
func inherited(fd int) *os.File {
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "inherited")
}
