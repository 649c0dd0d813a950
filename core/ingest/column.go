package ingest

import (
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// column says what a column of a table is.
type column struct {
	name  string // as it stands in the table
	place place
	as    columnKind
}

type columnKind uint8

const (
	columnExtra columnKind = iota // kept under its own name
	columnPlace                   // a figure, setting or named extra
	columnKnob
	columnNone  // left out
	columnVague // a latency that states no unit or no statistic: kept, and told
)

// columnFor finds what a column is: by the mapping, by the name of a field, by the
// label that a tool prints, by a tool's key, or by a well-known other name.
func columnFor(name string, m *Mapping) column {
	c := column{name: name}
	plain, unit := splitUnit(name)
	if m != nil {
		if u, ok := byColumn(m.Units, name); ok {
			unit = u
		}
		if field, ok := byColumn(m.Columns, name); ok {
			return c.mapped(field, unit)
		}
	}
	if secretKey.MatchString(name) {
		c.as = columnNone
		return c
	}
	key := snakeLabel(plain)
	if field := fieldOf(key); field == key && field != "" {
		return c.mapped(field, unit) // before the labels: "Concurrency" heads a setting
	}
	if p, _, ok := lookupRow(name); ok && p.kind != toLimit && p.kind != toRate && p.kind != toBackend {
		c.place, c.as = p, columnPlace
		return c
	}
	if key == "" {
		c.as = columnNone // the index of a data frame
		return c
	}
	if latency, stat := latencyColumn(key); latency != "" {
		if unit == "" || stat == "" {
			c.as = columnVague
			return c
		}
		return c.mapped(core.LatencyName(stat, latency), unit)
	}
	if knob, ok := strings.CutPrefix(name, "args."); ok {
		c.place, c.as = place{name: knob}, columnKnob
		return c
	}
	if other, ok := columnNames[key]; ok {
		return c.mapped(other, unit)
	}
	if p, ok := lookupKey(key); ok {
		c.place, c.as = p, columnPlace
		return c
	}
	if f, ok := core.LookupField(key); ok && (f.Figure() || fieldOf(key) != "") {
		return c.mapped(f.Name, unit)
	}
	if field := fieldOf(key); field != "" {
		return c.mapped(field, unit)
	}
	if isOwnFlag(key) {
		c.place, c.as = place{name: key}, columnKnob
	}
	return c
}

// byColumn finds what a mapping says of a column, whatever the case and blanks of
// its name.
func byColumn(m map[string]string, name string) (string, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	for column, v := range m {
		if strings.EqualFold(strings.Join(strings.Fields(column), " "), strings.Join(strings.Fields(name), " ")) {
			return v, true
		}
	}
	return "", false
}

// mapped is the column of a field with its values in a unit.
func (c column) mapped(field, unit string) column {
	if field == "-" {
		c.as = columnNone
		return c
	}
	c.as = columnPlace
	f, _ := core.LookupField(field)
	c.place = place{kind: toField, name: firstOf(f.Name, field), scale: columnScale(f, unit)}
	if f.Figure() {
		c.place.kind = toFigure
	}
	return c
}

// columnScale is what values in a unit are multiplied by to come to the field's
// own unit.
func columnScale(f core.Field, unit string) float64 {
	scale, ok := units[unit]
	switch {
	case !ok:
		return 1
	case unit == "%" || unit == "k":
		return scale
	case f.Unit == "s":
		return scale / 1000
	case f.Unit == "ms":
		return scale
	}
	return 1
}

var unitSuffix = regexp.MustCompile(`(?i)^(.*?)\s*[(\[]\s*(seconds?|secs?|s|msec|milliseconds?|ms|microseconds?|us|µs|ns|%|[a-z]+(?:/[a-z/]+)?)\s*[)\]]\s*$`)

// splitUnit takes "(ms)", "[s]" or the ending "_ms" off a column's name.
func splitUnit(name string) (plain, unit string) {
	if m := unitSuffix.FindStringSubmatch(name); m != nil {
		switch u := strings.ToLower(m[2]); {
		case u == "s" || strings.HasPrefix(u, "sec"):
			return m[1], "s"
		case u == "ms" || strings.HasPrefix(u, "ms") || strings.HasPrefix(u, "milli"):
			return m[1], "ms"
		case u == "us" || u == "µs" || strings.HasPrefix(u, "micro"):
			return m[1], "us"
		case u == "ns" || u == "%":
			return m[1], u
		}
		return m[1], ""
	}
	for _, u := range []string{"ms", "us", "ns", "s"} {
		if plain, ok := strings.CutSuffix(strings.ToLower(name), "_"+u); ok {
			return plain, u
		}
	}
	return name, ""
}

// latencyColumn reads the latency and the statistic out of a column's name in
// either order: p99_ttft, ttft_p99, mean_e2e_latency, ttft_avg.
func latencyColumn(key string) (latency, stat string) {
	words := strings.Split(key, "_")
	var rest []string
	for _, w := range words {
		switch {
		case w == "avg" || w == "average":
			stat = "mean"
		case w == "stddev":
			stat = "std"
		case w == "p50":
			stat = "median"
		case columnStat.MatchString(w):
			stat = w
		default:
			rest = append(rest, w)
		}
	}
	switch strings.Join(rest, "_") {
	case "ttft", "time_to_first_token":
		return "ttft", stat
	case "tpot", "time_per_output_token":
		return "tpot", stat
	case "itl", "inter_token_latency":
		return "itl", stat
	case "e2el", "e2e", "e2e_latency", "end_to_end_latency", "request_latency", "latency":
		return "e2el", stat
	}
	return "", ""
}

var columnStat = regexp.MustCompile(`^(?:mean|median|std|min|max|p\d{1,2})$`)

// columnNames are other names of figures, as people head their tables. A rate that
// may be offered or achieved (qps) and a plain "throughput" are not among them.
var columnNames = map[string]string{
	"total_throughput": "total_tps", "total_token_throughput": "total_tps", "total_tokens_per_second": "total_tps", "total_tok_s": "total_tps",
	"output_tokens_per_second": "output_tps", "output_tok_s": "output_tps", "generation_throughput": "output_tps", "decode_throughput": "output_tps",
	"input_tokens_per_second": "input_tps", "requests_per_second": "rps", "req_s": "rps", "request_throughput": "rps", "goodput": "goodput_rps",
	"successful_requests": "completed", "failed_requests": "failed", "num_failed": "failed", "success": "success_rate",
	"benchmark_duration": "duration_s", "duration": "duration_s", "elapsed": "duration_s",
	"prompt_tokens": "input_tokens", "generated_tokens": "output_tokens", "completion_tokens": "output_tokens",
	"max_request_concurrency": "concurrency", "maximum_request_concurrency": "concurrency", "users": "concurrency",
	"request_rate_configured": "request_rate", "peak_output_token_throughput": "peak_output_tps", "power": "mean_power_w",
}
