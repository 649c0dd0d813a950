package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Lines draws a value over an ordered numeric field, each series in numeric order
// of it whatever the order of its points. Every point has a marker, so that a
// series of one point shows; repeats of one x are all shown and the line joins
// their medians; a missing value breaks the line and leaves a cross on the axis;
// an unlimited x stands beside the axis, joined to nothing. The error is
// ErrNothing when no point has a value.
func Lines(f Figure) ([]byte, error) {
	if err := f.size(); err != nil {
		return nil, err
	}
	if f.Height == 0 {
		f.Height = DefaultHeight
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	p := &lines{sheet: s}
	notes := append(p.read(f.Series), f.Notes...)
	if p.drawn == 0 {
		return nil, fmt.Errorf("%w: no point has both %s and %s", ErrNothing, orName(f.X, "an x"), orName(f.Value, "a value"))
	}
	s.fill(p.legend(), notes)
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	p.draw(c)
	s.draw(c)
	return c.save(orName(f.Title, withUnit(f.Value, f.Unit)))
}

// stop is all points of a series at one x.
type stop struct {
	x      float64 // +Inf is unlimited
	ys     []float64
	doubts []bool // the point at the same place has findings
	voids  []bool // the point at the same place must not decide
	lost   int    // points without a value
}

type line struct {
	name  string
	stops []stop // in numeric order
}

type lines struct {
	*sheet
	series    []line
	drawn     int
	xs        []float64 // distinct finite x, in order
	unlimited bool
	doubt     bool
	void      bool
}

// mostSeries is how many lines a reader can tell apart.
const mostSeries = 8

// read sorts the points into stops and says what cannot be drawn.
func (p *lines) read(series []Series) (notes []string) {
	var gaps, adrift []string
	repeats := false
	for _, s := range series {
		l := line{name: p.line(s.Name)}
		points := slices.Clone(s.Points)
		slices.SortStableFunc(points, func(a, b Point) int { return compareFloat(a.X.Num, b.X.Num) })
		drawn := 0
		for _, pt := range points {
			if pt.X.Kind != core.KindNumber || !drawable(pt.X) && !pt.X.IsUnlimited() {
				adrift = append(adrift, orName(l.name, "a point"))
				continue
			}
			if n := len(l.stops); n == 0 || l.stops[n-1].x != pt.X.Num {
				l.stops = append(l.stops, stop{x: pt.X.Num})
			}
			at := &l.stops[len(l.stops)-1]
			if !drawable(pt.Y) {
				at.lost++
				gaps = append(gaps, p.place(l.name, pt.X))
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
	if len(adrift) > 0 {
		notes = append(notes, fmt.Sprintf("not drawn, no %s: %s", orName(p.fig.X, "x"), listed(adrift, 6)))
	}
	if repeats {
		notes = append(notes, "every repeat is shown; lines join the medians")
	}
	return notes
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

func dashes(i int) []float64 {
	if i >= 5 {
		return []float64{7, 4}
	}
	return nil
}

func (p *lines) legend() []key {
	var keys []key
	if len(p.series) > 1 || p.series[0].name != "" && p.series[0].name != p.line(p.fig.Title) {
		for i, l := range p.series {
			keys = append(keys, key{orName(l.name, "(no name)"), func(c *canvas, x, y float64) {
				c.polyline(palette[i], dashes(i), []float64{x, y, x + keyWidth, y})
				c.marker(i, x+keyWidth/2, y, 4, palette[i])
			}})
		}
	}
	if p.void {
		keys = append(keys, key{"void: must not decide", func(c *canvas, x, y float64) { c.hollow(0, x+keyWidth/2, y, 4, ink) }})
	}
	if p.doubt {
		keys = append(keys, key{"audit findings on the trial", func(c *canvas, x, y float64) {
			c.text(p.doubtSign(), x+keyWidth, y, p.label, right, ink)
		}})
	}
	return keys
}

func (p *lines) doubtSign() string {
	sign, _ := p.face.readable(dagger)
	return sign
}

func (p *lines) draw(c *canvas) {
	lo, hi := 0.0, 0.0
	for _, l := range p.series {
		for _, at := range l.stops {
			for _, y := range at.ys {
				lo, hi = math.Min(lo, y), math.Max(hi, y)
			}
		}
	}
	top := p.above() + p.label*0.6
	bottom := float64(c.h) - p.below() - p.small*3.6
	ya := newAxis(lo, hi, min(max(int((bottom-top)/(p.label*3)), 2), 8))
	x0 := p.pad + p.label*1.8 + p.tickRoom(ya)
	x1 := float64(c.w) - p.pad
	yAt := func(v float64) float64 { return math.Round(bottom - ya.at(v)*(bottom-top)) }

	numeric := x1 // right end of the numeric part
	slot := (x0 + x1) / 2
	if p.unlimited && len(p.xs) > 0 {
		width := math.Max(p.face.width("unlimited", p.small)+p.label*2, (x1-x0)*0.1)
		numeric = x1 - width
		slot = x1 - width/2
	}
	p.drawScale(c, ya, x0, x1, yAt)
	xs := newXScale(p.xs, x0+p.label*1.2, numeric-p.label*1.2, p.fig.XTime)
	for _, t := range xs.ticks(p.face, p.small) {
		c.vline(t.at, top, bottom+4, rule)
		c.text(t.label, t.at, bottom+p.small*1.1, p.small, center, soft)
	}
	if p.unlimited {
		if len(p.xs) > 0 {
			c.dashedV(numeric, top, bottom, soft)
		}
		c.text("unlimited", slot, bottom+p.small*1.1, p.small, center, soft)
	}
	c.hline(x0, x1, yAt(0), soft)
	xName := withUnit(p.fig.X, p.fig.XUnit)
	if p.fig.XTime {
		xName = withUnit(p.fig.X, "UTC")
	}
	if xs.log {
		xName = strings.TrimSpace(xName + ", log scale")
	}
	c.text(p.face.shorten(p.line(xName), p.small, x1-x0), (x0+x1)/2, bottom+p.small*2.6, p.small, center, soft)
	yName := p.face.shorten(p.line(p.fig.axisName()), p.small, bottom-top)
	c.upright(yName, p.pad+p.small*0.5, (top+bottom)/2, p.small, soft)

	for i, l := range p.series {
		xAt := func(at stop) float64 {
			if math.IsInf(at.x, 1) {
				return slot
			}
			return xs.at(at.x)
		}
		p.drawLine(c, i, l, xAt, yAt)
	}
}

// drawLine joins the medians between gaps, then sets the markers above the line.
func (p *lines) drawLine(c *canvas, i int, l line, xAt func(stop) float64, yAt func(float64) float64) {
	col := palette[i]
	var run []float64
	flush := func() {
		c.polyline(col, dashes(i), run)
		run = nil
	}
	for _, at := range l.stops {
		if len(at.ys) == 0 || math.IsInf(at.x, 1) {
			flush()
			continue
		}
		run = append(run, math.Round(xAt(at)), yAt(at.median()))
	}
	flush()
	size := math.Max(3, math.Round(p.label*0.32))
	for _, at := range l.stops {
		if at.lost > 0 && len(at.ys) == 0 {
			c.cross(math.Round(xAt(at)), yAt(0), size, col)
		}
		for k, y := range at.ys {
			if at.voids[k] {
				c.hollow(i, xAt(at), yAt(y), size, col)
			} else {
				c.marker(i, xAt(at), yAt(y), size, col)
			}
			if at.doubts[k] {
				c.text(p.doubtSign(), xAt(at)+size+2, yAt(y)-size-3, p.label, left, ink)
			}
		}
	}
}
