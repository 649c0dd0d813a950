package chart

import (
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

var svgLine = regexp.MustCompile(`<text x="(-?\d+)" y="(-?\d+)" style="[^"]*font-size:([\d.]+)px[^"]*"(\s+transform="[^"]*")?>([^<]*)</text>`)

func textBoxes(t *testing.T, fc face, svg []byte) []box {
	t.Helper()
	var bs []box
	for _, m := range svgLine.FindAllStringSubmatch(string(svg), -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		y, _ := strconv.ParseFloat(m[2], 64)
		size, _ := strconv.ParseFloat(m[3], 64)
		s := html.UnescapeString(m[5])
		w := fc.width(s, size)
		if m[4] != "" { // upright: reads from bottom to top
			bs = append(bs, box{x - size*0.7, y - w, x, y, s})
			continue
		}
		bs = append(bs, box{x, y - size*0.7, x + w, y, s})
	}
	if len(bs) < 3 {
		t.Fatalf("%d texts found", len(bs))
	}
	return bs
}

// TestNoTextLiesUnderAnother holds every text of many shapes of figure against
// every other and against the edges of the picture.
func TestNoTextLiesUnderAnother(t *testing.T) {
	fc, err := newFace()
	if err != nil {
		t.Fatal(err)
	}
	labels := []string{"vllm", "checkpoint=Qwen/Qwen3-32B-FP8", "Базовая конфигурация (vLLM без оптимизации)",
		"context_len=40960 chunked_prefill=true kv_cache_dtype=fp8 max_batched_tokens=16384 performance_mode=throughput", "x"}
	for _, size := range [][2]int{{1200, 700}, {640, 400}, {320, 240}, {2000, 400}} {
		for _, n := range []int{1, 2, 3, 5, 8, 9, 24} {
			for _, scale := range []float64{1, -1, 1e9} {
				for _, grouped := range []bool{false, true} {
					f := Figure{Title: strings.Repeat("A title of many words ", n%4+1), Subtitle: "on one NVIDIA H100 80GB HBM3", Value: "total_tps",
						Unit: "tok/s", Better: core.HigherBetter, Query: "max total_tps where success_rate == 1", From: core.History{ID: "0192f3a1", Trials: 58},
						Format: SVG, Width: size[0], Height: size[1], Notes: []string{"considered 13", "left out: 2 by where"}}
					for i := range n {
						m := Mark{Label: labels[(i+n)%len(labels)], Value: core.Number(scale * (float64(i) - 1.5) * 77.77), Findings: i % 2, Note: "+82.1 %"}
						if i == 0 {
							m.Emphasis = Baseline
						}
						if grouped {
							m.Group = "stage " + strconv.Itoa(i/3)
						}
						f.Bars = append(f.Bars, m)
					}
					svg, err := Bar(f)
					if err != nil {
						t.Fatal(err)
					}
					bs := textBoxes(t, fc, svg)
					for i, a := range bs {
						if a.x0 < -1 || a.x1 > float64(size[0])+1 || a.y0 < 0 || a.y1 > float64(size[1]) {
							t.Errorf("%v n=%d scale=%g grouped=%t: outside: %+v", size, n, scale, grouped, a)
						}
						for _, b := range bs[i+1:] {
							if math.Min(a.x1, b.x1)-math.Max(a.x0, b.x0) > 1 && math.Min(a.y1, b.y1)-math.Max(a.y0, b.y0) > 1 {
								t.Errorf("%v n=%d scale=%g grouped=%t: %q lies on %q", size, n, scale, grouped, a.text, b.text)
							}
						}
					}
				}
			}
		}
	}
}

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 4284, "0 1,000 2,000 3,000 4,000 5,000"},
		{0, 5, "0 1 2 3 4 5"},
		{-23.9, 82.1, "-40 -20 0 20 40 60 80 100"},
		{0, 0.037, "0 0.01 0.02 0.03 0.04"},
		{0, 0, "0 0.2 0.4 0.6 0.8 1.0"},
		{98, 100, "0 20 40 60 80 100"},
		{-7, -3, "-8 -6 -4 -2 0"},
		{0, 3e9, "0 5e08 1e09 1.5e09 2e09 2.5e09 3e09"},
	} {
		a := newAxis(c.lo, c.hi, 6)
		var got []string
		for _, v := range a.ticks {
			got = append(got, a.label(v))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("axis %g…%g: %s, want %s", c.lo, c.hi, s, c.want)
		}
	}
	for _, hi := range []float64{largest, 1e-300, 5e-324, 1, 123456789} {
		for _, lo := range []float64{-largest, -1, 0, 1e-310} {
			a := newAxis(lo, hi, 6)
			if n := len(a.ticks); n < 2 || n > 20 || a.lo > lo+a.step*1e-6 || a.hi < hi-a.step*1e-6 {
				t.Errorf("axis %g…%g: %d ticks from %g to %g", lo, hi, n, a.lo, a.hi)
			}
		}
	}
}

func TestShortenedLabelsStayDistinct(t *testing.T) {
	fc, err := newFace()
	if err != nil {
		t.Fatal(err)
	}
	full := []string{"max_num_seqs=512 swap=1 performance_mode=throughput", "max_num_seqs=512 swap=2 performance_mode=throughput", "short"}
	var short []string
	for _, s := range full {
		got := fc.shorten(s, 12, 140)
		if fc.width(got, 12) > 140 {
			t.Errorf("%q is %g wide", got, fc.width(got, 12))
		}
		short = append(short, got)
	}
	if short[0] != short[1] {
		t.Fatalf("the case no longer tests anything: %q", short)
	}
	got := distinct(full, short)
	if got[0] == got[1] || got[2] != "short" {
		t.Errorf("%q", got)
	}
}

func TestWrap(t *testing.T) {
	fc, _ := newFace()
	for _, c := range []struct {
		s     string
		width float64
		n     int
	}{
		{"checkpoint=Qwen/Qwen3-32B-FP8", 90, 3},
		{"one two three four five six", 60, 3},
		{"oneverylongwordwithoutanyplacetobreakit", 60, 3},
		{"Базовая конфигурация без оптимизации", 100, 4},
	} {
		lines := fc.wrap(c.s, 12, c.width, c.n)
		if len(lines) > c.n {
			t.Errorf("%q: %d lines", c.s, len(lines))
		}
		for _, l := range lines {
			if fc.width(l, 12) > c.width {
				t.Errorf("%q: line %q is %g wide, want at most %g", c.s, l, fc.width(l, 12), c.width)
			}
		}
		if whole := strings.ReplaceAll(strings.Join(lines, ""), " ", "") == strings.ReplaceAll(c.s, " ", ""); whole != fc.fits(c.s, 12, c.width, c.n) {
			t.Errorf("%q: fits disagrees with %q", c.s, lines)
		}
	}
}
