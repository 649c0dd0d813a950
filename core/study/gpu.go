package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Reserved is what the machine gives to one launch: GPUs that nobody else uses, and
// ports that no other run is given.
type Reserved struct {
	Names  []string // of the GPUs for the plan; empty leaves them to the environment
	UUIDs  []string // of the GPUs to be watched; empty leaves that to local.yaml
	Driver string
	Ports  int // first of the launch's own block; 0 is none
	// Marks are extras of every trial of the launch.
	Marks map[string]core.Value
	// Beside tells who holds other GPUs of this machine now; nil looks after none.
	Beside func() []string
	// Warning is what a person should know before the launch; "" is nothing.
	Warning string
	// Prove shows that nothing of the launch is left after its server was ended on a
	// port; 0 leaves out the port. Where it cannot, the next Reserve refuses.
	Prove func(ctx context.Context, port int) error
	// Release gives the GPUs back to further launches of this run; nil keeps nothing.
	Release func()
}

// proofMargin is how much longer than its memory a proof may take.
const proofMargin = time.Minute

// reserve asks the machine for the GPUs of a launch. A simulator needs none.
func (r *Runner) reserve(ctx context.Context, srv *server, c candidate, trials []*core.Trial) error {
	if r.Reserve == nil || srv.launch.Setup.Simulated {
		return nil
	}
	var reserved *Reserved
	var err error
	r.away(func() { reserved, err = r.Reserve(ctx, srv.launch.ID, c.config) })
	if err != nil {
		var refused *core.LaunchError
		if errors.As(err, &refused) {
			// It would meet every launch: this one is recorded, and the run ends.
			r.unfit = fmt.Errorf("no further launch is made: %w", refused)
		}
		return err
	}
	srv.reserved = *reserved
	if reserved.Driver != "" {
		srv.launch.Setup.Driver = reserved.Driver
		for _, t := range trials {
			t.Setup.Driver = reserved.Driver
		}
	}
	if reserved.Warning != "" && reserved.Warning != r.warned {
		r.warned = reserved.Warning
		r.event(Event{Kind: EventWarning, Text: reserved.Warning})
	}
	return nil
}

// gpus are the GPUs that a plan is told of.
func (r *Runner) gpus(srv *server) []string {
	if len(srv.reserved.Names) > 0 {
		return srv.reserved.Names
	}
	return r.File.Local.GPUs
}

// gpuCount is how many GPUs a launch is given, as far as the files say it; 0 is unknown.
// A simulator has those that the study is about.
func (f *File) gpuCount(simulated bool) float64 {
	if mine := len(f.Local.GPUs); mine > 0 && f.Study.Run.Parallel < 2 && !simulated {
		return float64(mine)
	}
	return float64(f.Study.Hardware.GPUs)
}

// mark adds to a trial what is known of its GPUs. The server may be nil.
func (srv *server) mark(t *core.Trial) {
	if srv == nil || len(srv.reserved.Marks) == 0 {
		return
	}
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	maps.Copy(t.Extra, srv.reserved.Marks)
}

// besides gathers who is measured beside a launch: each trial is marked with those that
// were there at its beginning or its end.
func (srv *server) besides(t *core.Trial) func() {
	if srv.reserved.Beside == nil {
		return func() {}
	}
	before := srv.reserved.Beside()
	return func() {
		all := before
		for _, other := range srv.reserved.Beside() {
			if !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
		if len(all) == 0 {
			return
		}
		if t.Extra == nil {
			t.Extra = map[string]core.Value{}
		}
		t.Extra["node_neighbours"] = core.String(strings.Join(all, "; "))
	}
}

// prove makes sure that an ended server left nothing behind, and gives its GPUs back.
// What it finds is a warning here; the next launch is refused by it.
func (r *Runner) prove(srv *server) {
	if srv.reserved.Release != nil {
		defer srv.reserved.Release()
	}
	if srv.proc == nil || srv.reserved.Prove == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(2*time.Minute, r.File.Study.Run.GPU.FreeWithin)+proofMargin)
	defer cancel()
	r.event(Event{Kind: EventProgress, Lane: srv.lane, Text: "stop: waiting until " + gpuText(srv.reserved.UUIDs) + " is free"})
	port := srv.port
	if srv.launch.Failure == core.PortInUse {
		port = 0 // somebody else has it, and that is no trace of ours
	}
	var err error
	r.away(func() { err = srv.reserved.Prove(ctx, port) })
	if err != nil {
		r.event(Event{Kind: EventWarning, Text: err.Error()})
	}
}

func gpuText(uuids []string) string {
	if len(uuids) == 0 {
		return "its port"
	}
	return strings.Join(uuids, ", ")
}
