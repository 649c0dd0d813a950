package study

import (
	"fmt"
	"net"
	"os"
)

// portRange hands out ports from a range of our own, outside what the kernel
// gives to others, so that a port found free is still free when the server binds
// it; engines derive further ports from theirs, hence the distance.
type portRange struct {
	last  int
	taken map[int]func() // by launches in progress, also before they listen: what gives each back
}

const (
	defaultPortBase = 21000
	portStep        = 10
	portTries       = 200
	blockTries      = 10
)

// next gives a free port of the block that begins at a port and belongs to this run
// alone; where block is 0, one of the range from base on, which runs share. It is held
// against other runs where hold is not nil.
func (p *portRange) next(base, block int, hold func(port int) (release func(), ok bool)) (int, error) {
	// Runs that share a range begin at different places, since between the look and
	// the server's own bind another run may take the port.
	tries, first := portTries, os.Getpid()%portTries
	switch {
	case block != 0:
		base, tries, first = block, blockTries, 0
	case base == 0:
		base = defaultPortBase
	}
	if p.last < base || p.last >= base+portStep*tries {
		p.last = base + portStep*first - portStep
	}
	for range tries {
		p.last += portStep
		if p.last >= base+portStep*tries {
			p.last = base
		}
		if p.taken[p.last] != nil {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", serverHost, p.last))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("port %d: %w", p.last, err)
		}
		release := func() {}
		if hold != nil {
			var ok bool
			if release, ok = hold(p.last); !ok {
				continue // another run's server is about to listen there
			}
		}
		if p.taken == nil {
			p.taken = map[int]func(){}
		}
		p.taken[p.last] = release
		return p.last, nil
	}
	return 0, fmt.Errorf("no free port from %d on: set ports in local.yaml", base)
}

// giveBack ends the taking of a port; 0 is none.
func (p *portRange) giveBack(port int) {
	if release := p.taken[port]; release != nil {
		release()
		delete(p.taken, port)
	}
}
