package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/core/study"
)

// asked is what bench asks of a server: one workload at the loads of a curve.
type asked struct {
	workload core.Workload
	loads    []core.Load
	dataPath string
	goodput  load.Limits
	warmup   string
	repeats  int
	seed     float64
}

// benchAsked makes it of a named workload, where one is given, with what the flags
// say laid over it.
func (a *app) benchAsked(cmd *cli.Command) (asked, error) {
	as, err := namedWorkload(cmd)
	if err != nil {
		return asked{}, err
	}
	if err := overrideWorkload(cmd, &as); err != nil {
		return asked{}, err
	}
	if err := overrideLoads(cmd, &as); err != nil {
		return asked{}, err
	}
	if cmd.IsSet("goodput") {
		if as.goodput, err = load.ParseLimits(cmd.StringSlice("goodput")); err != nil {
			return asked{}, usagef("bench --%v", err)
		}
	}
	for _, l := range as.loads {
		if err := load.Check(as.workload, l); err != nil {
			return asked{}, usagef("bench: %v", err)
		}
	}
	as.warmup, as.repeats = cmd.String("warmup"), cmd.Int("repeats")
	for _, l := range as.loads {
		if _, err := study.Warmup(as.warmup, l); err != nil {
			return asked{}, usagef("bench --warmup: %v", err)
		}
	}
	if as.repeats < 1 {
		return asked{}, usagef("bench --repeats: want at least 1")
	}
	as.seed = float64(cmd.Int("seed"))
	if !cmd.IsSet("seed") {
		// Whoever repeats a command on a server that runs must not be answered from
		// its prefix cache. A thousand seeds are left for the repeats of each load.
		as.seed = float64(a.now().UnixMilli()/100%1e9) * 1000
	}
	return as, nil
}

// namedWorkload is the workload of --workload: of a study file, or published; else
// what the flags alone say.
func namedWorkload(cmd *cli.Command) (asked, error) {
	name, file := cmd.String("workload"), cmd.String("workloads")
	if file != "" {
		return fileWorkload(name, file)
	}
	if name == "" {
		as := asked{workload: core.Workload{Dataset: cmd.String("dataset"), Endpoint: cmd.String("endpoint"), Turns: core.Number(1)}}
		if load.Drawn(as.workload.Dataset) {
			as.workload.IgnoreEOS = core.Bool(true)
		}
		if as.workload.Dataset != "random" { // whose lengths say more than its name
			as.workload.Name = as.workload.Dataset
		}
		as.loads = []core.Load{{Concurrency: core.Unlimited(), RequestRate: core.Unlimited(), NumPrompts: core.Number(float64(cmd.Int("requests")))}}
		return as, nil
	}
	var names []string
	for _, p := range load.Presets() {
		if p.Name == name {
			return asked{workload: p.Workload, loads: []core.Load{p.Load}}, nil
		}
		names = append(names, p.Name)
	}
	return asked{}, unknownWorkload(name, names, "one of your own stands in a study file: --workloads FILE")
}

func unknownWorkload(name string, names []string, hint string) error {
	msg := fmt.Sprintf("bench: no workload %q; known: %s", name, strings.Join(names, ", "))
	if near := core.NearestNames(name, names); len(near) > 0 {
		msg = fmt.Sprintf("bench: no workload %q; nearest: %s", name, strings.Join(near, ", "))
	}
	return usageError{hinted{errors.New(msg), hint}}
}

// fileWorkload is a workload of a study file with its loads.
func fileWorkload(name, path string) (asked, error) {
	file, err := study.Read(path)
	if err != nil {
		return asked{}, err
	}
	var names []string
	for _, w := range file.Study.Workloads {
		if w.Workload.Name == name || name == "" && len(file.Study.Workloads) == 1 {
			if w.Tool != "" {
				return asked{}, usageError{hinted{fmt.Errorf("bench: workload %s of %s is measured by %s", w.Workload.Name, path, w.Tool),
					"sweepbook record -- and the tool's own command measures a running server with it"}}
			}
			return asked{workload: w.Workload, loads: w.Loads, dataPath: file.DataPath(w.Workload), goodput: w.Goodput}, nil
		}
		names = append(names, w.Workload.Name)
	}
	if name == "" {
		return asked{}, usagef("bench --workloads %s: name one with --workload: %s", path, strings.Join(names, ", "))
	}
	return asked{}, unknownWorkload(name, names, "the workloads of "+path+": "+strings.Join(names, ", "))
}

// overrideWorkload lays the flags over a workload. One that asks for something else
// has no claim to the name any more.
func overrideWorkload(cmd *cli.Command, as *asked) error {
	w := &as.workload
	given := w.Hash()
	if cmd.IsSet("dataset") {
		w.Dataset = cmd.String("dataset")
	}
	if cmd.IsSet("data") {
		as.dataPath = cmd.String("data")
		w.Path = filepath.Base(as.dataPath)
	}
	if cmd.IsSet("endpoint") {
		w.Endpoint = cmd.String("endpoint")
	}
	for _, f := range []struct {
		flag string
		to   *core.Value
	}{{"input", &w.InputLen}, {"output-len", &w.OutputLen}} {
		if cmd.IsSet(f.flag) {
			if cmd.Int(f.flag) < 1 {
				return usagef("bench --%s: want a number of tokens of at least 1", f.flag)
			}
			*f.to = core.Number(float64(cmd.Int(f.flag)))
		}
	}
	if cmd.IsSet("ignore-eos") {
		w.IgnoreEOS = core.Bool(cmd.Bool("ignore-eos"))
	}
	if cmd.IsSet("turns") {
		w.Turns = core.Number(float64(cmd.Int("turns")))
	}
	if err := overrideParams(cmd, w); err != nil {
		return err
	}
	if cmd.String("workload") != "" && w.Hash() != given {
		w.Name = ""
	}
	switch {
	case w.Dataset == "random" && (w.InputLen.IsMissing() || w.OutputLen.IsMissing()):
		return usageError{hinted{errors.New("bench: dataset random needs --input and --output-len"), "or --workload with the name of a published one: " + presetNames()}}
	case slices.Contains([]string{"sharegpt", "custom", "trace"}, w.Dataset) && as.dataPath == "":
		return usagef("bench: dataset %s needs --data, the file", w.Dataset)
	}
	return nil
}

// overrideParams lays --param and --temperature over the parameters of a workload,
// which may be those of a published one.
func overrideParams(cmd *cli.Command, w *core.Workload) error {
	params := core.Knobs{}
	maps.Copy(params, w.Params)
	for _, p := range cmd.StringSlice("param") {
		name, value, ok := strings.Cut(p, "=")
		if known := load.ParamNames(); !ok || !slices.Contains(known, name) {
			return usageError{hinted{fmt.Errorf("bench --param %q: want NAME=VALUE", p), "known: " + strings.Join(known, ", ")}}
		}
		params[name] = core.ParseValue(value)
	}
	if cmd.IsSet("temperature") {
		params["temperature"] = core.Number(cmd.Float("temperature"))
	}
	if len(params) > 0 {
		w.Params = params
	}
	return nil
}

func presetNames() string {
	var names []string
	for _, p := range load.Presets() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// overrideLoads lays the flags over the loads and spreads them along the curve. An
// axis that is named frees the other one, unless a flag holds it.
func overrideLoads(cmd *cli.Command, as *asked) error {
	for i := range as.loads {
		l := &as.loads[i]
		switch {
		case cmd.IsSet("duration"):
			if cmd.Duration("duration") <= 0 {
				return usagef("bench --duration: want a time above 0, such as 60s")
			}
			l.DurationS = core.Number(cmd.Duration("duration").Seconds())
			if !cmd.IsSet("requests") {
				l.NumPrompts = core.Missing()
			}
		case cmd.IsSet("requests"):
			l.DurationS = core.Missing()
		}
		if cmd.IsSet("requests") {
			if cmd.Int("requests") < 1 {
				return usagef("bench --requests: want at least 1")
			}
			l.NumPrompts = core.Number(float64(cmd.Int("requests")))
		}
		for _, axis := range axes(l) {
			if cmd.IsSet(axis.flag) {
				v, err := axisValue(axis.flag, axis.flag, cmd.String(axis.flag))
				if err != nil {
					return err
				}
				*axis.to = v
			}
		}
	}
	return spread(cmd, as)
}

// axis is one side of a load by the name of its flag.
type axis struct {
	flag string
	to   *core.Value
}

func axes(l *core.Load) []axis {
	return []axis{{"concurrency", &l.Concurrency}, {"rate", &l.RequestRate}}
}

// axisValue reads one value of an axis; flag is what gave it.
func axisValue(flag, axis, text string) (core.Value, error) {
	v := core.ParseValue(strings.TrimSpace(text))
	whole := axis != "concurrency" || v.IsUnlimited() || v.Num == float64(int64(v.Num))
	if v.Kind != core.KindNumber || v.Num <= 0 || !whole {
		return v, usagef("bench --%s %q: want a positive number or unlimited", flag, text)
	}
	return v, nil
}

// spread makes the loads of --load from the one load of the workload.
func spread(cmd *cli.Command, as *asked) error {
	text := cmd.String("load")
	if text == "" {
		return nil
	}
	name, list, ok := strings.Cut(text, "=")
	if !ok || name != "concurrency" && name != "rate" {
		return usagef("bench --load %q: want concurrency=1,2,4,8 or rate=1,2,4,unlimited", text)
	}
	if cmd.IsSet(name) {
		return usagef("bench: --load and --%s both give the %s", name, name)
	}
	base := as.loads[0]
	for _, other := range axes(&base) {
		if !cmd.IsSet(other.flag) {
			*other.to = core.Unlimited()
		}
	}
	as.loads = nil
	seen := map[core.Value]bool{}
	for _, item := range strings.Split(list, ",") {
		v, err := axisValue("load "+name, name, item)
		if err != nil {
			return err
		}
		if seen[v] {
			return usagef("bench --load: %s=%s stands twice; --repeats measures the whole curve again", name, v)
		}
		seen[v] = true
		l := base
		for _, this := range axes(&l) {
			if this.flag == name {
				*this.to = v
			}
		}
		as.loads = append(as.loads, l)
	}
	return nil
}
