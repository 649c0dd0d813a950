//go:build !linux

package plugins

// waitAndSweep waits for the plugin and kills what it leaves in its group. The
// leader is reaped first, as there is no portable way to wait without; its number
// stays taken while the group has members, and a free one is not given out again
// before all others.
func (p *process) waitAndSweep() {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.wait = err
	p.reaped = true
}
