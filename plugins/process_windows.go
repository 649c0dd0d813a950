package plugins

import (
	"os"
	"syscall"
)

// ownGroup puts a plugin into a console group of its own.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills the plugin alone: this system has no groups to kill.
func killGroup(p *os.Process) { _ = p.Kill() }
