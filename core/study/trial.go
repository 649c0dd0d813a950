package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// trial measures one trial on a ready server and records how it ended. An error
// means that the run cannot go on.
func (r *Runner) trial(ctx context.Context, res *Result, srv *server, t *core.Trial) error {
	by, version := t.Setup.Tool, t.Setup.ToolVersion // those of the launch are its first trial's
	t.Setup, t.Launch = srv.launch.Setup, srv.launch
	t.Setup.Tool, t.Setup.ToolVersion = by, version
	began := r.Now()
	t.Status, t.StartedAt = core.StatusRunning, began.UTC()
	if err := r.Store.SaveTrial(ctx, t); err != nil {
		return fmt.Errorf("record running trial: %w", err)
	}
	measure := r.byRuler
	if by != ruler {
		measure = r.byTool
	}
	after := srv.besides(t)
	var samples []core.Sample
	var stop error
	r.trying++
	own := *t // others read what is known of a trial
	own.Extra = maps.Clone(t.Extra)
	var took time.Duration // without the wait for other lanes
	r.away(func() {
		samples, stop = measure(ctx, srv, &own)
		took = r.Now().Sub(began)
	})
	r.trying--
	*t = own
	// By the clock that nobody sets: when the other one jumps, a trial takes as long all the same.
	t.EndedAt = t.StartedAt.Add(took)
	srv.mark(t)
	after()
	// The end is recorded even when the run is being ended.
	if err := r.Store.FinishTrial(context.WithoutCancel(ctx), t, samples); err != nil {
		return fmt.Errorf("record trial %s: %w", t.ID, err)
	}
	res.Ran++
	if t.Status != core.StatusOK {
		res.Failed++
	}
	r.event(Event{Kind: EventTrial, Lane: srv.lane, Trial: t, Elapsed: t.EndedAt.Sub(t.StartedAt)})
	if ctx.Err() != nil {
		return ErrStopped
	}
	return stop
}

// byRuler measures with the ruler, inside the plugin or here.
func (r *Runner) byRuler(ctx context.Context, srv *server, t *core.Trial) ([]core.Sample, error) {
	sink := &collector{}
	sink.report = func(p core.Progress) {
		e := Event{Kind: EventProgress, Lane: srv.lane, Trial: t, Text: p.Phase, Done: p.Done, Total: p.Total}
		if p.Phase == "measure" {
			e.Tokens, e.Elapsed = sink.answered()
		}
		r.event(e)
	}
	observer := load.Observe(ctx, sink, load.Observation{BaseURL: srv.ready.BaseURL, GPUs: r.telemetry(srv, t), Log: srv.launch.Log})
	err := r.benchmark(ctx, srv, t, observer)
	seen := observer.Finish(ctx)
	samples := sink.take()
	r.conclude(ctx, srv, t, samples, err)
	adopt(t, sink.extra, seen)
	if named := workload(&r.File.Study, t.Workload.Name); named != nil {
		load.Limits(named.Goodput).Judge(t.Figures, t.Extra, samples)
	}
	return samples, nil
}

// telemetry says which GPUs to watch: none where there are none, and none beside a
// simulator, whose GPU is not the one of this machine.
func (r *Runner) telemetry(srv *server, t *core.Trial) *load.TelemetrySource {
	const command = "nvidia-smi"
	if _, err := exec.LookPath(command); err != nil || t.Setup.Simulated {
		return nil
	}
	if gpus := srv.reserved.UUIDs; len(gpus) > 0 {
		return &load.TelemetrySource{Command: command, GPUs: gpus}
	}
	return &load.TelemetrySource{Command: command, GPUs: r.File.Local.GPUs}
}

// adopt adds what was seen of server and GPUs to the figures of the requests.
func adopt(t *core.Trial, summary map[string]core.Value, seen load.Observed) {
	for name, v := range seen.Figures {
		if _, measured := t.Figures[name]; !measured {
			t.Figures.Set(name, v)
		}
	}
	t.Throttled, t.Course = seen.Throttled, seen.Course
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	maps.Copy(t.Extra, summary)
	maps.Copy(t.Extra, seen.Extra)
}

func (r *Runner) benchmark(ctx context.Context, srv *server, t *core.Trial, sink core.Sink) error {
	s := &r.File.Study
	n, err := Warmup(s.Run.WarmupRequests, t.Load)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.Run.TrialTimeout)
	defer cancel()
	// A server that dies ends the measurement instead of failing request after
	// request until the limit.
	go func() {
		select {
		case <-srv.proc.Done():
			time.Sleep(time.Second)
			cancel()
		case <-limited.Done():
		}
	}()
	req := core.BenchmarkRequest{
		Trial: t.ID, BaseURL: srv.ready.BaseURL, Model: srv.ready.Model, Config: t.Setup.Config,
		Workload: t.Workload, Load: t.Load, Warmup: n, DataPath: r.File.DataPath(t.Workload), IdleTimeout: s.Run.Stall(),
	}
	err = srv.session.Benchmark(limited, req, sink)
	if errors.Is(err, core.ErrUnimplemented) {
		err = load.Run(limited, req, sink)
	}
	// The other side of the wire has the same limit, and may be the first to see it.
	if err != nil && (errors.Is(limited.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)) {
		return &core.LaunchError{Class: core.BenchTimeout, Line: fmt.Sprintf("not finished after %s", s.Run.TrialTimeout)}
	}
	return err
}

// conclude sets figures, status and failure class of a trial from its samples.
func (r *Runner) conclude(ctx context.Context, srv *server, t *core.Trial, samples []core.Sample, err error) {
	t.Status = core.StatusOK
	t.Figures = load.Figures(samples)
	var le *core.LaunchError
	switch {
	case ctx.Err() != nil:
		t.Status, t.Failure, t.FailureText = core.StatusAborted, core.Interrupted, "ended by the user"
	case (err != nil || t.Figures["failed"] > 0) && died(srv.proc):
		d := r.diagnose(ctx, srv, "measure", core.Crash,
			fmt.Sprintf("the server ended with exit code %d during the measurement", srv.proc.ExitCode()))
		t.Status, t.Failure, t.FailureText = core.StatusFailed, d.Class, d.Line
	case err == nil && len(samples) == 0:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.NoResult, "the benchmark ended without a single request"
	case err == nil && t.Figures["completed"] == 0:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.RequestsFailed, firstError(samples)
	case err == nil:
	case errors.As(err, &le):
		t.Status, t.Failure, t.FailureText = core.StatusFailed, le.Class, le.Line
	case errors.Is(err, core.ErrPluginExited):
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.PluginCrash, err.Error()
	default:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.BenchFailed, err.Error()
	}
	r.price(t)
}

// price sets what tokens cost where the study says what a GPU does: on as many GPUs
// as the trial had, which another layout changes.
func (r *Runner) price(t *core.Trial) {
	if price := r.File.Study.Hardware.USDPerGPUHour; price > 0 {
		priced(t, price*cmp.Or(t.Setup.GPUs, float64(max(1, r.File.Study.Hardware.GPUs))))
	}
}

// died reports whether a server is gone, or goes within a moment: its requests
// fail before its process has ended.
func died(p Process) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(time.Second):
		return false
	}
}

// priced sets the price of a million tokens at a price an hour for all GPUs.
func priced(t *core.Trial, usdPerHour float64) {
	perSecond := usdPerHour / 3600
	for figure, rate := range map[string]string{"usd_per_mtok_output": "output_tps", "usd_per_mtok_total": "total_tps"} {
		if tps := t.Figures[rate]; tps > 0 {
			t.Figures.Set(figure, perSecond/tps*1e6)
		}
	}
}

func firstError(samples []core.Sample) string {
	for _, s := range samples {
		if s.Outcome == core.OutcomeFailed {
			return s.Error
		}
	}
	return "no request completed"
}

// collector is the sink of one trial.
type collector struct {
	report func(core.Progress)

	mu      sync.Mutex
	samples []core.Sample
	tokens  int           // of all answers so far
	last    time.Duration // the end of the last, on the trial's own clock
	extra   map[string]core.Value
}

// maxSamples bounds what a broken plugin can make the host hold.
const maxSamples = 20_000_000

func (c *collector) Samples(batch []core.Sample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples)+len(batch) > maxSamples {
		return fmt.Errorf("%w: more than %d samples for one trial", core.ErrInvalid, maxSamples)
	}
	c.samples = append(c.samples, batch...)
	for i := range batch {
		c.tokens += max(0, batch[i].OutputTokens)
		c.last = max(c.last, batch[i].End)
	}
	return nil
}

// answered are the tokens of the answers so far and the time that they took.
func (c *collector) answered() (int, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens, c.last
}

func (c *collector) Progress(p core.Progress) { c.report(p) }

func (c *collector) Summary(extra map[string]core.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra = extra
}

func (c *collector) take() []core.Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.samples
}
