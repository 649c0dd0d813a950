package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

var sizes = [][2]int{{0, 0}, {1200, 700}, {640, 400}, {320, 240}}

// each draws every figure at every size.
func each(t *testing.T, format chart.Format, do func(t *testing.T, name string, f chart.Figure, data []byte)) {
	t.Helper()
	draw := func(kind string, figures map[string]chart.Figure, draw func(chart.Figure) ([]byte, error)) {
		for name, f := range figures {
			for _, size := range sizes {
				if format == chart.PNG && size[0] == 1200 {
					continue // the default is as large
				}
				f.Format, f.Width, f.Height = format, size[0], size[1]
				name := fmt.Sprintf("%s-%s-%d", kind, name, size[0])
				data, err := draw(f)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				do(t, name, f, data)
			}
		}
	}
	draw("bar", barFigures(), chart.Bar)
	draw("line", lineFigures(), chart.Lines)
}

func TestPNGHasTheSizeAskedFor(t *testing.T) {
	each(t, chart.PNG, func(t *testing.T, name string, f chart.Figure, data []byte) {
		conf, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if f.Height != 0 && (conf.Width != f.Width || conf.Height != f.Height) {
			t.Errorf("%s: %d×%d", name, conf.Width, conf.Height)
		}
	})
}

func TestEqualFiguresGiveEqualBytes(t *testing.T) {
	for _, format := range []chart.Format{chart.PNG, chart.SVG} {
		f := barFigures()["stages"]
		f.Format = format
		a, errA := chart.Bar(f)
		b, errB := chart.Bar(f)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s bars differ (%v, %v)", format, errA, errB)
		}
		l := lineFigures()["curve"]
		l.Format = format
		a, _ = chart.Lines(l)
		// The order of points must not matter, only that of repeats at one x.
		slices.SortStableFunc(l.Series[0].Points, func(p, q chart.Point) int { return int(q.X.Num - p.X.Num) })
		if b, _ = chart.Lines(l); !bytes.Equal(a, b) {
			t.Errorf("%s lines depend on the order of points", format)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	empty := base()
	missing := bars(chart.Mark{Label: "a"}, chart.Mark{Label: "b", Value: core.String("fast")}, mark("c", math.NaN()))
	noY := base()
	noY.Series = []chart.Series{{Name: "a", Points: []chart.Point{{X: number(1)}, {Y: number(2)}}}}
	for name, draw := range map[string]func() ([]byte, error){
		"no bars":      func() ([]byte, error) { return chart.Bar(empty) },
		"no values":    func() ([]byte, error) { return chart.Bar(missing) },
		"no series":    func() ([]byte, error) { return chart.Lines(empty) },
		"no y, no x":   func() ([]byte, error) { return chart.Lines(noY) },
		"empty series": func() ([]byte, error) { f := base(); f.Series = []chart.Series{{Name: "a"}}; return chart.Lines(f) },
	} {
		data, err := draw()
		if !errors.Is(err, chart.ErrNothing) || data != nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

func TestUnreadableSizesAreRefused(t *testing.T) {
	for _, size := range [][2]int{{100, 700}, {1200, 100}, {-1, 700}, {1200, -700}, {100000, 700}} {
		f := barFigures()["few"]
		f.Width, f.Height = size[0], size[1]
		if _, err := chart.Bar(f); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%v: %v", size, err)
		}
	}
}

// columns of one colour: how high the tallest run of it is in each bar.
func heights(t *testing.T, data []byte, want func(r, g, b uint32) bool) []int {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	box := img.Bounds()
	var hs []int
	in := false
	for x := box.Min.X; x < box.Max.X; x++ {
		n := columnRun(img, x, want)
		if n > 8 && !in { // wider and higher than a letter
			hs, in = append(hs, 0), true
		}
		if n <= 8 {
			in = false
		} else {
			hs[len(hs)-1] = max(hs[len(hs)-1], n)
		}
	}
	return hs
}

func columnRun(img image.Image, x int, want func(r, g, b uint32) bool) int {
	n := 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		if r, g, b, _ := img.At(x, y).RGBA(); want(r>>8, g>>8, b>>8) {
			n++
		}
	}
	return n
}

func blue(r, g, b uint32) bool { return r == 0 && g == 0x72 && b == 0xb2 }

// TestBarsStartAtZero: go-chart's own bars start at the smallest value, so that
// 98 against 100 looks like nothing against all.
func TestBarsStartAtZero(t *testing.T) {
	data, err := chart.Bar(bars(mark("a", 98), mark("b", 100), mark("c", 50)))
	if err != nil {
		t.Fatal(err)
	}
	hs := heights(t, data, blue)
	if len(hs) != 3 {
		t.Fatalf("bars: %v", hs)
	}
	for i, want := range []float64{98, 100, 50} {
		if got := float64(hs[i]) / float64(hs[1]) * 100; math.Abs(got-want) > 1 {
			t.Errorf("bar %d: %.1f %% of the tallest, want %g", i, got, want)
		}
	}
}

// svgText gives the texts of a picture and fails when it is not well-formed.
func svgText(t *testing.T, name string, data []byte) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: not well-formed: %v", name, err)
		}
		if cd, ok := tok.(xml.CharData); ok {
			texts = append(texts, string(cd))
		}
		if el, ok := tok.(xml.StartElement); ok && (el.Name.Local == "script" || len(el.Attr) > 0 && el.Attr[0].Name.Local == "onload") {
			t.Errorf("%s: foreign element %s", name, el.Name.Local)
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	each(t, chart.SVG, func(t *testing.T, name string, f chart.Figure, data []byte) {
		texts := strings.Join(svgText(t, name, data), "\n")
		if !strings.Contains(texts, "history 0192f3a1, 58 trials") {
			t.Errorf("%s: the footer does not say which history answers", name)
		}
		for _, r := range texts {
			if strings.ContainsRune("→▲●✓模型🚀", r) {
				t.Errorf("%s: %q, which the font lacks, is drawn", name, r)
			}
		}
	})
}

func TestFooterSaysWhatIsNotDrawn(t *testing.T) {
	few := barFigures()["few"]
	many := barFigures()["many"]
	many.Height = 700
	for _, c := range []struct {
		f    chart.Figure
		draw func(chart.Figure) ([]byte, error)
		want []string
	}{
		{few, chart.Bar, []string{"no total_tps: broken", "no value", "considered 13, left out: 2 by where, 1 by status", "query: max total_tps"}},
		{many, chart.Bar, []string{"showing the first ", " of 45 bars"}},
		{barFigures()["extreme"], chart.Bar, []string{"d (1e+308 is out of range)", "f (NaN is out of range)", "e (+Inf is out of range)"}},
		{barFigures()["stages"], chart.Bar, []string{"? stands for a character that the chart font lacks", "?? yes -> ^ * ?", "void: must not decide"}},
		{lineFigures()["curve"], chart.Lines, []string{"no total_tps (cross on the axis): tp1 at concurrency 64", "every repeat is shown", "unlimited"}},
		{lineFigures()["eight"], chart.Lines, []string{"showing 8 of 9 series, not: vllm max_num_seqs=16384"}},
	} {
		c.f.Format = chart.SVG
		data, err := c.draw(c.f)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(svgText(t, c.f.Title, data), "\n")
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("no %q in:\n%s", w, all)
			}
		}
	}
}

func TestDefaultHeightGrowsWithTheBars(t *testing.T) {
	f := barFigures()["many"]
	data, err := chart.Bar(f)
	if err != nil {
		t.Fatal(err)
	}
	conf, _ := png.DecodeConfig(bytes.NewReader(data))
	if conf.Height <= chart.DefaultHeight {
		t.Errorf("45 bars in %d pixels", conf.Height)
	}
	f.Format = chart.SVG
	data, _ = chart.Bar(f)
	if all := strings.Join(svgText(t, "many", data), "\n"); strings.Contains(all, "showing the first") || !strings.Contains(all, "max_num_seqs=1472") {
		t.Error("a bar is left out though the height was free")
	}
}

var (
	circle = regexp.MustCompile(`<circle cx="(\d+)" cy="(\d+)" r="(\d+)" style="[^"]*fill:rgba\(0,114,178`)
	path   = regexp.MustCompile(`d="(M [^"]*)" style="[^"]*stroke:rgba\(0,114,178`)
	coord  = regexp.MustCompile(`[ML] (-?\d+) (-?\d+)`)
)

// TestCurve holds the picture of the unordered sweep against its right result:
// numeric order, both repeats, no dip at the failed load, single points drawn.
func TestCurve(t *testing.T) {
	f := lineFigures()["curve"]
	f.Format = chart.SVG
	data, err := chart.Lines(f)
	if err != nil {
		t.Fatal(err)
	}
	type xy struct{ x, y int }
	var points []xy
	for _, m := range circle.FindAllSubmatch(data, -1) {
		x, _ := strconv.Atoi(string(m[1]))
		y, _ := strconv.Atoi(string(m[2]))
		points = append(points, xy{x, y})
	}
	points = points[:len(points)-1] // the last is the legend's
	if len(points) != 7 {
		t.Fatalf("tp1 has %d markers, want 7: %v", len(points), points)
	}
	for i := 1; i < len(points); i++ {
		if points[i].x < points[i-1].x || points[i].y >= points[i-1].y {
			t.Errorf("not in the order of concurrency, or a dip: %v", points)
		}
	}
	if points[3].x != points[4].x {
		t.Errorf("the repeats at 16 are not both drawn at one place: %v", points)
	}
	var longest int
	for _, m := range path.FindAllSubmatch(data, -1) {
		cs := coord.FindAllSubmatch(m[1], -1)
		longest = max(longest, len(cs))
		for i := 1; i < len(cs); i++ {
			a, _ := strconv.Atoi(string(cs[i-1][1]))
			b, _ := strconv.Atoi(string(cs[i][1]))
			if len(cs) > 2 && b <= a {
				t.Errorf("the line runs back: %s", m[1])
			}
		}
	}
	if longest != 5 {
		t.Errorf("the line joins %d places, want 1, 2, 4, 16 and 32, then the gap at 64", longest)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 11768.22: "11,768.22", 4284.68: "4,284.68", 1234567.8: "1,234,568", -23.9: "-23.9", 100: "100", 0.9983: "0.9983",
		0.999: "0.999", 1: "1", 1.0436: "1.044", 3.5: "3.5", 9.9999: "10", 999.996: "1,000", 1e15: "1e+15", 2.5e-7: "2.5e-07", -1234.5: "-1,234.5",
		0.001234: "0.001234",
	} {
		if got := chart.Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

// FuzzBar: no label and no value may hang, panic or give a broken picture.
func FuzzBar(f *testing.F) {
	f.Add("vllm", 2352.82, "trtllm", 4284.68)
	f.Add("", math.NaN(), "x", math.Inf(1))
	f.Add("<&>\"'", -1e300, "\xff\x00", 5e-324)
	f.Add("a b/c-d_e", 1e-300, strings.Repeat("W", 300), -1e-300)
	f.Fuzz(func(t *testing.T, la string, a float64, lb string, b float64) {
		fig := bars(mark(la, a), mark(lb, b))
		fig.Width, fig.Height, fig.Format = 640, 400, chart.SVG
		data, err := chart.Bar(fig)
		if err != nil {
			if !errors.Is(err, chart.ErrNothing) {
				t.Fatal(err)
			}
			return
		}
		svgText(t, la, data)
		fig.Series, fig.X = []chart.Series{{Name: la, Points: []chart.Point{point(a, b), point(b, a), point(a, a)}}}, lb
		if data, err = chart.Lines(fig); err == nil {
			svgText(t, lb, data)
		} else if !errors.Is(err, chart.ErrNothing) {
			t.Fatal(err)
		}
	})
}

// TestGallery writes every figure into the folder that SWEEPBOOK_GALLERY names,
// for a person to look at before a change of the layout is accepted.
func TestGallery(t *testing.T) {
	dir := os.Getenv("SWEEPBOOK_GALLERY")
	if dir == "" {
		t.Skip("SWEEPBOOK_GALLERY names no folder")
	}
	for _, format := range []chart.Format{chart.PNG, chart.SVG} {
		each(t, format, func(t *testing.T, name string, f chart.Figure, data []byte) {
			if err := os.WriteFile(filepath.Join(dir, name+"."+format.String()), data, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
