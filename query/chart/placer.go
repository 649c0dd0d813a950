package chart

import "math"

// box is a rectangle of the picture, with the text that it holds, if any.
type box struct {
	x0, y0, x1, y1 float64
	text           string
}

func (b box) meets(o box) bool {
	return math.Min(b.x1, o.x1) > math.Max(b.x0, o.x0) && math.Min(b.y1, o.y1) > math.Max(b.y0, o.y0)
}

func (b box) inside(o box) bool {
	return b.x0 >= o.x0 && b.x1 <= o.x1 && b.y0 >= o.y0 && b.y1 <= o.y1
}

// placer finds room for labels beside points, so that none lies on a point or on
// another label.
type placer struct {
	face   face
	within box
	taken  []box
	left   int // labels for which there was no room
}

func newPlacer(f face, within box) *placer { return &placer{face: f, within: within} }

// take keeps the place of a marker free.
func (p *placer) take(x, y, half float64) {
	p.taken = append(p.taken, box{x0: x - half, y0: y - half, x1: x + half, y1: y + half})
}

// takeLine keeps the way of a line between two points free.
func (p *placer) takeLine(x0, y0, x1, y1 float64) {
	const step = 8
	n := int(math.Hypot(x1-x0, y1-y0)/step) + 1
	for i := 1; i < n; i++ {
		t := float64(i) / float64(n)
		p.take(x0+(x1-x0)*t, y0+(y1-y0)*t, 2)
	}
}

// put finds room for a text beside the point (x, y), gap away from it: above right
// first, then around it, then farther away.
func (p *placer) put(text string, x, y, gap, size float64) (box, bool) {
	w, h := p.face.width(text, size), size*0.9
	for _, far := range []float64{1, 1.9, 3} {
		d := gap * far
		for _, at := range [][2]float64{
			{x + d*0.7, y - d*0.7 - h}, {x - w/2, y - d - h}, {x + d, y - h/2}, {x - w - d*0.7, y - d*0.7 - h},
			{x + d*0.7, y + d*0.7}, {x - w/2, y + d}, {x - w - d, y - h/2}, {x - w - d*0.7, y + d*0.7},
		} {
			b := box{math.Round(at[0]), math.Round(at[1]), math.Round(at[0]) + w, math.Round(at[1]) + h, text}
			if p.free(b) {
				p.taken = append(p.taken, box{b.x0 - 2, b.y0 - 1, b.x1 + 2, b.y1 + 1, text})
				return b, true
			}
		}
	}
	p.left++
	return box{}, false
}

func (p *placer) free(b box) bool {
	if !b.inside(p.within) {
		return false
	}
	for _, t := range p.taken {
		if b.meets(t) {
			return false
		}
	}
	return true
}
