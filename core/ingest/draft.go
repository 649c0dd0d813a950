package ingest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// draft is a trial that is made of keys and values rather than of a text.
type draft struct {
	t        *core.Trial
	line     int
	format   string
	samples  []core.Sample
	warnings []string
	bench    string // what the benchmark calls the model
	study    string // of a sweep, see record
	copyKey  string
	summary  bool
	position string // where it stands, other than in a line
	identity string // see record
	raw      string // its source text, as far as a history has one
}

func newDraft(format, tool string, line int) *draft {
	return &draft{line: line, format: format, t: &core.Trial{
		Status: core.StatusOK, Figures: core.Figures{}, Extra: map[string]core.Value{}, Setup: core.Setup{Tool: tool},
	}}
}

// put records a value at its place. A figure that is no finite number is not
// measured; a text where a figure should stand is told.
func (d *draft) put(p place, key string, v any) {
	switch p.kind {
	case toField:
		d.setting(p.name, v)
	case toFigure, toExtra:
		f, ok := number(v)
		if !ok {
			if s, isText := v.(string); isText && s != "" && !isAbsent(s) {
				d.warn("%s left out: %q is no number", key, clip(s, 40))
			}
			return
		}
		if p.kind == toExtra {
			d.extra(p.name, core.Number(p.scaled(f)))
			return
		}
		if _, given := d.t.Figures[p.name]; !given {
			d.t.Figures.Set(p.name, p.scaled(f))
		}
	}
}

func (d *draft) warn(format string, args ...any) {
	if len(d.warnings) < 20 {
		d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
	}
}

func (d *draft) extra(name string, v core.Value) {
	if v.IsMissing() || name == "" || v.Kind == core.KindNumber && math.IsInf(v.Num, 0) {
		return
	}
	if _, given := d.t.Extra[name]; !given && len(d.t.Extra) < maxExtra {
		d.t.Extra[name] = v
	}
}

// setting records a value under the name of a field, typed as the field is. What
// does not fit the field's type is an extra.
func (d *draft) setting(name string, v any) {
	if !setTyped(d.t, name, v) {
		d.extra(snakeLabel(strings.ReplaceAll(name, ".", "_")), setting(v))
	}
}

// setTyped reports whether the field took the value; a missing one is taken and
// changes nothing.
func setTyped(t *core.Trial, name string, v any) bool {
	f, ok := core.LookupField(name)
	if !ok {
		return false
	}
	value := setting(v)
	if value.IsMissing() {
		return true
	}
	if f.Type == core.TimeType {
		at, zone, ok := moment(text(v))
		if !ok {
			return false
		}
		t.StartedAt, t.ZoneAssumed = at, !zone
		return true
	}
	if f.Type == core.TextType || f.Type == core.VersionType {
		value = core.String(maskSecrets(text(v)))
		if name == "engine" {
			if known := engineName(value.Text); known != "" {
				value = core.String(known)
			}
		}
		if value.Text == "" {
			return true
		}
	}
	if f.Figure() && value.IsUnlimited() {
		return true // a measured value that is not finite was not measured
	}
	return t.SetField(name, value) == nil
}

var secretKey = regexp.MustCompile(`(?i)` + secretNames + `$`)

// other records a key that no format means: a field's name or another name of
// one, a knob, else an extra. People add such keys with --metadata, sweeps with
// the settings that they vary.
func (d *draft) other(key string, v any) {
	name := snakeLabel(key)
	if secretKey.MatchString(key) || name == "" {
		return
	}
	if o, ok := v.(*object); ok {
		for _, inner := range o.keys[:min(len(o.keys), 30)] {
			if value, scalar := scalarOf(o.vals[inner]); scalar {
				d.extra(snakeLabel(name+" "+inner), value)
			}
		}
		return
	}
	value, scalar := scalarOf(v)
	if !scalar || value.IsMissing() {
		return
	}
	if field := fieldOf(name); field != "" && setTyped(d.t, field, v) {
		return
	}
	if prefix, knob, dotted := strings.Cut(key, "."); dotted && (prefix == "args" || prefix == "passed") {
		d.knob(knob, value)
	} else if isOwnFlag(key) {
		d.knob(key, value)
	} else {
		d.extra(name, value)
	}
}

// fieldOf gives the field that a key outside the format may set: what was chosen,
// where, what was asked and how hard, and the place in a study.
func fieldOf(name string) string {
	if f, ok := settingNames[name]; ok {
		name = f
	}
	f, ok := core.LookupField(name)
	if !ok {
		return ""
	}
	switch f.Group {
	case core.GroupChosen, core.GroupWhere, core.GroupAsked, core.GroupLoad, core.GroupGPU:
		return f.Name
	}
	switch f.Name {
	case "study", "stage", "option", "repeat", "started_at":
		return f.Name
	}
	return ""
}

// isOwnFlag reports whether a key is surely an engine's setting.
func isOwnFlag(key string) bool {
	if core.KnownKnob(core.SnakeKnob(key)) {
		return true
	}
	dashed := strings.ReplaceAll(key, "_", "-")
	return ownFlags[key] != "" || ownFlags[dashed] != ""
}

// knob records a setting of the server under its canonical name. The engine may
// not be known, and then the idea of any engine counts.
func (d *draft) knob(name string, v core.Value) {
	if !isKnob(core.SnakeKnob(name)) || v.IsMissing() {
		return
	}
	cfg := &d.t.Setup.Config
	canonical := anyKnob(cfg.Engine, name)
	if cfg.Knobs == nil {
		cfg.Knobs = core.Knobs{}
	}
	if _, given := cfg.Knobs[canonical]; !given && len(cfg.Knobs) < maxFlags {
		cfg.Knobs[canonical] = v
	}
}

// anyKnob is core.CanonicalKnob, with every engine tried where none is known.
func anyKnob(engine, name string) string {
	if engine != "" {
		return core.CanonicalKnob(engine, name)
	}
	plain := core.SnakeKnob(name)
	for _, e := range []string{"vllm", "sglang", "trtllm"} {
		if c := core.CanonicalKnob(e, name); c != plain {
			return c
		}
	}
	return plain
}

// add hands the trial over. The end of a run, where the source gives it, is a
// local time without a zone.
func (d *draft) add(out *collector, raw string) {
	t := d.t
	if t.Workload.Name == "" {
		t.Workload.Name = strings.TrimSpace(workloadName(t.Workload))
	}
	if t.Load.RequestRate.IsUnlimited() {
		t.Load.Burstiness = core.Missing() // all at once has no shape
	}
	if t.Setup.Config.Model == "" {
		t.Setup.Config.Model = d.bench
	} else if d.bench != "" && d.bench != t.Setup.Config.Model && d.bench != t.Setup.Config.Checkpoint {
		d.extra("bench_model", core.String(d.bench))
	}
	for _, w := range d.warnings {
		out.warn(d.line, w)
	}
	if d.position == "" {
		d.position = fmt.Sprintf("line %d", d.line)
	}
	out.addRecord(record{trial: t, samples: d.samples, study: d.study, copyKey: d.copyKey, summary: d.summary, identity: d.identity, src: core.Source{
		Position: d.position, Format: d.format, Tool: t.Setup.Tool, Decimals: -1, Raw: raw,
	}})
}

// ended takes "20250211-093015", the local time at which vllm bench wrote its
// file. The start is the end less the measured duration.
func (d *draft) ended(date string) {
	at, err := time.Parse("20060102-150405", date)
	if err != nil {
		d.extra("date", core.OptionalText(clip(date, 40)))
		return
	}
	d.t.EndedAt, d.t.ZoneAssumed = at, true
	if s := d.t.Figures["duration_s"]; s > 0 && s < 1e7 {
		d.t.StartedAt = at.Add(-time.Duration(s * float64(time.Second))).Truncate(time.Second)
	}
}

// moment reads a time as tables and paths write it; zone says whether it has one.
func moment(s string) (at time.Time, zone, ok bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "20060102-150405", "20060102_150405", time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), layout == time.RFC3339, true
		}
	}
	return time.Time{}, false, false
}

// number reads a finite figure: a number, or a text that is one.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return parseNumber(strings.TrimSpace(v))
	}
	return 0, false
}

// setting reads a typed setting. Infinity is no limit; NaN and null are missing.
func setting(v any) core.Value {
	switch v := v.(type) {
	case float64:
		if math.IsInf(v, -1) {
			return core.Missing()
		}
		return core.Number(v)
	case bool:
		return core.Bool(v)
	case string:
		s := strings.TrimSpace(v)
		switch strings.ToLower(s) {
		case "", "null", "none", "nan", "n/a":
			return core.Missing()
		case "inf", "infinity", "unlimited":
			return core.Unlimited()
		}
		if f, ok := parseNumber(s); ok && !strings.HasSuffix(s, "%") {
			return core.Number(f)
		}
		return core.ParseValue(maskSecrets(clip(s, 1000)))
	}
	return core.Missing()
}

// scalarOf is setting for values that are no list and no object.
func scalarOf(v any) (core.Value, bool) {
	switch v.(type) {
	case []float64, []any, *object:
		return core.Value{}, false
	}
	return setting(v), true
}

// text gives a scalar as it is read.
func text(v any) string {
	switch v := v.(type) {
	case string:
		if isAbsent(v) && v != "inf" {
			return ""
		}
		return strings.TrimSpace(v)
	case nil:
		return ""
	}
	return setting(v).String()
}

// shortRaw is the source text of an object without its per-request lists, since
// the samples hold those.
func shortRaw(o *object) string {
	var b strings.Builder
	writeObject(&b, o, 0)
	return maskSecrets(clip(b.String(), maxRaw) + "\n")
}

func writeObject(b *strings.Builder, o *object, depth int) {
	b.WriteByte('{')
	wrote := false
	for _, key := range o.keys {
		v := o.vals[key]
		if long(v) || depth > 8 {
			continue
		}
		if wrote {
			b.WriteString(", ")
		}
		wrote = true
		fmt.Fprintf(b, "%q: ", key)
		writeValue(b, v, depth)
	}
	b.WriteByte('}')
}

// long tells a list of requests from a list of percentiles.
func long(v any) bool {
	switch v := v.(type) {
	case []float64:
		return len(v) > 16
	case []any:
		return len(v) > 16 || slices.ContainsFunc(v, long) || slices.ContainsFunc(v, func(e any) bool { _, list := e.([]float64); return list })
	}
	return false
}

func writeValue(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		fmt.Fprintf(b, "%q", clip(v, 1000))
	case *object:
		writeObject(b, v, depth+1)
	case []float64:
		writeList(b, len(v), func(i int) { fmt.Fprint(b, v[i]) })
	case []any:
		writeList(b, len(v), func(i int) { writeValue(b, v[i], depth+1) })
	default:
		fmt.Fprint(b, v)
	}
}

func writeList(b *strings.Builder, n int, item func(i int)) {
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		item(i)
	}
	b.WriteByte(']')
}
