package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// Launch implements core.Engine.
func (a *adapter) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	report := newLogReport(progress)
	check := serving.ReadyCheck{Rule: req.Plan.Ready, PIDs: req.PIDs, LogPath: req.LogPath, Line: report.line,
		Diagnose: func(tail string) core.Diagnosis {
			if d, ok := diagnoseLog(tail); ok {
				return d
			}
			return core.Diagnosis{Class: core.Crash}
		}}
	if err := check.Await(ctx); err != nil {
		return core.Ready{}, err
	}
	if report.err != nil {
		return core.Ready{}, fmt.Errorf("launch sim: %w", report.err)
	}
	ready := core.Ready{
		BaseURL: req.Plan.Ready.BaseURL, Model: req.Plan.Ready.Model, Version: serving.ServerVersion(ctx, req.Plan.Ready.BaseURL),
		Resolved: report.resolved, LoadS: report.loadS, Facts: report.facts,
	}
	report.progress(core.Progress{Phase: "ready", Message: report.readyLine})
	return ready, nil
}

// logReport collects what the server's log says of its start.
type logReport struct {
	progress  func(core.Progress)
	phase     string
	resolved  core.Knobs
	facts     map[string]core.Value
	loadS     core.Value
	readyLine string
	err       error
}

func newLogReport(progress func(core.Progress)) *logReport {
	if progress == nil {
		progress = func(core.Progress) {}
	}
	return &logReport{progress: progress, phase: "load"}
}

func (r *logReport) line(line string) {
	text := message(line)
	switch {
	case strings.HasPrefix(text, "resolved: "):
		r.decode(text[len("resolved: "):], &r.resolved)
		return
	case strings.HasPrefix(text, "facts: "):
		r.decode(text[len("facts: "):], &r.facts)
		return
	case strings.HasPrefix(text, "passed: "):
		return
	case strings.HasPrefix(text, "weights loaded: "):
		var seconds float64
		if _, err := fmt.Sscanf(text, "weights loaded: %f s", &seconds); err == nil {
			r.loadS = core.Number(seconds)
		}
	case strings.HasPrefix(text, "phase: capturing"):
		r.phase = "compile"
	case strings.HasPrefix(text, "ready: "):
		r.readyLine = text
		return
	}
	r.progress(core.Progress{Phase: r.phase, Message: text})
}

func (r *logReport) decode(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil && r.err == nil {
		r.err = fmt.Errorf("log line %.40q: %w", text, err)
	}
}
