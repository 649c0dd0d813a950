package gpu

import (
	"errors"
	"fmt"
	"os"

	"github.com/sweepbook/sweepbook/core"
)

// PortBlock is how many ports belong together. Engines derive further ports from
// the one that they are given.
const PortBlock = 100

// Blocks of ports lie below the range from which Linux gives ports away, a block
// for each GPU by its index.
const (
	firstBlock = 23000
	blocks     = 90
)

// lock holds each GPU for this run, and a block of ports with the first of them.
// What is held already stays so until Close.
func (g *Guard) lock(devices []Device) error {
	if g.held == nil {
		g.held = map[string]func(){}
	}
	me := Owner{PID: os.Getpid(), Study: g.Study, Since: g.Now().UTC()}
	for _, d := range sorted(devices) {
		if g.held[d.UUID] != nil {
			continue
		}
		release, err := g.Locks.Hold(d.UUID, d.String(), me)
		if err != nil {
			return err
		}
		g.held[d.UUID] = release
	}
	if g.ports != 0 {
		return nil
	}
	// Two containers or jobs of one machine may both call their GPU number 0, so the
	// block is locked too, and the next is taken where another run has it.
	first, origin := max(0, devices[0].Index), g.FirstPort
	if origin == 0 {
		origin = firstBlock
	}
	n := max(1, min(blocks, (1<<16-origin)/PortBlock))
	for i := range n {
		base := origin + (first+i)%n*PortBlock
		key := fmt.Sprintf("ports-%d", base)
		release, err := g.Locks.Hold(key, fmt.Sprintf("the block of ports from %d", base), me)
		if errors.Is(err, core.ErrHeld) {
			continue
		}
		if err != nil {
			return err
		}
		g.held[key], g.ports = release, base
		return nil
	}
	return fmt.Errorf("ports: every block from %d to %d is %w", origin, origin+n*PortBlock-1, core.ErrHeld)
}

// Close gives back what is held.
func (g *Guard) Close() {
	for key, release := range g.held {
		release()
		delete(g.held, key)
	}
	g.ports = 0
}
