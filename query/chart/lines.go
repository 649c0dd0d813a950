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

// stop is all points of a series at one x.
type stop struct {
	x      float64 // +Inf is unlimited
	ys     []float64
	doubts []bool // the point at the same place has findings
	voids  []bool // the point at the same place must not decide
	lost   int    // points without a value
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

// verdict says at which load a curve breaks its limit.
func (p *lines) verdict(l line) string {
	switch at := func(v core.Value) string { return v.String() }; {
	case p.fig.Limit == nil:
		return ""
	case l.holds.IsMissing() && l.breaks.IsMissing():
		return ""
	case l.holds.IsMissing() && !slices.ContainsFunc(l.stops, func(s stop) bool { return len(s.ys) > 0 }):
		return " (failed at every load)"
	case l.holds.IsMissing():
		return " (breaks from " + at(l.breaks) + " on)"
	case l.breaks.IsMissing():
		return " (holds to " + at(l.holds) + ", no break seen)"
	default:
		return " (holds to " + at(l.holds) + ", breaks at " + at(l.breaks) + ")"
	}
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

// drawLimit draws the limit and shades the side that breaks it.
func (p *lines) drawLimit(c *canvas, x0, x1, top, bottom float64, yAt func(float64) float64) {
	y := yAt(p.fig.Limit.Value)
	if p.fig.Limit.Upper {
		c.rect(x0, top, x1, y, shade)
	} else {
		c.rect(x0, y, x1, bottom, shade)
	}
	c.dashedH(x0, x1, y, failRed)
}

// drawChanges writes how much a value changed at a place, beside the point.
func (p *lines) drawChanges(c *canvas, xs xScale, yAt func(float64) float64, within box) {
	labels := newPlacer(p.face, within)
	for _, l := range p.series {
		for _, at := range l.stops {
			for _, y := range at.ys {
				labels.take(xs.at(at.x), yAt(y), p.label*0.4)
			}
		}
	}
	for _, l := range p.series {
		for _, ch := range l.changes {
			for _, at := range l.stops {
				if at.x != ch.At || len(at.ys) == 0 {
					continue
				}
				x := xs.at(at.x)
				high := yAt(slices.Max(at.ys))
				size := p.label * 0.45
				c.arrow(x, high-p.label*1.1, size, ch.Share > 0, changeColor(ch))
				labels.take(x, high-p.label*1.1, size)
				if b, ok := labels.put(signed(ch.Share), x, high-p.label*1.1, p.label*0.6, p.small); ok {
					c.rect(b.x0-1, b.y0-1, b.x1+1, b.y1+1, white)
					c.text(b.text, b.x0, (b.y0+b.y1)/2, p.small, left, changeColor(ch))
				}
			}
		}
	}
}

func changeColor(ch Change) color {
	if ch.Better {
		return palette[2]
	}
	return failRed
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
