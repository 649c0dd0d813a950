package chart

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

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
