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
	// SVG names its font without embedding it, so a viewer without Roboto shows the
	// nearest sans-serif one.
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
	Notes  []string     // what was left out and why, a line each, for the footer
	Query  string       // the question, for the footer
	From   core.History // whom it was asked of, for the footer

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
}

// Series is one line of Lines: the points of one setup, say.
type Series struct {
	Name   string
	Points []Point
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

func withUnit(name, unit string) string {
	switch {
	case unit == "", strings.HasSuffix(name, "_"+unit):
		return name // mean_ttft_ms says its unit
	case name == "":
		return unit
	}
	return name + " (" + unit + ")"
}
