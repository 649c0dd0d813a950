package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// Scatter draws two values against each other. The error is ErrNothing without a point.
func Scatter(f Figure) ([]byte, error) {
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
	p := &scatter{sheet: s}
	notes := append(p.read(), f.Notes...)
	if p.everyDoubt() {
		p.quiet = true
		notes = append([]string{allDoubted}, notes...)
	}
	if p.dots == 0 {
		return nil, fmt.Errorf("%w: no trial has both %s and %s", ErrNothing, orName(f.Cloud.X, "an x"), orName(f.Value, "a value"))
	}
	s.fill(p.legend(), notes)
	// How many labels find room is known only when they are placed.
	if n := p.layout().left; n > 0 {
		s.fill(p.legend(), append([]string{fmt.Sprintf("labels left out for want of room: %d", n)}, notes...))
	}
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	p.draw(c)
	s.draw(c)
	return c.save(&f)
}

type scatter struct {
	*sheet
	clouds []Cloud
	looks  []int // of each cloud: its place in the palette, -1 is grey
	dots   int
	quiet  bool // every point has findings: said once
}

// allDoubted stands in the footer in place of a sign at each point.
const allDoubted = "the audit has findings on every trial drawn"

// mostLabelled is of how many dots each may have a label; of more, those of the front.
const mostLabelled = 300

// mostDots is how many dots a plot of this size can show.
const mostDots = 20000

// everyDoubt reports whether signs of findings would tell nothing apart.
func (p *scatter) everyDoubt() bool {
	for _, c := range p.clouds {
		if slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Findings == 0 }) {
			return false
		}
	}
	return p.dots > 3
}

func (p *scatter) read() (notes []string) {
	most, repeats, shown, left := 0, false, 0, 0
	for _, c := range p.fig.Clouds {
		c.Name = p.line(c.Name)
		c.Dots = slices.DeleteFunc(slices.Clone(c.Dots), func(d Dot) bool { return !drawable(d.X) || !drawable(d.Y) })
		if len(c.Dots) == 0 {
			continue
		}
		if room := max(mostDots-p.dots, 0); len(c.Dots) > room {
			kept := 0
			c.Dots = slices.DeleteFunc(c.Dots, func(d Dot) bool {
				if kept++; d.Front || kept <= room {
					return false
				}
				left++
				return true
			})
		}
		for i := range c.Dots {
			c.Dots[i].Label = p.line(c.Dots[i].Label)
			repeats = repeats || c.Dots[i].N > 1
			most = max(most, c.Dots[i].N)
		}
		look := -1
		if (!c.Dominated || !p.fig.Cloud.Joined) && shown < mostSeries {
			look = shown
			shown++
		}
		p.clouds, p.looks = append(p.clouds, c), append(p.looks, look)
		p.dots += len(c.Dots)
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("not drawn: %d points beyond the first %d that are on no front", left, mostDots))
	}
	if repeats {
		notes = append(notes, fmt.Sprintf("points are medians of up to %d trials", most))
	}
	return notes
}

func (p *scatter) frontSize() (n int) {
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			if d.Front {
				n++
			}
		}
	}
	return n
}

func (p *scatter) color(i int) color {
	if p.looks[i] < 0 {
		return faint
	}
	return palette[p.looks[i]]
}

func (p *scatter) shapeOf(i int) int {
	if p.looks[i] < 0 {
		return i
	}
	return p.looks[i]
}

func (p *scatter) legend() []key {
	var keys []key
	if len(p.clouds) > 1 || p.clouds[0].Name != "" {
		for i, c := range p.clouds {
			text := orName(c.Name, "(no name)")
			if p.looks[i] < 0 {
				text += " (dominated)"
			}
			keys = append(keys, key{text, func(c *canvas, x, y float64) {
				if p.fig.Cloud.Joined {
					c.polyline(p.color(i), nil, []float64{x, y, x + keyWidth, y})
				}
				c.marker(p.shapeOf(i), x+keyWidth/2, y, 4, p.color(i))
			}})
		}
	} else {
		if slices.ContainsFunc(p.clouds[0].Dots, func(d Dot) bool { return d.Front }) {
			keys = append(keys, key{"on the front: none is better in both", func(c *canvas, x, y float64) { c.marker(0, x+keyWidth/2, y, 5, bluish) }})
		}
		if slices.ContainsFunc(p.clouds[0].Dots, func(d Dot) bool { return !d.Front }) {
			keys = append(keys, key{"beaten in both", func(c *canvas, x, y float64) { c.marker(0, x+keyWidth/2, y, 4, faint) }})
		}
	}
	if !p.fig.Cloud.Joined && len(p.clouds) > 1 && p.frontSize() > 1 {
		keys = append(keys, key{"the front: none is better in both", func(c *canvas, x, y float64) {
			c.polyline(bluish, []float64{6, 4}, []float64{x, y, x + keyWidth, y})
		}})
	}
	if p.fig.Limit != nil {
		keys = append(keys, key{"limit: " + p.fig.Limit.String(), func(c *canvas, x, y float64) { c.dashedH(x, x+keyWidth, y, failRed) }})
		if slices.ContainsFunc(p.clouds, func(c Cloud) bool { return slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Best }) }) {
			keys = append(keys, key{"best that keeps it", func(c *canvas, x, y float64) { c.ring(x+keyWidth/2, y, 6, ink) }})
		}
	}
	void, doubt := false, false
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			void, doubt = void || d.Void, doubt || d.Findings > 0
		}
	}
	if void {
		keys = append(keys, key{"void: must not decide", func(c *canvas, x, y float64) { c.hollow(0, x+keyWidth/2, y, 4, ink) }})
	}
	if doubt && !p.quiet {
		sign, _ := p.face.readable(dagger)
		keys = append(keys, key{"audit findings on the trial", func(c *canvas, x, y float64) { c.text(sign, x+keyWidth, y, p.label, right, ink) }})
	}
	return keys
}

// shortLabels fits the labels into a width. Of those that become equal to another's none
// is left: they would name two things alike.
func (p *scatter) shortLabels(width float64, all bool) map[string]string {
	short, owner := map[string]string{}, map[string]string{}
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			if !all && !d.Front {
				continue
			}
			s := p.face.shorten(d.Label, p.small, width)
			if first, taken := owner[s]; taken && first != d.Label {
				short[first], short[d.Label] = "", ""
				continue
			}
			owner[s] = d.Label
			if _, seen := short[d.Label]; !seen {
				short[d.Label] = s
			}
		}
	}
	return short
}

func (p *scatter) draw(c *canvas) {
	q := p.layout()
	p.drawScale(c, q.ya, q.x0, q.x1, q.y)
	for _, t := range q.xa.ticks {
		c.vline(q.x(t), q.top, q.bottom, rule)
		c.text(q.xa.label(t), q.x(t), q.bottom+p.small*1.1, p.small, center, soft)
	}
	p.drawLimit(c, q)
	c.hline(q.x0, q.x1, q.bottom, soft)
	x := Figure{Value: p.fig.Cloud.X, Unit: p.fig.Cloud.XUnit, Better: p.fig.Cloud.XBetter}
	c.text(p.axisTitle(&x, false, q.x1-q.x0), (q.x0+q.x1)/2, q.bottom+p.small*2.6, p.small, center, soft)
	c.upright(p.axisTitle(p.fig, false, q.bottom-q.top), p.pad+p.small*0.5, (q.top+q.bottom)/2, p.small, soft)
	if !p.fig.Cloud.Joined {
		c.polyline(bluish, []float64{6, 4}, p.frontLine(q))
	}
	size := math.Max(3, math.Round(p.label*0.34))
	order := []bool{false, true} // the grey ones below
	for _, bright := range order {
		for i, cl := range p.clouds {
			if (p.looks[i] >= 0) != bright {
				continue
			}
			if p.fig.Cloud.Joined {
				var xy []float64
				for _, d := range cl.Dots {
					xy = append(xy, q.x(d.X.Num), q.y(d.Y.Num))
				}
				c.polyline(p.color(i), nil, xy)
			}
			for _, d := range cl.Dots {
				col := p.color(i)
				if !p.fig.Cloud.Joined && !d.Front && len(p.clouds) == 1 {
					col = faint
				}
				if d.Best {
					c.ring(q.x(d.X.Num), q.y(d.Y.Num), size+5, ink)
				}
				if d.Void {
					c.hollow(p.shapeOf(i), q.x(d.X.Num), q.y(d.Y.Num), size, col)
				} else {
					c.marker(p.shapeOf(i), q.x(d.X.Num), q.y(d.Y.Num), size, col)
				}
			}
		}
	}
	for _, l := range q.labels {
		if l.thread {
			c.thread(l.fromX, l.fromY, math.Max(l.x0, math.Min(l.fromX, l.x1)), math.Max(l.y0, math.Min(l.fromY, l.y1)))
		}
		c.text(l.text, l.x0, (l.y0+l.y1)/2, p.small, left, l.col)
	}
}

// drawLimit draws the limit across and shades the side that breaks it.
func (p *scatter) drawLimit(c *canvas, q *plane) {
	l := p.fig.Limit
	if l == nil {
		return
	}
	if l.Column == p.fig.Cloud.X {
		x := q.x(l.Value)
		if l.Upper {
			c.rect(x, q.top, q.x1, q.bottom, shade)
		} else {
			c.rect(q.x0, q.top, x, q.bottom, shade)
		}
		c.dashedV(x, q.top, q.bottom, failRed)
		return
	}
	y := q.y(l.Value)
	if l.Upper {
		c.rect(q.x0, q.top, q.x1, y, shade)
	} else {
		c.rect(q.x0, y, q.x1, q.bottom, shade)
	}
	c.dashedH(q.x0, q.x1, y, failRed)
}

// frontLine joins the points of the front by steps: between two of them nothing was
// measured, so that nothing better than the worse of both is promised.
func (p *scatter) frontLine(q *plane) []float64 {
	var dots []Dot
	for _, cl := range p.clouds {
		for _, d := range cl.Dots {
			if d.Front {
				dots = append(dots, d)
			}
		}
	}
	slices.SortFunc(dots, func(a, b Dot) int { return compareFloat(a.X.Num, b.X.Num) })
	var xy []float64
	for i, d := range dots {
		if i > 0 {
			e := dots[i-1]
			// The corner is worse than both points.
			if p.fig.Cloud.XBetter == core.HigherBetter {
				xy = append(xy, q.x(e.X.Num), q.y(d.Y.Num))
			} else {
				xy = append(xy, q.x(d.X.Num), q.y(e.Y.Num))
			}
		}
		xy = append(xy, q.x(d.X.Num), q.y(d.Y.Num))
	}
	return xy
}
