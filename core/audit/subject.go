package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// subject is a trial under judgement with what the rules ask of it.
type subject struct {
	t      *core.Trial
	f      core.Figures
	around *Summary      // empty where none was given
	study  *studySummary // of the trial's study; empty likewise
	keys   keys
	ref    *Reference
	hw     hardware
	stats  map[string][]stat // by latency, in order of level; mean and std last
	// half is half a unit of the last printed decimal, 0 for full floats.
	half float64
}

func newSubject(t *core.Trial, s *Summary, ref Reference) *subject {
	x := &subject{t: t, f: t.Figures, around: &Summary{}, study: &studySummary{}, ref: &ref, half: halfUnit(t)}
	if s != nil {
		x.around, x.keys = s, s.keysOf(t)
		if found, ok := s.studies[t.Study]; ok {
			x.study = found
		}
	}
	x.stats = statsOf(t)
	x.hw = hardwareOf(t, ref)
	return x
}

// halfUnit is half a unit of the coarsest precision that a source printed.
func halfUnit(t *core.Trial) float64 {
	decimals := -1
	for _, s := range t.Sources {
		decimals = core.CoarserDecimals(decimals, s.Decimals)
	}
	if decimals < 0 {
		return 0
	}
	return math.Pow(10, -float64(decimals)) / 2
}

// get returns a figure.
func (x *subject) get(name string) (float64, bool) {
	v, ok := x.f[name]
	return v, ok
}

// all returns several figures, and false where one is missing.
func (x *subject) all(names ...string) ([]float64, bool) {
	vs := make([]float64, len(names))
	for i, name := range names {
		v, ok := x.f[name]
		if !ok {
			return nil, false
		}
		vs[i] = v
	}
	return vs, true
}

// printed is a figure within its rounding; a count has none.
func (x *subject) printed(name string) (interval, bool) {
	v, ok := x.f[name]
	if !ok {
		return interval{}, false
	}
	half := x.half
	if strings.HasSuffix(name, "_e2el_ms") {
		half = x.halfE2EL()
	}
	return rounded(v, half), true
}

// halfE2EL: blocks of guidellm print latency in seconds.
func (x *subject) halfE2EL() float64 {
	if x.t.Setup.Tool == "guidellm" {
		return 1000 * x.half
	}
	return x.half
}

// tokens is the mean number of output tokens of an answer.
func (x *subject) tokens() (float64, bool) {
	out, ok := x.f["output_tokens"]
	completed := x.f["completed"]
	if !ok || completed <= 0 {
		return 0, false
	}
	return out / completed, true
}

// inclFirst is the latency under which an importer keeps a time per output token
// that has the first token in it.
const inclFirst = "tpot_incl_first"

// tpot returns a statistic of what the source calls time per output token, and the
// field under which it is kept: tpot, or an extra where the tool means another
// quantity by that name.
func (x *subject) tpot(stat string) (v float64, field string, ok bool) {
	field = stat + "_tpot_ms"
	if v, ok := x.f[field]; ok {
		return v, field, true
	}
	field = stat + "_" + inclFirst + "_ms"
	if e, ok := x.t.Extra[field]; ok && e.Kind == core.KindNumber {
		return e.Num, "extra." + field, true
	}
	return 0, "", false
}

// speculative reports whether speculative decoding was on; known is false where
// the trial does not say.
func (x *subject) speculative() (on, known bool) {
	switch x.t.Setup.SpecMethod {
	case "":
		return false, false
	case "none":
		return false, true
	}
	return true, true
}

// limit is the highest number of requests that can have been in flight: the stated
// limit, else the observed peak.
func (x *subject) limit() (float64, bool) {
	if c, ok := finite(x.t.Load.Concurrency); ok {
		return c, true
	}
	v, ok := x.f["peak_concurrency"]
	return v, ok && v > 0
}

// finite returns a setting that is a number and has a limit.
func finite(v core.Value) (float64, bool) {
	if v.Kind != core.KindNumber || v.IsUnlimited() {
		return 0, false
	}
	return v.Num, true
}

// asked is the number of requests that were sent, where it is known.
func (x *subject) asked() (float64, bool) {
	v, ok := x.f["requested"]
	return v, ok
}

// stat is one statistic of a latency.
type stat struct {
	name  string  // "p99", "mean"
	field string  // query name
	level float64 // 0 min … 100 max; NaN for mean and std
	value float64
}

// latencyNames are those of core's latencies, longest first where one ends another.
var latencyNames = []string{inclFirst, "ttft_due", "e2el_due", "ttft", "tpot", "itl", "e2el", "icl", "ttfo", "queue"}

// statsOf sorts the latency statistics of a trial.
func statsOf(t *core.Trial) map[string][]stat {
	out := map[string][]stat{}
	add := func(name, prefix string, v float64) {
		stem, ok := strings.CutSuffix(name, "_ms")
		if !ok {
			return
		}
		for _, latency := range latencyNames {
			s, ok := strings.CutSuffix(stem, latency)
			if !ok || !strings.HasSuffix(s, "_") {
				continue
			}
			s = s[:len(s)-1]
			if level, ok := levelOf(s); ok {
				out[latency] = append(out[latency], stat{s, prefix + name, level, v})
				return
			}
		}
	}
	for name, v := range t.Figures {
		add(name, "", v)
	}
	for name, v := range t.Extra {
		if v.Kind == core.KindNumber && strings.HasSuffix(name, inclFirst+"_ms") {
			add(name, "extra.", v.Num)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b stat) int {
			switch {
			case a.level < b.level, !math.IsNaN(a.level) && math.IsNaN(b.level):
				return -1
			case a.level > b.level, math.IsNaN(a.level) && !math.IsNaN(b.level):
				return 1
			}
			return strings.Compare(a.name, b.name)
		})
	}
	return out
}

// levelOf gives the share of values (in percent) that a statistic is above.
func levelOf(s string) (float64, bool) {
	switch s {
	case "mean", "std":
		return math.NaN(), true
	case "min":
		return 0, true
	case "median":
		return 50, true
	case "max":
		return 100, true
	}
	digits, ok := strings.CutPrefix(s, "p")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.Replace(digits, "_", ".", 1), 64)
	return v, err == nil && v > 0 && v < 100
}

// statistic finds one statistic of a latency.
func (x *subject) statistic(latency, name string) (stat, bool) {
	for _, s := range x.stats[latency] {
		if s.name == name {
			return s, true
		}
	}
	return stat{}, false
}

// concrete turns a rule's metrics into the fields of this trial: "…_itl_ms" into
// the statistics that it has, a rate also into the rate per GPU, a mean also into
// the estimate that is made of it.
func (x *subject) concrete(metrics []string) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, m := range metrics {
		stem, ok := strings.CutPrefix(m, "…_")
		if !ok {
			// A rule names what it may touch; a trial has some of it.
			_, has := x.f[m]
			if has || !isRate(m) && !strings.HasSuffix(m, "_ms") || strings.HasPrefix(m, "extra.") {
				add(m)
			}
			continue
		}
		latency := strings.TrimSuffix(stem, "_ms")
		for _, s := range x.stats[latency] {
			add(s.field)
		}
		if latency == "tpot" {
			for _, s := range x.stats[inclFirst] {
				add(s.field)
			}
		}
	}
	for _, m := range out[:len(out):len(out)] {
		if x.t.Setup.GPUs > 0 && isRate(m) {
			add(m + "_per_gpu")
		}
		if _, estimated := x.f["est_e2el_ms"]; estimated && (m == "mean_tpot_ms" || m == "mean_ttft_ms") {
			add("est_e2el_ms")
		}
	}
	return out
}

func isRate(name string) bool {
	switch name {
	case "rps", "goodput_rps", "output_tps", "input_tps", "total_tps", "computed_tps", "steady_output_tps", "peak_output_tps":
		return true
	}
	return false
}
