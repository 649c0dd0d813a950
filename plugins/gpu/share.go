package gpu

import "fmt"

// splits reports whether launches share the GPUs among them.
func (g *Guard) splits() bool { return g.Parallel > 1 }

// take locks the GPUs of the run and gives a launch its own: all of them, or a share
// that no other launch has.
func (g *Guard) take(devices []Device) (*Reservation, []Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.splits() {
		if g.PerLaunch < 1 {
			return nil, nil, fmt.Errorf("run.parallel: hardware.gpus is missing: how many of the %d GPUs here a launch takes", len(devices))
		}
		need := g.Parallel * g.PerLaunch
		if len(devices) < need {
			return nil, nil, fmt.Errorf("run.parallel: %d launches of %d GPUs each (hardware.gpus) need %d, and there are %d; lower it, or name more under gpus in local.yaml",
				g.Parallel, g.PerLaunch, need, len(devices))
		}
		devices = devices[:need]
	}
	if err := g.lock(devices); err != nil {
		return nil, nil, err
	}
	res := &Reservation{Ports: g.ports}
	if !g.splits() {
		return res, devices, nil
	}
	var mine []Device
	for _, d := range devices {
		if !g.given[d.UUID] && len(mine) < g.PerLaunch {
			mine = append(mine, d)
			res.given = append(res.given, d.UUID)
		}
	}
	if len(mine) < g.PerLaunch {
		return nil, nil, fmt.Errorf("gpus: %d launches have all that there are", g.Parallel)
	}
	if g.given == nil {
		g.given = map[string]bool{}
	}
	for _, d := range mine {
		g.given[d.UUID] = true
	}
	return res, mine, nil
}

// Release ends a launch's share, once Prove has shown that nothing of it is left, or
// that it cannot be shown. All stay locked for the run.
func (g *Guard) Release(r *Reservation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, uuid := range r.given {
		delete(g.given, uuid)
	}
	r.given = nil
}
