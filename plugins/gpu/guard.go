package gpu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Guard looks after the GPUs of one run. It holds what it has locked until Close.
type Guard struct {
	SMI        SMI
	Locks      Locks
	Quarantine Quarantine
	Study      string
	Wanted     []string // indexes or UUIDs; none is those of CUDA_VISIBLE_DEVICES, or all
	// MaxUsedMiB is how much memory of a GPU may be in use before a launch; more is a
	// neighbour.
	MaxUsedMiB float64
	// Neighbours allows other processes on the GPUs: they become a mark of the trials.
	Neighbours bool
	// FirstPort is where the blocks of ports begin; zero is 23000.
	FirstPort int
	LookupEnv func(string) (string, bool)
	Now       func() time.Time
	// Marked lists living processes of a launch, by its marker.
	Marked func(launch core.ID) ([]string, error)
	// Patience is how long memory may take to come free, before a launch and after a
	// server's end. Zero is DefaultPatience.
	Patience Patience
	// Parallel launches of PerLaunch GPUs each may be in progress at once; where it is
	// below 2 a launch gets all GPUs that are wanted.
	Parallel, PerLaunch int

	mu    sync.Mutex // guards the rest
	held  map[string]func()
	given map[string]bool // UUIDs that a launch in progress has
	ports int             // first port of the block that is held; 0 is none
}

// Patience says how long memory may take to come free.
type Patience struct {
	Before time.Duration // of a neighbour that may be on its way out
	After  time.Duration // of a server of ours: KILL returns before its memory is free
}

// DefaultPatience: more than thirty seconds at teardown were seen in the wild.
func DefaultPatience() Patience { return Patience{Before: time.Minute, After: 2 * time.Minute} }

// DefaultMaxUsedMiB leaves room for what a driver and a display take.
const DefaultMaxUsedMiB = 1024

// tolerance is by how much memory may stay above what was in use before.
const tolerance = 512 // MiB

// Reservation is what a launch gets.
type Reservation struct {
	Devices []Device // as they were before the launch
	// Names are how the launch is told of its GPUs: their indexes, because engines
	// read CUDA_VISIBLE_DEVICES as numbers. Empty where none were wanted by name.
	Names []string
	// Ports is the first of PortBlock ports that no other run is given; 0 where no
	// GPU is known.
	Ports int
	// Unsure says why nobody can tell whether the GPUs are free; "" where it is known.
	Unsure string
	// Neighbours are other processes that hold memory of the GPUs and are allowed.
	Neighbours []Holder

	given []string // UUIDs to give back
}

// Reserve makes the GPUs ready for one launch: they are locked for this run, not in
// quarantine, and nobody else has their memory. visible is what the launch's own
// configuration says of CUDA_VISIBLE_DEVICES, if it does.
//
// The error is a *HeldError where another run has one of them, and a
// *core.LaunchError where the launch must not be made: gpu_dirty, or driver where
// nvidia-smi hangs.
func (g *Guard) Reserve(ctx context.Context, visible string, visibleSet bool) (*Reservation, error) {
	if !visibleSet {
		visible, visibleSet = g.LookupEnv("CUDA_VISIBLE_DEVICES")
	}
	all, err := g.SMI.Devices(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrHung):
		return nil, &core.LaunchError{Class: core.Driver, Line: err.Error() + ": nothing can be measured on such a GPU"}
	case g.splits() && g.PerLaunch > 0:
		return nil, fmt.Errorf("run.parallel: which GPUs are here cannot be told, so that none can be given to each launch: %w", err)
	case errors.Is(err, exec.ErrNotFound):
		return &Reservation{Unsure: "there is no nvidia-smi here"}, nil
	default:
		return &Reservation{Unsure: err.Error()}, nil
	}
	devices, err := Choose(all, g.Wanted, visible, visibleSet)
	if err != nil {
		return nil, fmt.Errorf("gpus: %w", err)
	}
	if len(devices) == 0 {
		return &Reservation{}, nil
	}
	res, devices, err := g.take(devices)
	if err != nil {
		return nil, err
	}
	if err := g.ready(ctx, res, devices); err != nil {
		g.Release(res)
		return nil, err
	}
	return res, nil
}

// ready looks whether GPUs may be launched on.
func (g *Guard) ready(ctx context.Context, res *Reservation, devices []Device) error {
	for _, d := range devices {
		if r, bad, err := g.Quarantine.Get(d.UUID); err != nil {
			return err
		} else if bad {
			return &core.LaunchError{Class: core.GPUDirty, Line: fmt.Sprintf("%s is in quarantine since %s: %s; sweepbook gpu release %s --reason … lifts it",
				d, r.Since.Format(time.RFC3339), r.Why, d.UUID)}
		}
	}
	if len(g.Wanted) > 0 || g.splits() {
		for _, d := range devices {
			res.Names = append(res.Names, name(d))
		}
	}
	return g.awaitFree(ctx, res, devices)
}

func name(d Device) string {
	if d.Index < 0 {
		return d.UUID
	}
	return strconv.Itoa(d.Index)
}

// awaitFree looks at the memory until it is free enough, or patience ends.
func (g *Guard) awaitFree(ctx context.Context, res *Reservation, devices []Device) error {
	deadline := time.Now().Add(g.patience().Before)
	for {
		now, holders, err := g.look(ctx, devices)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &core.LaunchError{Class: core.Driver, Line: err.Error()}
		}
		res.Devices, res.Unsure = now, untold(now)
		full := slices.ContainsFunc(now, func(d Device) bool { return d.UsedMiB.Kind == core.KindNumber && d.UsedMiB.Num > g.MaxUsedMiB })
		if !full || g.Neighbours {
			res.Neighbours = holders
			return nil
		}
		if time.Now().After(deadline) {
			return &core.LaunchError{Class: core.GPUDirty, Line: g.refusal(now, holders)}
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func untold(devices []Device) string {
	for _, d := range devices {
		if d.UsedMiB.Kind != core.KindNumber {
			return fmt.Sprintf("nvidia-smi does not tell the memory in use of %s", d)
		}
	}
	return ""
}

// refusal says which GPU is full and who holds it.
func (g *Guard) refusal(devices []Device, holders []Holder) string {
	for _, d := range devices {
		if d.UsedMiB.Kind != core.KindNumber || d.UsedMiB.Num <= g.MaxUsedMiB {
			continue
		}
		return fmt.Sprintf("%s has %s MiB in use, above run.gpu.max_used_mib %g: held by %s; end it, or set run.gpu.neighbours: allow in the study", d, d.UsedMiB,
			g.MaxUsedMiB, whoHolds(d, holders))
	}
	return ""
}

func whoHolds(d Device, holders []Holder) string {
	var names []string
	for _, h := range holders {
		if h.UUID == d.UUID {
			names = append(names, h.String())
		}
	}
	if len(names) == 0 {
		return "no process that nvidia-smi shows, as one outside of this container, or one that has ended"
	}
	return strings.Join(names, ", ")
}

// look reads the memory of some GPUs and who holds it.
func (g *Guard) look(ctx context.Context, devices []Device) ([]Device, []Holder, error) {
	all, err := g.SMI.Devices(ctx)
	if err != nil {
		return nil, nil, err
	}
	var now []Device
	for _, d := range devices {
		i := slices.IndexFunc(all, func(a Device) bool { return a.UUID == d.UUID })
		switch {
		case i >= 0:
			now = append(now, all[i])
		case d.Index < 0:
			now = append(now, d)
		default:
			return nil, nil, fmt.Errorf("%s is not listed by nvidia-smi any more", d)
		}
	}
	listed, err := g.SMI.Holders(ctx)
	if err != nil {
		return now, nil, nil //nolint:nilerr // who holds the memory is told where it can be
	}
	var holders []Holder
	for _, h := range listed {
		if slices.ContainsFunc(devices, func(d Device) bool { return d.UUID == h.UUID }) {
			holders = append(holders, h)
		}
	}
	return now, holders, nil
}

// Prove makes sure that nothing of a launch is left after its server was ended: no
// process with its marker, its port free, and the memory of each GPU back to what it
// was before. Where that cannot be shown the GPUs are put in quarantine and the
// error says why. A server that used no known GPU is proved by process and port.
func (g *Guard) Prove(ctx context.Context, launch core.ID, port int, before *Reservation) error {
	deadline := time.Now().Add(g.patience().After)
	for {
		why, dirty, holders := g.leftover(ctx, launch, port, before)
		if why == "" {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return g.condemn(launch, why, dirty, holders)
		}
		_ = pause(ctx) // an end is seen above
	}
}

// leftover says what is left of a launch, and on which GPUs.
func (g *Guard) leftover(ctx context.Context, launch core.ID, port int, before *Reservation) (why string, dirty []Device, holders []Holder) {
	if g.Marked != nil {
		if marked, err := g.Marked(launch); err != nil {
			return "its processes cannot be listed: " + err.Error(), before.Devices, nil
		} else if len(marked) > 0 {
			return "processes of it are left: " + strings.Join(marked, "; "), before.Devices, nil
		}
	}
	if err := portFree(port); err != nil {
		return fmt.Sprintf("port %d is still taken: %v", port, err), before.Devices, nil
	}
	if len(before.Devices) == 0 {
		return "", nil, nil
	}
	now, holders, err := g.look(ctx, before.Devices)
	if err != nil {
		return "whether its memory is free cannot be told: " + err.Error(), before.Devices, nil
	}
	for i, d := range now {
		was, is := before.Devices[i].UsedMiB, d.UsedMiB
		if was.Kind != core.KindNumber {
			continue // it was not told before, and that was said
		}
		if is.Kind != core.KindNumber {
			dirty = append(dirty, d)
			why = fmt.Sprintf("nvidia-smi does not tell any more how much memory of %s is in use", d)
		} else if is.Num > was.Num+tolerance+grown(d, before.Neighbours, holders) {
			dirty = append(dirty, d)
			why = fmt.Sprintf("%s MiB of %s are in use, %s before the launch: held by %s", is, d, was, whoHolds(d, holders))
		}
	}
	return why, dirty, holders
}

// grown is how much more memory the neighbours of before have now: that is theirs.
func grown(d Device, before, now []Holder) float64 {
	sum := 0.0
	for _, was := range before {
		for _, is := range now {
			if was.UUID == d.UUID && is.UUID == d.UUID && was.PID == is.PID && was.UsedMiB.Kind == core.KindNumber && is.UsedMiB.Kind == core.KindNumber {
				sum += max(0, is.UsedMiB.Num-was.UsedMiB.Num)
			}
		}
	}
	return sum
}

func portFree(port int) error {
	if port == 0 {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// condemn records each dirty GPU.
func (g *Guard) condemn(launch core.ID, why string, dirty []Device, holders []Holder) error {
	host, _ := os.Hostname()
	proof := fmt.Errorf("the server of launch %s has ended, but not without trace: %s", launch, why)
	for _, d := range dirty {
		r := Record{UUID: d.UUID, Index: d.Index, Name: d.Name, Host: host, Since: g.Now().UTC(), Why: why, Study: g.Study, Launch: launch.String(), RunPID: os.Getpid()}
		for _, h := range holders {
			if h.UUID == d.UUID {
				r.PIDs = append(r.PIDs, h.PID)
			}
		}
		if err := g.Quarantine.Put(r); err != nil {
			proof = errors.Join(proof, err)
			continue
		}
		proof = fmt.Errorf("%w; %s is put in quarantine", proof, d)
	}
	return proof
}

func (g *Guard) patience() Patience {
	if g.Patience == (Patience{}) {
		return DefaultPatience()
	}
	return g.Patience
}

// lookEvery is the time between two looks at memory that is not free yet.
const lookEvery = 500 * time.Millisecond

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookEvery):
		return nil
	}
}
