package serving

import (
	"context"

	"github.com/sweepbook/sweepbook/core"
)

// Defaults is what an engine in code embeds: Launch, Benchmark, Stop and Diagnose as
// they are for any server of the OpenAI-compatible API. Info and Plan are the
// engine's own to write; Probe says that it cannot tell. An engine overrides what it
// knows better.
type Defaults struct{ adapter *Adapter }

// NewDefaults makes the defaults of an engine. health is a path that must answer 200
// before a start counts, "" where there is none; failures are the engine's own,
// beside those that every engine shares ([SharedSignatures]).
func NewDefaults(name, health string, failures ...Signature) Defaults {
	return Defaults{New(&Dialect{Name: name, Health: health, Signatures: failures})}
}

// Probe implements core.Engine.
func (Defaults) Probe(context.Context, core.Origin) (core.Installation, error) {
	return core.Installation{}, core.ErrUnimplemented
}

// Launch implements core.Engine: see [ReadyCheck] for what ready means.
func (b Defaults) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	return b.adapter.Launch(ctx, req, progress)
}

// Benchmark implements core.Engine with Sweepbook's own ruler.
func (b Defaults) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	return b.adapter.Benchmark(ctx, req, sink)
}

// Stop implements core.Engine: the SIGTERM that the host sends is enough.
func (b Defaults) Stop(ctx context.Context, req core.StopRequest) error {
	return b.adapter.Stop(ctx, req)
}

// Diagnose implements core.Engine.
func (b Defaults) Diagnose(ctx context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	return b.adapter.Diagnose(ctx, req)
}
