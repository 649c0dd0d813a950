package load_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestParseLimits(t *testing.T) {
	limits, err := load.ParseLimits([]string{"ttft:200", " tpot:50.5 "})
	if err != nil || limits["ttft_ms"] != 200 || limits["tpot_ms"] != 50.5 || limits.String() != "tpot:50.5 ttft:200" {
		t.Errorf("%v %v", limits, err)
	}
	for text, want := range map[string]string{
		"ttft":                "want METRIC:MILLISECONDS",
		"itl:20":              `"itl" is no latency of a request; known: ttft, tpot, e2el`,
		"input_tokens:20":     "no latency",
		"ttft:fast":           "milliseconds above 0",
		"ttft:0":              "above 0",
		"ttft:NaN":            "above 0",
		"ttft:inf":            "above 0",
		"ttft:200 tpot:50":    "milliseconds above 0",
		"ttft:200,ttft:300,x": "milliseconds above 0",
	} {
		if _, err := load.ParseLimits([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := load.ParseLimits([]string{"ttft:1", "ttft:2"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("%v", err)
	}
}

func TestLimitsJudge(t *testing.T) {
	// Two tokens each: first after 1 s, 2 s; one more after a second each.
	samples := []core.Sample{streamed(0, 2, 1, 2), streamed(0, 2, 2, 3)}
	f, extra := core.Figures{}, map[string]core.Value{}
	load.Limits{"ttft_ms": 1000, "tpot_ms": 1000}.Judge(f, extra, samples)
	// One of two within, over the 3 s from the first sent to the last end.
	if got := f["goodput_rps"]; got < 0.3333 || got > 0.3334 || extra["goodput_limits"] != core.String("tpot:1000 ttft:1000") {
		t.Errorf("goodput %v, %v", got, extra)
	}
	f, extra = core.Figures{}, map[string]core.Value{}
	load.Limits{}.Judge(f, extra, samples)
	if len(f)+len(extra) != 0 {
		t.Errorf("no limits, and yet %v %v", f, extra)
	}
}

// TestUndefinedTPOT: by vLLM's rule a TPOT that does not exist keeps to any limit.
func TestUndefinedTPOT(t *testing.T) {
	limits := load.Limits{"tpot_ms": 0.001}
	burst := streamed(0, 8, 1) // eight tokens in one chunk
	whole := core.Sample{Sent: 0, First: core.NoTime, Last: sec(2), End: sec(2), InputTokens: 1, CachedTokens: -1, OutputTokens: 8}
	for name, tc := range map[string]struct {
		sample core.Sample
		want   bool
	}{
		"one token": {streamed(0, 1, 1), true}, "all in one chunk": {burst, true}, "two tokens a second apart": {streamed(0, 2, 1, 2), false},
		"not streamed": {whole, false},
	} {
		if got := limits.Within(&tc.sample); got != tc.want {
			t.Errorf("%s: within %t, want %t", name, got, tc.want)
		}
	}
}
