package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// figuresOfKinds are figures of n things each, with long and short names, findings, void
// figures and failures among them.
func figuresOfKinds(n int) map[string]Figure {
	names := []string{"vllm", "checkpoint=Qwen/Qwen3-32B-FP8", "Базовая конфигурация (vLLM без оптимизации)",
		"context_len=40960 chunked_prefill=true kv_cache_dtype=fp8 max_batched_tokens=16384", "x"}
	base := Figure{Title: "A title of many words that has to be broken into lines where it is long", Value: "output_tps_per_gpu", Unit: "tok/s", Better: core.HigherBetter,
		Query: "show option, concurrency, output_tps_per_gpu", From: core.History{ID: "0192f3a1", Trials: 58}, Notes: []string{"considered 13", "left out: 2 by where"}}
	pairs, steps, clouds, scatter, load, versions, spread := base, base, base, base, base, base, base
	pairs.Kind, steps.Kind, clouds.Kind, scatter.Kind, load.Kind, versions.Kind, spread.Kind = BeforeAfterKind, WaterfallKind, FrontierKind, ScatterKind, LoadKind, HistoryKind, ECDFKind
	steps.Noise = &NoiseBand{Share: 0.03, Text: "noise band: 3 %, assumed"}
	clouds.Cloud = CloudAxes{X: "tps_per_user", XBetter: core.HigherBetter, Joined: true}
	clouds.Limit = &Limit{Column: "tps_per_user", Value: 50}
	scatter.Cloud = CloudAxes{X: "mean_tpot_ms", XUnit: "ms", XBetter: core.LowerBetter}
	scatter.Clouds = []Cloud{{}}
	load.X, load.Limit = "concurrency", &Limit{Column: base.Value, Value: 900, Upper: true}
	versions.X, versions.Near = "engine_version", true
	spread.Value, spread.Unit = "ttft_ms", "ms"
	before := core.Missing()
	for i := range n {
		name := fmt.Sprintf("%s %d", names[i%len(names)], i)
		v := 777.77 + 31.3*float64(i*i%7)
		pairs.Pairs = append(pairs.Pairs, Pair{Label: name, Before: Mark{Label: "baseline", Value: core.Number(700), Emphasis: Baseline},
			After: Mark{Label: name, Value: core.Number(v), Findings: i % 2, Void: i%3 == 1}, Gain: core.Number(v/700 - 1)})
		st := Step{Label: name, Detail: names[(i+1)%len(names)], Before: before, Value: core.Number(v), Gained: i%2 == 0, Findings: i % 2}
		if i%4 == 3 {
			st.Value, st.Failure = core.Missing(), "failed: oom_kv"
		} else if before.IsMissing() || v > before.Num {
			before = st.Value
		}
		steps.Steps = append(steps.Steps, st)
		cl, line := Cloud{Name: name}, Series{Name: name, Holds: core.Number(4), Breaks: core.Number(16)}
		for k := range 5 {
			at := math.Pow(4, float64(k))
			cl.Dots = append(cl.Dots, Dot{X: core.Number(200 - 30*float64(k) - float64(i)), Y: core.Number(v * at / 64), Label: fmt.Sprint(at), N: 3, Findings: i % 2})
			line.Points = append(line.Points, Point{X: core.Number(at), Y: core.Number(v * at / 100), Findings: i % 2})
		}
		clouds.Clouds, load.Series = append(clouds.Clouds, cl), append(load.Series, line)
		scatter.Clouds[0].Dots = append(scatter.Clouds[0].Dots, Dot{X: core.Number(3 + float64(i%5)/7), Y: core.Number(v), Label: name, N: 1, Front: i%3 == 0})
		versions.Places = append(versions.Places, fmt.Sprintf("0.%d.0rc1", i))
		spread.Spread = append(spread.Spread, Sample{Name: name, Values: []float64{20, 35, 50 + 13*float64(i), 900}, Failed: i % 2})
	}
	history := Series{}
	for i := range versions.Places {
		history.Points = append(history.Points, point(float64(i), 900+float64(i%3)*40), point(float64(i), 905+float64(i%3)*40))
		if i%3 != 0 {
			history.Changes = append(history.Changes, Change{At: float64(i), Share: 0.044, Better: true})
		}
	}
	versions.Series = []Series{history}
	flow := base
	flow.Kind, flow.Value = TimelineKind, "output tokens per second"
	flow.Flow = &Flow{End: float64(n), Bin: 1, Tokens: make([]float64, n+1), Power: core.Number(512.5)}
	for i := range n {
		flow.Flow.Watts = append(flow.Flow.Watts, Reading{At: float64(i), Value: 400 + 300*float64(i%2)})
	}
	for i := range 10 * n {
		at := float64(i) / 10
		flow.Flow.Lanes = append(flow.Flow.Lanes, Lane{Sent: at * 0.5, First: at * 0.7, End: at*0.9 + 0.05, Started: true, Outcome: core.Outcome(i % 3)})
		flow.Flow.Tokens[i/10] += 12345
	}
	return map[string]Figure{"before-after": pairs, "waterfall": steps, "frontier": clouds, "scatter": scatter, "load": load, "history": versions, "ecdf": spread, "timeline": flow}
}

func point(x, y float64) Point { return Point{X: core.Number(x), Y: core.Number(y)} }

// TestNoTextOfAnyKindLiesUnderAnother is TestNoTextLiesUnderAnother for the other kinds.
func TestNoTextOfAnyKindLiesUnderAnother(t *testing.T) {
	fc, err := newFace()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{1200, 0}, {1200, 700}, {640, 400}, {320, 240}, {2000, 500}} {
		for _, n := range []int{1, 2, 5, 8, 20} {
			for kind, f := range figuresOfKinds(n) {
				f.Format, f.Width, f.Height = SVG, size[0], size[1]
				svg, err := Render(f)
				if err != nil {
					t.Fatalf("%s %v n=%d: %v", kind, size, n, err)
				}
				bs := textBoxes(t, fc, svg)
				for i, a := range bs {
					if a.x0 < -1 || a.x1 > float64(size[0])+1 || a.y0 < 0 || size[1] > 0 && a.y1 > float64(size[1]) {
						t.Errorf("%s %v n=%d: outside: %+v", kind, size, n, a)
					}
					for _, b := range bs[i+1:] {
						if math.Min(a.x1, b.x1)-math.Max(a.x0, b.x0) > 1 && math.Min(a.y1, b.y1)-math.Max(a.y0, b.y0) > 1 {
							t.Errorf("%s %v n=%d: %q lies on %q", kind, size, n, a.text, b.text)
						}
					}
				}
			}
		}
	}
}

// TestFarTooMany: a picture of more things than it can hold says how many it left out,
// and its labels stay few.
func TestFarTooMany(t *testing.T) {
	const n = 30000
	f := Figure{Value: "v", Better: core.HigherBetter, X: "c", Clouds: []Cloud{{}}, Cloud: CloudAxes{X: "u", XBetter: core.HigherBetter}, Series: []Series{{Name: "a"}}, Format: SVG}
	for i := range n {
		x, y := float64(i), float64(i*7919%n)
		f.Bars = append(f.Bars, Mark{Label: fmt.Sprint(i), Value: core.Number(y)})
		f.Clouds[0].Dots = append(f.Clouds[0].Dots, Dot{X: core.Number(x), Y: core.Number(y), Label: fmt.Sprint(i)})
		f.Series[0].Points = append(f.Series[0].Points, point(x, y))
	}
	front(&f)
	fc, _ := newFace()
	for kind, want := range map[Kind]string{
		BarKind:     fmt.Sprintf("of %d bars; a taller picture shows all", n),
		LineKind:    fmt.Sprintf("%d points are too many to mark", n),
		ScatterKind: "beyond the first 20000 that are on no front",
	} {
		f.Kind = kind
		svg, err := Render(f)
		if err != nil {
			t.Fatal(err)
		}
		texts := textBoxes(t, fc, svg)
		if !slices.ContainsFunc(texts, func(b box) bool { return strings.Contains(b.text, want) }) || len(texts) > 1000 {
			t.Errorf("%s: %d texts, none says %q", kind, len(texts), want)
		}
	}
}

func TestThin(t *testing.T) {
	got := thin([]float64{1, 5, 1, 9, 1, 2, 1, 6, 2, 4, 3, 1, 3, 8})
	if want := []float64{1, 5, 1, 9, 1, 2, 1, 6, 2, 4, 3, 1, 3, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = thin([]float64{1, 5, 1, 6, 1, 7, 1, 1, 1, 2, 1, 6})
	if want := []float64{1, 5, 1, 7, 1, 1, 1, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
