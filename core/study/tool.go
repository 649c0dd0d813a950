package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/core/tool"
)

// ruler is the tool of every workload that names none.
const ruler = "sweepbook"

func toolOf(w core.NamedWorkload) string {
	if w.Tool == "" {
		return ruler
	}
	return w.Tool
}

// ToolOrigin is where a tool comes from: what the file says of it, else the
// installation of the engine that brings it along.
func (f *File) ToolOrigin(name string) core.Origin {
	o := f.Study.Tools[name]
	engine := f.Study.Engines[tool.Engine(name)]
	if o.Venv == "" && o.Cmd == "" {
		o.Venv = engine.Venv
	}
	if o.Version == "" {
		o.Version = engine.Version
	}
	return o
}

// toolAsk is a trial as its tool is asked for it.
func (f *File) toolAsk(w core.NamedWorkload, l core.Load, c core.Config, ready core.ReadyRule) tool.Ask {
	path := f.DataPath(w.Workload)
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs // the tool runs in a folder of its own
	}
	return tool.Ask{Tool: w.Tool, Origin: f.ToolOrigin(w.Tool), BaseURL: ready.BaseURL, Model: ready.Model, Checkpoint: c.Checkpoint, Engine: c.Engine,
		Workload: w.Workload, Load: l, DataPath: path, Goodput: w.Goodput}
}

// checkTool reports what a tool cannot be asked for before anything runs.
func (f *File) checkTool(n node, w core.NamedWorkload) {
	if w.Tool == "" || n.in.err != nil {
		return
	}
	for _, l := range w.Loads {
		if _, err := tool.Command(f.toolAsk(w, l, core.Config{}, core.ReadyRule{})); err != nil {
			n.fail("%s: %v", n.key, err)
			return
		}
	}
}

// bench is the command of a trial that another tool measures, nil for the ruler's.
func (f *File) bench(w core.NamedWorkload, l core.Load, c core.Config, ready core.ReadyRule) ([]string, error) {
	if w.Tool == "" {
		return nil, nil
	}
	l.Seed = core.Number(Seed(l.Seed.Num, place(&f.Study, w.Workload, l), 1))
	return tool.Command(f.toolAsk(w, l, c, ready))
}

// findTools reports a tool that is not there before anything is launched for it.
func (r *Runner) findTools() error {
	for _, w := range r.File.Study.Workloads {
		if w.Tool == "" {
			continue
		}
		argv, err := tool.Command(r.File.toolAsk(w, w.Loads[0], core.Config{}, core.ReadyRule{}))
		if err != nil {
			return fmt.Errorf("workload %s: %w", w.Workload.Name, err)
		}
		if _, err := exec.LookPath(argv[0]); err != nil {
			return fmt.Errorf("workload %s: tool %s: %w; where it is says tools: {%s: {venv: DIR}} in the study or in local.yaml", w.Workload.Name, w.Tool, err, w.Tool)
		}
	}
	return nil
}

// byTool measures a trial with somebody else's tool, started as a server is: under
// supervision, in a folder of its own. What it leaves behind is read by
// core/ingest. An error means that the run cannot go on.
func (r *Runner) byTool(ctx context.Context, srv *server, t *core.Trial) ([]core.Sample, error) {
	named := workload(&r.File.Study, t.Workload.Name)
	if scale, ok := t.Setup.Config.Knobs["time_scale"]; ok && scale != core.Number(1) && t.Setup.Simulated {
		// Only the ruler knows simulated time.
		tool.End{}.Apply(t, false)
		t.Failure, t.FailureText = core.Unsupported, fmt.Sprintf("%s measures in real time: it needs time_scale 1, not %s", named.Tool, scale)
		return nil, nil
	}
	argv, err := tool.Command(r.File.toolAsk(*named, t.Load, t.Setup.Config, core.ReadyRule{BaseURL: srv.ready.BaseURL, Model: srv.ready.Model}))
	if err != nil {
		return nil, r.giveUp(t, err)
	}
	dir := filepath.Join(r.WorkDir, t.ID.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, r.giveUp(t, fmt.Errorf("folder of the benchmark: %w", err))
	}
	if r.ToolVersion != nil {
		t.Setup.ToolVersion = r.ToolVersion(ctx, argv[0], tool.Package(named.Tool))
	}
	limited, cancel := context.WithTimeout(ctx, r.File.Study.Run.TrialTimeout)
	defer cancel()
	r.warmUp(limited, srv, t)
	began := r.Now()
	observer := load.Observe(ctx, discard{}, load.Observation{BaseURL: srv.ready.BaseURL, GPUs: r.telemetry(srv, t), Log: srv.launch.Log})
	observer.Progress(core.Progress{Phase: "measure"}) // what is watched is the whole run of the tool
	end, printed, err := r.runTool(limited, srv, t, argv, dir)
	ran := r.Now().Sub(began)
	seen := observer.Finish(ctx)
	if err != nil {
		return nil, r.giveUp(t, err)
	}
	end.Interrupted = ctx.Err() != nil
	res, err := r.toolResult(context.WithoutCancel(ctx), dir, printed, &end)
	if err != nil {
		return nil, r.giveUp(t, err)
	}
	samples := adoptResult(t, res)
	t.Extra["bench_command"] = core.String(tool.ShellLine(argv))
	t.Extra["bench_log"] = core.String(filepath.Join(dir, benchLog))
	if len(named.Goodput) > 0 {
		t.Extra["goodput_limits"] = core.String(load.Limits(named.Goodput).String())
	}
	tool.Observe(t, seen, ran)
	r.concludeTool(ctx, srv, t, end, len(res.Trials) > 0)
	return samples, nil
}

const (
	benchLog = "bench.log"
	// toolGrace is how long a tool may take to end. It holds no GPU and has nothing to
	// put away.
	toolGrace = 3 * time.Second
	// printedLimit is how much of a tool's output is searched for its result.
	printedLimit = 8 << 20
)

// giveUp ends a trial for a reason that lies with this machine and would meet every
// further one: it is kept as aborted, so that the next run takes it up again.
func (r *Runner) giveUp(t *core.Trial, err error) error {
	t.Status, t.Failure, t.FailureText = core.StatusAborted, core.ClientFailure, err.Error()
	return fmt.Errorf("trial %s: %w", t.ID, err)
}

// warmUp asks what no tool measures. The tools warm up with a prompt that they
// measure afterwards, so the ruler does it for them, with prompts of its own.
func (r *Runner) warmUp(ctx context.Context, srv *server, t *core.Trial) {
	n, err := Warmup(r.File.Study.Run.WarmupRequests, t.Load)
	if err != nil || n == 0 {
		return
	}
	r.event(Event{Kind: EventProgress, Lane: srv.lane, Trial: t, Text: "warm-up", Total: n})
	w := core.Workload{Dataset: "random", InputLen: t.Workload.InputLen, OutputLen: t.Workload.OutputLen, IgnoreEOS: core.Bool(true), Turns: core.Number(1), Endpoint: t.Workload.Endpoint}
	if w.InputLen.IsMissing() {
		w.InputLen = core.Number(256)
	}
	if w.OutputLen.IsMissing() {
		w.OutputLen = core.Number(64)
	}
	flight := t.Load.Concurrency
	if !(flight.Kind == core.KindNumber && flight.Num <= 16) {
		flight = core.Number(16)
	}
	// A server that answers none of them will fail the tool, where it is recorded.
	_ = load.Run(ctx, core.BenchmarkRequest{Trial: t.ID, BaseURL: srv.ready.BaseURL, Model: srv.ready.Model, Config: t.Setup.Config, Workload: w,
		Load:        core.Load{Concurrency: flight, NumPrompts: core.Number(float64(n)), Seed: core.Number(t.Load.Seed.Num + seedStride/2)},
		IdleTimeout: r.File.Study.Run.Stall()}, discard{})
}

// runTool runs the command to its end, or ends it: at the limit of time, with the
// run, or when the server is gone.
func (r *Runner) runTool(ctx context.Context, srv *server, t *core.Trial, argv []string, dir string) (end tool.End, printed string, err error) {
	proc, err := r.Start(ctx, ProcessSpec{Launch: t.ID, Process: core.Process{Name: t.Setup.Tool, Argv: argv}, Dir: dir, LogPath: filepath.Join(dir, benchLog)})
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.End{Interrupted: true}, "", nil
	case err != nil:
		return tool.End{}, "", fmt.Errorf("start %s: %w", argv[0], err)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	gone := srv.proc.Done()
	for done := false; !done; {
		select {
		case <-proc.Done():
			done = true
		case <-ctx.Done():
			end.TimedOut, done = true, true
		case <-gone:
			gone = nil
			// The tool fails by itself as a rule, and says so better.
			grace, cancel := context.WithTimeout(ctx, toolGrace)
			select {
			case <-proc.Done():
			case <-grace.Done():
			}
			cancel()
			done = true
		case <-tick.C:
			r.event(Event{Kind: EventProgress, Lane: srv.lane, Trial: t, Text: t.Setup.Tool + ": " + tool.LastLine(proc.LogTail(4<<10))})
		}
	}
	printed = proc.LogTail(printedLimit)
	end.LastLine, end.Limit = tool.LastLine(printed), r.File.Study.Run.TrialTimeout
	grace := min(r.grace(), toolGrace)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+30*time.Second)
	defer cancel()
	if err := proc.Stop(stop, grace); err != nil {
		// It holds no GPU; the next trial may go on beside what is left of it.
		r.back(func() { r.event(Event{Kind: EventWarning, Text: fmt.Sprintf("end %s: %v", argv[0], err)}) })
	}
	end.ExitCode = proc.ExitCode()
	return end, printed, nil
}

// toolResult reads what the tool wrote, or printed where it wrote nothing.
func (r *Runner) toolResult(ctx context.Context, dir, printed string, end *tool.End) (tool.Result, error) {
	// The folder is the trial's own and was empty.
	var fresh []tool.Fresh
	path := filepath.Join(dir, tool.ResultFile)
	if _, err := os.Stat(path); err == nil {
		fresh = append(fresh, tool.Fresh{Path: path})
	} else if !errors.Is(err, os.ErrNotExist) {
		return tool.Result{}, fmt.Errorf("result: %w", err)
	}
	opt := ingest.Options{Now: r.Now().UTC()}
	res, err := tool.ReadFiles(ctx, fresh, opt)
	if err != nil {
		return res, err
	}
	if len(res.Trials) == 0 {
		block, err := tool.ReadPrinted(ctx, benchLog, "", printed, opt)
		if err == nil && len(block.Trials) > 0 {
			return block, nil
		}
	}
	end.Notes = res.Notes
	return res, nil
}

// adoptResult takes over what a tool measured. What was asked, of which server, is
// known here and stays.
func adoptResult(t *core.Trial, res tool.Result) []core.Sample {
	t.Extra = map[string]core.Value{}
	if len(res.Trials) == 0 {
		return nil
	}
	from := res.Trials[0]
	t.Figures = core.Figures{}
	for name, v := range from.Figures {
		// What Sweepbook works out is worked out again when the trial is kept.
		if _, derived := from.Derived[name]; !derived {
			t.Figures.Set(name, v)
		}
	}
	maps.Copy(t.Extra, from.Extra)
	t.Sources = from.Sources
	if v := from.Setup.ToolVersion; v != "" {
		t.Setup.ToolVersion = v
	}
	if from.Status == core.StatusFailed {
		t.Status, t.Failure, t.FailureText = from.Status, from.Failure, from.FailureText
	}
	return res.Samples[from.ID]
}

// concludeTool sets status and failure class.
func (r *Runner) concludeTool(ctx context.Context, srv *server, t *core.Trial, end tool.End, result bool) {
	failed := end.ExitCode != 0 || end.TimedOut || !result || t.Figures["failed"] > 0
	if ctx.Err() == nil && failed && died(srv.proc) {
		d := r.diagnose(ctx, srv, "measure", core.Crash,
			fmt.Sprintf("the server ended with exit code %d during the measurement", srv.proc.ExitCode()))
		t.Status, t.Failure, t.FailureText = core.StatusFailed, d.Class, d.Line
		return
	}
	end.Apply(t, result)
	r.price(t)
}

// discard is a sink that nobody looks into.
type discard struct{}

func (discard) Samples([]core.Sample) error   { return nil }
func (discard) Progress(core.Progress)        {}
func (discard) Summary(map[string]core.Value) {}
