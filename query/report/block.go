package report

import "strings"

// span is a piece of running text.
type span struct {
	text string
	kind spanKind
}

type spanKind uint8

const (
	plain  spanKind = iota
	code            // a query, an option, a field
	strong          // what a hasty reader should see
)

// text is running text of several spans.
type text []span

func plainText(s string) text  { return text{{s, plain}} }
func codeText(s string) text   { return text{{s, code}} }
func strongText(s string) text { return text{{s, strong}} }

func (t text) plain(s string) text  { return append(t, span{s, plain}) }
func (t text) code(s string) text   { return append(t, span{s, code}) }
func (t text) strong(s string) text { return append(t, span{s, strong}) }

// empty reports whether there is nothing to read.
func (t text) empty() bool {
	for _, s := range t {
		if strings.TrimSpace(s.text) != "" {
			return false
		}
	}
	return true
}

// block is one part of a report: exactly one of its forms is set.
type block struct {
	heading   string
	level     int // of the heading, 1 to 3
	paragraph text
	notice    text // a paragraph that must not be overlooked
	list      []text
	table     *table
	command   string // a shell command, kept line by line
	image     *image
}

// table is a table; every row has as many cells as there are columns.
type table struct {
	columns []column
	rows    []row
}

type column struct {
	name    string
	numeric bool // aligned to the right
	short   bool // never broken over lines
}

type row struct {
	cells []text
	best  bool // the recommended configuration
}

// image is a picture of Report.Charts.
type image struct {
	file string
	alt  string
}

// oneLine makes a text that may come from anywhere safe for one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
}
