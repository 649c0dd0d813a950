package chart

import (
	"bytes"
	"fmt"
	"html"
	"math"

	gochart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

type color = drawing.Color

// The colours are those of Okabe and Ito, which stay apart for colour-blind
// readers, in an order in which neighbours differ in lightness too.
var (
	white    = color{R: 255, G: 255, B: 255, A: 255}
	ink      = color{R: 0x22, G: 0x26, B: 0x2b, A: 255}
	soft     = color{R: 0x5a, G: 0x62, B: 0x6b, A: 255}
	rule     = color{R: 0xe3, G: 0xe6, B: 0xea, A: 255}
	bluish   = color{R: 0x00, G: 0x72, B: 0xb2, A: 255}
	orange   = color{R: 0xe6, G: 0x9f, B: 0x00, A: 255}
	grey     = color{R: 0x7b, G: 0x84, B: 0x8d, A: 255}
	pale     = color{R: 0xe8, G: 0xea, B: 0xed, A: 255}
	palette  = []color{bluish, orange, {R: 0x00, G: 0x9e, B: 0x73, A: 255}, {R: 0xcc, G: 0x79, B: 0xa7, A: 255}, {R: 0x56, G: 0xb4, B: 0xe9, A: 255}, {R: 0xd5, G: 0x5e, B: 0x00, A: 255}, ink, {R: 0x8c, G: 0x6d, B: 0x1f, A: 255}}
	failRed  = color{R: 0xb0, G: 0x2a, B: 0x1a, A: 255}
	shade    = color{R: 0xf6, G: 0xed, B: 0xe9, A: 255}
	band     = color{R: 0xd5, G: 0xe6, B: 0xf2, A: 255}
	faint    = color{R: 0xb4, G: 0xba, B: 0xc1, A: 255}
	noColor  = color{}
	textSlip = 0.36 // half the height of a capital letter, in parts of the font size
)

// canvas draws on one of go-chart's renderers. Rules and boxes are filled
// rectangles on whole pixels, which stay crisp where a stroked line would blur.
type canvas struct {
	r    gochart.Renderer
	face face
	svg  bool
	w, h int
	used map[rune]bool // letters written, for the font of an SVG
}

// note remembers the letters of a text.
func (c *canvas) note(s string) {
	for _, r := range s {
		c.used[r] = true
	}
}

func newCanvas(f *Figure, fc face) (*canvas, error) {
	provider := gochart.PNG
	if f.Format == SVG {
		provider = gochart.SVG
	}
	r, err := provider(f.Width, f.Height)
	if err != nil {
		return nil, fmt.Errorf("chart canvas: %w", err)
	}
	font, err := gochart.GetDefaultFont()
	if err != nil {
		return nil, fmt.Errorf("chart font: %w", err)
	}
	// A point becomes a pixel at 72 dots per inch in SVG, but at 64 in PNG, whose
	// renderer multiplies points by dots where 1/64 pixels are meant.
	if f.Format == SVG {
		r.SetDPI(72)
	} else {
		r.SetDPI(64)
	}
	r.SetFont(font)
	c := &canvas{r: r, face: fc, svg: f.Format == SVG, w: f.Width, h: f.Height, used: map[rune]bool{}}
	c.rect(0, 0, float64(c.w), float64(c.h), white)
	return c, nil
}

func px(v float64) int { return int(math.Round(v)) }

// pen sets both colours, because the SVG renderer fills what it strokes and
// strokes what it fills unless told otherwise.
func (c *canvas) pen(fill, stroke color, width float64, dash []float64) {
	c.r.SetFillColor(fill)
	c.r.SetStrokeColor(stroke)
	c.r.SetStrokeWidth(width)
	c.r.SetStrokeDashArray(dash)
}

func (c *canvas) polygon(fill color, xy ...float64) {
	c.pen(fill, noColor, 0, nil)
	c.r.MoveTo(px(xy[0]), px(xy[1]))
	for i := 2; i+1 < len(xy); i += 2 {
		c.r.LineTo(px(xy[i]), px(xy[i+1]))
	}
	c.r.Close()
	c.r.Fill()
}

func (c *canvas) rect(x0, y0, x1, y1 float64, fill color) {
	c.polygon(fill, x0, y0, x1, y0, x1, y1, x0, y1)
}

// frame is the outline of a rectangle, drawn inside of it.
func (c *canvas) frame(x0, y0, x1, y1 float64, col color, width float64) {
	c.rect(x0, y0, x1, y0+width, col)
	c.rect(x0, y1-width, x1, y1, col)
	c.rect(x0, y0, x0+width, y1, col)
	c.rect(x1-width, y0, x1, y1, col)
}

// hatch fills a rectangle with stripes, so that it differs from a plain one
// without colour too.
func (c *canvas) hatch(x0, y0, x1, y1 float64) {
	x0, y0, x1, y1 = math.Round(x0), math.Round(y0), math.Round(x1), math.Round(y1)
	if x1 <= x0 || y1 <= y0 {
		return
	}
	c.rect(x0, y0, x1, y1, pale)
	c.pen(noColor, grey, 1, nil)
	for d := 7.0; d < (x1-x0)+(y1-y0); d += 7 {
		ax, ay := x0+d, y0
		if ax > x1 {
			ax, ay = x1, y0+d-(x1-x0)
		}
		bx, by := x0, y0+d
		if by > y1 {
			bx, by = x0+d-(y1-y0), y1
		}
		c.r.MoveTo(px(ax), px(ay))
		c.r.LineTo(px(bx), px(by))
		c.r.Stroke()
	}
	c.frame(x0, y0, x1, y1, grey, 1)
}

// vline and hline are rules one pixel wide.
func (c *canvas) vline(x, y0, y1 float64, col color) {
	x = math.Round(x)
	c.rect(x, y0, x+1, y1, col)
}

func (c *canvas) hline(x0, x1, y float64, col color) {
	y = math.Round(y)
	c.rect(x0, y, x1, y+1, col)
}

func (c *canvas) dashedV(x, y0, y1 float64, col color) {
	for y := y0; y < y1; y += 8 {
		c.vline(x, y, math.Min(y+4, y1), col)
	}
}

func (c *canvas) dashedH(x0, x1, y float64, col color) {
	for x := x0; x < x1; x += 8 {
		c.hline(x, math.Min(x+4, x1), y, col)
	}
}

// polyline draws lines two pixels wide from each point (x, y) to the next.
func (c *canvas) polyline(col color, dash []float64, xy []float64) {
	if len(xy) < 4 {
		return
	}
	// The rasteriser takes the square of the points that share a row of pixels, so that a
	// long line is drawn in pieces.
	const piece = 120
	for len(xy) > 2*piece {
		c.polyline(col, dash, xy[:piece])
		xy = xy[piece-2:]
	}
	c.pen(noColor, col, 2, dash)
	c.r.MoveTo(px(xy[0]), px(xy[1]))
	for i := 2; i+1 < len(xy); i += 2 {
		c.r.LineTo(px(xy[i]), px(xy[i+1]))
	}
	c.r.Stroke()
}

func (c *canvas) disc(x, y, radius float64, col color) {
	c.pen(col, noColor, 0, nil)
	if c.svg {
		c.r.Circle(radius, px(x), px(y))
		return
	}
	c.r.MoveTo(px(x+radius), px(y))
	c.r.ArcTo(px(x), px(y), radius, radius, 0, 2*math.Pi)
	c.r.Close()
	c.r.Fill()
}

// marker draws the shape of the i-th series, so that series differ without colour,
// with a white rim, so that markers that overlap can be counted.
func (c *canvas) marker(i int, x, y, s float64, col color) {
	x, y = math.Round(x), math.Round(y)
	c.shape(i, x, y, s+1, white)
	c.shape(i, x, y, s, col)
}

// hollow is marker as an outline.
func (c *canvas) hollow(i int, x, y, s float64, col color) {
	c.marker(i, x, y, s+1, col)
	c.shape(i, math.Round(x), math.Round(y), s-1, white)
}

func (c *canvas) shape(i int, x, y, s float64, col color) {
	switch i % 5 {
	case 0:
		c.disc(x, y, s, col)
	case 1:
		c.rect(x-s, y-s, x+s, y+s, col)
	case 2:
		c.polygon(col, x, y-s-1, x+s+1, y+s, x-s-1, y+s)
	case 3:
		c.polygon(col, x, y-s-2, x+s+2, y, x, y+s+2, x-s-2, y)
	case 4:
		c.polygon(col, x, y+s+1, x+s+1, y-s, x-s-1, y-s)
	}
}

// cross marks a place where a value should be and is not.
func (c *canvas) cross(x, y, s float64, col color) {
	c.polyline(col, nil, []float64{x - s, y - s, x + s, y + s})
	c.polyline(col, nil, []float64{x - s, y + s, x + s, y - s})
}

// whiskerV and whiskerH are lines with a cap at either end, on a white ground, so that
// they show on a bar of any colour.
func (c *canvas) whiskerV(x, y0, y1, wing float64) {
	x, y0, y1 = math.Round(x), math.Min(y0, y1), math.Max(y0, y1)
	wing = math.Round(wing)
	for _, p := range []struct {
		grow float64
		col  color
	}{{1, white}, {0, ink}} {
		c.rect(x-p.grow, y0, x+1+p.grow, y1, p.col)
		c.rect(x-wing-p.grow, y0-p.grow, x+wing+1+p.grow, y0+1+p.grow, p.col)
		c.rect(x-wing-p.grow, y1-p.grow, x+wing+1+p.grow, y1+1+p.grow, p.col)
	}
	c.rect(x, y0, x+1, y1, ink)
}

func (c *canvas) whiskerH(x0, x1, y, wing float64) {
	y, x0, x1 = math.Round(y), math.Round(math.Min(x0, x1)), math.Round(math.Max(x0, x1))
	wing = math.Round(wing)
	for _, p := range []struct {
		grow float64
		col  color
	}{{1, white}, {0, ink}} {
		c.rect(x0, y-p.grow, x1, y+1+p.grow, p.col)
		c.rect(x0-p.grow, y-wing-p.grow, x0+1+p.grow, y+wing+1+p.grow, p.col)
		c.rect(x1-p.grow, y-wing-p.grow, x1+1+p.grow, y+wing+1+p.grow, p.col)
	}
	c.rect(x0, y, x1, y+1, ink)
}

// thread joins a label to its point.
func (c *canvas) thread(x0, y0, x1, y1 float64) {
	c.pen(noColor, faint, 1, nil)
	c.r.MoveTo(px(x0), px(y0))
	c.r.LineTo(px(x1), px(y1))
	c.r.Stroke()
}

// ring is a circle around a marker.
func (c *canvas) ring(x, y, radius float64, col color) {
	c.pen(noColor, col, 2, nil)
	if c.svg {
		c.r.Circle(radius, px(x), px(y))
		return
	}
	c.r.MoveTo(px(x+radius), px(y))
	c.r.ArcTo(px(x), px(y), radius, radius, 0, 2*math.Pi)
	c.r.Close()
	c.r.Stroke()
}

// arrow points up or down; the built-in font has none.
func (c *canvas) arrow(x, y, s float64, up bool, col color) {
	if up {
		c.polygon(col, x, y-s, x+s, y+s*0.7, x-s, y+s*0.7)
	} else {
		c.polygon(col, x, y+s, x+s, y-s*0.7, x-s, y-s*0.7)
	}
}

// align says which part of a text lies at x.
type align uint8

const (
	left align = iota
	center
	right
)

// text writes one line whose capitals are centred on y.
func (c *canvas) text(s string, x, y, size float64, at align, col color) {
	switch at {
	case center:
		x -= c.face.width(s, size) / 2
	case right:
		x -= c.face.width(s, size)
	}
	c.r.SetFontSize(size)
	c.r.SetFontColor(col)
	c.note(s)
	if c.svg {
		s = html.EscapeString(s) // go-chart writes the text as it is
	}
	c.r.Text(s, px(x), px(y+textSlip*size))
}

// upright writes one line that reads from bottom to top, centred on (x, y).
func (c *canvas) upright(s string, x, y, size float64, col color) {
	c.r.SetFontSize(size)
	c.r.SetFontColor(col)
	half := c.face.width(s, size) / 2
	c.note(s)
	if c.svg {
		s = html.EscapeString(s)
	}
	c.r.SetTextRotation(-math.Pi / 2)
	c.r.Text(s, px(x+textSlip*size), px(y+half))
	c.r.ClearTextRotation()
}

func (c *canvas) save(f *Figure) ([]byte, error) {
	var b bytes.Buffer
	if err := c.r.Save(&b); err != nil {
		return nil, fmt.Errorf("write chart: %w", err)
	}
	if c.svg {
		return finishSVG(b.String(), f, c.w, c.h, c.used)
	}
	return finishPNG(b.Bytes(), f)
}
