package load_test

import (
	"bufio"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// shared finds a folder beside the repository and skips where there is none.
func shared(t *testing.T, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("shared cases are not here: %v", err)
	}
	return path
}

func sec(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// answered is a completed request without chunk moments, as an import has it.
func answered(sent, ttft, latency float64, tokens int) core.Sample {
	return core.Sample{
		Due: sec(sent), Sent: sec(sent), First: sec(sent + ttft), Last: sec(sent + latency), End: sec(sent + latency),
		InputTokens: 10, CachedTokens: -1, OutputTokens: tokens, RequestedOutput: tokens,
	}
}

// streamed is a completed request with a chunk at each of the given seconds.
func streamed(sent float64, tokens int, chunks ...float64) core.Sample {
	s := answered(sent, chunks[0]-sent, chunks[len(chunks)-1]-sent, tokens)
	for _, at := range chunks {
		s.Chunks = append(s.Chunks, sec(at))
	}
	return s
}

func check(t *testing.T, f core.Figures, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		got, ok := f[name]
		switch {
		case math.IsNaN(v) && ok:
			t.Errorf("%s = %v, want it missing", name, got)
		case !math.IsNaN(v) && (!ok || math.Abs(got-v) > 1e-6*math.Max(1, math.Abs(v))):
			t.Errorf("%s = %v (%t), want %v", name, got, ok, v)
		}
	}
}

var missing = math.NaN()

func TestFiguresByHand(t *testing.T) {
	failed := core.Sample{Due: sec(0.5), Sent: sec(1), First: core.NoTime, Last: core.NoTime, End: sec(5),
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: 4, Outcome: core.OutcomeFailed, Error: "HTTP 503"}
	cut := core.Sample{Due: sec(3), Sent: sec(3), First: sec(4), Last: sec(4), End: sec(6), Chunks: []time.Duration{sec(4)},
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: 4, Outcome: core.OutcomeIncomplete}
	a := streamed(1, 4, 1.5, 1.6, 1.7, 1.8) // a chunk a token
	a.Due, a.CachedTokens = sec(0.75), 6
	b := streamed(1, 10, 2, 3, 4) // 10 tokens in 3 chunks
	f := load.Figures([]core.Sample{a, failed, b, cut})
	check(t, f, map[string]float64{
		"requested": 4, "completed": 2, "failed": 1, "incomplete": 1,
		"input_tokens": 20, "cached_tokens": 6, "output_tokens": 14, "requested_output_tokens": 14,
		"duration_s": 4, // 1 s to 5 s: the failed one ended last, the cut one does not count
		"rps":        0.5, "output_tps": 3.5, "input_tps": 5, "total_tps": 8.5, "computed_tps": 7,
		// Seconds from 1 s: 4 tokens of a; at 2 s, 3 s and 4 s 3⅓ of b, and at 4 s
		// also the cut request's chunk of 14/7 tokens.
		"peak_output_tps":  10.0/3 + 2,
		"peak_concurrency": 3,
		// a 0.8 s, failed 4 s, b 3 s, cut 2 s of 3 s, in a window of 4 s.
		"mean_concurrency": 9.8 / 4,
		"mean_ttft_ms":     750, "median_ttft_ms": 750, "min_ttft_ms": 500, "max_ttft_ms": 1000, "std_ttft_ms": 250,
		"p90_ttft_ms": 950, "p95_ttft_ms": 975, "p99_ttft_ms": 995,
		"mean_e2el_ms": 1900, "mean_tpot_ms": (100 + 2000.0/9) / 2,
		"mean_itl_ms": 100, "p99_itl_ms": 100, "std_itl_ms": 0, // of a alone
		"mean_icl_ms": (3*100 + 2*1000) / 5.0, "max_icl_ms": 1000, "median_icl_ms": 100,
		"mean_ttft_due_ms": (750 + 1000) / 2.0, "mean_e2el_due_ms": (1050 + 3000) / 2.0,
		"mean_queue_ms": 125, "max_queue_ms": 250,
		"success_rate": missing,
	})
	trial := core.Trial{Figures: f, Status: core.StatusOK}
	trial.Derive()
	check(t, trial.Figures, map[string]float64{"success_rate": 2.0 / 3, "mean_output_len": 7, "duration_tps": 8.5})
	trial.ID = core.HashID("hand")
	if err := trial.Validate(); err != nil {
		t.Error(err)
	}
}

func TestFiguresMissing(t *testing.T) {
	latencies := []string{"ttft", "tpot", "itl", "icl", "e2el", "ttft_due", "e2el_due", "queue"}
	none := func(f core.Figures, names ...string) {
		t.Helper()
		for _, l := range names {
			for _, stat := range core.FixedStats() {
				check(t, f, map[string]float64{core.LatencyName(stat, l): missing})
			}
		}
	}
	t.Run("no sample", func(t *testing.T) {
		f := load.Figures(nil)
		none(f, latencies...)
		check(t, f, map[string]float64{"requested": 0, "completed": 0, "duration_s": missing, "rps": missing, "output_tokens": missing})
	})
	t.Run("nothing completed", func(t *testing.T) {
		f := load.Figures([]core.Sample{{Sent: 0, First: core.NoTime, Last: core.NoTime, End: sec(2), Outcome: core.OutcomeFailed}})
		none(f, latencies...)
		check(t, f, map[string]float64{"failed": 1, "duration_s": 2, "rps": missing, "output_tps": missing, "peak_concurrency": 1})
	})
	t.Run("never sent", func(t *testing.T) {
		f := load.Figures([]core.Sample{{Due: sec(1), Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime, Outcome: core.OutcomeIncomplete}})
		none(f, latencies...)
		check(t, f, map[string]float64{"requested": 1, "incomplete": 1, "duration_s": missing, "peak_concurrency": missing})
	})
	t.Run("one token", func(t *testing.T) {
		f := load.Figures([]core.Sample{streamed(0, 1, 0.2), streamed(0, 1, 0.3)})
		none(f, "tpot", "itl", "icl")
		check(t, f, map[string]float64{"mean_ttft_ms": 250, "mean_e2el_ms": 250})
	})
	t.Run("all tokens in one chunk", func(t *testing.T) {
		f := load.Figures([]core.Sample{streamed(0, 100, 0.2)})
		none(f, "tpot", "itl", "icl")
	})
	t.Run("not streamed", func(t *testing.T) {
		s := answered(0, 0, 3, 50)
		s.First = core.NoTime
		f := load.Figures([]core.Sample{s, s})
		none(f, "ttft", "tpot", "itl", "icl", "ttft_due")
		check(t, f, map[string]float64{"mean_e2el_ms": 3000, "output_tps": 100.0 / 3, "peak_output_tps": missing, "steady_output_tps": missing})
	})
	t.Run("no usage", func(t *testing.T) {
		f := load.Figures([]core.Sample{streamed(0, 3, 1, 2, 3), streamed(0, -1, 1, 2, 3)})
		check(t, f, map[string]float64{"output_tokens": missing, "output_tps": missing, "total_tps": missing, "peak_output_tps": missing,
			"input_tokens": 20, "rps": 2.0 / 3, "mean_icl_ms": 1000, "mean_itl_ms": 1000, "mean_tpot_ms": 1000})
	})
	t.Run("cache unknown", func(t *testing.T) {
		check(t, load.Figures([]core.Sample{answered(0, 1, 2, 5)}), map[string]float64{"cached_tokens": missing, "computed_tps": missing})
	})
	t.Run("one value has no deviation", func(t *testing.T) {
		f := load.Figures([]core.Sample{answered(0, 1, 2, 5)})
		check(t, f, map[string]float64{"std_ttft_ms": missing, "p99_ttft_ms": 1000, "max_ttft_ms": 1000})
	})
	t.Run("a short window has no peak", func(t *testing.T) {
		check(t, load.Figures([]core.Sample{streamed(0, 3, 0.1, 0.2, 0.3)}), map[string]float64{"peak_output_tps": missing})
		// 1.2 s: six tokens in the first second, four in the rest: a peak of 6 below the mean of 8.3.
		s := streamed(0, 10, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.05, 1.1, 1.15, 1.2)
		check(t, load.Figures([]core.Sample{s}), map[string]float64{"output_tps": 10 / 1.2, "peak_output_tps": missing})
	})
}

// TestSteady: ten requests at a time for ten seconds, then one slow straggler.
func TestSteady(t *testing.T) {
	var samples []core.Sample
	for slot := range 10 {
		for round := range 5 {
			at := float64(round)*2 + 0.001*float64(slot)
			var chunks []float64
			for i := range 20 {
				chunks = append(chunks, at+0.0999*float64(i+1))
			}
			samples = append(samples, streamed(at, 20, chunks...))
		}
	}
	samples = append(samples, streamed(10.1, 20, 15, 20, 25, 30.1))
	f := load.Figures(samples)
	check(t, f, map[string]float64{"output_tps": 1020 / 30.1, "peak_concurrency": 10})
	if got := f["steady_output_tps"]; math.Abs(got-100) > 2 {
		t.Errorf("steady_output_tps = %v, want about 100: ten requests of 10 tok/s", got)
	}
	// All at once, so that the load soon falls, has no steady stretch.
	var burst []core.Sample
	for i := range 20 {
		burst = append(burst, streamed(0, 4, 0.1, 0.3+float64(i)/10))
	}
	check(t, load.Figures(burst), map[string]float64{"steady_output_tps": missing, "peak_concurrency": 20})
}

func TestNegativeTimes(t *testing.T) {
	// The four requests of the shared case 33: one first token after the end, one
	// before the request was sent.
	samples := []core.Sample{
		answered(0, 0.5, 0.95, 10), answered(0, 0.7, 0.65, 10), answered(0, -0.02, 0.9, 10), answered(0, 0.6, 1.05, 10),
	}
	if n := load.Inverted(samples); n != 2 {
		t.Errorf("Inverted = %d, want 2", n)
	}
	f := load.Figures(samples)
	check(t, f, map[string]float64{"completed": 4, "mean_ttft_ms": 550, "mean_tpot_ms": 50, "min_ttft_ms": 500, "mean_e2el_ms": 1000})
	for name, v := range f {
		if v < 0 {
			t.Errorf("%s = %v", name, v)
		}
	}
}

func TestSharedCase46(t *testing.T) {
	dir := shared(t, "cases", "46-tpot-four-definitions")
	file, err := os.Open(filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var samples []core.Sample
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r struct {
			Latency float64 `json:"latency_s"`
			TTFT    float64 `json:"ttft_s"`
			Tokens  int     `json:"output_tokens"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, answered(0, r.TTFT, r.Latency, r.Tokens))
	}
	check(t, load.Figures(samples), map[string]float64{
		"completed": 3, "mean_tpot_ms": 55, "min_tpot_ms": 10, "max_tpot_ms": 100, "std_tpot_ms": 45,
		"mean_ttft_ms": 3500.0 / 3, "mean_e2el_ms": 4500, "output_tokens": 913, "duration_s": 10,
	})
}

func TestSharedCase48(t *testing.T) {
	dir := shared(t, "cases", "48-percentiles-small-n-and-goodput-edges")
	data, err := os.ReadFile(filepath.Join(dir, "values.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ A, B []float64 }
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	of := func(values []float64, unit float64) core.Figures {
		var samples []core.Sample
		for _, x := range values {
			samples = append(samples, answered(0, x*unit, x*unit, 1))
		}
		return load.Figures(samples)
	}
	check(t, of(v.A, 1e-3), map[string]float64{"median_ttft_ms": 93.5, "p90_ttft_ms": 124.9, "mean_ttft_ms": 99})
	check(t, of(v.B, 1), map[string]float64{"p99_ttft_ms": 917.2, "median_ttft_ms": 120})
}

// TestFiguresPromises holds what every set of figures promises, over random samples.
func TestFiguresPromises(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for round := range 300 {
		var samples []core.Sample
		for range r.IntN(12) {
			sent := r.Float64() * 5
			var chunks []float64
			for at := sent; len(chunks) < 1+r.IntN(6); {
				at += r.ExpFloat64() / 4
				chunks = append(chunks, at)
			}
			s := streamed(sent, r.IntN(8)-1, chunks...)
			s.Outcome = core.Outcome(r.IntN(3))
			samples = append(samples, s)
		}
		f := load.Figures(samples)
		r.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
		check(t, load.Figures(samples), f)
		for name, v := range f {
			field, ok := core.LookupField(name)
			if !ok || !field.Figure() || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("round %d: %s = %v is no figure", round, name, v)
			}
		}
		if f["requested"] != f["completed"]+f["failed"]+f["incomplete"] {
			t.Fatalf("round %d: %v", round, f)
		}
		for _, l := range []string{"ttft", "tpot", "itl", "icl", "e2el"} {
			order := []string{"min", "median", "p90", "p95", "p99", "max"}
			for i := 1; i < len(order); i++ {
				if a, b := f[core.LatencyName(order[i-1], l)], f[core.LatencyName(order[i], l)]; a > b {
					t.Fatalf("round %d: %s of %s is %v, above %s %v", round, order[i-1], l, a, order[i], b)
				}
			}
		}
		if peak, ok := f["peak_output_tps"]; ok && peak < f["output_tps"] {
			t.Fatalf("round %d: peak %v below the mean %v", round, peak, f["output_tps"])
		}
		if f["mean_concurrency"] > f["peak_concurrency"]+1e-9 {
			t.Fatalf("round %d: mean concurrency %v above its peak %v", round, f["mean_concurrency"], f["peak_concurrency"])
		}
	}
}

func TestWantedFigures(t *testing.T) {
	f := load.Figures([]core.Sample{streamed(0, 3, 1, 2, 3), streamed(0, 3, 1, 2, 3)})
	var absent []string
	for _, l := range []string{"ttft", "tpot", "itl", "icl", "e2el", "ttft_due", "e2el_due", "queue"} {
		for _, stat := range core.FixedStats() {
			if _, ok := f[core.LatencyName(stat, l)]; !ok {
				absent = append(absent, core.LatencyName(stat, l))
			}
		}
	}
	if len(absent) > 0 {
		t.Errorf("absent: %s", strings.Join(absent, " "))
	}
}
