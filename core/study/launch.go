package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// serverHost is where servers listen. Other machines have no business with them.
const serverHost = "127.0.0.1"

// server is one launched server with its engine.
type server struct {
	session *Session
	proc    Process
	launch  *core.Launch
	plan    core.Plan
	ready   core.Ready

	lane     int
	port     int
	reserved Reserved
}

// launch starts one server and measures trials on it. A failure of the launch
// fails all its trials with its class and is no error of the run; an error means
// that the run cannot go on.
func (r *Runner) launch(ctx context.Context, res *Result, c candidate, trials []*core.Trial) error {
	r.event(Event{Kind: EventLaunch, Lane: c.lane, Text: Describe(c.config), Trial: trials[0], Total: len(trials)})
	srv, err := r.start(ctx, c, trials)
	if srv != nil {
		defer r.shutDown(srv)
	}
	defer r.putBack(trials)
	if err != nil {
		return r.failLaunch(ctx, res, c.lane, srv, trials, err)
	}
	for i, t := range trials {
		if err := r.mayGoOn(ctx); err != nil {
			return err
		}
		if err := r.trial(ctx, res, srv, t); err != nil {
			return err
		}
		if rest := trials[i+1:]; r.racing != nil && len(rest) > 0 && t.Status == core.StatusOK {
			why, err := r.racing(ctx)
			if err != nil {
				return fmt.Errorf("objective: %w", err)
			}
			if why != "" {
				r.event(Event{Kind: EventDecision, Text: why})
				return r.stopRest(ctx, rest, "", why)
			}
		}
		select {
		case <-srv.proc.Done():
			// The server is gone: the trials that are left get another launch.
			return nil
		default:
		}
	}
	return nil
}

// putBack makes trials that a launch did not come to measure planned ones again.
func (r *Runner) putBack(trials []*core.Trial) {
	for _, t := range trials {
		if t.Status != core.StatusLaunching {
			continue
		}
		t.Status, t.Launch = core.StatusPlanned, nil
		if err := r.Store.SaveTrial(context.Background(), t); err != nil {
			r.event(Event{Kind: EventWarning, Text: fmt.Sprintf("put trial %s back: %v", t.ID, err)})
		}
	}
}

// start plans, starts and waits for one server. The returned server is not nil
// as soon as something must be ended.
func (r *Runner) start(ctx context.Context, c candidate, trials []*core.Trial) (*server, error) {
	srv := &server{lane: c.lane, launch: &core.Launch{ID: core.NewID(r.Now()), StartedAt: r.Now().UTC(), Host: r.Host, Setup: trials[0].Setup}}
	for _, t := range trials {
		t.Launch = srv.launch
	}
	var session *Session
	var err error
	r.away(func() { session, err = r.Open(ctx, c.config.Engine) })
	if err != nil {
		return nil, err
	}
	srv.session = session
	srv.launch.PluginSHA = session.SHA256
	var info core.EngineInfo
	err = r.ask(ctx, c.config.Engine, "Info", func(ctx context.Context) error {
		if info, err = session.Info(ctx); err != nil {
			return fmt.Errorf("engine %s: %w", c.config.Engine, err)
		}
		return nil
	})
	if err != nil {
		return srv, err
	}
	setup := &srv.launch.Setup
	setup.Simulated, setup.GPUs = info.Simulated, r.File.gpuCount(info.Simulated)
	for _, t := range trials {
		t.Setup.Simulated, t.Setup.GPUs = setup.Simulated, setup.GPUs
	}

	dir := filepath.Join(r.WorkDir, srv.launch.ID.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return srv, fmt.Errorf("launch folder: %w", err)
	}
	if err := r.reserve(ctx, srv, c, trials); err != nil {
		return srv, err
	}
	srv.port, err = r.ports.next(r.File.Local.PortBase, srv.reserved.Ports, r.HoldPort)
	if err != nil {
		return srv, err
	}
	req := r.File.planRequest(c.config, srv.port, r.gpus(srv), dir)
	err = r.ask(ctx, c.config.Engine, "Plan", func(ctx context.Context) error {
		srv.plan, err = session.Plan(ctx, req)
		return planError(err)
	})
	if err != nil {
		return srv, err
	}
	if len(srv.plan.Processes) != 1 {
		return srv, &core.LaunchError{Class: core.Unsupported, Line: fmt.Sprintf("the plan has %d processes; one is supported", len(srv.plan.Processes))}
	}
	process := srv.plan.Processes[0]
	if err := writeFiles(dir, process.Files); err != nil {
		return srv, err
	}
	srv.launch.Argv, srv.launch.Env, srv.launch.Log = process.Argv, process.Env, filepath.Join(dir, "server.log")
	r.believe(srv, srv.plan.SetupHints, r.foretold(c.config))
	for _, t := range trials {
		tool, version := t.Setup.Tool, t.Setup.ToolVersion // a trial's own
		t.Setup = srv.launch.Setup
		t.Setup.Tool, t.Setup.ToolVersion = tool, version
		r.trace(t)
	}
	if err := r.refused(c.config, process.Argv); err != nil {
		return srv, err
	}
	for _, t := range trials {
		t.Status = core.StatusLaunching
		if err := r.Store.SaveTrial(ctx, t); err != nil {
			return srv, fmt.Errorf("record launch: %w", err)
		}
	}
	return srv, r.await(ctx, srv, dir, process)
}

// await starts the process and brings it to ready under the study's time limit.
func (r *Runner) await(ctx context.Context, srv *server, dir string, process core.Process) error {
	var started, err error
	var took time.Duration
	var late bool
	stopping := r.Stopping // of this run; the next one may have another
	r.away(func() {
		srv.proc, started = r.Start(ctx, ProcessSpec{Launch: srv.launch.ID, Process: process, Dir: dir, LogPath: srv.launch.Log})
		if started == nil {
			took, late, err = r.load(ctx, srv, stopping)
		}
	})
	switch {
	case started == nil:
	case ctx.Err() != nil:
		return ErrStopped
	case errors.Is(started, syscall.ENOSPC):
		return &core.LaunchError{Class: core.DiskFull, Line: started.Error()}
	default:
		// A program that is not there, or a folder that cannot be written, would
		// meet every launch: nothing is settled by it.
		return fmt.Errorf("start %s: %w", process.Argv[0], started)
	}
	if err == nil {
		srv.launch.ReadyS = core.Number(took.Seconds())
		srv.launch.LoadS, srv.launch.Resolved = srv.ready.LoadS, srv.ready.Resolved
		if asked := r.File.Study.Engines[srv.launch.Setup.Config.Engine].Version; asked != "" && srv.ready.Version != "" && !sameRelease(asked, srv.ready.Version) {
			return &core.LaunchError{Class: core.Unsupported, Line: fmt.Sprintf("the study asks for version %s, the server is %s", asked, srv.ready.Version)}
		}
		r.learn(srv)
		r.event(Event{Kind: EventReady, Lane: srv.lane, Text: srv.ready.BaseURL, Elapsed: took})
		return nil
	}
	var le *core.LaunchError
	class, seen := core.UnknownFailure, err.Error()
	switch {
	case ctx.Err() != nil, r.stopping():
		return ErrStopped
	case errors.As(err, &le):
		return le
	case exited(srv.proc):
		class, seen = core.Crash, fmt.Sprintf("the server ended with exit code %d before it was ready", srv.proc.ExitCode())
	case late:
		class, seen = core.StartupTimeout, fmt.Sprintf("not ready after %s", r.File.Study.Run.ReadyTimeout)
	case errors.Is(err, core.ErrPluginExited):
		return &core.LaunchError{Class: core.PluginCrash, Line: err.Error()}
	}
	r.away(func() { le = r.diagnose(ctx, srv, "load", class, seen) })
	return le
}

// load waits until a server is ready, and says how long that took and whether it was
// given up as late. Other lanes go on meanwhile, and what they do is not in the time.
func (r *Runner) load(ctx context.Context, srv *server, stopping <-chan struct{}) (took time.Duration, late bool, err error) {
	began := r.Now()
	ready, cancel := context.WithTimeout(ctx, r.File.Study.Run.ReadyTimeout)
	defer cancel()
	// A server that dies while it loads ends the wait at once, and so does the user:
	// a load takes minutes and would measure nothing any more.
	go func() {
		select {
		case <-srv.proc.Done():
			// Let the engine see the last lines first; it usually knows better.
			select {
			case <-time.After(2 * time.Second):
				cancel()
			case <-ready.Done():
			}
		case <-stopping:
			cancel()
		case <-ready.Done():
		}
	}()
	srv.ready, err = srv.session.Launch(ready, core.LaunchRequest{Plan: srv.plan, PIDs: []int{srv.proc.PID()}, LogPath: srv.launch.Log},
		func(p core.Progress) {
			r.event(Event{Kind: EventProgress, Lane: srv.lane, Text: p.Phase + " " + p.Message})
		})
	return r.Now().Sub(began), errors.Is(ready.Err(), context.DeadlineExceeded), err
}

// learn takes over what the server says of itself.
func (r *Runner) learn(srv *server) {
	setup := &srv.launch.Setup
	if srv.ready.Version != "" {
		setup.EngineVersion = srv.ready.Version
	}
	switch srv.ready.Resolved["compile_cache"].Text {
	case "warm":
		srv.launch.CompileWarm = core.Bool(true)
	case "cold":
		srv.launch.CompileWarm = core.Bool(false)
	}
	r.believe(srv, srv.plan.SetupHints, srv.ready.Facts)
}

// believe takes facts over, the later ones first. What was chosen stays as it was
// chosen: an engine's facts may describe the machine and the formats, never the
// configuration.
func (r *Runner) believe(srv *server, facts ...map[string]core.Value) {
	setup := &srv.launch.Setup
	config := setup.Config
	told := core.Trial{Setup: *setup}
	told.Setup.Config.Knobs = maps.Clone(config.Knobs)
	for _, from := range facts {
		for name, v := range from {
			if err := told.SetField(name, v); err != nil {
				r.event(Event{Kind: EventWarning, Text: fmt.Sprintf("engine %s reports %v", setup.Config.Engine, err)})
			}
		}
	}
	*setup = told.Setup
	setup.Config = config
}

func exited(p Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// failLaunch fails all trials of a launch with its class. Only what concerns the
// run itself comes back as an error.
func (r *Runner) failLaunch(ctx context.Context, res *Result, lane int, srv *server, trials []*core.Trial, cause error) error {
	var le *core.LaunchError
	stopped := errors.Is(cause, ErrStopped) || ctx.Err() != nil
	switch {
	case errors.As(cause, &le):
	case stopped:
		le = &core.LaunchError{Class: core.Interrupted, Line: "the run was ended"}
	case errors.Is(cause, core.ErrPluginExited):
		le = &core.LaunchError{Class: core.PluginCrash, Line: cause.Error()}
	default:
		// Nothing was launched for a reason that would meet every launch.
		return cause
	}
	ctx = context.WithoutCancel(ctx)
	if srv != nil {
		srv.launch.Failure, srv.launch.FailureText = le.Class, le.Line
	}
	for _, t := range trials {
		t.Status, t.Failure, t.FailureText = core.StatusFailed, le.Class, le.Line
		if stopped {
			t.Status = core.StatusAborted
		}
		t.EndedAt = r.Now().UTC()
		srv.mark(t)
		if err := r.Store.FinishTrial(ctx, t, nil); err != nil {
			return fmt.Errorf("record failed launch: %w", err)
		}
		res.Ran++
		res.Failed++
	}
	if len(trials) > 0 {
		r.event(Event{Kind: EventFailed, Lane: lane, Trial: trials[0], Total: len(trials)})
	}
	if stopped {
		return ErrStopped
	}
	return nil
}

// shutDown ends a server and its engine for certain, whatever became of the run.
func (r *Runner) shutDown(srv *server) {
	began := r.Now()
	var alive, open error
	r.away(func() { alive, open = r.end(srv) })
	if alive != nil {
		r.stuck = alive
		r.event(Event{Kind: EventWarning, Text: fmt.Sprintf("stop server: %v", alive)})
	}
	if open != nil {
		r.event(Event{Kind: EventWarning, Text: fmt.Sprintf("close engine %s: %v", srv.launch.Setup.Config.Engine, open)})
	}
	r.prove(srv)
	r.ports.giveBack(srv.port)
	r.event(Event{Kind: EventStopped, Lane: srv.lane, Elapsed: r.Now().Sub(began)})
}

// end says why a server may be alive and its engine open, nil where they have ended. It
// waits for no other lane: with that the limit could pass, and the server be left.
func (r *Runner) end(srv *server) (alive, open error) {
	// The polite way and TERM may take the grace time each; then comes KILL.
	ctx, cancel := context.WithTimeout(context.Background(), 2*r.grace()+30*time.Second)
	defer cancel()
	if srv.proc != nil {
		if !exited(srv.proc) {
			// The engine's own way first; a refusal costs nothing, since the
			// supervisor ends the tree in any case. At a port that another process has,
			// that one would be asked to end.
			base := srv.plan.Ready.BaseURL
			if srv.launch.Failure == core.PortInUse {
				base = ""
			}
			polite, done := context.WithTimeout(ctx, r.grace())
			_ = srv.session.Stop(polite, core.StopRequest{BaseURL: base, PIDs: []int{srv.proc.PID()}, Grace: r.grace()})
			done()
		}
		alive = srv.proc.Stop(ctx, r.grace())
	}
	return alive, srv.session.Close(ctx)
}

// writeFiles writes the plan's files into the launch's folder and nowhere else.
func writeFiles(dir string, files []core.PlanFile) error {
	for _, f := range files {
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("plan file %q: %w: it must lie inside the launch folder", f.Path, core.ErrInvalid)
		}
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("plan file: %w", err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return fmt.Errorf("plan file: %w", err)
		}
	}
	return nil
}
