package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// stop is all points of a series at one x.
type stop struct {
	x      float64 // +Inf is unlimited
	ys     []float64
	doubts []bool // the point at the same place has findings
	voids  []bool // the point at the same place must not decide
	lost   int    // points without a value
}

// read sorts the points into stops and says what cannot be drawn.
func (p *lines) read(series []Series) (notes []string) {
	var gaps, adrift []string
	var missed []*misses
	lost := map[string]int{}
	repeats := false
	for _, s := range series {
		missed = append(missed, &misses{name: p.line(s.Name)})
		l := line{name: p.line(s.Name), holds: s.Holds, breaks: s.Breaks, changes: s.Changes}
		points := slices.Clone(s.Points)
		slices.SortStableFunc(points, func(a, b Point) int { return compareFloat(a.X.Num, b.X.Num) })
		drawn := 0
		for _, pt := range points {
			if pt.X.Kind != core.KindNumber || !drawable(pt.X) && !pt.X.IsUnlimited() {
				if name := orName(l.name, "a point"); lost[name] == 0 {
					adrift = append(adrift, name)
				}
				lost[orName(l.name, "a point")]++
				continue
			}
			if n := len(l.stops); n == 0 || l.stops[n-1].x != pt.X.Num {
				l.stops = append(l.stops, stop{x: pt.X.Num})
			}
			at := &l.stops[len(l.stops)-1]
			if !drawable(pt.Y) {
				at.lost++
				missed[len(missed)-1].at(p, pt.X)
				continue
			}
			at.ys = append(at.ys, pt.Y.Num)
			at.doubts = append(at.doubts, pt.Findings > 0)
			at.voids = append(at.voids, pt.Void)
			p.void = p.void || pt.Void
			repeats = repeats || len(at.ys) > 1
			p.doubt = p.doubt || pt.Findings > 0
			drawn++
		}
		if text := missed[len(missed)-1].text(drawn == 0); text != "" {
			gaps = append(gaps, text)
		}
		if drawn == 0 && len(l.stops) == 0 {
			continue
		}
		p.series = append(p.series, l)
	}
	if n := len(p.series); n > mostSeries {
		var names []string
		for _, l := range p.series[mostSeries:] {
			names = append(names, l.name)
		}
		notes = append(notes, fmt.Sprintf("showing %d of %d series, not: %s", mostSeries, n, listed(names, 5)))
		p.series = p.series[:mostSeries]
	}
	for _, l := range p.series {
		for _, at := range l.stops {
			p.drawn += len(at.ys)
			if math.IsInf(at.x, 1) {
				p.unlimited = true
			} else {
				p.xs = append(p.xs, at.x)
			}
		}
	}
	slices.Sort(p.xs)
	p.xs = slices.Compact(p.xs)
	if len(gaps) > 0 {
		notes = append(notes, fmt.Sprintf("no %s (cross on the axis): %s", orName(p.fig.Value, "value"), listed(gaps, 6)))
	}
	for i, name := range adrift {
		if n := lost[name]; n > 1 {
			adrift[i] += fmt.Sprintf(" (%d trials)", n)
		}
	}
	if len(adrift) > 0 {
		notes = append(notes, fmt.Sprintf("not drawn, no %s: %s", orName(p.fig.X, "x"), listed(adrift, 6)))
	}
	if repeats {
		notes = append(notes, "every repeat is shown; lines join the medians")
	}
	return notes
}

// misses are the places at which a series has no value, each once.
type misses struct {
	name   string
	places []string
	times  map[string]int
}

func (m *misses) at(p *lines, x core.Value) {
	at := p.place("", x)
	if m.times == nil {
		m.times = map[string]int{}
	}
	if m.times[at]++; m.times[at] == 1 {
		m.places = append(m.places, at)
	}
}

// text is "tp1 at concurrency 64 (3 trials)", or "tp1 at all its places".
func (m *misses) text(everywhere bool) string {
	if len(m.places) == 0 {
		return ""
	}
	prefix := ""
	if m.name != "" {
		prefix = m.name + " at "
	}
	if everywhere && len(m.places) > 1 {
		return prefix + "all its places"
	}
	var out []string
	for _, at := range m.places {
		if n := m.times[at]; n > 1 {
			at += fmt.Sprintf(" (%d trials)", n)
		}
		out = append(out, at)
	}
	return prefix + listed(out, 4)
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (p *lines) place(name string, x core.Value) string {
	at := x.String()
	if p.fig.XTime && !x.IsUnlimited() {
		at = clock(x.Num)
	}
	s := strings.TrimSpace(p.fig.X + " " + at)
	if name != "" {
		s = name + " at " + s
	}
	return s
}

// median of a stop's values.
func (s stop) median() float64 {
	ys := slices.Clone(s.ys)
	slices.Sort(ys)
	n := len(ys)
	if n%2 == 1 {
		return ys[n/2]
	}
	return ys[n/2-1] + (ys[n/2]-ys[n/2-1])/2
}

// thin keeps of the points that share a column of pixels the first, the lowest, the
// highest and the last, which draw the same line.
func thin(xy []float64) []float64 {
	var out []float64
	for i := 0; i < len(xy); {
		j, lo, hi := i, i, i
		for ; j < len(xy) && xy[j] == xy[i]; j += 2 {
			if xy[j+1] < xy[lo+1] {
				lo = j
			}
			if xy[j+1] > xy[hi+1] {
				hi = j
			}
		}
		at := -1
		for _, k := range []int{i, min(lo, hi), max(lo, hi), j - 2} {
			if k != at {
				out = append(out, xy[k], xy[k+1])
			}
			at = k
		}
		i = j
	}
	return out
}
