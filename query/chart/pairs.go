package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// Pair is a value beside its baseline. Without one of the two it is not drawn but
// keeps its place.
type Pair struct {
	Label         string
	Before, After Mark
	Gain          core.Value // a share, positive when better
}

// pairs fills in the values of a question with vs beside their baselines.
func (d *reader) pairs(f *Figure, value int) error {
	base := d.index("base(" + d.a.Columns[value].Name + ")")
	if base < 0 {
		return d.lacks(fmt.Sprintf("base(%s): ask with vs, for example: max %[1]s by workload vs role == \"baseline\"", d.a.Columns[value].Name))
	}
	labels, err := d.labelColumns(d.opt.Label, value, -1)
	if err != nil {
		return err
	}
	// The gains and bases tell rows apart too, but name nothing.
	var names []int
	for _, i := range labels {
		if c := d.a.Columns[i]; d.opt.Label != nil || c.Type != core.NumberType || d.isKeyColumn(i) {
			names = append(names, i)
		}
	}
	for i, row := range d.a.Rows {
		p := Pair{Label: d.label(row, names), Before: Mark{Label: "baseline", Value: row[base], Emphasis: Baseline}, After: d.mark(i, value, names)}
		p.After.Emphasis = Plain
		if b, v := row[base], row[value]; drawable(b) && drawable(v) && b.Num != 0 {
			gain := (v.Num - b.Num) / math.Abs(b.Num)
			if f.Better == core.LowerBetter {
				gain = -gain
			}
			p.Gain = core.Number(gain)
		}
		if !drawable(row[base]) {
			p.Before.Failure = "no baseline"
		}
		f.Pairs = append(f.Pairs, p)
	}
	if f.Title == "" {
		f.Title = d.title(f.Value+" before and after,", "", names)
		if len(names) == 0 {
			f.Title = f.Value + " before and after"
		}
	}
	return nil
}

func (d *reader) isKeyColumn(col int) bool {
	return len(d.a.Groups) > 0 && col < len(d.a.Groups[0].Key) && d.isKey(col)
}

// BeforeAfter draws each value beside its baseline: standing where they fit, else
// lying. The error is ErrNothing when no pair has both.
func BeforeAfter(f Figure) ([]byte, error) {
	whole := false
	for _, p := range f.Pairs {
		whole = whole || drawable(p.Before.Value) && drawable(p.After.Value)
	}
	if !whole {
		return nil, fmt.Errorf("%w: no row has both %s and a baseline", ErrNothing, orName(f.Value, "a value"))
	}
	if err := f.size(); err != nil {
		return nil, err
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	b := &couples{bars: &bars{sheet: s}}
	for _, p := range f.Pairs {
		if drawable(p.Before.Value) {
			b.drawn++
		}
		b.add(p.Before)
		if drawable(p.Gain) {
			p.After.Note = signedGain(p.Gain.Num)
		}
		b.add(p.After)
		b.names = append(b.names, s.line(p.Label))
		b.gains = append(b.gains, p.Gain)
	}
	if !b.fits() {
		return lyingPairs(f)
	}
	if f.Height == 0 {
		f.Height = DefaultHeight
	}
	s.fill(b.keys(), f.Notes)
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	b.drawPairs(c)
	s.draw(c)
	return c.save(&f)
}

// signedGain says what a gain means, since lower may be better.
func signedGain(gain float64) string {
	word := "better"
	if gain < 0 {
		word = "worse"
	}
	if gain == 0 {
		return "equal"
	}
	return percentText(math.Abs(gain)) + " " + word
}

// lyingPairs draws the pairs as groups of two lying bars.
func lyingPairs(f Figure) ([]byte, error) {
	for _, p := range f.Pairs {
		group := orName(p.Label, "all")
		p.Before.Group, p.After.Group = group, group
		p.After.Label = "best found"
		if drawable(p.Gain) {
			p.After.Note = signedGain(p.Gain.Num)
		}
		f.Bars = append(f.Bars, p.Before, p.After)
	}
	return Bar(f)
}

// couples are bars in twos: that of the baseline and that of the value.
type couples struct {
	*bars
	names []string
	gains []core.Value
}

func (b *couples) keys() []key {
	keys := b.legend()
	for i := range keys {
		if keys[i].text == "baseline; dashed line at its value" {
			keys[i].text = "baseline"
		}
	}
	if !slices.ContainsFunc(b.marks, func(m Mark) bool { return m.Emphasis == Plain && !m.Void && drawable(m.Value) }) {
		return keys
	}
	after := key{"best found", func(c *canvas, x, y float64) { c.rect(x, y-6, x+keyWidth, y+6, bluish) }}
	return append(keys[:1:1], append([]key{after}, keys[1:]...)...)
}

func (b *couples) slot() float64 {
	return (float64(b.fig.Width) - 2*b.pad - b.tickRoom(b.axis(6)) - b.label*1.8) / float64(len(b.names))
}

// thick is the width of one bar.
func (b *couples) thick() float64 { return math.Min(b.slot()*0.36, b.label*7) }

func (b *couples) fits() bool {
	if len(b.names) > 8 {
		return false
	}
	for i, name := range b.names {
		if !b.face.fits(name, b.label, b.slot()*0.92, 3) || b.face.width(b.gainText(i), b.label) > b.slot()*0.96 {
			return false
		}
		for k := range 2 {
			if b.face.width(b.number(2*i+k), b.label) > b.thick()+b.label*0.3 {
				return false
			}
		}
	}
	return true
}

func (b *couples) number(i int) string {
	if m := b.marks[i]; !drawable(m.Value) {
		return orName(m.Failure, "no value")
	}
	return Number(b.marks[i].Value.Num)
}

func (b *couples) gainText(i int) string {
	if drawable(b.gains[i]) {
		return signedGain(b.gains[i].Num)
	}
	return ""
}

func (b *couples) drawPairs(c *canvas) {
	y0 := b.above() + b.label*3
	x0 := b.pad + b.label*1.8 + b.tickRoom(b.axis(6))
	x1 := float64(c.w) - b.pad
	lines := 1
	for _, n := range b.names {
		lines = max(lines, len(b.face.wrap(n, b.label, b.slot()*0.92, 3)))
	}
	y1 := float64(c.h) - b.below() - b.label*(1.3*float64(lines)+0.8)
	a := b.axis(min(max(int((y1-y0)/(b.label*3)), 2), 8))
	at := func(v float64) float64 { return math.Round(y1 - a.at(v)*(y1-y0)) }
	b.drawScale(c, a, x0, x1, at)
	name := b.axisTitle(b.fig, false, y1-y0)
	c.upright(name, b.pad+b.small*0.5, (y0+y1)/2, b.small, soft)
	slot := (x1 - x0) / float64(len(b.names))
	thick := math.Round(math.Min(slot*0.36, b.label*7))
	sign, _ := b.face.readable(dagger)
	for i := range b.names {
		mid := math.Round(x0 + slot*(float64(i)+0.5))
		top := at(0)
		for k, side := range []float64{-1, 1} {
			m := b.marks[2*i+k]
			centre := mid + side*(thick/2+2)
			if !drawable(m.Value) {
				c.cross(centre, at(0)-b.label*0.7, b.label*0.35, failRed)
				b.tag(c, b.number(2*i+k), centre, at(0)-b.label*1.8, center)
				top = math.Min(top, at(0)-b.label*1.8)
				continue
			}
			m.paint(c, centre-thick/2, at(0), centre+thick/2, at(m.Value.Num))
			y := at(math.Max(m.Value.Num, 0)) - b.label*0.8
			text := b.number(2*i + k)
			if m.Findings > 0 {
				text += " " + sign
			}
			b.tag(c, text, centre, y, center)
			top = math.Min(top, y)
		}
		if g := b.gainText(i); g != "" {
			col := palette[2]
			if b.gains[i].Num < 0 {
				col = failRed
			}
			w := b.face.width(g, b.label)
			c.rect(mid-w/2-2, top-b.label*1.9, mid+w/2+2, top-b.label*0.7, white)
			c.text(g, mid, top-b.label*1.3, b.label, center, col)
		}
		ly := y1 + b.label
		for _, l := range b.face.wrap(b.names[i], b.label, slot*0.92, 3) {
			c.text(l, mid, ly, b.label, center, ink)
			ly += b.label * 1.3
		}
	}
	c.hline(x0, x1, at(0), soft)
}
