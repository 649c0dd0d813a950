package ingest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// place says where a printed row goes.
type place struct {
	kind  placeKind
	name  string
	scale float64 // 0 is 1
}

type placeKind uint8

const (
	toFigure placeKind = iota + 1
	toExtra
	toLimit   // the load's concurrency
	toRate    // the load's request rate
	toBackend // text
	toField   // a setting, by the name of its field
)

// rows are the printed labels by their normal form (see normalLabel).
var rows = map[string]place{
	"total requests":                      {kind: toFigure, name: "requested"},
	"successful requests":                 {kind: toFigure, name: "completed"},
	"failed requests":                     {kind: toFigure, name: "failed"},
	"maximum request concurrency":         {kind: toLimit},
	"max request concurrency":             {kind: toLimit},
	"max reqeuest concurrency":            {kind: toLimit}, // as SGLang misspelt it for long
	"request rate configured(rps)":        {kind: toRate},
	"traffic request rate":                {kind: toRate},
	"backend":                             {kind: toBackend},
	"benchmark duration(s)":               {kind: toFigure, name: "duration_s"},
	"total input tokens":                  {kind: toFigure, name: "input_tokens"},
	"total generated tokens":              {kind: toFigure, name: "output_tokens"},
	"total generated tokens(retokenized)": {kind: toExtra, name: "retokenized_output_tokens"},
	"request throughput(req/s)":           {kind: toFigure, name: "rps"},
	"request goodput(req/s)":              {kind: toFigure, name: "goodput_rps"},
	"input token throughput(tok/s)":       {kind: toFigure, name: "input_tps"},
	"output token throughput(tok/s)":      {kind: toFigure, name: "output_tps"},
	"peak output token throughput(tok/s)": {kind: toFigure, name: "peak_output_tps"},
	"peak concurrent requests":            {kind: toFigure, name: "peak_concurrency"},
	"total token throughput(tok/s)":       {kind: toFigure, name: "total_tps"},
	"user throughput(tok/s)":              {kind: toExtra, name: "user_tps"},
	"concurrency":                         {kind: toFigure, name: "mean_concurrency"},
	"accept length":                       {kind: toFigure, name: "accept_len"},
	"acceptance length":                   {kind: toFigure, name: "accept_len"},
	"acceptance rate(%)":                  {kind: toFigure, name: "accept_rate", scale: 0.01},
	"drafts":                              {kind: toExtra, name: "spec_drafts"},
	"draft tokens":                        {kind: toExtra, name: "spec_draft_tokens"},
	"accepted tokens":                     {kind: toExtra, name: "spec_accepted_tokens"},
	"total input text tokens":             {kind: toExtra, name: "input_text_tokens"},
	"total input vision tokens":           {kind: toExtra, name: "input_vision_tokens"},
	"audio throughput(audio duration/s)":  {kind: toExtra, name: "audio_throughput"},
	"rtfx(inverse real-time factor)":      {kind: toExtra, name: "rtfx"},
	"total audio duration generated(s)":   {kind: toExtra, name: "audio_duration_s"},
	"median request ar":                   {kind: toExtra, name: "median_request_ar"},
	"mean request ar":                     {kind: toExtra, name: "mean_request_ar"},
	"input throughput(inputs/s)":          {kind: toExtra, name: "inputs_per_s"},
	"streaming continuity ok rate":        {kind: toExtra, name: "streaming_continuity_ok_rate", scale: 0.01},
	"probe requests completed":            {kind: toExtra, name: "probe_completed"},
	"probe requests failed":               {kind: toExtra, name: "probe_failed"},
	"median probe e2el(ms)":               {kind: toExtra, name: "probe_median_e2el_ms"},
	"p99 probe e2el(ms)":                  {kind: toExtra, name: "probe_p99_e2el_ms"},
	"max probe e2el(ms)":                  {kind: toExtra, name: "probe_max_e2el_ms"},
}

var (
	latencyRow  = regexp.MustCompile(`^(mean|median|std|std dev|min|max|p\d{1,2}(?:\.\d{1,4})?) (ttft|tpot|itl|e2el|e2e latency|latency|client queue time|e2el incl\. client queue)\((ms|s)\)$`)
	positionRow = regexp.MustCompile(`^position (\d{1,2})$`)
)

// latencyNames maps the printed name of a latency to the field's.
var latencyNames = map[string]string{
	"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el", "e2e latency": "e2el", "latency": "e2el",
	"client queue time": "queue", "e2el incl. client queue": "e2el_due",
}

// normalLabel is a label in lower case with single blanks and none before a unit.
func normalLabel(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return strings.ReplaceAll(s, " (", "(")
}

// lookupRow finds where the row of a label goes. seconds reports a latency that
// is printed in seconds, which only guidellm reprints do.
func lookupRow(label string) (p place, seconds, ok bool) {
	label = normalLabel(label)
	if p, ok := rows[label]; ok {
		return p, false, true
	}
	if m := latencyRow.FindStringSubmatch(label); m != nil {
		stat := strings.TrimSuffix(m[1], " dev")
		if stat == "p50" {
			stat = "median"
		}
		name := strings.ReplaceAll(stat, ".", "_") + "_" + latencyNames[m[2]] + "_ms"
		if m[3] == "s" {
			return place{kind: toFigure, name: name, scale: 1000}, m[2] == "latency", true
		}
		return place{kind: toFigure, name: name}, false, true
	}
	if m := positionRow.FindStringSubmatch(label); m != nil {
		return place{kind: toExtra, name: "accept_rate_position_" + m[1], scale: 0.01}, false, true
	}
	return place{}, false, false
}

// scaled multiplies without the noise of binary fractions: 8.54 s is 8540 ms.
func (p place) scaled(v float64) float64 {
	if p.scale == 0 {
		return v
	}
	x := v * p.scale
	if r := math.Round(x*1e6) / 1e6; !math.IsInf(r, 0) && math.Abs(r-x) <= 1e-9*math.Abs(x) {
		return r
	}
	return x
}

var grouped = regexp.MustCompile(`^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)

// parseNumber reads a finite number, with thousands separators or a percent sign.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimSuffix(s, "%")
	if grouped.MatchString(s) {
		s = strings.ReplaceAll(s, ",", "")
	}
	if s == "" || strings.ContainsAny(s, "xX_pPnN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// isAbsent: the tool printed that there is no figure.
func isAbsent(s string) bool {
	switch strings.ToLower(s) {
	case "n/a", "na", "nan", "none", "null", "-", "--", "inf", "+inf", "-inf", "infinity", "-infinity":
		return true
	}
	return false
}

// decimalsOf counts the printed decimals.
func decimalsOf(s string) int {
	_, frac, _ := strings.Cut(strings.TrimSuffix(s, "%"), ".")
	return len(frac)
}

// snakeLabel names an extra after a label that no field means.
func snakeLabel(label string) string {
	var out strings.Builder
	for _, r := range normalLabel(label) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out.WriteRune(r)
		} else if s := out.String(); s != "" && !strings.HasSuffix(s, "_") {
			out.WriteByte('_')
		}
	}
	return strings.Trim(out.String(), "_")
}
