package study

import (
	"fmt"
	"net"
	"os"
)

// portRange hands out ports from a range of our own, outside what the kernel
// gives to others, so that a port found free is still free when the server binds
// it; engines derive further ports from theirs, hence the distance.
type portRange struct{ last int }

const (
	defaultPortBase = 21000
	portStep        = 10
	portTries       = 200
)

func (p *portRange) next(base int) (int, error) {
	if base == 0 {
		base = defaultPortBase
	}
	if p.last < base {
		// Runs that start together begin at different places, since between the
		// look and the server's own bind another run may take the port.
		p.last = base + portStep*(os.Getpid()%portTries) - portStep
	}
	for range portTries {
		p.last += portStep
		if p.last >= base+portStep*portTries {
			p.last = base
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", serverHost, p.last))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("port %d: %w", p.last, err)
		}
		return p.last, nil
	}
	return 0, fmt.Errorf("no free port from %d on: set ports in local.yaml", base)
}
