package plugins

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitAndSweep waits for the plugin and kills what it leaves in its group. The
// group is killed before its leader is reaped: until then its number is ours.
func (p *process) waitAndSweep() {
	for errors.Is(unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.wait = p.cmd.Wait()
	p.reaped = true
}
