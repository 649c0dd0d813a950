package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup: a command gets Ctrl-C with us here.
func ownGroup(*exec.Cmd) {}

// signalGroup kills the command; asking it politely is not possible here, Ctrl-C
// asked it already.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		_ = cmd.Process.Kill() // it may have ended by itself
	}
}

func exitCodeOf(state *os.ProcessState) int { return state.ExitCode() }

// ownSession: runs need Linux.
func ownSession(*exec.Cmd) {}

func inherited(fd int) *os.File { return os.NewFile(uintptr(fd), "inherited") }
