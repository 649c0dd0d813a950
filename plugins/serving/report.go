package serving

import (
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// Report collects what a start says of itself, from the log and afterwards from
// the server's endpoints.
type Report struct {
	// Version of the engine, as the server says.
	Version string
	// Resolved are the settings in force, by canonical name.
	Resolved core.Knobs

	engine   string
	read     func(string, *Report)
	progress func(core.Progress)
	phase    string
	start    time.Time
	loadS    core.Value
	told     map[string]core.Value // fields of the setup
}

func newReport(d *Dialect, progress func(core.Progress)) *Report {
	if progress == nil {
		progress = func(core.Progress) {}
	}
	return &Report{Resolved: core.Knobs{}, told: map[string]core.Value{}, engine: d.Name, read: d.Read, progress: progress, phase: "load", start: time.Now()}
}

// Set records a setting under any of its spellings. An empty text, None and null
// are no value.
func (r *Report) Set(flag string, v core.Value) {
	switch v.Text {
	case "None", "null", "":
		if v.Kind == core.KindText {
			return
		}
	}
	if v.IsMissing() {
		return
	}
	name, v := core.CanonicalSetting(r.engine, flag, v)
	r.Resolved[name] = v
}

// Loaded says that the weights are in memory. The first word counts.
func (r *Report) Loaded() {
	if r.loadS.IsMissing() {
		r.loadS = core.Number(time.Since(r.start).Seconds())
	}
	r.phase = "compile"
}

// CompileCache records whether compiled kernels were found; one cold part makes
// the start a cold one.
func (r *Report) CompileCache(warm bool) {
	_, known := r.Resolved["compile_cache"]
	switch {
	case !warm:
		r.Resolved["compile_cache"] = core.String("cold")
	case !known:
		r.Resolved["compile_cache"] = core.String("warm")
	}
}

// line takes one line of the log. It becomes progress in its plain form, without
// secrets, since progress is shown and logged.
func (r *Report) line(text string) {
	text = Message(text)
	if text == "" {
		return
	}
	if r.read != nil {
		r.read(text, r)
	}
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	r.progress(core.Progress{Phase: r.phase, Message: Patterns.String(text)})
}

// Fact records a field of the setup.
func (r *Report) Fact(field string, v core.Value) {
	if !v.IsMissing() {
		r.told[field] = v
	}
}

// WeightDtype records the number format of the weights from what the engine calls
// it; a name that is no format ("compressed-tensors") tells nothing.
func (r *Report) WeightDtype(name string) {
	switch short := shortDtype(name); short {
	case "bf16", "fp16", "fp32", "fp8", "mxfp4", "nvfp4":
		r.Fact("weight_dtype", core.String(short))
	case "awq", "awq_marlin":
		r.Fact("weight_dtype", core.String("int4"))
	}
}

// facts are fields of the setup that the server told.
func (r *Report) facts() map[string]core.Value {
	out := maps.Clone(r.told)
	if v := r.Resolved["kv_cache_dtype"]; v.Kind == core.KindText && v.Text != "auto" {
		out["kv_dtype"] = core.String(shortDtype(v.Text))
	}
	return out
}

// Question asks a ready server.
type Question struct {
	ctx    context.Context //nolint:containedctx // lives within one Launch
	client *http.Client
	base   string
}

// JSON reads one small answer of the server; false when there is none.
func (q Question) JSON(path string, into any) bool {
	return GetJSON(q.ctx, q.client, q.base+path, into) == nil
}

// Text reads one answer as text, at most a few MiB; "" when there is none.
func (q Question) Text(path string) string {
	ctx, cancel := context.WithTimeout(q.ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.base+path, nil)
	if err != nil {
		return ""
	}
	load.Authorize(r)
	resp, err := q.client.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// JSONValue turns a decoded JSON value into one of ours: a list of numbers reads
// "1 2 4"; null, objects and other lists are no settings.
func JSONValue(v any) core.Value {
	switch v := v.(type) {
	case string:
		return core.String(v)
	case float64:
		return core.Number(v)
	case bool:
		return core.Bool(v)
	case []any:
		var items []string
		for _, x := range v {
			n, ok := x.(float64)
			if !ok {
				return core.Missing()
			}
			items = append(items, core.Number(n).String())
		}
		if len(items) > 0 {
			return core.String(strings.Join(items, " "))
		}
	}
	return core.Missing()
}

var (
	escapeCodes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	// What stands before a message: a process name with its pid, a rank, a level
	// with its time and place, a bracketed time.
	linePrefix = regexp.MustCompile(`^(?:` +
		`\([A-Za-z][A-Za-z0-9_:.-]*(?: [A-Za-z0-9_=]+)* ?pid=\d+\)\s*` +
		`|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):?\s+\d\d-\d\d(?:-\d{4})? \d\d:\d\d:\d\d(?:\.\d+)?\s+\[[^\]]*\]\s*` +
		`|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):\s+` +
		`|\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: [A-Z]+\d+)*\]\s*` +
		`|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?[ ,:]*(?:- )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)?[ :-]*` +
		`|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]\s*` +
		`|\[TRT-LLM\]\s*|\[TensorRT-LLM\]\s*|\[(?:RANK \d+|TRT)\]\s*|\[(?:[VIWEF]|DEBUG|INFO|WARNING|ERROR)\]\s*` +
		`|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+\s+\S+\]\s*` +
		`)`)
)

// Message is a log line without colours, process, time and level.
func Message(text string) string {
	_, message := cutPrefix(text)
	return message
}

// cutPrefix parts a log line into what stands before its message, without colours,
// and the message.
func cutPrefix(text string) (prefix, message string) {
	text = escapeCodes.ReplaceAllString(text, "")
	// Of a progress bar that overwrites itself only the last state counts.
	text = strings.TrimRight(text, "\r\n\t ")
	if i := strings.LastIndexByte(text, '\r'); i >= 0 {
		text = text[i+1:]
	}
	rest := text
	for range 6 {
		shorter := linePrefix.ReplaceAllString(rest, "")
		if shorter == rest {
			break
		}
		rest = shorter
	}
	return text[:len(text)-len(rest)], strings.TrimSpace(rest)
}

var (
	// The levels below an error, as the engines, TensorRT-LLM and glog write them.
	remarkLevel = regexp.MustCompile(`\b(?:DEBUG|INFO|WARNING|WARN)\b|\[(?:V|I|W)\]|(?:^|\[)[IW]\d{4} `)
	seriousMark = regexp.MustCompile(`\b(?:ERROR|CRITICAL|FATAL)\b|\[(?:E|F)\]|(?:^|\[)[EF]\d{4} `)
	// Python's own warnings, "x.py:10: UserWarning: …", and glog's behind a rank,
	// "[rank0]:[W1130 23:09:02 …".
	pythonWarning = regexp.MustCompile(`^(?:\S+:\d+: )?[A-Za-z]*Warning: |^\[rank\d+\]:\[[IW]\d{4} `)
)

// remark reports whether a log line says of itself that it is no error. A line
// without a level, as of a traceback, is none.
func remark(text string) bool {
	prefix, message := cutPrefix(text)
	if seriousMark.MatchString(prefix) {
		return false
	}
	return remarkLevel.MatchString(prefix) || pythonWarning.MatchString(message)
}

// PythonValue reads a value as Python prints it: 'x', "x", 1, 0.5, True, None.
func PythonValue(s string) core.Value {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return core.String(s[1 : len(s)-1])
	}
	switch s {
	case "None", "":
		return core.Missing()
	}
	return core.ParseValue(strings.TrimPrefix(s, "torch."))
}

// Amount reads a number with thousands separators.
func Amount(s string) core.Value {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return core.Missing()
	}
	return core.Number(f)
}

// PythonFields reads name=value pairs as Python prints a call or a data class, at
// the outermost level: "A(a=1, b='x', c=[1, 2])". Braces with quoted names and
// colons are read too.
func PythonFields(text string) map[string]core.Value {
	out := map[string]core.Value{}
	for _, part := range topLevel(text) {
		name, value, ok := strings.Cut(part, "=")
		if !ok || strings.HasPrefix(strings.TrimSpace(part), "'") {
			name, value, ok = strings.Cut(part, ":")
		}
		name = strings.Trim(strings.TrimSpace(name), `'"`)
		if !ok || name == "" || strings.ContainsAny(name, " ([{") {
			continue
		}
		if v := PythonValue(value); !v.IsMissing() && !strings.ContainsAny(strings.TrimSpace(value)[:1], "([{<") {
			out[name] = v
		}
	}
	return out
}

// topLevel splits at commas outside of quotes and brackets.
func topLevel(text string) []string {
	var parts []string
	var quote byte
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth <= 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}
