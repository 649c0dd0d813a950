package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// benchRun measures one curve on one server.
type benchRun struct {
	app   *app
	cmd   *cli.Command
	asked asked
	srv   *target
	ui    *runTeller
	store runStore // its DB is nil under --no-record
	// redact keeps the server's key out of what is said and recorded of its answers.
	redact *serving.Redactor

	trials   []*core.Trial      // that have ended
	failures map[core.ID]string // the first failure of each
	said     map[string]bool    // what the ruler had to say, once
}

// curve measures every load and repeat: loads first, so that the repeats of one
// load are spread over the time that the server is watched. What has ended is
// recorded at once, so that nothing but the load in progress can be lost.
func (b *benchRun) curve(ctx context.Context) error {
	b.failures, b.said = map[core.ID]string{}, map[string]bool{}
	all := b.asked.repeats * len(b.asked.loads)
	if finite := b.asked.workload.Dataset; all > 1 && !b.cmd.Bool("flush-cache") && finite != "random" && finite != "prefix_repetition" {
		b.app.warn("every load asks from the same prompts of data set %s: later ones may be answered from the prefix cache; --flush-cache empties it before each", finite)
	}
	for repeat := 1; repeat <= b.asked.repeats; repeat++ {
		for place, l := range b.asked.loads {
			l.Seed = core.Number(study.Seed(b.asked.seed, place, repeat))
			t, err := b.point(ctx, l, repeat)
			if t != nil {
				b.trials = append(b.trials, t)
			}
			if ctx.Err() != nil {
				return b.interrupted(all)
			}
			if err != nil {
				return fmt.Errorf("bench %s: %w", b.srv.url, err)
			}
			if t.Status != core.StatusOK && len(b.trials) < all {
				b.app.warn("nothing was answered at %s: the %d loads after it are not measured", l.Label(), all-len(b.trials))
				return nil
			}
		}
	}
	return nil
}

// interrupted says what became of a curve that the user ended.
func (b *benchRun) interrupted(all int) error {
	ended := 0
	for _, t := range b.trials {
		if t.Status != core.StatusAborted {
			ended++
		}
	}
	msg := fmt.Errorf("interrupted: %d of %d loads were measured", ended, all)
	if b.store.DB == nil {
		return msg
	}
	return hinted{msg, "they are recorded, and the one that was cut off as aborted"}
}

// point measures one load. An error means that there was no measurement, or that
// it could not be recorded.
func (b *benchRun) point(ctx context.Context, l core.Load, repeat int) (*core.Trial, error) {
	a, now := b.app, b.app.now().UTC()
	t := &core.Trial{ID: core.NewID(now), Study: b.cmd.String("study"), Status: core.StatusRunning, Attempt: 1, Repeat: repeat,
		Workload: b.asked.workload, Load: l, StartedAt: now, SweepbookVersion: version(), Figures: core.Figures{}}
	b.srv.describe(t)
	t.Setup.Tool, t.Setup.ToolVersion = "sweepbook", release
	warmup, err := study.Warmup(b.asked.warmup, l)
	if err != nil {
		return nil, err
	}
	extra := map[string]core.Value{"bench_command": core.String(a.commandLine())}
	if b.cmd.Bool("flush-cache") {
		if err := b.flush(ctx); err != nil {
			return nil, err
		}
		extra["prefix_cache_flushed"] = core.Bool(true)
	}
	sink := &benchSink{}
	sink.report = func(p core.Progress) {
		if p.Message != "" && !b.said[p.Message] {
			b.said[p.Message] = true
			b.say(study.EventDecision, nil, b.redact.String(p.Message))
		}
		b.ui.event(study.Event{Kind: study.EventProgress, Text: l.Label() + " " + p.Phase, Done: p.Done, Total: p.Total})
	}
	observer := load.Observe(ctx, sink, load.Observation{BaseURL: b.srv.url, GPUs: b.srv.gpus})
	err = load.Run(ctx, core.BenchmarkRequest{Trial: t.ID, BaseURL: b.srv.url, Model: b.srv.model, Config: t.Setup.Config,
		Workload: t.Workload, Load: l, Warmup: warmup, DataPath: b.asked.dataPath, IdleTimeout: b.cmd.Duration("stall")}, observer)
	seen := observer.Finish(ctx)
	t.EndedAt = a.now().UTC()
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	t.Figures, t.Status = load.Figures(sink.samples), core.StatusOK
	for name, v := range seen.Figures {
		if _, measured := t.Figures[name]; !measured {
			t.Figures.Set(name, v)
		}
	}
	t.Throttled, t.Course = seen.Throttled, seen.Course
	maps.Copy(extra, b.srv.extra)
	maps.Copy(extra, sink.extra)
	maps.Copy(extra, seen.Extra)
	b.asked.goodput.Judge(t.Figures, extra, sink.samples)
	t.Extra = extra
	t.Derive()
	switch {
	case ctx.Err() != nil:
		t.Status, t.Failure, t.FailureText = core.StatusAborted, core.Interrupted, "ended by the user"
	case t.Status != core.StatusOK:
		t.FailureText = b.redact.String(firstFailure(sink.samples))
	case t.Figures["failed"] > 0:
		b.failures[t.ID] = b.redact.String(firstFailure(sink.samples))
	}
	return t, b.record(ctx, t, sink.samples)
}

// record keeps a trial that has ended, also when the user wants to end.
func (b *benchRun) record(ctx context.Context, t *core.Trial, samples []core.Sample) error {
	if b.store.DB != nil {
		if err := b.store.FinishTrial(context.WithoutCancel(ctx), t, samples); err != nil {
			return fmt.Errorf("record trial: %w", err)
		}
	}
	b.say(study.EventTrial, t, "")
	return nil
}

func (b *benchRun) flush(ctx context.Context) error {
	err := load.FlushPrefixCache(ctx, b.srv.engine(), b.srv.url)
	if errors.Is(err, core.ErrUnimplemented) {
		return hinted{err, "without --flush-cache fresh prompts are asked at each load; vLLM empties its cache only under VLLM_SERVER_DEV_MODE=1"}
	}
	return err
}

// firstFailure is the text of the first request that failed.
func firstFailure(samples []core.Sample) string {
	for _, s := range samples {
		if s.Outcome == core.OutcomeFailed {
			return s.Error
		}
	}
	return "no request was answered"
}

// benchSink keeps the samples of one trial.
type benchSink struct {
	report  func(core.Progress)
	mu      sync.Mutex
	samples []core.Sample
	extra   map[string]core.Value
}

func (s *benchSink) Samples(batch []core.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, batch...)
	return nil
}

func (s *benchSink) Progress(p core.Progress) { s.report(p) }

func (s *benchSink) Summary(extra map[string]core.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = extra
}
