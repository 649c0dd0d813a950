package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// Kind is what a picture looks like.
type Kind string

// The kinds. Auto chooses one by the question: see Choose.
const (
	AutoKind        Kind = "auto"
	BarKind         Kind = "bar"
	BeforeAfterKind Kind = "before-after"
	WaterfallKind   Kind = "waterfall"
	LineKind        Kind = "line"
	LoadKind        Kind = "load"
	FrontierKind    Kind = "frontier"
	ScatterKind     Kind = "scatter"
	HistoryKind     Kind = "history"
	ECDFKind        Kind = "ecdf"
	TimelineKind    Kind = "timeline"
)

// KindInfo describes a kind to people.
type KindInfo struct {
	Kind    Kind
	Shows   string
	Example string // a question that it answers
}

// Kinds lists what can be drawn.
func Kinds() []KindInfo {
	return []KindInfo{
		{AutoKind, "what suits the question", `max total_tps by engine`},
		{BarKind, "one value a bar, whiskers from repeats, gain over the baseline", `show option, role, output_tps where concurrency == 64`},
		{BeforeAfterKind, "the value beside its baseline", `max total_tps by workload vs role == "baseline"`},
		{WaterfallKind, "what each stage of a search gained, and the noise", `show stage, option, output_tps where concurrency == 64`},
		{LineKind, "a value over an ordered field or knob", `show engine, args.max_num_seqs, total_tps`},
		{LoadKind, "a value against load, with the load at which --slo breaks", `show option, concurrency, p99_ttft_ms`},
		{FrontierKind, "throughput per GPU against speed per user, a line a setup", `show option, concurrency, output_tps_per_gpu, 1000 / median_tpot_ms as tps_per_user`},
		{ScatterKind, "two values against each other, with the front that none beats in both", `pareto max total_tps, min mean_ttft_ms`},
		{HistoryKind, "a value over versions or time, with the changes that are no noise", `show engine_version, output_tps`},
		{ECDFKind, "how a latency spreads over the requests of trials", `show number, option where concurrency == 64`},
		{TimelineKind, "the requests, tokens and power of one trial over time", `show number where number == 14`},
	}
}

// FromSamples reports whether a kind is made of single requests: see Requests.
func (k Kind) FromSamples() bool { return k == ECDFKind || k == TimelineKind }

// ParseKind reads the name of a kind; the error names those there are.
func ParseKind(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if string(k.Kind) == name {
			return k.Kind, nil
		}
		names = append(names, string(k.Kind))
	}
	return "", fmt.Errorf("kind of chart %q: %w: want %s", name, core.ErrInvalid, strings.Join(names, ", "))
}

// Choose names the kind that suits an answer: pareto is a scatter, change a history
// or a line, a baseline of vs gives before-after, a show with a load, a rate or a time a
// line, and everything else bars.
func Choose(a *query.Answer, opt Options) Kind {
	d := &reader{a: a}
	switch {
	case opt.X == "-":
		return BarKind
	case a.Verb == "pareto":
		return ScatterKind
	case a.Verb == "change":
		if p := d.placeColumn(); p >= 0 && (a.Columns[p].Type == core.VersionType || a.Columns[p].Type == core.TimeType) {
			return HistoryKind
		}
		return LineKind
	case opt.X != "":
		return LineKind
	}
	if v, err := d.valueColumn(opt.Value); err == nil {
		if len(a.Rows) > 0 && d.index("base("+a.Columns[v].Name+")") >= 0 {
			return BeforeAfterKind
		}
		if x, err := d.xColumn("", v); err == nil && x >= 0 {
			return LineKind
		}
	}
	return BarKind
}

// Render draws a figure by its kind.
func Render(f Figure) ([]byte, error) {
	switch f.Kind {
	case BeforeAfterKind:
		return BeforeAfter(f)
	case WaterfallKind:
		return Waterfall(f)
	case LineKind, LoadKind, HistoryKind:
		return Lines(f)
	case FrontierKind, ScatterKind:
		return Scatter(f)
	case ECDFKind:
		return ECDF(f)
	case TimelineKind:
		return Timeline(f)
	}
	return Bar(f)
}

// title names what a figure shows: "output_tps over concurrency by option".
func (d *reader) title(value, over string, labels []int) string {
	t := value
	if over != "" {
		t += " over " + over
	}
	var names []string
	for _, i := range labels {
		if n := strings.TrimPrefix(d.a.Columns[i].Name, "args."); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		t += " by " + strings.Join(names, ", ")
	}
	return t
}
