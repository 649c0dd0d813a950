package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// target is a server that somebody else started, as far as it can be known.
type target struct {
	url   string // without /v1
	model string // id to ask for
	setup core.Setup
	host  string
	// launch groups the trials of one life of the server; it has no command.
	launch *core.Launch
	gpus   *load.TelemetrySource
	extra  map[string]core.Value
}

// serverFlags are what a person says of it.
type serverFlags struct {
	engine, model, gpus string
	needModel           bool
}

func (t *target) engine() string { return t.setup.Config.Engine }

// describe gives a trial what is known of the server.
func (t *target) describe(trial *core.Trial) {
	trial.Setup, trial.Host, trial.Launch = t.setup, t.host, t.launch
}

func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == ""
}

// checkAddress refuses what is no address of a server.
func checkAddress(verb, text string) error {
	if !isAddress(text) {
		return usageError{hinted{fmt.Errorf("%s: %q is no address of a server", verb, text), "such as http://127.0.0.1:8000"}}
	}
	return nil
}

// findServer asks a server who it is and this machine which GPUs it has. What
// cannot be known stays unknown; what is asked for and cannot be had is an error.
func (a *app) findServer(ctx context.Context, address string, flags serverFlags) (*target, error) {
	t := &target{url: serving.Base(address), model: flags.model, extra: map[string]core.Value{}, launch: &core.Launch{ID: core.NewID(a.now())}}
	id, err := serving.Identify(ctx, address)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if t.model == "" && flags.needModel {
		if t.model, err = onlyModel(id, err); err != nil {
			return nil, err
		}
	}
	if t.model == "" && len(id.Models) == 1 {
		t.model = id.Models[0].ID
	}
	cfg := &t.setup.Config
	cfg.Model, cfg.Checkpoint = t.model, t.model
	for _, m := range id.Models {
		// A path of the server's machine is no name of a checkpoint.
		if m.ID == t.model && m.Root != "" && !filepath.IsAbs(m.Root) {
			cfg.Checkpoint = m.Root
		}
	}
	a.nameEngine(t, id, flags.engine)
	a.askEngine(ctx, t, id)
	if err := a.hardware(ctx, t, flags.gpus); err != nil {
		return nil, err
	}
	t.launch.Setup, t.launch.Host = t.setup, t.host
	return t, nil
}

// onlyModel is the one model that a server offers.
func onlyModel(id serving.Identity, err error) (string, error) {
	if len(id.Models) == 1 {
		return id.Models[0].ID, nil
	}
	if errors.Is(err, serving.ErrWantsKey) {
		return "", hinted{err, "--api-key-env VARIABLE names the one that holds it, or another one where it is not the right key"}
	}
	if err != nil {
		return "", hinted{fmt.Errorf("no list of models: %w", err), "where the server runs and has none, --model ID says what is asked for"}
	}
	err = errors.New("the server offers no model")
	if len(id.Models) > 1 {
		var names []string
		for _, m := range id.Models {
			names = append(names, m.ID)
		}
		err = errors.New("the server offers several models: " + strings.Join(names, ", "))
	}
	return "", hinted{err, "--model ID says which is asked for"}
}

// nameEngine takes the person's word, else what all signs of the server agree on.
func (a *app) nameEngine(t *target, id serving.Identity, given string) {
	signs := strings.Join(id.Signs, ", ")
	t.setup.Config.Engine = given
	switch {
	case given != "" && id.Engine != "" && id.Engine != given:
		a.warn("recorded as engine %s, though the server looks like %s (%s)", given, id.Engine, signs)
	case given == "" && id.Engine != "":
		t.setup.Config.Engine = id.Engine
		t.extra["engine_from"] = core.String(signs)
	case given == "" && signs != "":
		a.warn("the engine stays unknown: its signs contradict each other (%s); --engine NAME says it", signs)
	}
}

// askEngine reads version and settings of an engine that is known here.
func (a *app) askEngine(ctx context.Context, t *target, id serving.Identity) {
	version := id.Version
	if adapter, ok := builtin(t.engine()).(*serving.Adapter); ok && (id.Engine == "" || id.Engine == t.engine()) {
		said, resolved, facts := adapter.Ask(ctx, t.url)
		if said != "" {
			version = said
		}
		t.launch.Resolved = resolved
		about := core.Trial{Setup: t.setup}
		for name, v := range facts {
			// What a field does not take is a matter of the adapter, not of the server.
			_ = about.SetField(name, v)
		}
		t.setup = about.Setup
	}
	t.setup.Simulated = t.engine() == "sim"
	switch {
	case version == "":
	case t.engine() != "":
		t.setup.EngineVersion = version
	default:
		t.extra["server_version"] = core.String(version)
	}
}

const smi = "nvidia-smi"

// hardware says where the server runs, and which GPUs of this machine to watch:
// none where it runs elsewhere or is a simulator, whose GPU is not one of these.
func (a *app) hardware(ctx context.Context, t *target, which string) error {
	client, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	t.host = client
	if !isHere(t.url, client) {
		u, err := url.Parse(t.url)
		if err != nil {
			return fmt.Errorf("address of the server: %w", err)
		}
		t.host = u.Hostname()
		t.extra["client_host"] = core.String(client)
		if which == "" {
			which = "none"
		}
	}
	if which == "none" || which == "" && t.setup.Simulated {
		return nil
	}
	var list []string
	if which != "" && which != "all" {
		for _, index := range strings.Split(which, ",") {
			index = strings.TrimSpace(index)
			if _, err := strconv.Atoi(index); err != nil && !strings.HasPrefix(index, "GPU-") {
				return usagef("--gpus %q: want all, none, or indexes as 0,1", which)
			}
			list = append(list, index)
		}
	}
	if _, err := exec.LookPath(smi); err != nil {
		if which == "" {
			return nil
		}
		return usagef("--gpus %s: there is no %s on this machine", which, smi)
	}
	gpus, err := serving.HostGPUs(ctx)
	if err != nil {
		a.warn("GPUs are not recorded: %v", err)
		return nil
	}
	return watchGPUs(t, gpus, list)
}

// watchGPUs records what the serving GPUs have in common.
func watchGPUs(t *target, gpus []serving.GPU, list []string) error {
	used := slices.DeleteFunc(slices.Clone(gpus), func(g serving.GPU) bool {
		return len(list) > 0 && !slices.Contains(list, g.UUID) && !slices.Contains(list, strconv.Itoa(g.Index))
	})
	if len(used) < len(list) {
		return usagef("--gpus %s: this machine has %d", strings.Join(list, ","), len(gpus))
	}
	if len(used) == 0 {
		return nil
	}
	t.gpus = &load.TelemetrySource{Command: smi, GPUs: list}
	s := &t.setup
	s.GPU, s.Driver, s.PowerLimitW = used[0].Name, used[0].Driver, used[0].PowerW
	if len(list) > 0 || len(gpus) == 1 {
		// Of several GPUs, how many serve is known to the person alone.
		s.GPUs = float64(len(used))
	}
	for _, g := range used[1:] {
		if g.Name != s.GPU {
			s.GPU = ""
		}
		if g.PowerW != s.PowerLimitW {
			s.PowerLimitW = 0
		}
	}
	return nil
}

// isHere reports whether an address is one of this machine.
func isHere(address, hostname string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	name := u.Hostname()
	if strings.EqualFold(name, "localhost") || strings.EqualFold(name, hostname) {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// commandLine is this command as it was typed, without secrets.
func (a *app) commandLine() string {
	args := serving.Patterns.Argv(a.args)
	if len(args) > 0 {
		args[0] = "sweepbook"
	}
	return shellLine(args)
}
