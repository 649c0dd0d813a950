//go:build unix

package plugins

import (
	"os"
	"syscall"
)

// ownGroup puts a plugin into a process group of its own: Ctrl-C then reaches the
// host alone, and the group can be killed with the plugin.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a plugin and all that stayed in its group. The caller knows that
// the leader is not yet reaped, so that the number cannot belong to another group.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
