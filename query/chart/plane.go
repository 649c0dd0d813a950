package chart

import (
	"math"
	"slices"
	"strings"
)

// plane is the plot of a scatter: its axes, places and labels.
type plane struct {
	*placer
	xa, ya              axis
	x0, x1, top, bottom float64
	labels              []placed
}

type placed struct {
	box
	col    color
	fromX  float64
	fromY  float64
	thread bool // far from its point: joined to it
}

func (q *plane) x(v float64) float64 { return math.Round(q.x0 + q.xa.at(v)*(q.x1-q.x0)) }

func (q *plane) y(v float64) float64 { return math.Round(q.bottom - q.ya.at(v)*(q.bottom-q.top)) }

// span covers values: from zero, unless they all lie far from it.
func span(vs []float64, want int) axis {
	lo, hi := slices.Min(vs), slices.Max(vs)
	pad := (hi - lo) * 0.12
	if lo > 0 && lo > hi*0.5 && hi > lo {
		return newNearAxis(lo-pad, hi+pad, want)
	}
	return newAxis(lo, hi+(hi-math.Max(lo, 0))*0.06, want)
}

func (p *scatter) layout() *plane {
	var xs, ys []float64
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			xs, ys = append(xs, d.X.Num), append(ys, d.Y.Num)
		}
	}
	if l := p.fig.Limit; l != nil && l.Column == p.fig.Cloud.X {
		xs = append(xs, l.Value)
	} else if l != nil {
		ys = append(ys, l.Value)
	}
	q := &plane{top: p.above() + p.label*0.6, bottom: float64(p.fig.Height) - p.below() - p.small*3.6}
	q.ya = span(ys, min(max(int((q.bottom-q.top)/(p.label*3)), 2), 8))
	q.x0 = p.pad + p.label*1.8 + p.tickRoom(q.ya)
	q.x1 = float64(p.fig.Width) - p.pad - p.label
	q.xa = span(xs, min(max(int((q.x1-q.x0)/(p.small*8)), 2), 10))
	q.placer = newPlacer(p.face, box{x0: q.x0 + 2, y0: q.top - p.label*0.5, x1: float64(p.fig.Width) - 2, y1: q.bottom - 2})
	size := p.label * 0.5
	for _, c := range p.clouds {
		for i, d := range c.Dots {
			half := size
			if d.Best {
				half += p.label * 0.35
			}
			q.take(q.x(d.X.Num), q.y(d.Y.Num), half)
			if p.fig.Cloud.Joined && i > 0 {
				e := c.Dots[i-1]
				q.takeLine(q.x(e.X.Num), q.y(e.Y.Num), q.x(d.X.Num), q.y(d.Y.Num))
			}
		}
	}
	if l := p.fig.Limit; l != nil {
		if l.Column == p.fig.Cloud.X {
			q.takeLine(q.x(l.Value), q.top, q.x(l.Value), q.bottom)
		} else {
			q.takeLine(q.x0, q.y(l.Value), q.x1, q.y(l.Value))
		}
	}
	// What decides gets its label first.
	sign, _ := p.face.readable(dagger)
	if !p.fig.Cloud.Joined {
		xy := p.frontLine(q)
		for i := 2; i+1 < len(xy); i += 2 {
			q.takeLine(xy[i-2], xy[i-1], xy[i], xy[i+1])
		}
	}
	few := p.dots <= mostLabelled
	short := map[string]string{}
	if !p.fig.Cloud.Joined && (few || p.frontSize() <= mostLabelled) {
		short = p.shortLabels((q.x1-q.x0)*0.26, few)
	}
	for _, decides := range []bool{true, false} {
		for i, c := range p.clouds {
			for _, d := range c.Dots {
				if d.Front != decides || !decides && !few {
					continue
				}
				if d.Label == "" && (d.Findings == 0 || p.quiet) {
					continue
				}
				text := d.Label
				if !p.fig.Cloud.Joined {
					if text = short[text]; text == "" && d.Label != "" {
						q.left++
						continue
					}
				}
				if d.Findings > 0 && !p.quiet {
					text = strings.TrimSpace(text + " " + sign)
				}
				x, y := q.x(d.X.Num), q.y(d.Y.Num)
				b, ok := q.put(text, x, y, p.label*0.6, p.small)
				if !ok {
					continue
				}
				col := ink
				if p.looks[i] < 0 || !decides && !p.fig.Cloud.Joined {
					col = soft
				}
				far := math.Max(math.Max(b.x0-x, x-b.x1), math.Max(b.y0-y, y-b.y1)) > p.label*1.6
				q.labels = append(q.labels, placed{b, col, x, y, far})
			}
		}
	}
	return q
}
