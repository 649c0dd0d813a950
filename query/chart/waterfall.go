package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Waterfall draws what each stage adds to the best so far, with the band in which a
// difference is noise, and the final value beside the first.
func Waterfall(f Figure) ([]byte, error) {
	if err := f.size(); err != nil {
		return nil, err
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	w := &waterfall{sheet: s}
	if !w.read() {
		return nil, fmt.Errorf("%w: no stage has a value for %s", ErrNothing, orName(f.Value, "its field"))
	}
	notes := f.Notes
	if f.Noise != nil {
		notes = append([]string{f.Noise.Text}, notes...)
	}
	row := w.label * 2.9
	s.fill(w.legend(), notes)
	if f.Height == 0 {
		f.Height = int(math.Min(math.Max(w.above()+w.below()+w.axisRoom()+float64(len(w.steps))*row, 460), 4000))
		s.fill(w.legend(), notes)
	} else if cut := w.cut(); cut != "" {
		s.fill(w.legend(), append([]string{cut}, notes...))
		w.cut()
	}
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	w.draw(c)
	s.draw(c)
	return c.save(&f)
}

type waterfall struct {
	*sheet
	steps       []Step
	first, last float64
	total       bool // the last of steps is the sum
}

// read makes texts readable and adds the row of the sum.
func (w *waterfall) read() bool {
	known := false
	for _, st := range w.fig.Steps {
		st.Label, st.Detail, st.Failure = w.line(st.Label), w.line(st.Detail), w.line(st.Failure)
		if v := st.Value; drawable(v) {
			if !known {
				w.first, w.last, known = v.Num, v.Num, true
			}
			if (v.Num-w.last)*float64(w.fig.Better) > 0 {
				w.last = v.Num
			}
		} else {
			st.Value = core.Missing()
		}
		if !drawable(st.Before) {
			st.Before = core.Missing()
		}
		w.steps = append(w.steps, st)
	}
	if known && len(w.steps) > 1 {
		w.total = true
		w.steps = append(w.steps, Step{Label: "best of all", Value: core.Number(w.last)})
	}
	return known
}

// cut leaves out the last stages of a picture that is too low for all, and says so.
func (w *waterfall) cut() string {
	room := float64(w.fig.Height) - w.above() - w.below() - w.axisRoom()
	n := max(int(room/(w.label*1.35)), 2)
	if n >= len(w.steps) {
		return ""
	}
	all := len(w.fig.Steps)
	w.steps = append(w.steps[:n-1:n-1], w.steps[len(w.steps)-1])
	return fmt.Sprintf("showing the first %d of %d stages; a taller picture shows all", n-1, all)
}

func (w *waterfall) axisRoom() float64 { return w.small * 3.6 }

func (w *waterfall) legend() []key {
	fill := func(col color) func(*canvas, float64, float64) {
		return func(c *canvas, x, y float64) { c.rect(x, y-6, x+keyWidth, y+6, col) }
	}
	keys := []key{{"start and end", fill(grey)}}
	is := func(has func(Step) bool) bool { return slices.ContainsFunc(w.inner(), has) }
	if is(func(st Step) bool { return drawable(st.Value) && st.Gained && !st.Void }) {
		keys = append(keys, key{"gain beyond the noise", fill(bluish)})
	}
	if is(func(st Step) bool { return drawable(st.Value) && !st.Gained && !st.Void }) {
		keys = append(keys, key{"best of a stage, no gain beyond the noise", func(c *canvas, x, y float64) { noGain(c, x, y-6, x+keyWidth, y+6) }})
	}
	if is(func(st Step) bool { return st.Void }) {
		keys = append(keys, key{"void: must not decide", func(c *canvas, x, y float64) { c.frame(x, y-6, x+keyWidth, y+6, ink, 2) }})
	}
	if w.fig.Noise != nil {
		keys = append(keys, key{"within the noise of the best so far", fill(band)})
	}
	for _, st := range w.steps {
		if st.Value.IsMissing() {
			keys = append(keys, key{"no value", func(c *canvas, x, y float64) { c.cross(x+keyWidth/2, y, 4, failRed) }})
			break
		}
	}
	for _, st := range w.steps {
		if st.Findings > 0 {
			sign, _ := w.face.readable(dagger)
			keys = append(keys, key{"audit findings on the trial", func(c *canvas, x, y float64) { c.text(sign, x+keyWidth, y, w.label, right, ink) }})
			break
		}
	}
	return keys
}

// inner are the steps between start and end.
func (w *waterfall) inner() []Step {
	if w.total {
		return w.steps[1 : len(w.steps)-1]
	}
	return nil
}

// noGain is the look of a stage that did not help.
func noGain(c *canvas, x0, y0, x1, y1 float64) {
	c.rect(x0, y0, x1, y1, pale)
	c.frame(x0, y0, x1, y1, grey, 1)
}

func (w *waterfall) value(st Step, narrow bool) string {
	if st.Value.IsMissing() {
		return orName(st.Failure, "no value")
	}
	text := Number(st.Value.Num)
	if narrow {
		return text
	}
	if st.Before.Kind == core.KindNumber && st.Before.Num != 0 {
		text += " (" + signed(st.Value.Num/st.Before.Num-1) + ")"
	} else if w.total && st.Label == "best of all" && w.first != 0 {
		text += " (" + signed(w.last/w.first-1) + ")"
	}
	if st.Findings > 0 {
		sign, _ := w.face.readable(dagger)
		text += " " + sign
	}
	return text
}

func (w *waterfall) draw(c *canvas) {
	top, bottom := w.above(), float64(c.h)-w.below()-w.axisRoom()
	row := (bottom - top) / float64(len(w.steps))
	share := 0.30
	wide, value, hi, lo := 0.0, 0.0, 0.0, 0.0
	narrow := float64(c.w) < 480
	for _, st := range w.steps {
		texts := []string{st.Label, st.Detail}
		if row < w.label*2.4 && st.Detail != "" && st.Detail != st.Label {
			texts = []string{st.Label + ": " + st.Detail}
		}
		for _, t := range texts {
			wide = math.Max(wide, math.Min(w.face.width(t, w.label), float64(c.w)*share))
		}
		value = math.Max(value, w.face.width(w.value(st, narrow), w.label)+w.label*1.2)
		hi, lo = math.Max(hi, st.Value.Num), math.Min(lo, st.Value.Num)
	}
	if w.fig.Noise != nil {
		hi *= 1 + w.fig.Noise.Share
	}
	x0 := w.pad + wide + w.label
	x1 := math.Max(float64(c.w)-w.pad-value, x0+40)
	a := newAxis(lo, hi, min(max(int((x1-x0)/(w.small*8)), 2), 8))
	at := func(v float64) float64 { return math.Round(x0 + a.at(v)*(x1-x0)) }
	for _, t := range a.ticks {
		c.vline(at(t), top, bottom, rule)
	}
	free := math.Inf(-1)
	for _, t := range a.ticks {
		half := w.face.width(a.label(t), w.small)/2 + w.small*0.3
		if at(t)-half < free || at(t)+half > float64(c.w) {
			continue
		}
		c.text(a.label(t), at(t), bottom+w.small*0.9, w.small, center, soft)
		free = at(t) + half
	}
	name := w.axisTitle(w.fig, false, float64(c.w)-2*w.pad)
	half := w.face.width(name, w.small) / 2
	c.text(name, math.Max(math.Min((x0+x1)/2, float64(c.w)-w.pad-half), w.pad+half), bottom+w.small*2.4, w.small, center, soft)

	thick := math.Min(row*0.6, w.label*2)
	running := w.first
	for i, st := range w.steps {
		y := top + row*(float64(i)+0.5)
		y0, y1 := math.Round(y-thick/2), math.Round(y+thick/2)
		end := i == 0 || w.total && i == len(w.steps)-1
		textAt := at(0)
		if w.fig.Noise != nil && !end && st.Before.Kind == core.KindNumber {
			c.rect(at(st.Before.Num*(1-w.fig.Noise.Share)), y-row/2, at(st.Before.Num*(1+w.fig.Noise.Share)), y+row/2, band)
		}
		switch {
		case st.Value.IsMissing():
			c.cross(at(0)+w.label*0.9, y, w.label*0.35, failRed)
			textAt += w.label * 1.2
		case end:
			c.rect(at(0), y0, at(st.Value.Num), y1, grey)
			textAt = at(st.Value.Num)
		default:
			from, to := at(st.Before.Num), at(st.Value.Num)
			from, to = math.Min(from, to), max(from, to, from+3)
			if st.Before.IsMissing() {
				from = at(0)
			}
			switch {
			case st.Void:
				c.rect(from, y0, to, y1, white)
				c.frame(from, y0, to, y1, ink, 2)
			case st.Gained:
				c.rect(from, y0, to, y1, bluish)
			default:
				noGain(c, from, y0, to, y1)
			}
			textAt = math.Max(to, at(st.Before.Num))
			if w.fig.Noise != nil {
				textAt = math.Max(textAt, at(st.Before.Num*(1+w.fig.Noise.Share)))
			}
		}
		if drawable(st.Value) && (st.Value.Num-running)*float64(w.fig.Better) > 0 {
			running = st.Value.Num
		}
		// The best so far goes on to the next stage.
		if i+1 < len(w.steps) {
			from, to := y1, y+row-thick/2
			if st.Value.IsMissing() {
				from = y - thick/2
			}
			if w.steps[i+1].Value.IsMissing() {
				to = y + row/2
			}
			c.vline(at(running), from, to, soft)
		}
		label := w.face.shorten(st.Label, w.label, wide)
		if st.Detail != "" && st.Detail != st.Label && row < w.label*2.4 {
			both := st.Label + ": " + st.Detail
			c.text(w.face.shorten(both, w.label, wide), w.pad, y, w.label, left, ink)
		} else if st.Detail != "" && st.Detail != st.Label {
			c.text(label, w.pad, y-w.label*0.62, w.label, left, ink)
			c.text(w.face.shorten(st.Detail, w.small, wide), w.pad, y+w.label*0.62, w.small, left, soft)
		} else {
			c.text(label, w.pad, y, w.label, left, ink)
		}
		text := w.value(st, narrow)
		tw := w.face.width(text, w.label)
		c.rect(textAt+w.label*0.4, y-w.label*0.6, textAt+w.label*0.8+tw, y+w.label*0.6, white)
		c.text(strings.TrimSpace(text), textAt+w.label*0.6, y, w.label, left, ink)
	}
	c.vline(at(0), top, bottom, soft)
}
