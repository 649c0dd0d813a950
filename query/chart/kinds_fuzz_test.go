package chart_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// FuzzKinds draws figures of any values and names: each picture is well-formed, or there
// is nothing to draw.
func FuzzKinds(f *testing.F) {
	f.Add("vllm", 1.0, 2.0, 3.0, false)
	f.Add("<&>\x1b[31m", 5e-324, 9e299, -9e299, true)
	f.Add("", 0.0, 0.0, 0.0, true)
	f.Add("a\x00b", 1e308, math.Inf(1), math.NaN(), false)
	f.Fuzz(func(t *testing.T, name string, a, b, c float64, lower bool) {
		fig := base()
		fig.Format, fig.Width, fig.Height, fig.Better = chart.SVG, 640, 400, core.HigherBetter
		if lower {
			fig.Better = core.LowerBetter
		}
		fig.X, fig.Near = name, true
		fig.Limit = &chart.Limit{Column: name, Value: 10, Upper: lower}
		fig.Noise = &chart.NoiseBand{Share: 0.03, Text: name}
		fig.Cloud = chart.CloudAxes{X: name, XBetter: fig.Better, Joined: lower}
		var dots []chart.Dot
		values := []float64{a, b, c, a}
		for i, v := range values {
			x := number(values[(i+1)%3])
			m := chart.Mark{Label: name, Value: number(v), Low: number(b), High: number(c), Findings: i}
			fig.Bars = append(fig.Bars, m)
			fig.Pairs = append(fig.Pairs, chart.Pair{Label: name, Before: m, After: chart.Mark{Label: name, Value: x}, Gain: number(c)})
			fig.Steps = append(fig.Steps, chart.Step{Label: name, Detail: name, Before: x, Value: number(v), Gained: i%2 == 0})
			dots = append(dots, chart.Dot{X: x, Y: number(v), Label: name, Front: i%2 == 0})
		}
		fig.Clouds = []chart.Cloud{{Name: name, Dots: dots}}
		fig.Series = []chart.Series{{Name: name, Points: []chart.Point{point(a, b), point(b, c), point(c, a)}, Holds: number(a), Changes: []chart.Change{{At: b, Share: c}}}}
		fig.Spread = []chart.Sample{{Name: name, Values: []float64{a, b, c}, Failed: 1}}
		fig.Flow = &chart.Flow{Lanes: []chart.Lane{{Sent: 0, First: 1, End: 2, Started: true}}, End: 2, Bin: 1, Tokens: []float64{3, 4}, Power: number(a),
			Watts: []chart.Reading{{At: 0, Value: 1}, {At: 1, Value: 3}}}
		for _, k := range chart.Kinds() {
			fig.Kind = k.Kind
			began := time.Now()
			data, err := chart.Render(fig)
			if err != nil {
				if !errors.Is(err, chart.ErrNothing) {
					t.Fatalf("%s: %v", k.Kind, err)
				}
				continue
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: the picture took %s", k.Kind, time.Since(began))
			}
			texts := svgText(t, name, data)
			for _, s := range texts {
				if strings.ContainsRune(s, '\x1b') {
					t.Errorf("%s: an escape in %q", k.Kind, s)
				}
			}
		}
	})
}
