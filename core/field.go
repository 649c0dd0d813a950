package core

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is what a query field holds.
type Type uint8

const (
	// NumberType: float64; settings may be Unlimited.
	NumberType Type = iota + 1
	// TextType compares case-sensitively.
	TextType
	// BoolType is true or false.
	BoolType
	// VersionType is text that compares as a version (PEP 440).
	VersionType
	// TimeType is a number of seconds since 1970 UTC, printed as RFC 3339.
	TimeType
	// AnyType is a knob or extra, whose values may be of several kinds.
	AnyType
)

func (t Type) String() string {
	return [...]string{"", "number", "text", "true/false", "version", "time", "any"}[t]
}

// Group orders the fields for people.
type Group string

// The groups of fields, in the order in which they are listed.
const (
	GroupIdentity Group = "identity"
	GroupChosen   Group = "chosen"
	GroupWhere    Group = "where"
	GroupAsked    Group = "asked"
	GroupLoad     Group = "load"
	GroupCounts   Group = "counts"
	GroupRates    Group = "rates"
	GroupLatency  Group = "latency"
	GroupGPU      Group = "gpu and money"
	GroupLimits   Group = "limits"
	GroupQuality  Group = "quality"
)

// Field is one name that a query can use.
type Field struct {
	Name   string
	Type   Type
	Unit   string // "", "tok/s", "ms", "s", "W", …
	Better Better
	Group  Group
	Doc    string // definition, with the formula where there is one
}

// Measured reports whether the field is a result rather than a choice, an
// identity or a setting: what repeats of one setup may differ in.
func (f Field) Measured() bool {
	switch f.Group {
	case GroupCounts, GroupRates, GroupLatency, GroupGPU, GroupLimits, GroupQuality:
		return true
	}
	return false
}

// Figure reports whether the field lives in Trial.Figures.
func (f Field) Figure() bool {
	return f.Measured() && f.Type == NumberType && f.Name != "findings" &&
		!strings.Contains(f.Name, ".") && !strings.HasSuffix(f.Name, "_per_gpu")
}

// Fields lists every fixed field in the order of the documentation. Knobs
// (args.x, passed.x), extra.x, quality.x, further percentiles and the …_per_gpu
// rates are found by LookupField.
func Fields() []Field {
	id := func(name string, t Type, doc string) Field { return Field{name, t, "", 0, GroupIdentity, doc} }
	fs := []Field{
		id("id", TextType, "UUID of the trial: v7 for a run, v8 of the fingerprint for an import"),
		id("number", NumberType, "short number in this history"),
		id("study", TextType, "the named question that the trial belongs to"),
		id("stage", TextType, "step of the staged search"),
		id("option", TextType, "alternative tried in the stage"),
		id("role", TextType, "baseline, candidate or verification; of an import only what its source says"),
		id("status", TextType, "planned, launching, running, ok, failed, stopped, aborted, lost or retracted"),
		id("failure", TextType, "failure class, empty when none"),
		id("attempt", NumberType, "1 for the first try; a retry is a new trial"),
		id("repeat", NumberType, "1 for the first measurement of a setup, workload and load"),
		id("launch", TextType, "id of the server's life that the trial was measured on"),
		id("tag", TextType, "tags given by people, comma separated"),
		id("source", TextType, "file that an import came from"),
		id("tool", TextType, "ruler that measured: sweepbook, vllm-bench, guidellm, …"),
		id("tool_version", VersionType, "version of the ruler"),
		id("sweepbook_version", VersionType, "version that recorded the trial"),
		id("started_at", TimeType, "start of the measurement, UTC"),
		id("simulated", BoolType, "true when a simulator was measured"),
		id("asserted", TextType, "fields that a person set, comma separated"),

		{"engine", TextType, "", 0, GroupChosen, "serving engine: vllm, sglang, trtllm, sim, …"},
		{"engine_version", VersionType, "", 0, GroupChosen, "version of the engine"},
		{"model", TextType, "", 0, GroupChosen, "base model"},
		{"checkpoint", TextType, "", 0, GroupChosen, "what was loaded"},
		{"weight_dtype", TextType, "", 0, GroupChosen, "number format of the weights"},
		{"kv_dtype", TextType, "", 0, GroupChosen, "number format of the KV cache"},
		{"tp", NumberType, "", 0, GroupChosen, "tensor parallel size"},
		{"pp", NumberType, "", 0, GroupChosen, "pipeline parallel size"},
		{"dp", NumberType, "", 0, GroupChosen, "data parallel size"},
		{"ep", NumberType, "", 0, GroupChosen, "expert parallel size"},
		{"gpus", NumberType, "", 0, GroupChosen, "number of GPUs"},
		{"nodes", NumberType, "", 0, GroupChosen, "number of machines"},
		{"spec_method", TextType, "", 0, GroupChosen, "speculative decoding method, none when known to be off"},
		{"image", TextType, "", 0, GroupChosen, "container image or its digest"},
		{"config", TextType, "", 0, GroupChosen, "short hash of engine, checkpoint, knobs and listed environment"},
		{"setup", TextType, "", 0, GroupChosen, "short hash of config, versions, GPU, driver and ruler"},

		{"gpu", TextType, "", 0, GroupWhere, "full product name of the GPU"},
		{"driver", VersionType, "", 0, GroupWhere, "GPU driver version"},
		{"host", TextType, "", 0, GroupWhere, "machine that was measured"},
		{"power_limit_w", NumberType, "W", 0, GroupWhere, "power limit of one GPU"},
		{"compile_cache", TextType, "", 0, GroupWhere, "warm or cold"},
		{"load_s", NumberType, "s", LowerBetter, GroupWhere, "from start to weights loaded"},
		{"ready_s", NumberType, "s", LowerBetter, GroupWhere, "from start to the first streamed completion"},

		{"workload", TextType, "", 0, GroupAsked, "name of the workload"},
		{"dataset", TextType, "", 0, GroupAsked, "data set of the prompts"},
		{"input_len", NumberType, "tok", 0, GroupAsked, "requested prompt tokens, where fixed"},
		{"output_len", NumberType, "tok", 0, GroupAsked, "requested output tokens, where fixed"},
		{"ignore_eos", BoolType, "", 0, GroupAsked, "whether the end-of-sequence token was ignored"},
		{"turns", NumberType, "", 0, GroupAsked, "turns of a conversation"},

		{"load", TextType, "", 0, GroupLoad, "label of the load"},
		{"concurrency", NumberType, "", 0, GroupLoad, "limit of requests in flight (a setting)"},
		{"request_rate", NumberType, "req/s", 0, GroupLoad, "offered request rate (a setting)"},
		{"burstiness", NumberType, "", 0, GroupLoad, "gamma shape of the arrivals; 1 is Poisson"},
		{"num_prompts", NumberType, "", 0, GroupLoad, "requests that the run was told to send"},
		{"seed", NumberType, "", 0, GroupLoad, "seed of prompts and arrivals"},
	}
	figure := func(g Group, name, unit string, better Better, doc string) {
		fs = append(fs, Field{name, NumberType, unit, better, g, doc})
	}
	count := func(name, unit string, better Better, doc string) { figure(GroupCounts, name, unit, better, doc) }
	count("requested", "", 0, "requests asked: the tool's own figure, else completed + failed, else the command's")
	count("completed", "", HigherBetter, "requests that ended well, with at least one token")
	count("failed", "", LowerBetter, "requests that ended in an error or without a token")
	count("incomplete", "", 0, "requests cut off by the run's own limit")
	count("input_tokens", "tok", 0, "prompt tokens of the completed requests")
	count("cached_tokens", "tok", 0, "of the prompt tokens, taken from a prefix cache")
	count("output_tokens", "tok", 0, "generated tokens of the completed requests")
	count("requested_output_tokens", "tok", 0, "output tokens that were asked for")
	count("success_rate", "", HigherBetter, "completed / (requested - incomplete); missing when requested is unknown")
	count("duration_s", "s", 0, "from the first request sent to the last answer")
	count("mean_input_len", "tok", 0, "input_tokens / completed")
	count("mean_output_len", "tok", 0, "output_tokens / completed")
	for _, r := range rates() {
		figure(GroupRates, r.Name, r.Unit, r.Better, r.Doc)
	}
	for _, l := range latencies() {
		for _, stat := range FixedStats() {
			if l.fixed {
				f, _ := latencyField(stat + "_" + l.name + "_ms")
				fs = append(fs, f)
			}
		}
	}
	figure(GroupLatency, "est_e2el_ms", "ms", LowerBetter, "mean_ttft_ms + mean_tpot_ms × (output_tokens/completed - 1), only where no e2el was measured")
	gpu := func(name, unit string, better Better, doc string) { figure(GroupGPU, name, unit, better, doc) }
	gpu("mean_power_w", "W", LowerBetter, "mean power summed over the GPUs, measured window only")
	gpu("energy_j", "J", LowerBetter, "energy of the measured window")
	gpu("joules_per_output_token", "J/tok", LowerBetter, "energy_j / output_tokens")
	gpu("sm_clock_mhz", "MHz", 0, "mean SM clock")
	gpu("peak_memory_mib", "MiB", LowerBetter, "highest GPU memory in use")
	fs = append(fs, Field{"throttled", BoolType, "", LowerBetter, GroupGPU, "whether the GPU lowered its clocks"})
	gpu("accept_len", "tok", HigherBetter, "mean tokens accepted per decoding step")
	gpu("accept_rate", "", HigherBetter, "accepted / drafted tokens")
	gpu("kv_cache_peak", "", 0, "highest share of the KV cache in use")
	gpu("prefix_hit_rate", "", 0, "share of prompt tokens found in the prefix cache")
	gpu("preemptions", "", LowerBetter, "requests put back by the scheduler")
	gpu("usd_per_mtok_output", "USD", LowerBetter, "price of a million output tokens")
	gpu("usd_per_mtok_total", "USD", LowerBetter, "price of a million input and output tokens")
	figure(GroupLimits, "mbu", "", HigherBetter, "memory bandwidth used / available; missing when dtype, parallelism or size is unknown")
	figure(GroupLimits, "mfu", "", HigherBetter, "model FLOP/s / peak; active parameters for MoE")
	fs = append(fs, Field{"findings", NumberType, "", LowerBetter, GroupQuality, "number of audit findings that nobody acknowledged"})
	return fs
}

type rate struct {
	Name, Unit string
	Better     Better
	Doc        string
}

func rates() []rate {
	return []rate{
		{"rps", "req/s", HigherBetter, "completed / duration_s"},
		{"goodput_rps", "req/s", HigherBetter, "requests within the stated limits / duration_s"},
		{"output_tps", "tok/s", HigherBetter, "output tokens per second"},
		{"input_tps", "tok/s", HigherBetter, "input tokens per second"},
		{"total_tps", "tok/s", HigherBetter, "input and output tokens per second, as the tool gives it"},
		{"computed_tps", "tok/s", HigherBetter, "total without cached prompt tokens, per second"},
		{"steady_output_tps", "tok/s", HigherBetter, "output tokens per second while the load was full"},
		{"peak_output_tps", "tok/s", HigherBetter, "highest output rate of any second"},
		{"peak_concurrency", "", 0, "most requests in flight (observed, not a setting)"},
		{"mean_concurrency", "", 0, "mean requests in flight (observed)"},
		{"duration_tps", "tok/s", HigherBetter, "(input_tokens + output_tokens) / duration_s, always recomputed"},
	}
}

type latency struct {
	name, doc string
	fixed     bool // its fixed statistics are columns of their own
}

func latencies() []latency {
	return []latency{
		{"ttft", "time to first token, from sent to the first chunk that carries a token", true},
		{"tpot", "time per output token: (last - first) / (tokens - 1), per request of two tokens or more", true},
		{"itl", "gap between tokens, where a chunk is known to be a token", true},
		{"e2el", "end-to-end latency, from sent to the last token", true},
		{"icl", "gap between chunks", false},
		{"ttfo", "time to the first token that is not reasoning", false},
		{"ttft_due", "time to first token from when the request was due", false},
		{"e2el_due", "end-to-end latency from when the request was due", false},
		{"queue", "time from due to sent in the client", false},
	}
}

// FixedStats are the latency statistics that have columns of their own.
func FixedStats() []string {
	return []string{"mean", "median", "std", "min", "max", "p90", "p95", "p99"}
}

var percentile = regexp.MustCompile(`^p(\d{1,2})(?:_(\d{1,4}))?$`)

func latencyField(name string) (Field, bool) {
	stem, ok := strings.CutSuffix(name, "_ms")
	if !ok {
		return Field{}, false
	}
	for _, l := range latencies() {
		stat, ok := strings.CutSuffix(stem, "_"+l.name)
		if !ok {
			continue
		}
		if slices.Contains(FixedStats(), stat) {
			return Field{name, NumberType, "ms", LowerBetter, GroupLatency, stat + " of " + l.doc}, true
		}
		if percentile.MatchString(stat) {
			return Field{name, NumberType, "ms", LowerBetter, GroupLatency,
				strings.ReplaceAll(stat, "_", ".") + " of " + l.doc}, true
		}
	}
	return Field{}, false
}

// LatencyName gives the field of one latency statistic: ("p99.9", "ttft") is
// p99_9_ttft_ms, and p50 is the median.
func LatencyName(stat, latency string) string {
	if stat == "p50" {
		stat = "median"
	}
	return strings.ReplaceAll(stat, ".", "_") + "_" + latency + "_ms"
}

// PercentileName gives the statistic of a percentile: 99 is "p99", 99.9 "p99_9",
// 50 "median".
func PercentileName(p float64) string {
	if p == 50 {
		return "median"
	}
	return "p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// fieldIndex is built once and never changed.
var fieldIndex = func() map[string]Field {
	m := map[string]Field{}
	for _, f := range Fields() {
		m[f.Name] = f
	}
	for _, r := range rates() {
		name := r.Name + "_per_gpu"
		m[name] = Field{name, NumberType, r.Unit, r.Better, GroupRates, r.Name + " / gpus"}
	}
	return m
}()

// LookupField finds a field by name: a fixed one, a further percentile
// (p75_ttft_ms; p50 is the median), a rate per GPU, the severity of what the audit
// says of a metric (severity.total_tps), or args.x, passed.x, extra.x, quality.x,
// whose names only the history can confirm. The returned Field's Name is the
// canonical one.
func LookupField(name string) (Field, bool) {
	if rest, ok := strings.CutPrefix(name, "p50_"); ok {
		name = "median_" + rest
	}
	if f, ok := fieldIndex[name]; ok {
		return f, true
	}
	if f, ok := latencyField(name); ok {
		return f, true
	}
	prefix, rest, ok := strings.Cut(name, ".")
	if !ok || rest == "" {
		return Field{}, false
	}
	switch prefix {
	case "args":
		return Field{name, AnyType, "", 0, GroupChosen, "effective value of the knob " + rest}, true
	case "passed":
		return Field{name, AnyType, "", 0, GroupChosen, "value of the knob " + rest + " as passed"}, true
	case "extra":
		return Field{name, AnyType, "", 0, GroupQuality, "what the source reports as " + rest}, true
	case "quality":
		return Field{name, NumberType, "", HigherBetter, GroupQuality, "accuracy figure " + rest}, true
	case "severity":
		if f, ok := LookupField(rest); ok && f.Measured() {
			return Field{"severity." + f.Name, NumberType, "", LowerBetter, GroupQuality,
				"worst finding that touches " + f.Name + ": 0 none, 1 info, 2 note, 3 hard, 4 void"}, true
		}
	}
	return Field{}, false
}

// NearestNames returns up to three of the candidates that a mistyped name most
// likely meant, best first: within a third of its length in edits, or containing it.
func NearestNames(name string, candidates []string) []string {
	type scored struct {
		name string
		d    int
	}
	var near []scored
	limit := max(2, len(name)/3)
	for _, c := range candidates {
		d := editDistance(strings.ToLower(name), strings.ToLower(c))
		if len(name) > 3 && strings.Contains(c, name) {
			d = min(d, limit)
		}
		if d <= limit {
			near = append(near, scored{c, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, s := range near[:min(3, len(near))] {
		names = append(names, s.name)
	}
	return names
}

// FieldNames lists the names of all fixed fields and per-GPU rates, for
// suggestions and completion.
func FieldNames() []string {
	var names []string
	for name := range fieldIndex {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours between two short names.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}

// CheckFieldName returns an error that names the nearest fields, or nil.
func CheckFieldName(name string) error {
	if _, ok := LookupField(name); ok {
		return nil
	}
	msg := fmt.Sprintf("unknown field %q", name)
	if near := NearestNames(name, FieldNames()); len(near) > 0 {
		msg += "; nearest: " + strings.Join(near, ", ")
	}
	return fmt.Errorf("%w: %s", ErrInvalid, msg)
}
