package sim

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Real time limits of a start. Even a large checkpoint is ready within a few
// minutes at a time_scale of 1.
const (
	readyTimeout = 20 * time.Minute
	idleTimeout  = 5 * time.Minute
)

// Plan implements core.Engine.
func (a *adapter) Plan(_ context.Context, req core.PlanRequest) (core.Plan, error) {
	c := req.Config
	fail := func(format string, args ...any) (core.Plan, error) {
		return core.Plan{}, fmt.Errorf("plan sim: "+format, args...)
	}
	if c.Engine != "" && c.Engine != "sim" {
		return fail("engine: %w: the configuration is for %q", core.ErrInvalid, c.Engine)
	}
	model := c.Checkpoint
	if model == "" {
		model = c.Model
	}
	if model == "" {
		return fail("checkpoint: %w: neither checkpoint nor model is given", core.ErrInvalid)
	}
	if req.Port < 1 || req.Port > 65535 {
		return fail("port: %w: %d", core.ErrInvalid, req.Port)
	}
	command, err := a.command(req.Origin)
	if err != nil {
		return fail("%w", err)
	}
	flags := []string{"--model", model, "--host", req.Host, "--port", strconv.Itoa(req.Port)}
	if c.Revision != "" {
		flags = append(flags, "--revision", c.Revision)
	}
	knobFlags, err := planKnobs(c.Knobs)
	if err != nil {
		return fail("%w", err)
	}
	flags = append(flags, knobFlags...)
	// The server's own parser has the last word, so that a plan that passes
	// cannot end in a usage error.
	s, _, err := parseFlags(flags)
	if err != nil {
		return fail("%w: %w", core.ErrInvalid, err)
	}
	gpu, _ := findAccelerator(s.gpu)

	host := req.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return core.Plan{
		Processes: []core.Process{{Name: "server", Argv: append(command, flags...), Env: maps.Clone(c.Env), GPUs: slices.Clone(req.GPUs)}},
		Ready: core.ReadyRule{BaseURL: "http://" + net.JoinHostPort(host, strconv.Itoa(req.Port)), Model: model,
			Timeout: readyTimeout, Idle: idleTimeout},
		SetupHints: factsOf(s, gpu),
	}, nil
}

// command is the start of the argv. An origin can name another sweepbook
// executable (cmd) or the version that is wanted; the simulator exists in no
// other form.
func (a *adapter) command(o core.Origin) ([]string, error) {
	switch {
	case o.Image != "" || o.Venv != "" || o.URL != "":
		return nil, fmt.Errorf("origin: %w: sim is part of sweepbook; image, venv and url have no meaning for it", core.ErrInvalid)
	case o.Version != "" && o.Version != Version:
		return nil, fmt.Errorf("origin: version: %w: this is sim %s, not %s", core.ErrInvalid, Version, o.Version)
	}
	command := strings.Fields(o.Cmd)
	if len(command) == 0 {
		exe, err := a.executable()
		if err != nil {
			return nil, err
		}
		command = []string{exe}
	}
	return append(command, serverCommand), nil
}

// planKnobs renders the knobs in the order of their names. A knob may be spelled
// by its canonical name or by its own flag, not by both.
func planKnobs(given core.Knobs) ([]string, error) {
	byName := map[string]knob{}
	for _, k := range knobs() {
		byName[k.name] = k
		byName[k.own()] = k
	}
	var flags []string
	spelled := map[string]string{}
	for _, name := range given.Names() {
		k, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("knob %q: %w: sim has no such knob%s", name, core.ErrInvalid, nearest(name, byName))
		}
		if other, twice := spelled[k.name]; twice {
			return nil, fmt.Errorf("knob %q: %w: it is the same as %q; give one", name, core.ErrInvalid, other)
		}
		spelled[k.name] = name
		if err := k.check(given[name]); err != nil {
			return nil, fmt.Errorf("knob %q: %w: %w", name, core.ErrInvalid, err)
		}
		flags = append(flags, k.argv(given[name])...)
	}
	return flags, nil
}

func nearest(name string, byName map[string]knob) string {
	near := core.NearestNames(core.SnakeKnob(name), slices.Sorted(maps.Keys(byName)))
	if len(near) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(near, ", ")
}
