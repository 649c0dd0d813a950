package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins/gpu"
	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// lockDir is where runs of this user on this machine lock GPUs and ports.
func (a *app) lockDir() string {
	if dir := a.getenv("SWEEPBOOK_LOCK_DIR"); dir != "" {
		return dir
	}
	return gpu.DefaultLockDir()
}

func (a *app) quarantine() (gpu.Quarantine, error) {
	dir, err := gpu.DefaultQuarantineDir(a.getenv)
	return gpu.Quarantine{Dir: dir}, err
}

// gpuGuard looks after the GPUs of a study's launches. Nothing is locked before the
// first launch that needs one.
func (a *app) gpuGuard(file *study.File) (*gpu.Guard, error) {
	quarantine, err := a.quarantine()
	if err != nil {
		return nil, err
	}
	rules := file.Study.Run.GPU
	g := &gpu.Guard{
		Locks: gpu.Locks{Dir: a.lockDir()}, Quarantine: quarantine, Study: file.Study.Name, Wanted: file.Local.GPUs, FirstPort: file.Local.PortBase,
		MaxUsedMiB: gpu.DefaultMaxUsedMiB, Neighbours: rules.Neighbours, LookupEnv: os.LookupEnv, Now: a.now, Marked: markedProcesses,
		Parallel: file.Study.Run.Parallel, PerLaunch: file.Study.Hardware.GPUs,
	}
	if rules.MaxUsedMiB.Kind == core.KindNumber {
		g.MaxUsedMiB = rules.MaxUsedMiB.Num
	}
	if rules.FreeWithin > 0 {
		g.Patience = gpu.Patience{Before: min(rules.FreeWithin, gpu.DefaultPatience().Before), After: rules.FreeWithin}
	}
	return g, nil
}

// markedProcesses lists what is alive of a launch.
func markedProcesses(launch core.ID) ([]string, error) {
	procs, err := supervise.ListMarked(launchMarker + launch.String())
	if err != nil {
		return nil, err
	}
	var left []string
	for _, p := range procs {
		left = append(left, fmt.Sprintf("%d (%s)", p.PID, p.Command))
	}
	return left, nil
}

// portHolder keeps the port of a server from other runs, which look for free ones in
// the same range and would find it free until the server listens.
func (a *app) portHolder(study string) func(port int) (func(), bool) {
	locks := gpu.Locks{Dir: a.lockDir()}
	return func(port int) (func(), bool) {
		release, err := locks.Hold(fmt.Sprintf("port-%d", port), fmt.Sprintf("port %d", port), gpu.Owner{PID: os.Getpid(), Study: study, Since: a.now().UTC()})
		if err != nil {
			// Without a lock it is as likely to be free as it looks.
			return func() {}, !errors.Is(err, core.ErrHeld)
		}
		return release, true
	}
}

// reserver hands the guard to core/study.
func reserver(g *gpu.Guard) func(context.Context, core.ID, core.Config) (*study.Reserved, error) {
	return func(ctx context.Context, launch core.ID, config core.Config) (*study.Reserved, error) {
		visible, set := config.Env["CUDA_VISIBLE_DEVICES"]
		r, err := g.Reserve(ctx, visible, set)
		if err != nil {
			return nil, err
		}
		out := &study.Reserved{Names: r.Names, Ports: r.Ports, Marks: map[string]core.Value{},
			Release: func() { g.Release(r) },
			Beside:  func() []string { return g.Locks.Others(os.Getpid()) },
			Prove:   func(ctx context.Context, port int) error { return g.Prove(ctx, launch, port, r) }}
		for _, d := range r.Devices {
			if d.Index >= 0 {
				out.UUIDs = append(out.UUIDs, d.UUID)
			}
			out.Driver = d.Driver
		}
		if len(r.Devices) > 0 {
			out.Marks["gpu_uuids"] = core.String(uuidsOf(r.Devices))
		}
		if len(r.Neighbours) > 0 {
			var names []string
			for _, h := range r.Neighbours {
				names = append(names, h.String()+" on "+h.UUID)
			}
			out.Marks["gpu_neighbours"] = core.String(strings.Join(names, "; "))
		}
		if r.Unsure != "" {
			out.Marks["gpu_check"] = core.String("not made: " + r.Unsure)
			out.Warning = "whether the GPUs are free cannot be told: " + r.Unsure
		}
		return out, nil
	}
}

func uuidsOf(devices []gpu.Device) string {
	var uuids []string
	for _, d := range devices {
		uuids = append(uuids, d.UUID)
	}
	return strings.Join(uuids, " ")
}
