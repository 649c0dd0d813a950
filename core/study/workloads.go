package study

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// loadSpec is a load section: lists stand for one load each, a curve.
type loadSpec struct {
	concurrency []core.Value
	rate        []core.Value
	burstiness  core.Value
	requests    core.Value
	duration    core.Value
	seed        core.Value
}

func readLoad(n node) loadSpec {
	var l loadSpec
	list := func(n node) []core.Value {
		if !n.isList() {
			return []core.Value{n.limit()}
		}
		var out []core.Value
		for _, item := range n.items() {
			out = append(out, item.limit())
		}
		if len(out) == 0 {
			n.fail("%s: the list is empty", n.key)
		}
		return out
	}
	n.mapping(map[string]func(node){
		"concurrency": func(n node) { l.concurrency = list(n) },
		"rate":        func(n node) { l.rate = list(n) },
		"burstiness":  func(n node) { l.burstiness = n.limit() },
		"requests":    func(n node) { l.requests = core.Number(float64(n.count(1))) },
		"duration":    func(n node) { l.duration = core.Number(n.duration().Seconds()) },
		"seed":        func(n node) { l.seed = core.Number(float64(n.count(0))) },
	})
	return l
}

// over lays a workload's own load on the default of all workloads.
func (l loadSpec) over(base loadSpec) loadSpec {
	if l.concurrency == nil {
		l.concurrency = base.concurrency
	}
	if l.rate == nil {
		l.rate = base.rate
	}
	for _, f := range []struct{ own, base *core.Value }{
		{&l.burstiness, &base.burstiness}, {&l.requests, &base.requests}, {&l.duration, &base.duration}, {&l.seed, &base.seed},
	} {
		if f.own.IsMissing() {
			*f.own = *f.base
		}
	}
	return l
}

// loads gives one load for each concurrency and rate. What has no limit is
// unlimited, not missing: here everything about the load is known.
func (l loadSpec) loads() []core.Load {
	if l.concurrency == nil {
		l.concurrency = []core.Value{core.Unlimited()}
	}
	if l.rate == nil {
		l.rate = []core.Value{core.Unlimited()}
	}
	var out []core.Load
	for _, c := range l.concurrency {
		for _, r := range l.rate {
			out = append(out, core.Load{Concurrency: c, RequestRate: r, Burstiness: l.burstiness,
				NumPrompts: l.requests, DurationS: l.duration, Seed: l.seed})
		}
	}
	return out
}

// workloads reads the workloads; the keys of a load may stand in a workload.
func (f *File) workloads(n node, defaults loadSpec) {
	for _, p := range n.pairs() {
		w := core.Workload{Name: p.name, Endpoint: "chat"}
		var own loadSpec
		var params = core.Knobs{}
		named := core.NamedWorkload{}
		keys := map[string]func(node){
			"dataset":    func(n node) { w.Dataset = n.text() },
			"path":       func(n node) { f.dataPaths[p.name], w.Path = n.text(), filepath.Base(n.text()) },
			"input":      func(n node) { w.InputLen = core.Number(float64(n.count(1))) },
			"output":     func(n node) { w.OutputLen = core.Number(float64(n.count(1))) },
			"ignore_eos": func(n node) { w.IgnoreEOS = core.Bool(n.boolean()) },
			"endpoint":   func(n node) { w.Endpoint = n.text() },
			"turns":      func(n node) { w.Turns = core.Number(float64(n.count(1))) },
			"tool":       func(n node) { named.Tool = n.text() },
			"goodput":    func(n node) { named.Goodput = readGoodput(n) },
			"requests":   func(n node) { own.requests = core.Number(float64(n.count(1))) },
			"duration":   func(n node) { own.duration = core.Number(n.duration().Seconds()) },
			"seed":       func(n node) { own.seed = core.Number(float64(n.count(0))) },
			"load": func(n node) {
				l := readLoad(n)
				own = l.over(own)
			},
		}
		for _, name := range load.ParamNames() {
			keys[name] = func(n node) { params[name] = n.value() }
		}
		w.Turns = core.Number(1)
		p.value.mapping(keys)
		if len(params) > 0 {
			w.Params = params
		}
		f.checkWorkload(p.value, &w)
		spec := own.over(defaults)
		if spec.requests.IsMissing() && spec.duration.IsMissing() && w.Dataset != "trace" {
			p.value.fail("%s: give requests (how many) or duration (how long)", p.value.key)
		}
		named.Workload, named.Loads = w, spec.loads()
		f.checkTool(p.value, named)
		f.checkAsked(p.value, named)
		f.Study.Workloads = append(f.Study.Workloads, named)
	}
}

// readGoodput reads the limits that goodput_rps counts by: {ttft: 200, tpot: 50}.
func readGoodput(n node) load.Limits {
	limits := load.Limits{}
	for _, p := range n.pairs() {
		if err := limits.Add(p.name, p.value.text()); err != nil {
			p.value.fail("%s: %v", n.key, err)
		}
	}
	return limits
}

const datasets = "sharegpt, random, prefix_repetition, custom, trace or builtin"

// checkAsked holds a workload under each of its loads against what the ruler can ask.
// Other tools say themselves what they cannot.
func (f *File) checkAsked(n node, w core.NamedWorkload) {
	if w.Tool != "" || n.in.err != nil {
		return
	}
	for _, l := range w.Loads {
		if err := load.Check(w.Workload, l); err != nil {
			n.fail("%s: %v", n.key, err)
			return
		}
	}
}

func (f *File) checkWorkload(n node, w *core.Workload) {
	switch w.Dataset {
	case "random":
		if w.InputLen.IsMissing() || w.OutputLen.IsMissing() {
			n.fail("%s: dataset random needs input and output, in tokens", n.key)
		}
	case "sharegpt", "custom", "trace":
		if w.Path == "" {
			n.fail("%s: dataset %s needs path, the data file", n.key, w.Dataset)
		}
	case "prefix_repetition":
	case "builtin":
	case "":
		n.fail("%s: dataset is missing: %s", n.key, datasets)
	default:
		n.fail("%s: unknown dataset %q: want %s", n.key, w.Dataset, datasets)
	}
	if load.Drawn(w.Dataset) && w.IgnoreEOS.IsMissing() {
		w.IgnoreEOS = core.Bool(true)
	}
	if w.Endpoint != "chat" && w.Endpoint != "completions" {
		n.fail("%s: endpoint %q: want chat or completions", n.key, w.Endpoint)
	}
}

// warmupCap bounds a warm-up under an unlimited load.
const warmupCap = 64

// Warmup evaluates the number of warm-up requests: "8", "concurrency" or
// "2 * concurrency". An unlimited concurrency counts as the number of requests,
// and the whole is at most 64 then: a warm-up must not outlast the trial.
func Warmup(rule string, l core.Load) (int, error) {
	factor, name := 1.0, strings.TrimSpace(rule)
	if a, b, ok := strings.Cut(rule, "*"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
		if err != nil || f < 0 || math.IsInf(f, 0) {
			return 0, fmt.Errorf("want a number, concurrency or N * concurrency, got %q", rule)
		}
		factor, name = f, strings.TrimSpace(b)
	}
	if name != "concurrency" {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || factor != 1 {
			return 0, fmt.Errorf("want a number, concurrency or N * concurrency, got %q", rule)
		}
		return n, nil
	}
	if l.Concurrency.Kind == core.KindNumber && !l.Concurrency.IsUnlimited() {
		return int(math.Ceil(factor * l.Concurrency.Num)), nil
	}
	n := float64(warmupCap)
	if l.NumPrompts.Kind == core.KindNumber {
		n = min(n, factor*l.NumPrompts.Num)
	}
	return int(n), nil
}
