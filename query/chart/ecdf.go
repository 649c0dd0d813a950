package chart

import (
	"fmt"
	"math"
	"slices"
)

// ECDF draws how a latency spreads: at each value, the share of requests that were no
// slower. Requests that failed were never answered, so that their curve ends below
// 100 %. The error is ErrNothing when no request has the latency.
func ECDF(f Figure) ([]byte, error) {
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
	p := &ecdf{sheet: s}
	notes := append(p.read(), f.Notes...)
	if len(p.curves) == 0 {
		return nil, fmt.Errorf("%w: no request has a value for %s", ErrNothing, orName(f.Value, "its latency"))
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

type ecdf struct {
	*sheet
	curves []Sample
}

func (p *ecdf) read() (notes []string) {
	var failed, cut, unknown []string
	for _, s := range p.fig.Spread {
		s.Name = p.line(s.Name)
		s.Values = slices.DeleteFunc(slices.Clone(s.Values), func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > largest })
		slices.Sort(s.Values)
		if s.Failed > 0 {
			failed = append(failed, fmt.Sprintf("%d of %s", s.Failed, s.Name))
		}
		if s.Incomplete > 0 {
			cut = append(cut, fmt.Sprintf("%d of %s", s.Incomplete, s.Name))
		}
		if s.Unknown > 0 || len(s.Values) == 0 {
			unknown = append(unknown, fmt.Sprintf("%d of %s", s.Unknown, s.Name))
		}
		if len(s.Values) > 0 {
			p.curves = append(p.curves, s)
		}
	}
	if n := len(p.curves); n > mostSeries {
		notes = append(notes, fmt.Sprintf("showing %d of %d trials", mostSeries, n))
		p.curves = p.curves[:mostSeries]
	}
	if len(failed) > 0 {
		notes = append(notes, "failed requests, which keep a curve below 100 %: "+listed(failed, 6))
	}
	if len(cut) > 0 {
		notes = append(notes, "cut off by the run's own limit, not counted: "+listed(cut, 6))
	}
	if len(unknown) > 0 {
		notes = append(notes, "answered, but without "+orName(p.fig.Value, "the latency")+", not counted: "+listed(unknown, 6))
	}
	return notes
}

func (p *ecdf) legend() []key {
	var keys []key
	for i, s := range p.curves {
		kept := ""
		if l := p.fig.Limit; l != nil {
			kept = percentText(s.keeping(l)) + " keep the limit, "
		}
		text := fmt.Sprintf("%s (n = %d: %sp50 %s, p99 %s)", s.Name, len(s.Values)+s.Failed, kept, round3(s.at(0.5)), round3(s.at(0.99)))
		keys = append(keys, key{text, func(c *canvas, x, y float64) {
			c.polyline(palette[i], dashes(i), []float64{x, y, x + keyWidth, y})
			c.marker(i, x+keyWidth/2, y, 4, palette[i])
		}})
	}
	if p.fig.Limit != nil {
		keys = append(keys, key{"limit: " + p.fig.Limit.String(), func(c *canvas, x, y float64) { c.dashedH(x, x+keyWidth, y, failRed) }})
	}
	return keys
}

// at is the q-quantile over all requests, those that failed standing behind the slowest;
// NaN where it lies among them.
func (s Sample) at(q float64) float64 {
	n := len(s.Values) + s.Failed
	if s.Failed == 0 {
		return percentile(s.Values, q)
	}
	if k := int(math.Ceil(q*float64(n))) - 1; k < len(s.Values) {
		return s.Values[max(k, 0)]
	}
	return math.NaN()
}

// keeping is the share of requests that keep a limit; one that failed keeps none.
func (s Sample) keeping(l *Limit) float64 {
	n := 0
	for _, v := range s.Values {
		if l.Keeps(v) {
			n++
		}
	}
	return float64(n) / float64(len(s.Values)+s.Failed)
}

// round3 writes three significant digits, "failed" where a quantile lies among failures.
func round3(v float64) string {
	if math.IsNaN(v) {
		return "failed"
	}
	if a := math.Abs(v); a >= 100 {
		return Number(math.Round(v))
	}
	return Number(math.Round(v*100) / 100)
}

func (p *ecdf) draw(c *canvas) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range p.curves {
		lo, hi = math.Min(lo, s.Values[0]), math.Max(hi, s.Values[len(s.Values)-1])
	}
	if p.fig.Limit != nil {
		lo, hi = math.Min(lo, p.fig.Limit.Value), math.Max(hi, p.fig.Limit.Value)
	}
	top := p.above() + p.label*0.8
	bottom := float64(c.h) - p.below() - p.small*3.6
	ya := percentAxis()
	x0 := p.pad + p.label*1.8 + p.tickRoom(axis{ticks: []float64{100}, hi: 100, step: 10}) + p.small*0.8
	x1 := float64(c.w) - p.pad - p.label
	yAt := func(share float64) float64 { return math.Round(bottom - share*(bottom-top)) }
	want := min(max(int((x1-x0)/(p.small*8)), 2), 10)
	xs := newAxis(lo, hi, want)
	if lo > 0 && hi/lo >= 10 {
		xs = newLogAxis(lo, hi, want)
	}
	xAt := func(v float64) float64 { return math.Round(x0 + xs.at(v)*(x1-x0)) }
	below := math.Inf(1)
	for _, t := range ya {
		c.hline(x0, x1, yAt(t), rule)
		if yAt(t) > below {
			continue
		}
		below = yAt(t) - p.small*1.1
		c.text(Number(t*100)+" %", x0-p.label*0.5, yAt(t), p.small, right, soft)
	}
	if p.fig.Limit != nil {
		x := xAt(p.fig.Limit.Value)
		if p.fig.Limit.Upper {
			c.rect(x, top, x1, bottom, shade)
		} else {
			c.rect(x0, top, x, bottom, shade)
		}
		c.dashedV(x, top, bottom, failRed)
	}
	free := math.Inf(-1)
	for _, t := range xs.ticks {
		c.vline(xAt(t), top, bottom+4, rule)
		half := p.face.width(xs.label(t), p.small)/2 + p.small*0.3
		if xAt(t)-half < free {
			continue
		}
		c.text(xs.label(t), xAt(t), bottom+p.small*1.1, p.small, center, soft)
		free = xAt(t) + half
	}
	c.hline(x0, x1, bottom, soft)
	c.text(p.axisTitle(p.fig, xs.log, x1-x0), (x0+x1)/2, bottom+p.small*2.6, p.small, center, soft)
	c.upright(p.face.shorten("share of requests that were no slower", p.small, bottom-top), p.pad+p.small*0.5, (top+bottom)/2, p.small, soft)
	for i, s := range p.curves {
		p.drawCurve(c, i, s, xAt, yAt)
	}
}

// drawCurve draws the steps of a sample and a marker at each quarter.
func (p *ecdf) drawCurve(c *canvas, i int, s Sample, xAt, yAt func(float64) float64) {
	n := float64(len(s.Values) + s.Failed)
	xy := []float64{xAt(s.Values[0]), yAt(0)}
	for k, v := range s.Values {
		x, before := xAt(v), xy[len(xy)-1]
		y := yAt(float64(k+1) / n)
		if x != xy[len(xy)-2] {
			xy = append(xy, x, before)
		}
		if k+1 == len(s.Values) || xAt(s.Values[k+1]) != x {
			xy = append(xy, x, y)
		}
	}
	c.polyline(palette[i], dashes(i), xy)
	size := math.Max(3, math.Round(p.label*0.3))
	for _, q := range []float64{0.25, 0.5, 0.75, 0.9, 0.99} {
		if k := int(math.Ceil(q*n)) - 1; k >= 0 && k < len(s.Values) {
			c.marker(i, xAt(s.Values[k]), yAt(float64(k+1)/n), size, palette[i])
		}
	}
	if s.Failed > 0 {
		last := len(s.Values)
		c.cross(xAt(s.Values[last-1]), yAt(float64(last)/n), size+1, failRed)
	}
}

func percentAxis() []float64 { return []float64{0, 0.25, 0.5, 0.75, 0.9, 1} }
