package ingest

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// A tracker of experiments has a history of its own: trials with parameters that
// were chosen, values that were measured, and labels. Their names are anyone's, so
// that they are recognised like the columns of a table (column.go), and an
// import.yaml may say what they are.

// history reads the trials of one tracker's file.
type history struct {
	in      *input
	out     *collector
	format  string
	tool    string
	version string          // of the tracker
	vague   map[string]bool // latencies without unit or statistic, told once
	left    map[string]int  // trials that are no record, by the reason
}

func newHistory(in *input, out *collector, format, tool string) *history {
	return &history{in: in, out: out, format: format, tool: tool, vague: map[string]bool{}, left: map[string]int{}}
}

// trial begins a record. place says where in the file it stands; identity is what
// names the trial for all time, whatever else the file will hold later.
func (h *history) trial(study, place, identity string) *draft {
	h.out.begin()
	d := newDraft(h.format, h.tool, 0)
	d.t.Setup.ToolVersion = h.version
	d.study, d.position, d.identity = clip(study, 200), place, h.tool+" "+identity
	return d
}

// leaveOut counts a trial that is no record.
func (h *history) leaveOut(reason string) {
	h.out.begin()
	h.out.left++
	h.left[reason]++
}

// end tells of what was left out.
func (h *history) end() {
	for _, reason := range slices.Sorted(maps.Keys(h.left)) {
		h.out.skip(0, fmt.Sprintf("trials left out: %d %s", h.left[reason], reason))
	}
	for _, name := range slices.Sorted(maps.Keys(h.vague)) {
		h.out.warn(0, fmt.Sprintf("%q states no unit or no statistic: kept as extra.%s; name its field and unit in import.yaml", name, snakeLabel(name)))
	}
	if h.out.met == 0 {
		h.out.skip(0, "no trial in it")
	}
}

// param records a parameter: a field that can be chosen, else a knob, else, where
// its name is none of a flag, an extra. It is never a figure.
func (h *history) param(d *draft, name string, v any) {
	d.note("param", name, v)
	if secretKey.MatchString(name) {
		return
	}
	c := columnFor(name, h.in.mapping)
	short := name[strings.LastIndexAny(name, "./")+1:]
	if c.as == columnExtra && short != name { // server_args.max_num_seqs
		if inner := columnFor(short, h.in.mapping); inner.as == columnKnob || inner.as == columnPlace && inner.place.kind == toField {
			c = inner
		}
	}
	switch {
	case c.as == columnNone:
	case c.as == columnPlace && c.place.kind == toField && fieldOf(c.place.name) != "":
		if n, ok := number(v); ok && c.place.scale != 0 {
			v = c.place.scaled(n)
		}
		d.setting(c.place.name, v)
	case c.as == columnKnob && isKnob(core.SnakeKnob(c.place.name)):
		d.knob(c.place.name, setting(v))
	case isKnob(core.SnakeKnob(name)) && core.CheckFieldName("args."+core.SnakeKnob(name)) == nil:
		d.knob(name, setting(v))
	default:
		d.extra(snakeLabel(name), setting(v))
	}
}

// measured records a value under the name of its figure, else as an extra.
func (h *history) measured(d *draft, name string, v any) {
	d.note("value", name, v)
	if f, ok := number(v); !ok || math.Abs(f) >= math.MaxFloat64 {
		return // MLflow writes an infinite value as the greatest number
	}
	c := columnFor(name, h.in.mapping)
	_, asked := byColumn(h.mappedColumns(), name)
	switch {
	case c.as == columnNone:
	case c.as == columnPlace && (c.place.kind == toFigure || asked):
		d.cell(c, text(v))
	case c.as == columnVague:
		h.vague[name] = true
		fallthrough
	default:
		d.extra(snakeLabel(name), setting(v))
	}
}

func (h *history) mappedColumns() map[string]string {
	if h.in.mapping == nil {
		return nil
	}
	return h.in.mapping.Columns
}

// failureNames are labels that people give the reason of a failure.
var failureNames = map[string]bool{
	"error": true, "error_message": true, "exception": true, "fail_reason": true, "failure": true, "failure_reason": true, "failure_text": true, "reason": true,
}

// label records what a tracker lets people attach: a figure, a setting, the reason
// of a failure, or an extra.
func (h *history) label(d *draft, name string, v any) {
	d.note("label", name, v)
	if secretKey.MatchString(name) {
		return
	}
	key := snakeLabel(name)
	if failureNames[key] && d.t.Status == core.StatusFailed {
		if s := text(v); s != "" && d.t.FailureText == "" {
			d.t.FailureText = maskSecrets(clip(s, 1000))
			d.t.Failure = failureOf("", s, true)
		}
		return
	}
	if o, ok := v.(*object); ok {
		for _, inner := range o.keys[:min(len(o.keys), 50)] {
			if _, scalar := scalarOf(o.vals[inner]); scalar {
				h.label(d, inner, o.vals[inner])
			}
		}
		return
	}
	value, scalar := scalarOf(v)
	if !scalar || key == "" {
		return
	}
	c := columnFor(name, h.in.mapping)
	_, isNumber := number(v)
	switch {
	case c.as == columnNone:
	case c.as == columnKnob:
		d.knob(c.place.name, value)
	case c.as == columnPlace && c.place.kind == toField:
		d.setting(c.place.name, v)
	case c.as == columnPlace && isNumber:
		d.cell(c, text(v))
	default:
		d.extra(key, value)
	}
}

// note keeps a pair for the source's raw text.
func (d *draft) note(kind, name string, v any) {
	if secretKey.MatchString(name) {
		v = "***"
	}
	if len(d.raw) < maxRaw {
		if o, ok := v.(*object); ok {
			v = strings.TrimSpace(shortRaw(o))
		}
		if value := text(v); value != "" {
			d.raw += fmt.Sprintf("%s %s = %s\n", kind, clip(name, 200), clip(oneLine(value), 400))
		}
	}
}

// done hands a trial over, with its source text.
func (h *history) done(d *draft) {
	if d.t.Status == core.StatusFailed && d.t.Failure == "" {
		d.t.Failure = core.UnknownFailure
	}
	d.add(h.out, maskSecrets(d.raw))
}

// milliseconds gives a time since 1970, zero for none that can be.
func milliseconds(v any) time.Time {
	ms, ok := number(v)
	if !ok || ms <= 0 || ms > 4e12 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// jsonValue reads one value of JSON as Python writes it; nil where it is none.
func jsonValue(text string) any {
	docs := newJSONReader(bufio.NewReader(strings.NewReader(`{"v": `+text+"}")), unneeded)
	v, _, err := docs.next()
	if o, ok := v.(*object); ok && err == nil {
		return o.vals["v"]
	}
	return nil
}
