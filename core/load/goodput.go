package load

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Limits are upper limits of a request's figures by name (ttft_ms, tpot_ms, …).
type Limits map[string]float64

// ParseLimits reads limits as vllm bench serve's --goodput takes them, in
// milliseconds: "ttft:200", "tpot:50", "e2el:1000"; also any other latency of a
// request that core.RequestFields lists, without its _ms. Figures that need the
// moments of chunks are left out.
func ParseLimits(texts []string) (Limits, error) {
	limits := Limits{}
	for _, text := range texts {
		name, number, ok := strings.Cut(strings.TrimSpace(text), ":")
		if !ok {
			return nil, fmt.Errorf("goodput: %w: %q: want METRIC:MILLISECONDS, as ttft:200", core.ErrInvalid, text)
		}
		if err := limits.Add(strings.TrimSpace(name), strings.TrimSpace(number)); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

// Add takes one limit of a latency without its _ms.
func (l Limits) Add(name, milliseconds string) error {
	field := name + "_ms"
	if !slices.Contains(latencyFields(), field) {
		var known []string
		for _, f := range latencyFields() {
			known = append(known, strings.TrimSuffix(f, "_ms"))
		}
		return fmt.Errorf("goodput: %w: %q is no latency of a request; known: %s", core.ErrInvalid, name, strings.Join(known, ", "))
	}
	v, err := strconv.ParseFloat(milliseconds, 64)
	if err != nil || !(v > 0) || v > maxSetting {
		return fmt.Errorf("goodput: %s: %w: %q is no number of milliseconds above 0", name, core.ErrInvalid, milliseconds)
	}
	if _, twice := l[field]; twice {
		return fmt.Errorf("goodput: %w: %s is given twice", core.ErrInvalid, name)
	}
	l[field] = v
	return nil
}

func latencyFields() []string {
	var names []string
	for _, f := range core.RequestFields() {
		if f.Unit == "ms" && !f.Chunks {
			names = append(names, f.Name)
		}
	}
	return names
}

// Words are the limits as ParseLimits reads them, in the order of their names.
func (l Limits) Words() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		words = append(words, strings.TrimSuffix(name, "_ms")+":"+strconv.FormatFloat(l[name], 'f', -1, 64))
	}
	return words
}

// String is "tpot:50 ttft:200".
func (l Limits) String() string { return strings.Join(l.Words(), " ") }

// Judge adds what the limits make of the samples: goodput_rps, and the limits
// themselves to extra, without which the figure says nothing. No limits add
// nothing.
func (l Limits) Judge(f core.Figures, extra map[string]core.Value, samples []core.Sample) {
	if len(l) == 0 {
		return
	}
	extra["goodput_limits"] = core.String(l.String())
	w, found := measuredWindow(samples)
	if !found {
		return
	}
	good := 0
	for i := range samples {
		if l.Within(&samples[i]) {
			good++
		}
	}
	f.Set("goodput_rps", float64(good)/w.length().Seconds())
}

// Within reports whether a completed request keeps to every limit. A value at its
// limit is within; a figure that is missing is not (see core.RequestField.Limited).
func (l Limits) Within(s *core.Sample) bool {
	if s.Outcome != core.OutcomeOK {
		return false
	}
	for name, limit := range l {
		f, ok := core.LookupRequestField(name)
		if !ok {
			return false
		}
		if v := f.Limited(s); v.Kind != core.KindNumber || v.Num > limit {
			return false
		}
	}
	return true
}
