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
	p := &lines{sheet: s, crosses: map[float64]int{}}
	notes := append(p.read(f.Series), f.Notes...)
	if p.drawn == 0 {
		return nil, fmt.Errorf("%w: no point has both %s and %s", ErrNothing, orName(f.X, "an x"), orName(f.Value, "a value"))
	}
	if p.drawn > mostMarkers {
		p.dense = true
		notes = append([]string{fmt.Sprintf("%d points are too many to mark: lines join the medians", p.drawn)}, notes...)
	}
	if p.everyDoubt() {
		p.quiet = true
		notes = append([]string{allDoubted}, notes...)
	}
	if p.fig.Near && p.scale(2).lo > 0 {
		notes = append([]string{"the scale does not begin at 0"}, notes...)
	}
	s.fill(p.legend(), notes)
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	p.draw(c)
	s.draw(c)
	return c.save(&f)
}

type line struct {
	name          string
	stops         []stop // in numeric order
	holds, breaks core.Value
	changes       []Change
}

type lines struct {
	*sheet
	series    []line
	drawn     int
	xs        []float64 // distinct finite x, in order
	unlimited bool
	doubt     bool
	void      bool
	quiet     bool            // every point has findings: said once
	dense     bool            // too many points for a marker each
	crosses   map[float64]int // drawn at each x, which stand on one another
	signs     *placer         // of findings
}

// mostMarkers is how many points can have a marker each.
const mostMarkers = 5000

// mostSeries is how many lines a reader can tell apart.
const mostSeries = 8

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
			keys = append(keys, key{orName(l.name, "(no name)") + p.verdict(l), func(c *canvas, x, y float64) {
				c.polyline(palette[i], dashes(i), []float64{x, y, x + keyWidth, y})
				c.marker(i, x+keyWidth/2, y, 4, palette[i])
			}})
		}
	}
	if len(keys) == 0 && p.verdict(p.series[0]) != "" {
		keys = append(keys, key{strings.Trim(p.verdict(p.series[0]), " ()"), func(c *canvas, x, y float64) { c.marker(0, x+keyWidth/2, y, 4, palette[0]) }})
	}
	if p.fig.Limit != nil {
		keys = append(keys, key{"limit: " + p.fig.Limit.String(), func(c *canvas, x, y float64) { c.dashedH(x, x+keyWidth, y, failRed) }})
		if slices.ContainsFunc(p.series, func(l line) bool { return !l.holds.IsMissing() }) {
			keys = append(keys, key{"last load that keeps it", func(c *canvas, x, y float64) { c.ring(x+keyWidth/2, y, 6, ink) }})
		}
	}
	if slices.ContainsFunc(p.series, func(l line) bool { return len(l.changes) > 0 }) {
		keys = append(keys, key{"change beyond the noise", func(c *canvas, x, y float64) { c.arrow(x+keyWidth/2, y, 5, true, ink) }})
	}
	if p.void {
		keys = append(keys, key{"void: must not decide", func(c *canvas, x, y float64) { c.hollow(0, x+keyWidth/2, y, 4, ink) }})
	}
	if p.doubt && !p.quiet {
		keys = append(keys, key{"audit findings on the trial", func(c *canvas, x, y float64) {
			c.text(p.doubtSign(), x+keyWidth, y, p.label, right, ink)
		}})
	}
	return keys
}

// everyDoubt reports whether signs of findings would tell nothing apart.
func (p *lines) everyDoubt() bool {
	for _, l := range p.series {
		for _, at := range l.stops {
			if slices.Contains(at.doubts, false) {
				return false
			}
		}
	}
	return p.drawn > 3
}

// scale covers all values and the limit; from zero, unless the figure may begin near
// its values and they lie far from zero.
func (p *lines) scale(want int) axis {
	first := true
	var lo, hi float64
	grow := func(v float64) {
		if first {
			lo, hi, first = v, v, false
		}
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	for _, l := range p.series {
		for _, at := range l.stops {
			for _, y := range at.ys {
				grow(y)
			}
		}
	}
	if p.fig.Limit != nil {
		grow(p.fig.Limit.Value)
	}
	if p.fig.Kind == LoadKind && lo > 0 && hi >= 20*lo {
		if slices.ContainsFunc(p.series, func(l line) bool { return slices.ContainsFunc(l.stops, func(s stop) bool { return len(s.ys) == 0 }) }) {
			lo *= 0.6 // the crosses of failures stand below the values
		}
		return newLogAxis(lo, hi, want)
	}
	if p.fig.Near && lo > 0 && lo > hi*0.6 {
		return newNearAxis(lo-(hi-lo)*0.3, hi+(hi-lo)*0.2, want)
	}
	return newAxis(lo, hi, want)
}

func (p *lines) doubtSign() string {
	sign, _ := p.face.readable(dagger)
	return sign
}

func (p *lines) draw(c *canvas) {
	top := p.above() + p.label*0.6
	bottom := float64(c.h) - p.below() - p.small*3.6
	ya := p.scale(min(max(int((bottom-top)/(p.label*3)), 2), 8))
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
	if p.fig.Limit != nil {
		p.drawLimit(c, x0, x1, top, bottom, yAt)
	}
	xs := newXScale(p.xs, x0+p.label*1.2, numeric-p.label*1.2, p.fig.XTime)
	if p.fig.Places != nil {
		side := math.Min((x1-x0)/float64(2*len(p.fig.Places)), (x1-x0)*0.2)
		xs = xScale{values: p.xs, x0: x0 + side, x1: numeric - side, names: p.fig.Places}
	}
	for _, t := range xs.ticks(p.face, p.small) {
		c.vline(t.at, top, bottom+4, rule)
		half := p.face.width(t.label, p.small) / 2
		c.text(t.label, math.Max(math.Min(t.at, float64(c.w)-half-2), half+2), bottom+p.small*1.1, p.small, center, soft)
	}
	if p.unlimited {
		if len(p.xs) > 0 {
			c.dashedV(numeric, top, bottom, soft)
		}
		c.text("unlimited", slot, bottom+p.small*1.1, p.small, center, soft)
	}
	c.hline(x0, x1, yAt(math.Max(ya.lo, math.Min(0, ya.hi))), soft)
	xName := withUnit(p.fig.X, p.fig.XUnit)
	if p.fig.XTime {
		xName = withUnit(p.fig.X, "UTC")
		if xs.clock {
			xName = withUnit(p.fig.X, xs.day(xs.values[0])+" UTC")
		}
	}
	if xs.log {
		xName = strings.TrimSpace(xName + ", log scale")
	}
	c.text(p.face.shorten(p.line(xName), p.small, x1-x0), (x0+x1)/2, bottom+p.small*2.6, p.small, center, soft)
	yName := p.axisTitle(p.fig, ya.log, bottom-top)
	c.upright(yName, p.pad+p.small*0.5, (top+bottom)/2, p.small, soft)

	p.signs = newPlacer(p.face, box{x0: x0, y0: top - p.label, x1: float64(c.w), y1: bottom})
	for i, l := range p.series {
		xAt := func(at stop) float64 {
			if math.IsInf(at.x, 1) {
				return slot
			}
			return xs.at(at.x)
		}
		p.drawLine(c, i, l, xAt, yAt)
	}
	p.drawChanges(c, xs, yAt, box{x0: x0, y0: top - p.label*0.4, x1: x1, y1: bottom})
}

// floor is where a point without a value has its cross: the axis.
func (p *lines) floor(yAt func(float64) float64) float64 {
	a := p.scale(6)
	return yAt(math.Max(a.lo, math.Min(0, a.hi)))
}

// drawLine joins the medians between gaps, then sets the markers above the line.
func (p *lines) drawLine(c *canvas, i int, l line, xAt func(stop) float64, yAt func(float64) float64) {
	col := palette[i]
	var run []float64
	flush := func() {
		c.polyline(col, dashes(i), thin(run))
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
		if !l.holds.IsMissing() && at.x == l.holds.Num && len(at.ys) > 0 {
			c.ring(math.Round(xAt(at)), yAt(at.median()), size+5, ink)
		}
		if at.lost > 0 && len(at.ys) == 0 {
			x := math.Round(xAt(at))
			c.cross(x, p.floor(yAt)-float64(p.crosses[x])*(2*size+3), size, col)
			p.crosses[x]++
		}
		for k, y := range at.ys {
			if p.dense && len(l.stops) > 1 && !math.IsInf(at.x, 1) {
				break
			}
			if at.voids[k] {
				c.hollow(i, xAt(at), yAt(y), size, col)
			} else {
				c.marker(i, xAt(at), yAt(y), size, col)
			}
			if at.doubts[k] && !p.quiet {
				if b, ok := p.signs.put(p.doubtSign(), xAt(at), yAt(y), size+2, p.label); ok {
					c.text(b.text, b.x0, (b.y0+b.y1)/2, p.label, left, ink)
				}
			}
		}
	}
}
