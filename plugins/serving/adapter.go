package serving

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// Adapter is a core.Engine made of a dialect. It holds no process and no state of
// a launch: what it knows of a server it reads from the log and over HTTP.
type Adapter struct {
	d        *Dialect
	cacheDir string // of checkpoints, for containers; "" mounts none
	helps    helpCache
	seen     sights
	tool     toolRunner
}

// New makes an engine of a dialect, which must not change any more.
func New(d *Dialect) *Adapter {
	a := &Adapter{d: d, cacheDir: os.Getenv("HF_HOME"), tool: runTool}
	if home, err := os.UserHomeDir(); err == nil && a.cacheDir == "" {
		a.cacheDir = filepath.Join(home, ".cache", "huggingface")
	}
	return a
}

// Info implements core.Engine.
func (a *Adapter) Info(context.Context) (core.EngineInfo, error) {
	info := core.EngineInfo{Name: a.d.Name, Version: a.d.Version}
	for _, f := range core.EngineFlags(a.d.Name) {
		info.Knobs = append(info.Knobs, core.KnobInfo{Name: f.Name, Flag: f.Spelling(), Type: f.Type(), Default: f.Default, Doc: f.Doc})
	}
	return info, nil
}

// Launch implements core.Engine.
func (a *Adapter) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	report := newReport(a.d, progress)
	check := ReadyCheck{Rule: req.Plan.Ready, PIDs: req.PIDs, LogPath: req.LogPath, Health: a.d.Health, Line: report.line,
		Diagnose: func(tail string) core.Diagnosis { return a.d.diagnose(tail) }}
	if len(req.Plan.Processes) == 1 {
		if c, ok := containerOf(req.Plan.Processes[0].Argv); ok {
			// The server is no descendant of the command that runs its container.
			check.MorePIDs = func(ctx context.Context) []int { return a.containerPID(ctx, c) }
		}
	}
	// A driver that hangs must not hold up a server that is ready.
	machine := make(chan map[string]core.Value, 1)
	go func() { machine <- a.machineFacts(ctx, req.Plan) }()
	err := check.Await(ctx)
	facts := <-machine
	if err != nil {
		return core.Ready{}, a.launchError(err, req.LogPath)
	}
	base := req.Plan.Ready.BaseURL
	question := Question{ctx: ctx, client: ProbeClient(), base: base}
	defer question.client.CloseIdleConnections()
	if a.d.Ask != nil {
		a.d.Ask(question, report)
	}
	if v := ServerVersion(ctx, base); v != "" {
		report.Version = v
	}
	maps.Copy(facts, report.facts())
	ready := core.Ready{BaseURL: base, Model: req.Plan.Ready.Model, Version: report.Version,
		Resolved: report.Resolved, LoadS: report.loadS, Facts: facts}
	report.progress(core.Progress{Phase: "ready", Message: fmt.Sprintf("%s answers after %s", base, time.Since(report.start).Round(100*time.Millisecond))})
	return ready, nil
}

// launchError looks into the log of a server that did not become ready although it
// lives: an engine may stay up for ever after its worker has died, and the cause
// then stands in the log. What is passed on holds no secret.
func (a *Adapter) launchError(err error, logPath string) error {
	var launch *core.LaunchError
	if !errors.As(err, &launch) {
		return err
	}
	if launch.Class == core.StartupTimeout {
		if d := a.d.classify(LogTail(logPath, tailLimit), true, "load"); d.Class != core.UnknownFailure {
			return &core.LaunchError{Class: d.Class, Line: d.Line}
		}
	}
	return &core.LaunchError{Class: launch.Class, Line: Patterns.String(launch.Line)}
}

// Benchmark implements core.Engine with Sweepbook's own ruler.
func (a *Adapter) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	return load.Run(ctx, req, sink)
}

// Stop implements core.Engine. The engines' polite way is one SIGTERM to the
// leader, which the host sends and never repeats: a second one cuts their own
// clean-up short. A container is asked through its program, since a killed
// command would leave it running; one that is gone is no error.
func (a *Adapter) Stop(ctx context.Context, req core.StopRequest) error {
	for _, pid := range req.PIDs {
		c, ok := containerOf(commandLine(pid))
		if !ok {
			continue
		}
		seconds := max(1, int(req.Grace.Seconds()))
		out, err := a.tool(ctx, c.program, "stop", "--time", fmt.Sprint(seconds), c.name)
		if err != nil && !gone(out) && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("stop %s: container %s: %w", a.d.Name, c.name, err)
		}
	}
	return nil
}

// Diagnose implements core.Engine.
func (a *Adapter) Diagnose(_ context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	d := a.d.classify(req.LogTail, req.ExitCode == -1, req.Phase)
	if d.Class != core.UnknownFailure {
		return d, nil
	}
	switch code := req.ExitCode; {
	case code == -1 && req.Phase == "measure":
		return core.Diagnosis{Class: core.Hang, Line: line(d, "the server runs and its log says nothing")}, nil
	case code == -1 && (req.Phase == "load" || req.Phase == "start"):
		return core.Diagnosis{Class: core.StartupTimeout, Line: line(d, "the server runs and is not ready")}, nil
	case code > 128:
		// SGLang ends its whole tree with SIGKILL for any cause: a signal alone is no
		// evidence of the host's out-of-memory killer.
		return core.Diagnosis{Class: core.UnknownFailure, Line: line(d, fmt.Sprintf("ended by signal %d and no line that explains it", code-128))}, nil
	}
	return core.Diagnosis{Class: core.UnknownFailure, Line: line(d, fmt.Sprintf("exit status %d and no line that explains it", req.ExitCode))}, nil
}

// line prefers what the log says, if only a wrapper around the unknown cause.
func line(d core.Diagnosis, otherwise string) string {
	if d.Line != "" {
		return d.Line
	}
	return otherwise
}
