package core

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Value returns any field of the trial by its query name: this is the meaning of
// a field, to which the columns of the store must agree. An unknown name is
// missing; check names with LookupField.
func (t *Trial) Value(name string) Value {
	f, ok := LookupField(name)
	if !ok {
		return Missing()
	}
	name = f.Name
	if prefix, rest, dotted := strings.Cut(name, "."); dotted {
		return t.dotted(prefix, rest)
	}
	if base, ok := strings.CutSuffix(name, "_per_gpu"); ok {
		if v, ok := t.Figures[base]; ok && t.Setup.GPUs > 0 {
			return Number(v / t.Setup.GPUs)
		}
		return Missing()
	}
	if f.Figure() {
		return t.Figures.Value(name)
	}
	if get, ok := trialGetters[name]; ok {
		return get(t)
	}
	return Missing()
}

func (t *Trial) dotted(prefix, name string) Value {
	switch prefix {
	case "args", "passed":
		canonical := CanonicalKnob(t.Setup.Config.Engine, name)
		if canonical != name && !slices.Contains(KnobAliases(t.Setup.Config.Engine, canonical), name) {
			canonical = name
		}
		v := t.Setup.Config.Arg(canonical)
		if prefix == "args" && v.Kind != KindNumber && v.Kind != KindText && v.Kind != KindBool && t.Launch != nil {
			if r, ok := t.Launch.Resolved[canonical]; ok {
				return r
			}
		}
		return v
	case "extra":
		return t.Extra[name]
	case "quality":
		return t.Quality[name]
	case "severity":
		return Number(float64(t.Severity(name)))
	}
	return Missing()
}

func optionalCount(n float64) Value {
	if n == 0 {
		return Missing()
	}
	return Number(n)
}

func unixSeconds(at time.Time) Value {
	if at.IsZero() {
		return Missing()
	}
	return Number(float64(at.UnixMicro()) / 1e6)
}

// trialGetters gives every fixed field that is not a figure.
var trialGetters = map[string]func(*Trial) Value{
	"id":                func(t *Trial) Value { return String(t.ID.String()) },
	"number":            func(t *Trial) Value { return optionalCount(float64(t.Number)) },
	"study":             func(t *Trial) Value { return OptionalText(t.Study) },
	"stage":             func(t *Trial) Value { return OptionalText(t.Stage) },
	"option":            func(t *Trial) Value { return OptionalText(t.Option) },
	"role":              func(t *Trial) Value { return OptionalText(string(t.Role)) },
	"status":            func(t *Trial) Value { return OptionalText(string(t.Status)) },
	"failure":           func(t *Trial) Value { return OptionalText(string(t.Failure)) },
	"attempt":           func(t *Trial) Value { return optionalCount(float64(t.Attempt)) },
	"repeat":            func(t *Trial) Value { return optionalCount(float64(t.Repeat)) },
	"launch":            func(t *Trial) Value { return t.launchID() },
	"tag":               func(t *Trial) Value { return OptionalText(strings.Join(t.Tags, ",")) },
	"source":            func(t *Trial) Value { return t.sourceFile() },
	"tool":              func(t *Trial) Value { return OptionalText(t.Setup.Tool) },
	"tool_version":      func(t *Trial) Value { return OptionalText(t.Setup.ToolVersion) },
	"sweepbook_version": func(t *Trial) Value { return OptionalText(t.SweepbookVersion) },
	"started_at":        func(t *Trial) Value { return unixSeconds(t.StartedAt) },
	"simulated":         func(t *Trial) Value { return Bool(t.Setup.Simulated) },
	"asserted":          func(t *Trial) Value { return OptionalText(strings.Join(t.Asserted, ",")) },

	"engine":         func(t *Trial) Value { return OptionalText(t.Setup.Config.Engine) },
	"engine_version": func(t *Trial) Value { return OptionalText(t.Setup.EngineVersion) },
	"model":          func(t *Trial) Value { return OptionalText(t.Setup.Config.Model) },
	"checkpoint":     func(t *Trial) Value { return OptionalText(t.Setup.Config.Checkpoint) },
	"weight_dtype":   func(t *Trial) Value { return OptionalText(t.Setup.WeightDtype) },
	"kv_dtype":       func(t *Trial) Value { return OptionalText(t.Setup.KVDtype) },
	"tp":             func(t *Trial) Value { return t.Setup.Parallel("tp") },
	"pp":             func(t *Trial) Value { return t.Setup.Parallel("pp") },
	"dp":             func(t *Trial) Value { return t.Setup.Parallel("dp") },
	"ep":             func(t *Trial) Value { return t.Setup.Parallel("ep") },
	"gpus":           func(t *Trial) Value { return optionalCount(t.Setup.GPUs) },
	"nodes":          func(t *Trial) Value { return optionalCount(t.Setup.Nodes) },
	"spec_method":    func(t *Trial) Value { return OptionalText(t.Setup.SpecMethod) },
	"image":          func(t *Trial) Value { return OptionalText(t.Setup.Image) },
	"config":         func(t *Trial) Value { return String(t.Setup.Config.Hash()) },
	"setup":          func(t *Trial) Value { return String(t.Setup.Hash()) },

	"gpu":           func(t *Trial) Value { return OptionalText(t.Setup.GPU) },
	"driver":        func(t *Trial) Value { return OptionalText(t.Setup.Driver) },
	"host":          func(t *Trial) Value { return OptionalText(t.Host) },
	"power_limit_w": func(t *Trial) Value { return optionalCount(t.Setup.PowerLimitW) },
	"compile_cache": func(t *Trial) Value { return t.compileCache() },
	"load_s":        func(t *Trial) Value { return t.launchValue(func(l *Launch) Value { return l.LoadS }) },
	"ready_s":       func(t *Trial) Value { return t.launchValue(func(l *Launch) Value { return l.ReadyS }) },

	"workload":   func(t *Trial) Value { return OptionalText(t.Workload.Label()) },
	"dataset":    func(t *Trial) Value { return OptionalText(t.Workload.Dataset) },
	"input_len":  func(t *Trial) Value { return t.Workload.InputLen },
	"output_len": func(t *Trial) Value { return t.Workload.OutputLen },
	"ignore_eos": func(t *Trial) Value { return t.Workload.IgnoreEOS },
	"turns":      func(t *Trial) Value { return t.Workload.Turns },

	"load":         func(t *Trial) Value { return OptionalText(t.Load.Label()) },
	"concurrency":  func(t *Trial) Value { return t.Load.Concurrency },
	"request_rate": func(t *Trial) Value { return t.Load.RequestRate },
	"burstiness":   func(t *Trial) Value { return t.Load.Burstiness },
	"num_prompts":  func(t *Trial) Value { return t.Load.NumPrompts },
	"seed":         func(t *Trial) Value { return t.Load.Seed },
	"throttled":    func(t *Trial) Value { return t.Throttled },
	"findings":     func(t *Trial) Value { return Number(float64(t.CountFindings())) },
}

func (t *Trial) launchID() Value {
	if t.Launch == nil || t.Launch.ID.IsZero() {
		return Missing()
	}
	return String(t.Launch.ID.String())
}

func (t *Trial) launchValue(get func(*Launch) Value) Value {
	if t.Launch == nil {
		return Missing()
	}
	return get(t.Launch)
}

func (t *Trial) compileCache() Value {
	switch warm := t.launchValue(func(l *Launch) Value { return l.CompileWarm }); {
	case warm.Kind != KindBool:
		return Missing()
	case warm.True():
		return String("warm")
	}
	return String("cold")
}

func (t *Trial) sourceFile() Value {
	if len(t.Sources) == 0 {
		return Missing()
	}
	return String(t.Sources[0].File)
}

// SetField records a value under a field's query name, as an importer, a
// sidecar or a person's assertion does. The caller calls Derive afterwards.
// Identities and derived fields (id, number, config, setup, launch, source, …)
// cannot be set; the error says so.
func (t *Trial) SetField(name string, v Value) error {
	f, ok := LookupField(name)
	if !ok {
		return CheckFieldName(name)
	}
	name = f.Name
	prefix, rest, dotted := strings.Cut(name, ".")
	switch {
	case dotted && (prefix == "args" || prefix == "passed"):
		if t.Setup.Config.Knobs == nil {
			t.Setup.Config.Knobs = Knobs{}
		}
		canonical, setting := CanonicalSetting(t.Setup.Config.Engine, rest, v)
		t.Setup.Config.Knobs[canonical] = setting
		return nil
	case dotted && prefix == "extra":
		t.Extra = setIn(t.Extra, rest, v)
		return nil
	case dotted && prefix == "quality":
		t.Quality = setIn(t.Quality, rest, v)
		return nil
	}
	if err := checkType(f, v); err != nil {
		return err
	}
	if f.Figure() && name != "duration_tps" {
		if t.Figures == nil {
			t.Figures = Figures{}
		}
		delete(t.Derived, name)
		if v.IsMissing() {
			delete(t.Figures, name)
		} else if math.IsInf(v.Num, 0) {
			return fmt.Errorf("%s: %w: a measured value must be finite", name, ErrInvalid)
		} else {
			t.Figures.Set(name, v.Num)
		}
		return nil
	}
	set, ok := trialSetters[name]
	if !ok {
		return fmt.Errorf("%s: %w: this field is worked out by Sweepbook and cannot be set", name, ErrInvalid)
	}
	set(t, v)
	return nil
}

func setIn(m map[string]Value, name string, v Value) map[string]Value {
	if m == nil {
		m = map[string]Value{}
	}
	if v.IsMissing() {
		delete(m, name)
	} else {
		m[name] = v
	}
	return m
}

func checkType(f Field, v Value) error {
	want := map[Type]Kind{NumberType: KindNumber, TextType: KindText, VersionType: KindText, BoolType: KindBool, TimeType: KindNumber}[f.Type]
	if v.IsMissing() || f.Type == AnyType || v.Kind == want {
		return nil
	}
	return fmt.Errorf("%s: %w: want %s, got %q", f.Name, ErrInvalid, f.Type, v.String())
}

var trialSetters = map[string]func(*Trial, Value){
	"study":             func(t *Trial, v Value) { t.Study = v.String() },
	"stage":             func(t *Trial, v Value) { t.Stage = v.String() },
	"option":            func(t *Trial, v Value) { t.Option = v.String() },
	"role":              func(t *Trial, v Value) { t.Role = Role(v.String()) },
	"status":            func(t *Trial, v Value) { t.Status = Status(v.String()) },
	"failure":           func(t *Trial, v Value) { t.Failure = FailureClass(v.String()) },
	"attempt":           func(t *Trial, v Value) { t.Attempt = int(v.Num) },
	"repeat":            func(t *Trial, v Value) { t.Repeat = int(v.Num) },
	"tool":              func(t *Trial, v Value) { t.Setup.Tool = v.String() },
	"tool_version":      func(t *Trial, v Value) { t.Setup.ToolVersion = v.String() },
	"sweepbook_version": func(t *Trial, v Value) { t.SweepbookVersion = v.String() },
	"started_at":        func(t *Trial, v Value) { t.StartedAt = timeOf(v) },
	"simulated":         func(t *Trial, v Value) { t.Setup.Simulated = v.True() },
	"engine":            func(t *Trial, v Value) { t.Setup.Config.Engine = v.String() },
	"engine_version":    func(t *Trial, v Value) { t.Setup.EngineVersion = v.String() },
	"model":             func(t *Trial, v Value) { t.Setup.Config.Model = v.String() },
	"checkpoint":        func(t *Trial, v Value) { t.Setup.Config.Checkpoint = v.String() },
	"weight_dtype":      func(t *Trial, v Value) { t.Setup.WeightDtype = v.String() },
	"kv_dtype":          func(t *Trial, v Value) { t.Setup.KVDtype = v.String() },
	"tp":                func(t *Trial, v Value) { t.setKnob("tp", v) },
	"pp":                func(t *Trial, v Value) { t.setKnob("pp", v) },
	"dp":                func(t *Trial, v Value) { t.setKnob("dp", v) },
	"ep":                func(t *Trial, v Value) { t.setKnob("ep", v) },
	"gpus":              func(t *Trial, v Value) { t.Setup.GPUs = v.Num },
	"nodes":             func(t *Trial, v Value) { t.Setup.Nodes = v.Num },
	"spec_method":       func(t *Trial, v Value) { t.Setup.SpecMethod = v.String() },
	"image":             func(t *Trial, v Value) { t.Setup.Image = v.String() },
	"gpu":               func(t *Trial, v Value) { t.Setup.GPU = v.String() },
	"driver":            func(t *Trial, v Value) { t.Setup.Driver = v.String() },
	"host":              func(t *Trial, v Value) { t.Host = v.String() },
	"power_limit_w":     func(t *Trial, v Value) { t.Setup.PowerLimitW = v.Num },
	"workload":          func(t *Trial, v Value) { t.Workload.Name = v.String() },
	"dataset":           func(t *Trial, v Value) { t.Workload.Dataset = v.String() },
	"input_len":         func(t *Trial, v Value) { t.Workload.InputLen = v },
	"output_len":        func(t *Trial, v Value) { t.Workload.OutputLen = v },
	"ignore_eos":        func(t *Trial, v Value) { t.Workload.IgnoreEOS = v },
	"turns":             func(t *Trial, v Value) { t.Workload.Turns = v },
	"concurrency":       func(t *Trial, v Value) { t.Load.Concurrency = v },
	"request_rate":      func(t *Trial, v Value) { t.Load.RequestRate = v },
	"burstiness":        func(t *Trial, v Value) { t.Load.Burstiness = v },
	"num_prompts":       func(t *Trial, v Value) { t.Load.NumPrompts = v },
	"seed":              func(t *Trial, v Value) { t.Load.Seed = v },
	"throttled":         func(t *Trial, v Value) { t.Throttled = v },
}

func timeOf(v Value) time.Time {
	if v.IsMissing() {
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(v.Num * 1e6))).UTC()
}

func (t *Trial) setKnob(name string, v Value) {
	if v.IsMissing() {
		delete(t.Setup.Config.Knobs, name)
		return
	}
	if t.Setup.Config.Knobs == nil {
		t.Setup.Config.Knobs = Knobs{}
	}
	t.Setup.Config.Knobs[name] = v
}
