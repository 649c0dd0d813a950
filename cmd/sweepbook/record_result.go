package main

import (
	"context"
	"maps"
	"os"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/core/tool"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// recorded is a trial with its requests.
type recorded struct {
	trial   *core.Trial
	samples []core.Sample
}

// results makes trials of what the command wrote, or printed; a failed one where
// there is nothing.
func (r *recording) results(ctx context.Context, printed string, end *tool.End) ([]recorded, error) {
	fresh, stale, err := r.watch.Fresh()
	if err != nil {
		return nil, err
	}
	opt := ingest.Options{Now: r.app.now().UTC()}
	res, err := tool.ReadFiles(ctx, fresh, opt)
	if err != nil {
		return nil, err
	}
	end.Notes = append(stale, res.Notes...)
	line := shellLine(r.redact.Argv(r.argv))
	if len(res.Trials) == 0 {
		shown, err := tool.ReadPrinted(ctx, "stdout", line, r.redact.String(printed), opt)
		if err != nil {
			return nil, err
		}
		res.Trials, res.Samples = shown.Trials, shown.Samples
	}
	found := len(res.Trials) > 0
	if !found {
		res.Trials = []*core.Trial{{Status: core.StatusRunning, Figures: core.Figures{}}}
	}
	version := serving.PackageVersion(ctx, r.inv.Program, tool.Package(r.inv.Tool))
	var out []recorded
	for _, t := range res.Trials {
		samples := res.Samples[t.ID]
		r.complete(t, line, version)
		end.Apply(t, found)
		out = append(out, recorded{t, samples})
	}
	return out, nil
}

// complete adds to an imported trial what is known of its run. What the result says
// itself stays.
func (r *recording) complete(t *core.Trial, line, toolVersion string) {
	now := r.app.now()
	t.ID, t.Study, t.Attempt, t.Repeat, t.SweepbookVersion = core.NewID(now), r.cmd.String("study"), 1, max(1, t.Repeat), version()
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	t.Extra["bench_command"] = core.String(line)
	s := &t.Setup
	fill(&s.Tool, r.inv.Tool)
	fill(&s.ToolVersion, toolVersion)
	asked := r.inv.Asked
	fill(&s.Config.Model, asked.Model)
	fillWorkload(&t.Workload, asked.Workload)
	for _, f := range []struct {
		to   *core.Value
		from core.Value
	}{
		{&t.Load.Concurrency, asked.Load.Concurrency}, {&t.Load.RequestRate, asked.Load.RequestRate}, {&t.Load.Burstiness, asked.Load.Burstiness},
		{&t.Load.NumPrompts, asked.Load.NumPrompts}, {&t.Load.Seed, asked.Load.Seed},
	} {
		if f.to.IsMissing() {
			*f.to = f.from
		}
	}
	if r.srv == nil {
		if host, err := os.Hostname(); err == nil {
			fill(&t.Host, host)
		}
		return
	}
	r.completeServer(t)
}

// completeServer adds what the server and this machine said.
func (r *recording) completeServer(t *core.Trial) {
	s, known := &t.Setup, r.srv.setup
	if s.Config.Engine == "" || s.Config.Engine == known.Config.Engine {
		s.Config.Engine = known.Config.Engine
		fill(&s.EngineVersion, known.EngineVersion)
	}
	fill(&s.Config.Model, known.Config.Model)
	fill(&s.Config.Checkpoint, known.Config.Checkpoint)
	fill(&s.GPU, known.GPU)
	fill(&s.Driver, known.Driver)
	fill(&s.WeightDtype, known.WeightDtype)
	fill(&s.KVDtype, known.KVDtype)
	fill(&s.SpecMethod, known.SpecMethod)
	if s.GPUs == 0 {
		s.GPUs = known.GPUs
	}
	if s.PowerLimitW == 0 {
		s.PowerLimitW = known.PowerLimitW
	}
	s.Simulated = s.Simulated || known.Simulated
	fill(&t.Host, r.srv.host)
	if t.Launch == nil {
		launch := *r.srv.launch
		launch.Setup = t.Setup
		t.Launch = &launch
	}
	maps.Copy(t.Extra, r.srv.extra)
}

func fill(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

// fillWorkload completes what a result leaves out of the workload.
func fillWorkload(w *core.Workload, from core.Workload) {
	if w.Dataset != "" && from.Dataset != "" && w.Dataset != from.Dataset {
		return
	}
	fill(&w.Dataset, from.Dataset)
	fill(&w.Path, from.Path)
	fill(&w.Endpoint, from.Endpoint)
	fill(&w.Name, from.Name)
	for _, f := range []struct {
		to   *core.Value
		from core.Value
	}{{&w.InputLen, from.InputLen}, {&w.OutputLen, from.OutputLen}, {&w.IgnoreEOS, from.IgnoreEOS}} {
		if f.to.IsMissing() {
			*f.to = f.from
		}
	}
	if len(w.Params) == 0 {
		w.Params = from.Params
	}
}
