package manifest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// flagsPart is where the knobs' flags go; a command without it has them at its end.
const flagsPart = "{flags}"

// placeholders say what each stands for.
var placeholders = map[string]string{
	"{checkpoint}": "the checkpoint's name", "{model}": "the checkpoint's folder on this machine, else its name",
	"{revision}": "revision of the checkpoint", "{host}": "address to listen on", "{port}": "port to listen on",
	"{gpus}": "number of GPUs", "{work_dir}": "private folder of the launch",
}

func checkTemplate(n node, text string) {
	if text == flagsPart {
		return
	}
	for _, name := range placeholder.FindAllString(text, -1) {
		if _, ok := placeholders[name]; !ok {
			n.fail("unknown placeholder %s; known are {checkpoint}, {model}, {revision}, {host}, {port}, {gpus}, {work_dir}, and {flags} as a word of its own", name)
		}
	}
}

// fill replaces the placeholders; full is false when one has no value.
func fill(text string, values map[string]string) (out string, full bool) {
	full = true
	out = placeholder.ReplaceAllStringFunc(text, func(name string) string {
		v := values[name]
		full = full && v != ""
		return v
	})
	return out, full
}

// Plan implements core.Engine.
func (e *Engine) Plan(_ context.Context, req core.PlanRequest) (core.Plan, error) {
	plan, err := e.plan(req)
	if err != nil {
		return core.Plan{}, fmt.Errorf("plan %s: %w", e.m.Name, err)
	}
	return plan, nil
}

func (e *Engine) plan(req core.PlanRequest) (core.Plan, error) {
	c := req.Config
	checkpoint := c.Checkpoint
	if checkpoint == "" {
		checkpoint = c.Model
	}
	switch {
	case c.Engine != "" && c.Engine != e.m.Name:
		return core.Plan{}, fmt.Errorf("engine: %w: the configuration is for %q", core.ErrInvalid, c.Engine)
	case checkpoint == "":
		return core.Plan{}, fmt.Errorf("checkpoint: %w: neither checkpoint nor model is given", core.ErrInvalid)
	case strings.HasPrefix(checkpoint, "-") || strings.ContainsAny(checkpoint, "\x00\n\r"):
		return core.Plan{}, fmt.Errorf("checkpoint: %w: %q is no name of a model", core.ErrInvalid, checkpoint)
	case req.Port < 1 || req.Port > 65535:
		return core.Plan{}, fmt.Errorf("port: %w: %d", core.ErrInvalid, req.Port)
	}
	start, err := e.executable(req.Origin)
	if err != nil {
		return core.Plan{}, err
	}
	flags, env, err := e.render(c.Knobs, req.Origin.Version)
	if err != nil {
		return core.Plan{}, err
	}
	if err := enoughGPUs(c.Knobs, req.GPUs); err != nil {
		return core.Plan{}, err
	}
	values := map[string]string{
		"{checkpoint}": checkpoint, "{model}": checkpoint, "{revision}": c.Revision, "{host}": req.Host, "{port}": strconv.Itoa(req.Port),
		"{gpus}": strconv.Itoa(max(1, len(req.GPUs))), "{work_dir}": req.WorkDir,
	}
	if req.ModelPath != "" {
		// A folder has the revision that it has.
		values["{model}"], values["{revision}"] = req.ModelPath, ""
	}
	if err := e.environment(env, c.Env, values, req.GPUs); err != nil {
		return core.Plan{}, err
	}
	model, _ := fill(e.m.Model, values)
	host := req.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	hints := map[string]core.Value{}
	if n := len(req.GPUs); n > 0 {
		hints["gpus"] = core.Number(float64(n))
	}
	argv, err := e.argv(start, flags, values)
	if err != nil {
		return core.Plan{}, err
	}
	return core.Plan{
		Processes: []core.Process{{Name: "server", Argv: argv, Env: env, GPUs: slices.Clone(req.GPUs)}},
		Ready: core.ReadyRule{BaseURL: "http://" + net.JoinHostPort(host, strconv.Itoa(req.Port)), Model: model,
			Timeout: e.m.Timeout, Idle: e.m.Idle},
		SetupHints: hints,
	}, nil
}

func (e *Engine) argv(start, flags []string, values map[string]string) ([]string, error) {
	argv, placed := slices.Clone(start), false
	for _, p := range e.m.Command[1:] {
		var words []string
		whole := true
		for _, w := range p.words {
			if w == flagsPart {
				words, placed = append(words, flags...), true
				continue
			}
			filled, full := fill(w, values)
			words, whole = append(words, filled), whole && full
		}
		switch {
		case whole:
			argv = append(argv, words...)
		case len(p.words) == 1:
			return nil, fmt.Errorf("command %q: %w: it has no value here; as a list of its own it would be left out", p.words[0], core.ErrInvalid)
		}
	}
	if !placed {
		argv = append(argv, flags...)
	}
	return argv, nil
}

// executable is the start of the command: its first word, or what the origin gives
// in its place.
func (e *Engine) executable(o core.Origin) ([]string, error) {
	first := e.m.Command[0].words[0]
	switch {
	case o.URL != "":
		return nil, fmt.Errorf("origin: %w: url: a server that runs already cannot be launched by a study (sweepbook bench measures a running server)", core.ErrInvalid)
	case o.Image != "":
		return nil, fmt.Errorf("origin: %w: image: write the container's whole command (docker run …) into the manifest of %s", core.ErrInvalid, e.m.Name)
	case o.Venv != "" && o.Cmd != "":
		return nil, fmt.Errorf("origin: %w: give one of venv and cmd", core.ErrInvalid)
	case o.Venv != "":
		return []string{strings.TrimRight(o.Venv, "/") + "/bin/" + first}, nil
	case o.Cmd != "":
		return strings.Fields(o.Cmd), nil
	}
	return []string{first}, nil
}

// neverKnobs are secrets, which no configuration holds.
var neverKnobs = []string{"api_key", "api_keys", "admin_api_key", "hf_token"}

func (e *Engine) whyReserved(name string) string {
	switch {
	case e.m.Reserved[name] != "":
		return e.m.Reserved[name]
	case slices.Contains(neverKnobs, name):
		return "secrets are never knobs: list the variable under run.secrets"
	}
	for _, p := range e.m.Command {
		for _, w := range p.words {
			if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "-") && core.SnakeKnob(flag) == name {
				return "the manifest's command gives " + flag
			}
		}
	}
	return ""
}

// render gives the known flags in the order of the file, then the raw ones by
// name, and the variables of the environment.
func (e *Engine) render(knobs core.Knobs, version string) (argv []string, env map[string]string, err error) {
	env = map[string]string{}
	given, spelled := map[string]core.Value{}, map[string]string{}
	for _, name := range knobs.Names() {
		snake := core.SnakeKnob(name)
		if why := e.whyReserved(snake); why != "" {
			return nil, nil, fmt.Errorf("knob %q: %w: no configuration may set it: %s", name, core.ErrInvalid, why)
		}
		if knobs[name].Kind == core.KindUnset {
			continue
		}
		if other, twice := spelled[snake]; twice {
			return nil, nil, fmt.Errorf("knob %q: %w: it is the same as %q; give one", name, core.ErrInvalid, other)
		}
		spelled[snake], given[snake] = name, knobs[name]
		for _, k := range e.m.Knobs {
			// One setting under two names would be two configurations.
			if k.Name != snake && k.Flag != "" && core.SnakeKnob(k.Flag) == snake {
				return nil, nil, fmt.Errorf("knob %q: %w: give it as %q", name, core.ErrInvalid, k.Name)
			}
		}
	}
	for _, k := range e.m.Knobs {
		v, ok := given[k.Name]
		if !ok {
			continue
		}
		delete(given, k.Name)
		if v, err = k.Check(v); err == nil {
			err = k.ForVersion(version)
		}
		if err == nil {
			err = printable(k.Name, v)
		}
		if err == nil {
			argv, err = e.known(argv, env, k, v)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if argv, err = e.raw(argv, name, given[name]); err != nil {
			return nil, nil, err
		}
	}
	return argv, env, nil
}

func (e *Engine) known(argv []string, env map[string]string, k Knob, v core.Value) ([]string, error) {
	switch {
	case k.Env != "" && v.Kind == core.KindBool && v.True():
		env[k.Env] = "1"
	case k.Env != "" && v.Kind == core.KindBool:
		env[k.Env] = "0"
	case k.Env != "":
		env[k.Env] = v.String()
	case k.Kind == core.SwitchFlag && v.True():
		return append(argv, k.Flag), nil
	case k.Kind == core.SwitchFlag && k.Off != "":
		return append(argv, k.Off), nil
	case k.Kind == core.SwitchFlag && k.Default == v:
		// The engine has no way to say it, and it is what holds without the flag.
	case k.Kind == core.SwitchFlag:
		return nil, fmt.Errorf("knob %q (%s): %w: the engine has no way to turn it off: leave it out", k.Name, k.Flag, core.ErrInvalid)
	case k.Kind == core.ListFlag:
		return append(append(argv, k.Flag), strings.Fields(v.Text)...), nil
	default:
		return e.pair(argv, k.Flag, v.String()), nil
	}
	return argv, nil
}

// raw writes a knob that the file does not list.
func (e *Engine) raw(argv []string, name string, v core.Value) ([]string, error) {
	flag := "--" + name
	switch {
	case !knobForm.MatchString(name):
		return nil, fmt.Errorf("knob %q: %w: a flag has letters, digits and underscores", name, core.ErrInvalid)
	case e.m.Style.Raw == "refuse":
		return nil, fmt.Errorf("knob %q: %w: the manifest of %s does not list it%s", name, core.ErrInvalid, e.m.Name, e.nearest(name))
	case e.m.Style.Raw == "kebab":
		flag = "--" + strings.ReplaceAll(name, "_", "-")
	}
	if err := printable(name, v); err != nil {
		return nil, err
	}
	switch {
	case v.True():
		return append(argv, flag), nil
	case v.Kind == core.KindBool && e.m.Style.No:
		return append(argv, "--no-"+flag[2:]), nil
	case v.Kind == core.KindBool:
		return nil, fmt.Errorf("knob %q: %w: %s has no form for a switch that is off: leave the knob out", name, core.ErrInvalid, e.m.Name)
	case v.IsUnlimited():
		return nil, fmt.Errorf("knob %q: %w: %s knows no \"unlimited\": leave the knob out", name, core.ErrInvalid, e.m.Name)
	}
	return e.pair(argv, flag, v.String()), nil
}

func (e *Engine) nearest(name string) string {
	var names []string
	for _, k := range e.m.Knobs {
		names = append(names, k.Name)
	}
	if near := core.NearestNames(name, names); len(near) > 0 {
		return "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}

// pair writes a flag with its value. A value that looks like a flag is joined in
// any case; a negative number is none.
func (e *Engine) pair(argv []string, flag, value string) []string {
	looksLikeFlag := len(value) > 1 && value[0] == '-' && (value[1] < '0' || value[1] > '9')
	if e.m.Style.Join || looksLikeFlag {
		return append(argv, flag+"="+value)
	}
	return append(argv, flag, value)
}

func printable(name string, v core.Value) error {
	switch {
	case v.Kind == core.KindMissing:
		return fmt.Errorf("knob %q: %w: it has no value", name, core.ErrInvalid)
	case v.Kind == core.KindText && strings.ContainsAny(v.Text, "\x00\n\r"):
		return fmt.Errorf("knob %q: %w: a value holds no line break", name, core.ErrInvalid)
	case v.Kind == core.KindText && serving.Patterns.String(v.Text) != v.Text:
		return fmt.Errorf("knob %q: %w: its value looks like a secret, and a configuration is stored and shown", name, core.ErrInvalid)
	}
	return nil
}

// environment adds the manifest's variables, then those that the study lists,
// then the GPUs, which are the host's to allot.
func (e *Engine) environment(env, chosen map[string]string, values map[string]string, gpus []string) error {
	for name, text := range e.m.Env {
		filled, full := fill(text, values)
		if _, given := env[name]; full && !given {
			env[name] = filled
		}
	}
	for name, value := range chosen {
		switch {
		case serving.SecretName(name) || serving.Patterns.String(value) != value:
			return fmt.Errorf("env %s: %w: it looks like a secret, and a configuration is stored and shown; list the name under run.secrets", name, core.ErrInvalid)
		case name == "CUDA_VISIBLE_DEVICES" && len(gpus) > 0:
			return fmt.Errorf("env %s: %w: the host allots the GPUs", name, core.ErrInvalid)
		case strings.Contains(e.m.Env[name], "{host}") || strings.Contains(e.m.Env[name], "{port}"):
			return fmt.Errorf("env %s: %w: the host allots the address", name, core.ErrInvalid)
		}
		for _, k := range e.m.Knobs {
			if k.Env == name {
				return fmt.Errorf("env %s: %w: give it as knob %q", name, core.ErrInvalid, k.Name)
			}
		}
		env[name] = value
	}
	if len(gpus) > 0 {
		env["CUDA_VISIBLE_DEVICES"] = strings.Join(gpus, ",")
		env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
	}
	return nil
}

// enoughGPUs refuses a server that asks for more GPUs than it was given.
func enoughGPUs(knobs core.Knobs, gpus []string) error {
	need := 1.0
	for _, name := range []string{"tp", "pp", "dp"} {
		if v := knobs[name]; v.Kind == core.KindNumber && v.Num >= 1 {
			need *= v.Num
		}
	}
	if len(gpus) > 0 && need > float64(len(gpus)) {
		return fmt.Errorf("tp, pp, dp: %w: the configuration needs %s GPUs and is given %d", core.ErrInvalid, core.Number(need), len(gpus))
	}
	return nil
}
