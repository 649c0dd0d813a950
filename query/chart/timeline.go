package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Timeline draws one trial over time: its requests, the tokens per second, and the
// power.
func Timeline(f Figure) ([]byte, error) {
	if f.Flow == nil || len(f.Flow.Lanes) == 0 {
		return nil, fmt.Errorf("%w: no request", ErrNothing)
	}
	if err := f.size(); err != nil {
		return nil, err
	}
	if f.Height == 0 {
		f.Height = 860
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	p := &timeline{sheet: s, flow: f.Flow}
	s.fill(p.legend(), f.Notes)
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	p.draw(c)
	s.draw(c)
	return c.save(&f)
}

type timeline struct {
	*sheet
	flow *Flow
}

// mostLanes is how many requests can be told apart as lines of their own.
const mostLanes = 600

var (
	waiting = color{R: 0xa6, G: 0xc8, B: 0xe0, A: 255}
	cutOff  = color{R: 0x7b, G: 0x84, B: 0x8d, A: 255}
)

func (p *timeline) legend() []key {
	fill := func(col color) func(*canvas, float64, float64) {
		return func(c *canvas, x, y float64) { c.rect(x, y-4, x+keyWidth, y+4, col) }
	}
	keys := []key{{"before the first token", fill(waiting)}, {"from the first token on", fill(bluish)}}
	for _, o := range []struct {
		outcome core.Outcome
		key     key
	}{{core.OutcomeFailed, key{"failed", fill(failRed)}}, {core.OutcomeIncomplete, key{"cut off by the run's own limit", fill(cutOff)}}} {
		if slices.ContainsFunc(p.flow.Lanes, func(l Lane) bool { return l.Outcome == o.outcome }) {
			keys = append(keys, o.key)
		}
	}
	return keys
}

// panel is one of the plots that stand on a common time.
type panel struct {
	top, bottom float64
	name        string
}

func (p *timeline) draw(c *canvas) {
	names := []string{"requests", "output tok/s"}
	shares := []float64{0.56, 0.44}
	if drawable(p.flow.Power) {
		names, shares = append(names, "power, W"), []float64{0.5, 0.34, 0.16}
	}
	top, bottom := p.above()+p.label*0.4, float64(c.h)-p.below()-p.small*3.4
	gap := p.label * 1.1
	room := bottom - top - gap*float64(len(names)-1)
	inFlight := p.inFlight()
	tokens := newAxis(0, slices.Max(p.flow.Tokens), 4)
	x0 := p.pad + p.label*1.8 + math.Max(p.tickRoom(tokens), p.face.width("00000", p.small)+p.label*0.6)
	x1 := float64(c.w) - p.pad - p.label
	xa := newAxis(0, p.flow.End, min(max(int((x1-x0)/(p.small*8)), 2), 10))
	xAt := func(v float64) float64 { return math.Round(x0 + xa.at(v)*(x1-x0)) }
	y := top
	for i, name := range names {
		q := panel{y, y + room*shares[i], name}
		y = q.bottom + gap
		for _, t := range xa.ticks {
			c.vline(xAt(t), q.top, q.bottom, rule)
		}
		if _, unit, ok := strings.Cut(name, ", "); ok && p.face.width(name, p.small) > q.bottom-q.top {
			name = unit
		}
		c.upright(p.face.shorten(name, p.small, q.bottom-q.top), p.pad+p.small*0.5, (q.top+q.bottom)/2, p.small, soft)
		switch i {
		case 0:
			if len(p.flow.Lanes) <= mostLanes {
				p.lanes(c, q, x0, xAt)
			} else {
				p.load(c, q, inFlight, x0, x1, xAt)
			}
		case 1:
			p.rate(c, q, tokens, x0, x1, xAt)
		case 2:
			p.power(c, q, x0, x1, xAt)
		}
		c.hline(x0, x1, q.bottom, soft)
	}
	for _, t := range xa.ticks {
		c.text(xa.label(t), xAt(t), bottom+p.small*1.1, p.small, center, soft)
	}
	c.text("seconds since the start of the trial", (x0+x1)/2, bottom+p.small*2.5, p.small, center, soft)
}

// lanes draws a line a request, the first one on top.
func (p *timeline) lanes(c *canvas, q panel, x0 float64, xAt func(float64) float64) {
	n := float64(len(p.flow.Lanes))
	row := (q.bottom - q.top) / n
	for i, l := range p.flow.Lanes {
		y0 := math.Round(q.top + row*float64(i))
		y1 := math.Max(math.Round(q.top+row*float64(i+1)), y0+1)
		if row > 4 {
			y1--
		}
		from, first, end := xAt(l.Sent), xAt(l.First), math.Max(xAt(l.End), xAt(l.Sent)+1)
		c.rect(from, y0, first, y1, waiting)
		switch {
		case l.Outcome == core.OutcomeFailed:
			c.rect(from, y0, end, y1, failRed)
		case l.Outcome == core.OutcomeIncomplete:
			c.rect(first, y0, end, y1, cutOff)
		case l.Started:
			c.rect(first, y0, end, y1, bluish)
		}
	}
	c.text("1", x0-p.label*0.5, q.top+p.small*0.5, p.small, right, soft)
	c.text(Number(n), x0-p.label*0.5, q.bottom-p.small*0.5, p.small, right, soft)
}

// moment is one edge of a step curve.
type moment struct{ at, waiting, running float64 }

// inFlight counts the requests before and after their first token over time.
func (p *timeline) inFlight() []moment {
	type edge struct{ at, waiting, running float64 }
	var edges []edge
	for _, l := range p.flow.Lanes {
		edges = append(edges, edge{l.Sent, 1, 0})
		if l.Started {
			edges = append(edges, edge{l.First, -1, 1}, edge{l.End, 0, -1})
		} else {
			edges = append(edges, edge{l.End, -1, 0})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return compareFloat(a.at, b.at) })
	var out []moment
	var now moment
	for _, e := range edges {
		now = moment{e.at, now.waiting + e.waiting, now.running + e.running}
		if n := len(out); n > 0 && out[n-1].at == e.at {
			out[n-1] = now
		} else {
			out = append(out, now)
		}
	}
	return out
}

// load draws the requests in flight, where there are too many for a line each.
func (p *timeline) load(c *canvas, q panel, ms []moment, x0, x1 float64, xAt func(float64) float64) {
	most := 0.0
	for _, m := range ms {
		most = math.Max(most, m.waiting+m.running)
	}
	a := newAxis(0, most, 4)
	yAt := func(v float64) float64 { return math.Round(q.bottom - a.at(v)*(q.bottom-q.top)) }
	p.drawScale(c, a, x0, x1, yAt)
	for i, m := range ms {
		end := xAt(p.flow.End)
		if i+1 < len(ms) {
			end = xAt(ms[i+1].at)
		}
		c.rect(xAt(m.at), yAt(m.running), end, q.bottom, bluish)
		c.rect(xAt(m.at), yAt(m.running+m.waiting), end, yAt(m.running), waiting)
	}
	for _, l := range p.flow.Lanes {
		if l.Outcome == core.OutcomeFailed {
			c.rect(xAt(l.End), q.top, xAt(l.End)+1, q.top+p.label*0.8, failRed)
		}
	}
}

func (p *timeline) rate(c *canvas, q panel, a axis, x0, x1 float64, xAt func(float64) float64) {
	yAt := func(v float64) float64 { return math.Round(q.bottom - a.at(v)*(q.bottom-q.top)) }
	p.drawScale(c, a, x0, x1, yAt)
	for i, v := range p.flow.Tokens {
		from, to := float64(i)*p.flow.Bin, math.Min(float64(i+1)*p.flow.Bin, p.flow.End)
		if to > from {
			c.rect(xAt(from), yAt(v), xAt(to), q.bottom, palette[2])
		}
	}
}

func (p *timeline) power(c *canvas, q panel, x0, x1 float64, xAt func(float64) float64) {
	most := p.flow.Power.Num
	for _, r := range p.flow.Watts {
		most = math.Max(most, r.Value)
	}
	a := newAxis(0, most, 2)
	yAt := func(v float64) float64 { return math.Round(q.bottom - a.at(v)*(q.bottom-q.top)) }
	p.drawScale(c, a, x0, x1, yAt)
	if line := p.flow.Watts; line != nil {
		var points []float64
		for _, r := range line {
			points = append(points, xAt(r.At), yAt(r.Value))
		}
		c.polyline(palette[3], nil, points)
	}
	y := yAt(p.flow.Power.Num)
	c.polyline(palette[5], []float64{7, 4}, []float64{xAt(0), y, xAt(p.flow.End), y})
	text := "mean " + Number(math.Round(p.flow.Power.Num*10)/10) + " W"
	p.beside(c, q, text, y, xAt, yAt)
}

// beside writes a text above or below the line of the mean, where the readings leave
// room for it.
func (p *timeline) beside(c *canvas, q panel, text string, y float64, xAt, yAt func(float64) float64) {
	w, h := p.face.width(text, p.small)+8, p.small*1.2
	x0, x1 := xAt(0)+4, xAt(p.flow.End)-w
	crossed := func(from, top float64) bool {
		before := Reading{}
		for i, r := range p.flow.Watts {
			if i > 0 && xAt(r.At) >= from && xAt(before.At) <= from+w {
				high, low := min(yAt(r.Value), yAt(before.Value)), max(yAt(r.Value), yAt(before.Value))
				if high <= top+h && low >= top {
					return true
				}
			}
			before = r
		}
		return false
	}
	from, top := x0, y+p.small*0.4
search:
	for _, ty := range []float64{y + p.small*0.4, y - p.small*0.4 - h} {
		for k := range 9 {
			if at := x0 + (x1-x0)*float64(k)/8; at >= x0 && ty >= q.top && ty+h <= q.bottom && !crossed(at, ty) {
				from, top = at, ty
				break search
			}
		}
	}
	c.rect(from, top, from+w, top+h, white)
	c.text(text, from+4, top+h/2, p.small, left, ink)
}
