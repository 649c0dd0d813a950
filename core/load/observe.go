package load

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"

	"github.com/sweepbook/sweepbook/core"
)

// Observation says what to look at beside the requests of a trial.
type Observation struct {
	BaseURL string           // of the server whose metrics are read; "" reads none
	GPUs    *TelemetrySource // nil watches none
	Log     string           // of the server, read for what disturbs a measurement; "" reads none
}

// Observed is what was seen of a measured window.
type Observed struct {
	Figures   core.Figures // of server and GPUs; what was not seen is absent
	Throttled core.Value
	Course    *core.Course          // of the GPUs; nil where nothing was read
	Extra     map[string]core.Value // why something is missing, peak temperature, …
}

// Observer stands between a ruler and a sink and looks at server, its log and GPUs
// while the load runs. The window begins at the ruler's first progress of the phase
// "measure", so that warm-up is outside of it.
type Observer struct {
	core.Sink
	open   func() *Window // nil reads no metrics
	path   string         // of the server's log
	once   sync.Once
	window *Window
	gpus   *Telemetry
	log    *Disturbances
}

// Observe wraps a sink. Finish must be called when the ruler has returned.
func Observe(ctx context.Context, sink core.Sink, what Observation) *Observer {
	o := &Observer{Sink: sink, path: what.Log}
	if what.BaseURL != "" {
		// The calls of a sink carry no context; this one is the trial's.
		o.open = func() *Window { return OpenWindow(ctx, what.BaseURL) }
	}
	if what.GPUs != nil {
		o.gpus = StartTelemetry(ctx, *what.GPUs)
	}
	return o
}

// Progress begins the window when the load begins, and hands on.
func (o *Observer) Progress(p core.Progress) {
	if p.Phase == "measure" {
		o.once.Do(func() {
			// First, since the load runs while the rest is asked for.
			if o.path != "" {
				o.log = OpenDisturbances(o.path)
			}
			if o.open != nil {
				o.window = o.open()
			}
			if o.gpus != nil {
				o.gpus.Begin()
			}
		})
	}
	o.Sink.Progress(p)
}

// Finish ends the window and gives what was seen. It returns within seconds, and
// what the GPUs did is told even when ctx is over.
func (o *Observer) Finish(ctx context.Context) Observed {
	seen := Observed{Figures: core.Figures{}, Extra: map[string]core.Value{}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scrapeLimit)
	defer cancel()
	if o.window != nil {
		f, err := o.window.Close(ctx)
		for name, v := range f {
			seen.Figures.Set(name, v)
		}
		if err != nil && !errors.Is(err, core.ErrUnimplemented) {
			seen.Extra["server_metrics_error"] = core.String(oneLine(err.Error()))
		}
	}
	if o.log != nil {
		maps.Copy(seen.Extra, o.log.Close())
	}
	if o.gpus != nil {
		for name, v := range o.gpus.Stop() {
			seen.Figures.Set(name, v)
		}
		seen.Course = o.gpus.Course()
		var reasons []string
		seen.Throttled, reasons = o.gpus.Throttled()
		if len(reasons) > 0 {
			seen.Extra["throttle_reasons"] = core.String(strings.Join(reasons, ", "))
		}
		if v := o.gpus.PeakTemperature(); !v.IsMissing() {
			seen.Extra["peak_temperature_c"] = v
		}
		if err := o.gpus.Err(); err != nil {
			seen.Extra["gpu_telemetry_error"] = core.String(oneLine(err.Error()))
		}
	}
	return seen
}
