package chart

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// Bar draws one value a bar, from zero, in the order given. Up to eight bars with
// short labels stand upright; others, and grouped ones, lie, so that their labels
// stay readable. A mark without a value keeps its place with a cross and the reason,
// so that a failure is seen and is not a 0; one that no scale can hold is named in the
// footer. The error is ErrNothing when no mark has a value.
func Bar(f Figure) ([]byte, error) {
	if err := f.size(); err != nil {
		return nil, err
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	b := &bars{sheet: s}
	var missing, beyond []string
	for i, m := range f.Bars {
		if len(b.marks) == mostBars {
			b.beyond = len(f.Bars) - i
			break
		}
		if m.Value.Kind == core.KindNumber && !drawable(m.Value) {
			beyond = append(beyond, s.line(m.name())+" ("+Number(m.Value.Num)+" is out of range)")
			continue
		}
		if !drawable(m.Value) {
			missing = append(missing, s.line(m.name()))
			m.Value = core.Missing()
		} else {
			b.drawn++
		}
		b.add(m)
	}
	if b.drawn == 0 {
		return nil, fmt.Errorf("%w: no bar has a value for %s", ErrNothing, orName(f.Value, "its field"))
	}
	notes := f.Notes
	if n := repeatsNote(b.marks); n != "" {
		notes = append([]string{n}, notes...)
	}
	if n := lostNote(b.marks); n != "" {
		notes = append([]string{n}, notes...)
	}
	if len(missing) > 0 {
		notes = append([]string{fmt.Sprintf("no %s: %s", orName(f.Value, "value"), listed(missing, 6))}, notes...)
	}
	if len(beyond) > 0 {
		notes = append([]string{fmt.Sprintf("not drawn, no usable %s: %s", orName(f.Value, "value"), listed(beyond, 6))}, notes...)
	}
	upright := b.upright()
	s.fill(b.legend(), notes)
	if !upright {
		if cut := b.cut(); cut != "" {
			s.fill(b.legend(), append([]string{cut}, notes...))
		}
	} else if f.Height == 0 {
		f.Height = DefaultHeight
	}
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	if upright {
		b.drawUpright(c)
	} else {
		b.drawLying(c)
	}
	s.draw(c)
	return c.save(&f)
}

func orName(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// name is the label for the footer, with the group that it stands in.
func (m Mark) name() string {
	if m.Group == "" || m.Group == m.Label {
		return m.Label
	}
	return m.Group + ": " + m.Label
}

// bars are the marks that have a value, with their texts.
type bars struct {
	*sheet
	marks  []Mark
	labels []string // readable, with the dagger of findings
	values []string // number and note
	groups bool
	drawn  int // marks with a value
	beyond int // marks that no picture has room for
}

// mostBars is more than the tallest picture holds.
const mostBars = 500

const dagger = "†"

func (b *bars) add(m Mark) {
	label := m.Label
	if m.Findings > 0 {
		label += " " + dagger
	}
	value := Number(m.Value.Num)
	if !drawable(m.Value) {
		value = orName(m.Failure, "no value")
	} else if m.Note != "" {
		value += " (" + m.Note + ")"
	}
	m.Group = b.line(m.Group)
	b.marks = append(b.marks, m)
	b.labels = append(b.labels, b.line(label))
	b.values = append(b.values, b.line(value))
	b.groups = b.groups || m.Group != ""
}

func (b *bars) axis(want int) axis {
	lo, hi := 0.0, 0.0
	for _, m := range b.marks {
		low, high := m.reach()
		lo, hi = math.Min(lo, low), math.Max(hi, high)
	}
	return newAxis(lo, hi, want)
}

// legend explains every look that is used, and nothing else.
func (b *bars) legend() []key {
	var keys []key
	box := func(paint func(c *canvas, x0, y0, x1, y1 float64)) func(*canvas, float64, float64) {
		return func(c *canvas, x, y float64) { paint(c, x, y-6, x+keyWidth, y+6) }
	}
	add := func(text string, has func(Mark) bool, draw func(*canvas, float64, float64)) {
		for _, m := range b.marks {
			if has(m) {
				keys = append(keys, key{text, draw})
				return
			}
		}
	}
	text := "baseline"
	if _, ok := b.reference(); ok {
		text = "baseline; dashed line at its value"
	}
	add(text, func(m Mark) bool { return m.Emphasis == Baseline }, box((*canvas).hatch))
	add("best", func(m Mark) bool { return m.Emphasis == Best }, box(func(c *canvas, x0, y0, x1, y1 float64) { c.rect(x0, y0, x1, y1, orange) }))
	add("void: must not decide", func(m Mark) bool { return m.Void }, box(func(c *canvas, x0, y0, x1, y1 float64) { c.frame(x0, y0, x1, y1, ink, 2) }))
	add("repeats: smallest to largest", func(m Mark) bool { return drawable(m.Low) }, func(c *canvas, x, y float64) {
		c.whiskerH(x+3, x+keyWidth-3, y, 4)
	})
	add("no value", func(m Mark) bool { return !drawable(m.Value) }, func(c *canvas, x, y float64) { c.cross(x+keyWidth/2, y, 4, failRed) })
	mark, _ := b.face.readable(dagger)
	add("audit findings on the trial", func(m Mark) bool { return m.Findings > 0 },
		func(c *canvas, x, y float64) { c.text(mark, x+keyWidth, y, b.label, right, ink) })
	return keys
}

// reach is how far a mark extends along the scale.
func (m Mark) reach() (low, high float64) {
	low, high = m.Value.Num, m.Value.Num
	if drawable(m.Low) && drawable(m.High) {
		low, high = math.Min(low, m.Low.Num), math.Max(high, m.High.Num)
	}
	return low, high
}

// lostNote names the bars some of whose repeats have no value.
func lostNote(marks []Mark) string {
	var names []string
	for _, m := range marks {
		if m.Lost > 0 && drawable(m.Value) {
			names = append(names, fmt.Sprintf("%d of %s", m.Lost, orName(m.name(), "one")))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "repeats without a value, which do not count: " + listed(names, 6)
}

func (m Mark) paint(c *canvas, x0, y0, x1, y1 float64) {
	x0, x1 = math.Min(x0, x1), math.Max(x0, x1)
	y0, y1 = math.Min(y0, y1), math.Max(y0, y1)
	switch {
	case !drawable(m.Value) || x1-x0 < 1 || y1-y0 < 1:
	case m.Void && m.Emphasis == Baseline:
		c.hatch(x0, y0, x1, y1)
		c.frame(x0, y0, x1, y1, ink, 2)
	case m.Void:
		c.rect(x0, y0, x1, y1, white)
		c.frame(x0, y0, x1, y1, ink, 2)
	case m.Emphasis == Baseline:
		c.hatch(x0, y0, x1, y1)
	case m.Emphasis == Best:
		c.rect(x0, y0, x1, y1, orange)
	default:
		c.rect(x0, y0, x1, y1, bluish)
	}
}

// reference is the baseline's value when the bars have just one.
func (b *bars) reference() (v float64, ok bool) {
	n := 0
	for _, m := range b.marks {
		if m.Emphasis == Baseline && drawable(m.Value) {
			v = m.Value.Num
			n++
		}
	}
	return v, n == 1 && len(b.marks) > 1
}

// tag writes a value on a white ground, so that no rule runs through it.
func (b *bars) tag(c *canvas, s string, x, y float64, at align) {
	w := b.face.width(s, b.label)
	x0 := x
	switch at {
	case center:
		x0 -= w / 2
	case right:
		x0 -= w
	}
	c.rect(x0-2, y-b.label*0.6, x0+w+2, y+b.label*0.6, white)
	c.text(s, x, y, b.label, at, ink)
}

// upright reports whether the bars can stand: few of them, none grouped, every
// label whole in three lines and every value within its slot.
func (b *bars) upright() bool {
	if len(b.marks) > 8 || b.groups {
		return false
	}
	slot := (float64(b.fig.Width) - 2*b.pad - b.tickRoom(b.axis(6)) - b.label*1.8) / float64(len(b.marks))
	for i := range b.marks {
		if !b.face.fits(b.labels[i], b.label, slot*0.92, 3) || b.face.width(b.values[i], b.label) > slot*0.96 {
			return false
		}
	}
	return true
}

// tickRoom is the width of the widest tick label and its gap.
func (b *sheet) tickRoom(a axis) float64 {
	w := 0.0
	for _, t := range a.ticks {
		w = math.Max(w, b.face.width(a.label(t), b.small))
	}
	return w + b.label*0.6
}

func (b *bars) drawUpright(c *canvas) {
	lines := 1
	y0 := b.above() + b.label*1.4
	a := b.axis(6)
	x0 := b.pad + b.label*1.8 + b.tickRoom(a)
	x1 := float64(c.w) - b.pad
	slot := (x1 - x0) / float64(len(b.marks))
	for _, l := range b.labels {
		lines = max(lines, len(b.face.wrap(l, b.label, slot*0.92, 3)))
	}
	y1 := float64(c.h) - b.below() - b.label*(1.3*float64(lines)+0.8)
	want := int((y1 - y0) / (b.label * 3))
	a = b.axis(min(max(want, 2), 8))
	negative := a.lo < 0
	if negative {
		y1 -= b.label * 1.4
	}
	at := func(v float64) float64 { return math.Round(y1 - a.at(v)*(y1-y0)) }
	b.drawScale(c, a, x0, x1, at)
	name := b.axisTitle(b.fig, false, y1-y0)
	c.upright(name, b.pad+b.small*0.5, (y0+y1)/2, b.small, soft)
	thick := math.Min(slot*0.62, b.label*8)
	for i, m := range b.marks {
		mid := x0 + slot*(float64(i)+0.5)
		m.paint(c, math.Round(mid-thick/2), at(0), math.Round(mid+thick/2), at(m.Value.Num))
		if drawable(m.Low) {
			c.whiskerV(mid, at(m.Low.Num), at(m.High.Num), math.Min(thick/4, b.label*0.7))
		}
	}
	c.hline(x0, x1, at(0), soft)
	if v, ok := b.reference(); ok {
		c.dashedH(x0, x1, at(v), ink)
	}
	for i, m := range b.marks {
		mid := x0 + slot*(float64(i)+0.5)
		low, high := m.reach()
		y := at(high) - b.label*0.8
		if m.Value.Num < 0 {
			y = at(low) + b.label*0.9
		}
		if !drawable(m.Value) {
			c.cross(mid, at(0)-b.label*0.7, b.label*0.35, failRed)
			y -= b.label * 0.9
		}
		b.tag(c, b.values[i], mid, y, center)
		ly := y1 + b.label
		if negative {
			ly += b.label * 1.4
		}
		for _, l := range b.face.wrap(b.labels[i], b.label, slot*0.92, 3) {
			c.text(l, mid, ly, b.label, center, ink)
			ly += b.label * 1.3
		}
	}
}
