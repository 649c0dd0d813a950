package load

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Limits are upper limits of a request's figures by name (ttft_ms, tpot_ms, …), as
// Within takes them.
type Limits map[string]float64

// ParseLimits reads limits as vllm bench serve's --goodput takes them, in
// milliseconds: "ttft:200", "tpot:50", "e2el:1000"; also any other latency of a
// request that SampleFieldNames lists, without its _ms.
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
	return slices.DeleteFunc(SampleFieldNames(), func(name string) bool { return !strings.HasSuffix(name, "_ms") })
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
	if rps, ok := Goodput(samples, Within(l)); ok {
		f.Set("goodput_rps", rps)
	}
}
