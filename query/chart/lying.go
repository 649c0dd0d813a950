package chart

import (
	"fmt"
	"math"
	"strings"
)

// headings counts the group titles among the first n marks.
func (b *bars) headings(n int) int {
	h := 0
	for i := range n {
		if b.heads(i) {
			h++
		}
	}
	return h
}

func (b *bars) heads(i int) bool {
	return b.marks[i].Group != "" && (i == 0 || b.marks[i-1].Group != b.marks[i].Group)
}

// labelShare of the width is what labels may take.
const labelShare = 0.36

func (b *bars) axisRoom() float64 { return b.small * 3.6 }

// cut fixes the height, where it was left open, and leaves out the bars that do
// not fit; it says so.
func (b *bars) cut() string {
	const tallest = 4000
	n := len(b.marks)
	around := b.above() + b.below() + b.axisRoom()
	if b.fig.Height == 0 {
		lines := 1
		for _, l := range b.labels {
			lines = max(lines, len(b.face.wrap(l, b.label, float64(b.fig.Width)*labelShare, 3)))
		}
		need := around + float64(b.headings(n))*b.label*1.9 + float64(n)*b.label*(1.25*float64(lines)+0.8)
		b.fig.Height = int(math.Min(math.Max(need, DefaultHeight), tallest))
	}
	room := float64(b.fig.Height) - around
	for n > 1 && float64(n+b.headings(n))*b.label*1.45 > room {
		n--
	}
	if n == len(b.marks) {
		return ""
	}
	// The sentence itself takes a line of the footer.
	for n > 1 && float64(n+b.headings(n))*b.label*1.45 > room-b.small*1.4 {
		n--
	}
	all := len(b.marks) + b.beyond
	b.marks, b.labels, b.values = b.marks[:n], b.labels[:n], b.values[:n]
	return fmt.Sprintf("showing the first %d of %d bars; a taller picture shows all", n, all)
}

func (b *bars) drawLying(c *canvas) {
	top := b.above()
	bottom := float64(c.h) - b.below() - b.axisRoom()
	heads := float64(b.headings(len(b.marks)))
	head := math.Min(b.label*1.9, (bottom-top)/(float64(len(b.marks))+heads))
	row := (bottom - top - head*heads) / float64(len(b.marks))
	lines := max(1, min(3, int(row/(b.label*1.25))))
	short, values, x0, x1, valueLeft := b.room(labelShare, lines, b.values)
	if narrow := float64(c.w) * 0.25; x1-x0 < narrow {
		short, values, x0, x1, valueLeft = b.room(0.24, lines, b.values)
		if x1-x0 < narrow {
			short, values, x0, x1, valueLeft = b.room(0.24, lines, b.numbers())
		}
	}
	a := b.axis(min(max(int((x1-x0)/(b.small*8)), 2), 8))
	at := func(v float64) float64 { return math.Round(x0 + a.at(v)*(x1-x0)) }
	for _, t := range a.ticks {
		c.vline(at(t), top, bottom, rule)
	}
	for _, t := range b.spacedTicks(a, at) {
		c.text(a.label(t), at(t), bottom+b.small*0.9, b.small, center, soft)
	}
	name := b.axisTitle(b.fig, false, float64(c.w)-2*b.pad)
	half := b.face.width(name, b.small) / 2
	middle := math.Max(math.Min((x0+x1)/2, float64(c.w)-b.pad-half), b.pad+half)
	c.text(name, middle, bottom+b.small*2.4, b.small, center, soft)

	place := make([]float64, len(b.marks))
	var headings []float64
	y := top
	thick := math.Min(row*0.66, b.label*4)
	for i, m := range b.marks {
		if b.heads(i) {
			headings = append(headings, y)
			y += head
		}
		place[i] = y + row/2
		m.paint(c, at(0), math.Round(place[i]-thick/2), at(m.Value.Num), math.Round(place[i]+thick/2))
		if drawable(m.Low) {
			c.whiskerH(at(m.Low.Num), at(m.High.Num), place[i], math.Min(thick/4, b.label*0.5))
		}
		y += row
	}
	c.vline(at(0), top, bottom, soft)
	if v, ok := b.reference(); ok {
		c.dashedV(at(v), top, bottom, ink)
	}
	for i, m := range b.marks {
		if b.heads(i) {
			b.heading(c, m.Group, headings[0], head)
			headings = headings[1:]
		}
	}
	for i, m := range b.marks {
		low, high := m.reach()
		switch {
		case !drawable(m.Value):
			c.cross(at(0)+b.label*0.9, place[i], b.label*0.35, failRed)
			b.tag(c, values[i], at(0)+b.label*1.7, place[i], left)
		case m.Value.Num < 0:
			b.tag(c, values[i], at(low)-b.label*0.6, place[i], right)
		default:
			b.tag(c, values[i], at(high)+b.label*0.6, place[i], left)
		}
		parts := strings.Split(short[i], "\n")
		ly := place[i] - float64(len(parts)-1)*b.label*0.6
		for _, l := range parts {
			c.text(l, x0-valueLeft-b.label*0.6, ly, b.label, right, ink)
			ly += b.label * 1.2
		}
	}
}

// heading writes the name of a group over a row of its own; no rule of the scale
// runs through it.
func (b *bars) heading(c *canvas, group string, y, high float64) {
	wide := float64(c.w) - 2*b.pad
	c.rect(b.pad, y, b.pad+wide, y+high, white)
	c.text(b.face.shorten(group, b.label, wide), b.pad, y+high-b.label*0.85, b.label, left, soft)
	c.hline(b.pad, b.pad+wide, y+high-2, rule)
}

// room divides the width between labels, at most the given share of it, values
// and the bars themselves, which run from x0 to x1. Values of negative bars stand
// to the left of them, in valueLeft.
func (b *bars) room(share float64, lines int, values []string) (short, shown []string, x0, x1, valueLeft float64) {
	wide, value, most := 0.0, 0.0, float64(b.fig.Width)*share
	for i, l := range b.labels {
		short = append(short, strings.Join(b.face.wrap(l, b.label, most, lines), "\n"))
		w := b.face.width(values[i], b.label) + b.label*1.2
		if b.marks[i].Value.Num < 0 {
			valueLeft = math.Max(valueLeft, w)
		} else {
			value = math.Max(value, w)
		}
	}
	short = distinct(b.labels, short)
	for _, l := range short {
		for line := range strings.SplitSeq(l, "\n") {
			wide = math.Max(wide, b.face.width(line, b.label))
		}
	}
	x0 = b.pad + wide + b.label*0.7 + valueLeft
	x1 = math.Max(float64(b.fig.Width)-b.pad-value, x0+20)
	return short, values, x0, x1, valueLeft
}

// numbers are the values without their notes, for a narrow picture.
func (b *bars) numbers() []string {
	var ns []string
	for _, m := range b.marks {
		if drawable(m.Value) {
			ns = append(ns, Number(m.Value.Num))
		} else {
			ns = append(ns, "failed")
		}
	}
	return ns
}

// spacedTicks are the ticks whose labels neither touch nor leave the picture;
// zero always has its label.
func (b *bars) spacedTicks(a axis, at func(float64) float64) []float64 {
	half := func(t float64) float64 { return b.face.width(a.label(t), b.small)/2 + b.small*0.3 }
	free := func(t float64, taken []float64) bool {
		if at(t)-half(t) < 0 || at(t)+half(t) > float64(b.fig.Width) {
			return false
		}
		for _, u := range taken {
			if math.Abs(at(t)-at(u)) < half(t)+half(u) {
				return false
			}
		}
		return true
	}
	var kept []float64
	for _, t := range a.ticks {
		if a.label(t) == "0" {
			kept = append(kept, t)
		}
	}
	for i := len(a.ticks) - 1; i >= 0; i-- {
		if t := a.ticks[i]; free(t, kept) {
			kept = append(kept, t)
		}
	}
	return kept
}
