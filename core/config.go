package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Config is what one chooses: engine, checkpoint, knobs and a listed
// environment. It never holds port, host, path of a log, served name or secret.
// An explicit default differs from an omitted knob, because a default may change
// with the engine's version.
type Config struct {
	Engine     string            `json:"engine,omitempty"`     // "vllm", "sglang", "trtllm", "sim", …
	Model      string            `json:"model,omitempty"`      // the base model, "Qwen/Qwen3-8B"
	Checkpoint string            `json:"checkpoint,omitempty"` // what is loaded, "Qwen/Qwen3-8B-FP8"
	Revision   string            `json:"revision,omitempty"`   // of the checkpoint
	Knobs      Knobs             `json:"knobs,omitempty"`      // by canonical name, see CanonicalKnob
	Env        map[string]string `json:"env,omitempty"`        // only what the study lists
	// CommandKnown says that Knobs is everything that was passed; only then is
	// an absent knob unset rather than unknown.
	CommandKnown bool `json:"command_known,omitempty"`
}

// Knobs are settings by canonical name.
type Knobs map[string]Value

// Names returns the knob names in order.
func (k Knobs) Names() []string { return slices.Sorted(maps.Keys(k)) }

// String renders "a=1 b=x" in name order.
func (k Knobs) String() string {
	var b strings.Builder
	for i, name := range k.Names() {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", name, k[name])
	}
	return b.String()
}

// canonical renders knobs so that different settings give different texts.
func (k Knobs) canonical() string {
	var b strings.Builder
	for _, name := range k.Names() {
		v := k[name]
		fmt.Fprintf(&b, " %q=%d:%q", name, v.Kind, v.String())
	}
	return b.String()
}

// Hash is the short name of the configuration, the query field config. Equal
// choices have equal hashes however they were spelled.
func (c Config) Hash() string { return shortHash(c.canonical()) }

func (c Config) canonical() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine=%q model=%q checkpoint=%q revision=%q known=%t", c.Engine, c.Model, c.Checkpoint, c.Revision, c.CommandKnown)
	b.WriteString(c.Knobs.canonical())
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		fmt.Fprintf(&b, " env.%q=%q", name, c.Env[name])
	}
	return b.String()
}

// With returns a copy of c with the choices of over laid on top: a non-empty
// engine, model, checkpoint or revision replaces, knobs and environment add.
// Changing the engine drops the knobs of the one before, which mean nothing to
// it; another model without a checkpoint is its own checkpoint; and a revision
// goes with the checkpoint that it belongs to.
func (c Config) With(over Config) Config {
	out := c
	out.Knobs = maps.Clone(c.Knobs)
	out.Env = maps.Clone(c.Env)
	if over.Engine != "" && over.Engine != c.Engine {
		out.Engine = over.Engine
		out.Knobs, out.Env = nil, nil
	}
	if over.Model != "" && over.Model != c.Model {
		out.Model, out.Checkpoint, out.Revision = over.Model, over.Model, ""
	}
	if over.Checkpoint != "" && over.Checkpoint != out.Checkpoint {
		out.Checkpoint, out.Revision = over.Checkpoint, ""
	}
	if over.Revision != "" {
		out.Revision = over.Revision
	}
	if out.Knobs == nil {
		out.Knobs = Knobs{}
	}
	// A change may be written before its engine is known, so names are made
	// canonical for the engine that it lands on.
	for _, name := range over.Knobs.Names() {
		canonical, setting := CanonicalSetting(out.Engine, name, over.Knobs[name])
		out.Knobs[canonical] = setting
	}
	if len(over.Env) > 0 {
		if out.Env == nil {
			out.Env = map[string]string{}
		}
		maps.Copy(out.Env, over.Env)
	}
	out.CommandKnown = c.CommandKnown || over.CommandKnown
	return out
}

// Arg returns the knob as the query field args.<name> sees it before a server
// has resolved anything: the passed value, unset when the command is known and
// lacks it, missing otherwise.
func (c Config) Arg(name string) Value {
	if v, ok := c.Knobs[name]; ok {
		return v
	}
	if c.CommandKnown {
		return Unset()
	}
	return Missing()
}
