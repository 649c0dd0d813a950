package study

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/tool"
)

const (
	defaultReady = 20 * time.Minute
	defaultTrial = 45 * time.Minute
	// maxParallel is as many launches as a block of ports has room for.
	maxParallel = 8
)

func (f *File) hardware(n node) {
	h := &f.Study.Hardware
	n.mapping(map[string]func(node){
		"gpu":              func(n node) { h.GPU = n.text() },
		"gpus":             func(n node) { h.GPUs = n.count(0) },
		"usd_per_gpu_hour": func(n node) { h.USDPerGPUHour = n.number() },
	})
}

// tools says where the benchmark tools of other people are.
func (f *File) tools(n node) {
	if f.Study.Tools == nil {
		f.Study.Tools = map[string]core.Origin{}
	}
	for _, p := range n.pairs() {
		if !slices.Contains(tool.Names(), p.name) {
			n.in.fail(p.at, "unknown tool %q%s; known: %s", p.name, didYouMean(p.name, tool.Names()), strings.Join(tool.Names(), ", "))
		}
		o := f.Study.Tools[p.name]
		p.value.mapping(map[string]func(node){
			"version": func(n node) { o.Version = n.text() },
			"venv":    func(n node) { o.Venv = f.absolute(n) },
			"cmd":     func(n node) { o.Cmd = n.text() },
		})
		f.Study.Tools[p.name] = o
	}
}

func (f *File) engines(n node) {
	if f.Study.Engines == nil {
		f.Study.Engines = map[string]core.Origin{}
	}
	for _, p := range n.pairs() {
		o := f.Study.Engines[p.name]
		p.value.mapping(map[string]func(node){
			"version": func(n node) { o.Version = n.text() },
			"image":   func(n node) { o.Image = n.text() },
			"venv":    func(n node) { o.Venv = f.absolute(n) },
			"cmd":     func(n node) { o.Cmd = n.text() },
			"url":     func(n node) { o.URL = n.text() },
		})
		f.Study.Engines[p.name] = o
		f.remember(p.value)
	}
}

// absolute reads the path of something on this machine: a server runs in a folder
// of its own, where a relative path would mean another place.
func (f *File) absolute(n node) string {
	path, err := filepath.Abs(beside(filepath.Dir(f.Path), n.text()))
	if err != nil {
		n.fail("%s: %v", n.key, err)
	}
	return path
}

func (f *File) run(n node) {
	r := &f.Study.Run
	n.mapping(map[string]func(node){
		"secrets": func(n node) { r.Secrets = n.texts() },
		"repeats": func(n node) { r.Repeats = n.count(1) },
		"retries": func(n node) { r.Retries = n.count(0) },
		"parallel": func(n node) {
			f.remember(n)
			if r.Parallel = n.count(1); r.Parallel > maxParallel {
				n.fail("%s: at most %d", n.key, maxParallel)
			}
		},
		"warmup": func(n node) {
			n.mapping(map[string]func(node){"requests": func(n node) {
				r.WarmupRequests = n.text()
				if _, err := Warmup(r.WarmupRequests, core.Load{}); err != nil {
					n.fail("%s: %v", n.key, err)
				}
			}})
		},
		"timeouts": func(n node) {
			n.mapping(map[string]func(node){
				"ready": func(n node) { r.ReadyTimeout = n.duration() },
				"trial": func(n node) { r.TrialTimeout = n.duration() },
				"stop":  func(n node) { r.StopTimeout = n.duration() },
				"stall": func(n node) { r.StallTimeout = n.duration() },
			})
		},
		"gpu": func(n node) {
			n.mapping(map[string]func(node){
				"max_used_mib": func(n node) { r.GPU.MaxUsedMiB = core.Number(float64(n.count(0))) },
				"free_within":  func(n node) { r.GPU.FreeWithin = n.duration() },
				"neighbours": func(n node) {
					switch rule := n.text(); rule {
					case "allow":
						r.GPU.Neighbours = true
					case "refuse":
						r.GPU.Neighbours = false
					default:
						n.fail("%s: want allow or refuse, got %q", n.key, rule)
					}
				},
			})
		},
		"reuse": func(n node) {
			f.remember(n)
			if r.Reuse = n.text() == "history"; !r.Reuse {
				n.fail("%s: want history, got %q", n.key, n.text())
			}
		},
		"max_age": func(n node) { f.remember(n); r.MaxAge = n.age() },
		"budget": func(n node) {
			n.mapping(map[string]func(node){
				"gpu_hours": func(n node) { r.GPUHours = n.number() },
				"trials":    func(n node) { r.Trials = n.count(1) },
			})
		},
	})
	switch {
	case r.Reuse && r.MaxAge == 0:
		n.in.fail(f.places["run.reuse"], "run.reuse: max_age is missing: how long ago a trial of another study may have been measured, such as 14d")
	case !r.Reuse && r.MaxAge > 0:
		n.in.fail(f.places["run.max_age"], "run.max_age: it belongs to reuse: history")
	}
}

// reserved are the keys of a configuration that are no knobs.
var reserved = []string{"engine", "model", "checkpoint", "revision", "env", "name"}

// config reads a configuration or a change to one. Every key beside the reserved
// ones is a knob: by its common name or the engine's own, in any spelling.
func (f *File) config(n node) core.Config {
	c := core.Config{Knobs: core.Knobs{}, CommandKnown: true}
	for _, p := range n.pairs() {
		switch p.name {
		case "engine":
			c.Engine = p.value.text()
		case "model":
			c.Model = p.value.text()
		case "checkpoint":
			c.Checkpoint = p.value.text()
		case "revision":
			c.Revision = p.value.text()
		case "name":
		case "env":
			c.Env = map[string]string{}
			for _, e := range p.value.pairs() {
				c.Env[e.name] = e.value.text()
			}
		default:
			if near := core.NearestNames(p.name, reserved); len(near) > 0 && !core.KnownKnob(core.SnakeKnob(p.name)) && strings.EqualFold(near[0], p.name) {
				p.value.fail("unknown key %q; did you mean %s?", p.name, near[0])
			}
			name := core.CanonicalKnob(c.Engine, p.name)
			if _, twice := c.Knobs[name]; twice {
				p.value.fail("%s: the knob %s is given twice, in two spellings", n.key, name)
			}
			c.Knobs[name] = p.value.value()
		}
	}
	f.remember(n)
	return c
}

func (f *File) stages(n node) {
	for _, item := range n.items() {
		var stage core.Stage
		item.mapping(map[string]func(node){
			"name": func(n node) { stage.Name = n.text() },
			"when": func(n node) { stage.When = n.text(); f.remember(n) },
			"try": func(n node) {
				for _, option := range n.items() {
					change := f.config(option)
					stage.Try = append(stage.Try, core.Option{Name: optionName(option, change), Change: change})
				}
			},
		})
		if stage.Name == "" {
			item.fail("%s: a stage needs a name", item.key)
		}
		if slices.ContainsFunc(f.Study.Stages, func(s core.Stage) bool { return s.Name == stage.Name }) {
			item.fail("%s: two stages are named %q", item.key, stage.Name)
		}
		if len(stage.Try) == 0 {
			item.fail("%s: stage %q has nothing to try", item.key, stage.Name)
		}
		f.Study.Stages = append(f.Study.Stages, stage)
	}
}

// optionName is the given name, else what the option changes.
func optionName(n node, change core.Config) string {
	for _, p := range n.pairs() {
		if p.name == "name" {
			return p.value.text()
		}
	}
	var parts []string
	for _, kv := range [][2]string{{"", change.Engine}, {"", change.Checkpoint}, {"revision=", change.Revision}} {
		if kv[1] != "" {
			parts = append(parts, kv[0]+kv[1])
		}
	}
	if knobs := change.Knobs.String(); knobs != "" {
		parts = append(parts, knobs)
	}
	return strings.Join(parts, " ")
}

func (f *File) verify(n node) {
	v := &f.Study.Verify
	defer func() {
		if (len(v.Configs) == 0) != (len(v.Workloads) == 0) {
			n.fail("verify: give both configs and workloads")
		}
	}()
	n.mapping(map[string]func(node){
		"configs": func(n node) {
			for _, item := range n.items() {
				name := item.text()
				if name != "baseline" && name != "winner" {
					item.fail("%s: want baseline or winner, got %q", item.key, name)
				}
				v.Configs = append(v.Configs, name)
			}
		},
		"workloads": func(n node) {
			f.remember(n)
			if !n.isList() && n.text() == "all" {
				v.Workloads = []string{"all"}
				return
			}
			v.Workloads = n.texts()
		},
	})
}
