package chart

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// ErrNothing: the figure holds no value that could be drawn. No picture is made.
var ErrNothing = errors.New("nothing to draw")

// Format is the kind of file that a picture becomes.
type Format uint8

const (
	// PNG is the zero Format.
	PNG Format = iota
	// SVG carries the outlines of the letters that it uses.
	SVG
)

func (f Format) String() string {
	if f == SVG {
		return "svg"
	}
	return "png"
}

// The size of a picture whose figure gives none, and the smallest one that can
// be read.
const (
	DefaultWidth  = 1200
	DefaultHeight = 700
	MinWidth      = 320
	MinHeight     = 240
	maxSide       = 8000
)

// Figure is what a picture shows: values already chosen, with their labels.
type Figure struct {
	Kind     Kind // for Render; Bar and Lines do without
	Title    string
	Subtitle string
	Value    string      // name of the value, "total_tps"
	Unit     string      // of the value, "tok/s"; "" when it has none
	Better   core.Better // said beside the axis

	Bars []Mark // for Bar

	X      string       // name of the ordered field, "concurrency"; for Lines
	XUnit  string       // "" when it has none
	XTime  bool         // x is seconds since 1970 UTC
	Series []Series     // for Lines
	Limit  *Limit       // drawn as a line across the plot
	Places []string     // for Lines: x is an index into these names, as of versions
	Near   bool         // for Lines: the scale may begin near the values, which is said
	Pairs  []Pair       // for BeforeAfter
	Steps  []Step       // for Waterfall
	Noise  *NoiseBand   // for Waterfall
	Clouds []Cloud      // for Scatter and Frontier
	Cloud  CloudAxes    // for Scatter and Frontier
	Spread []Sample     // for ECDF
	Flow   *Flow        // for Timeline
	Notes  []string     // what was left out and why, a line each, for the footer
	Query  string       // the question, for the footer
	From   core.History // whom it was asked of, for the footer
	Trials []int64      // numbers of the trials drawn, for the metadata

	Format Format
	Width  int // pixels; 0 is DefaultWidth
	Height int // pixels; 0 is DefaultHeight, or more where many bars need it
}

// Emphasis singles a bar out, by its fill and in the legend.
type Emphasis uint8

const (
	// Plain is a bar like the others.
	Plain Emphasis = iota
	// Baseline is hatched.
	Baseline
	// Best is the winner.
	Best
)

// Mark is one bar.
type Mark struct {
	Label    string
	Group    string     // heading above the bars of one group; "" for none
	Value    core.Value // a finite number is drawn, anything else named in the footer
	Note     string     // said behind the value, "+82.1 %"
	Emphasis Emphasis
	Findings int  // audit findings on the trial: the label gets a dagger
	Void     bool // the value must not decide anything: drawn as an outline
	// Of repeats that are one bar: the ends of its whisker, how many have a value, and
	// how many have none.
	Low, High core.Value
	N, Lost   int
	Failure   string // said where the value would stand when there is none
}

// Series is one line of Lines: the points of one setup, say.
type Series struct {
	Name   string
	Points []Point
	// Of a curve held against a limit: the last place up to which every point keeps it
	// and the first one at which one does not; missing where there is none.
	Holds, Breaks core.Value
	Changes       []Change
}

// Change is a step between two neighbouring places of a series that is no noise.
type Change struct {
	At     float64 // the later place
	Share  float64 // 0.05 is +5 %
	Better bool
}

// Point is one trial. X is a number or Unlimited, which gets a place of its own
// beside the axis. A Y that is not a finite number makes a gap and is marked on
// the axis. Points that share an X are all drawn.
type Point struct {
	X, Y     core.Value
	Findings int
	Void     bool // the value must not decide anything: drawn as an outline
}

// largest is what a scale can hold without overflow; no measured value is near it.
const largest = 1e300

// drawable reports whether v is a finite number that a scale can hold.
func drawable(v core.Value) bool {
	return v.Kind == core.KindNumber && math.Abs(v.Num) <= largest
}

// size fills in the default size and refuses what cannot be read.
func (f *Figure) size() error {
	if f.Width == 0 {
		f.Width = DefaultWidth
	}
	if f.Height != 0 && f.Height < MinHeight || f.Width < MinWidth || f.Width > maxSide || f.Height > maxSide {
		return fmt.Errorf("chart size %d×%d: %w: want %d×%d to %d×%d", f.Width, f.Height, core.ErrInvalid,
			MinWidth, MinHeight, maxSide, maxSide)
	}
	return nil
}

// axisName is "total_tps (tok/s), higher is better".
func (f *Figure) axisName() string {
	s := withUnit(f.Value, f.Unit)
	switch {
	case s == "":
	case f.Better == core.HigherBetter:
		s += ", higher is better"
	case f.Better == core.LowerBetter:
		s += ", lower is better"
	}
	return s
}

// axisTitle is the name of an axis as far as it fits: without the direction that is
// better first, then without its middle.
func (s *sheet) axisTitle(f *Figure, log bool, room float64) string {
	scale := ""
	if log {
		scale = ", log scale"
	}
	for _, text := range []string{f.axisName() + scale, withUnit(f.Value, f.Unit) + scale, withUnit(f.Value, f.Unit)} {
		if text = s.line(text); s.face.width(text, s.small) <= room {
			return text
		}
	}
	return s.face.shorten(s.line(withUnit(f.Value, f.Unit)), s.small, room)
}

func withUnit(name, unit string) string {
	switch {
	case unit == "", strings.HasSuffix(name, "_"+unit):
		return name // mean_ttft_ms says its unit
	case name == "":
		return unit
	}
	return name + " (" + unit + ")"
}
