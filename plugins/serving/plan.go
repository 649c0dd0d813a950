package serving

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// optionsFile is the name of the options file in the launch's folder.
const optionsFile = "options.yaml"

// Plan implements core.Engine.
func (a *Adapter) Plan(_ context.Context, req core.PlanRequest) (core.Plan, error) {
	plan, err := a.plan(req)
	if err != nil {
		return core.Plan{}, fmt.Errorf("plan %s: %w", a.d.Name, err)
	}
	return plan, nil
}

func (a *Adapter) plan(req core.PlanRequest) (core.Plan, error) {
	d, c := a.d, req.Config
	if c.Engine != "" && c.Engine != d.Name {
		return core.Plan{}, fmt.Errorf("engine: %w: the configuration is for %q", core.ErrInvalid, c.Engine)
	}
	checkpoint := checkpointOf(c)
	switch {
	case checkpoint == "":
		return core.Plan{}, fmt.Errorf("checkpoint: %w: neither checkpoint nor model is given", core.ErrInvalid)
	case strings.HasPrefix(checkpoint, "-") || strings.ContainsAny(checkpoint, "\x00\n\r"):
		return core.Plan{}, fmt.Errorf("checkpoint: %w: %q is no name of a model", core.ErrInvalid, checkpoint)
	case req.Port < 1 || req.Port > 65535:
		return core.Plan{}, fmt.Errorf("port: %w: %d", core.ErrInvalid, req.Port)
	}
	command, err := d.command(req.Origin)
	if err != nil {
		return core.Plan{}, err
	}
	out, err := d.render(c.Knobs, req.Origin.Version)
	if err != nil {
		return core.Plan{}, err
	}
	if err := enoughGPUs(d.Name, c, req.GPUs); err != nil {
		return core.Plan{}, err
	}
	env, err := d.environment(c.Env, req.GPUs, req.Origin.Image != "")
	if err != nil {
		return core.Plan{}, err
	}

	argv := command
	if d.ModelFlag != "" {
		argv = append(argv, d.ModelFlag)
	}
	served := d.servedModel(checkpoint)
	switch {
	case req.ModelPath == "":
		argv = append(argv, checkpoint)
		if c.Revision != "" {
			argv = d.pair(argv, "--revision", c.Revision)
		}
	case d.NameFlag == "":
		argv = append(argv, req.ModelPath)
		served = d.servedModel(req.ModelPath)
	default:
		argv = d.pair(append(argv, req.ModelPath), d.NameFlag, checkpoint)
	}
	argv = append(argv, out.argv...)
	var files []core.PlanFile
	if len(out.options) > 0 {
		files = []core.PlanFile{{Path: optionsFile, Data: out.options.yaml()}}
		argv = d.pair(argv, d.OptionsFlag, path.Join(req.WorkDir, optionsFile))
	}
	argv = d.pair(argv, "--host", req.Host)
	argv = d.pair(argv, "--port", strconv.Itoa(req.Port))
	if req.Origin.Image != "" {
		argv, env = d.wrap(req, env, a.cacheDir, argv), nil
	}

	host := req.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return core.Plan{
		Processes: []core.Process{{Name: "server", Argv: argv, Env: env, Files: files, GPUs: slices.Clone(req.GPUs)}},
		Ready: core.ReadyRule{BaseURL: "http://" + net.JoinHostPort(host, strconv.Itoa(req.Port)), Model: served,
			Timeout: d.Timeout, Idle: d.Idle},
		SetupHints: hints(c, len(req.GPUs)),
	}, nil
}

func checkpointOf(c core.Config) string {
	if c.Checkpoint != "" {
		return c.Checkpoint
	}
	return c.Model
}

// environment is what the server gets beside the host's own. In a container the
// GPUs are the container's to give.
func (d *Dialect) environment(chosen map[string]string, gpus []string, contained bool) (map[string]string, error) {
	env := map[string]string{"PYTHONUNBUFFERED": "1", "DO_NOT_TRACK": "1"}
	maps.Copy(env, d.Env)
	for name, value := range chosen {
		switch {
		case SecretName(name):
			return nil, fmt.Errorf("env %s: %w: a configuration is stored and shown; list the name under run.secrets", name, core.ErrInvalid)
		case Patterns.String(value) != value:
			return nil, fmt.Errorf("env %s: %w: its value looks like a secret, and a configuration is stored and shown; list the name under run.secrets", name, core.ErrInvalid)
		case name == "CUDA_VISIBLE_DEVICES" && len(gpus) > 0:
			return nil, fmt.Errorf("env %s: %w: the host allots the GPUs", name, core.ErrInvalid)
		}
		env[name] = value
	}
	if len(gpus) > 0 && !contained {
		env["CUDA_VISIBLE_DEVICES"] = strings.Join(gpus, ",")
		env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
	}
	return env, nil
}

// enoughGPUs refuses a server that asks for more GPUs than it was given, which
// would fail only after a while, each engine in its own words.
func enoughGPUs(engine string, c core.Config, gpus []string) error {
	if len(gpus) == 0 {
		return nil
	}
	if need := gpusOf(engine, c); need > float64(len(gpus)) {
		return fmt.Errorf("tp, pp, dp: %w: the configuration needs %s GPUs and is given %d", core.ErrInvalid, core.Number(need), len(gpus))
	}
	return nil
}

// gpusOf is how many GPUs a configuration takes.
func gpusOf(engine string, c core.Config) float64 {
	size := func(name string) float64 {
		if v := c.Knobs[name]; v.Kind == core.KindNumber && v.Num >= 1 {
			return v.Num
		}
		return 1
	}
	n := size("tp") * size("pp")
	switch {
	case engine == "trtllm":
		return n * size("cp_size")
	case engine == "sglang" && c.Knobs["enable_dp_attention"].True():
		return n // the copies of attention live inside the tensor parallel group
	}
	return n * size("dp")
}
