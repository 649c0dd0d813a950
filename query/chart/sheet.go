package chart

import (
	"fmt"
	"math"
	"strings"
)

// key is one entry of a legend: a sample and what it means.
type key struct {
	text string
	draw func(c *canvas, x, y float64) // a sample keyWidth wide, centred on y
}

const keyWidth = 26

// sheet is what surrounds the plot: title, subtitle and legend above, notes and
// origin below. Its heights follow from the width alone, so that a picture of
// many bars can be given the height that it needs.
type sheet struct {
	fig                 *Figure
	face                face
	label, title, small float64 // font sizes, pixels
	pad                 float64
	titles, subtitles   []string
	legend              []key
	footer              []string
	lacking             bool
}

func newSheet(f *Figure) (*sheet, error) {
	fc, err := newFace()
	if err != nil {
		return nil, err
	}
	label := math.Min(math.Max(float64(f.Width)/74, 12), 20)
	s := &sheet{fig: f, face: fc, label: label, title: math.Round(label * 1.4), small: math.Max(label*0.85, 11), pad: label * 1.4}
	return s, nil
}

// line makes a text drawable and remembers whether something was lost.
func (s *sheet) line(text string) string {
	text, lacking := s.face.readable(text)
	s.lacking = s.lacking || lacking
	return text
}

// fill lays the texts out. Call it once every text of the plot has passed through
// line, since the footer says whether a character was replaced.
func (s *sheet) fill(legend []key, notes []string) {
	width := float64(s.fig.Width) - 2*s.pad
	lines := 2
	if s.fig.Height > 0 && s.fig.Height < 350 {
		lines = 1
	}
	if t := s.line(s.fig.Title); t != "" {
		s.titles = s.face.wrap(t, s.title, width, lines)
	}
	if t := s.line(s.fig.Subtitle); t != "" {
		s.subtitles = s.face.wrap(t, s.small, width, lines)
	}
	room := max(width/2, min(width-keyWidth-s.small*2, 34*s.small)) // of an entry, a line of its own in a narrow picture
	for i := range legend {
		legend[i].text = s.face.shorten(s.line(legend[i].text), s.small, room)
	}
	s.legend = legend
	budget := 14
	if s.fig.Height > 0 {
		budget = max(3, int(0.26*float64(s.fig.Height)/(s.small*1.4)))
	}
	s.footer = s.footerLines(notes, width, budget)
	// A small picture keeps most of its height for what it shows.
	const most = 0.58
	crowded := func() bool { return s.fig.Height > 0 && s.above()+s.below() > most*float64(s.fig.Height) }
	for left := 0; crowded() && len(s.legendRows()) > 2; {
		rows := s.legendRows()
		left += len(rows[len(rows)-1])
		s.legend = s.legend[:len(s.legend)-len(rows[len(rows)-1])]
		s.footer = s.footerLines(append([]string{fmt.Sprintf("entries of the legend not shown: %d; a taller picture shows all", left)}, notes...), width, budget)
	}
	for crowded() && budget > 3 {
		budget--
		s.footer = s.footerLines(notes, width, budget)
	}
	for crowded() && len(s.footer) > 2 {
		s.footer = append(s.footer[:1:1], s.footer[2:]...)
	}
}

// footerLines gives the notes first, because what is left out matters more than
// where the figures come from; both keep a line whatever the budget.
func (s *sheet) footerLines(notes []string, width float64, budget int) []string {
	origin := s.origin()
	var tail []string
	if q := s.line(s.fig.Query); q != "" {
		tail = s.face.wrap("query: "+q, s.small, width, 2)
	}
	if origin != "" {
		last := len(tail) - 1
		if last >= 0 && s.face.width(tail[last]+"  |  "+origin, s.small) <= width {
			tail[last] += "  |  " + origin
		} else {
			tail = append(tail, origin)
		}
	}
	var lines []string
	for i, n := range notes {
		n = s.line(n)
		if n == "" {
			continue
		}
		wrapped := s.face.wrap(n, s.small, width, 2)
		rest := len(notes) - i
		if len(lines)+len(wrapped)+len(tail) > budget && len(lines) > 0 {
			lines = append(lines, fmt.Sprintf("notes not shown: %d; the table of the same query has them", rest))
			break
		}
		lines = append(lines, wrapped...)
	}
	if s.lacking {
		lines = append(lines, lackNote)
	}
	return append(lines, tail...)
}

// origin is "history 0192f3a1, 58 trials".
func (s *sheet) origin() string {
	h := s.fig.From
	if h.ID == "" {
		return ""
	}
	id := h.ID
	if len(id) > 8 {
		id = id[:8]
	}
	return s.line(fmt.Sprintf("history %s, %d trials", id, h.Trials))
}

func (s *sheet) legendRows() [][]key {
	var rows [][]key
	width, x := float64(s.fig.Width)-2*s.pad, math.Inf(1)
	for _, k := range s.legend {
		w := s.keySpan(k)
		if x+w > width+s.label {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		x += w
	}
	return rows
}

func (s *sheet) keySpan(k key) float64 {
	return keyWidth + 6 + s.face.width(k.text, s.small) + s.label*1.5
}

// above is the height of everything over the plot.
func (s *sheet) above() float64 {
	h := s.pad * 0.8
	h += float64(len(s.titles)) * s.title * 1.25
	h += float64(len(s.subtitles)) * s.small * 1.4
	h += float64(len(s.legendRows())) * s.small * 1.7
	return h + s.label*0.5
}

// below is the height of everything under the plot and its axis.
func (s *sheet) below() float64 {
	if len(s.footer) == 0 {
		return s.pad * 0.6
	}
	return float64(len(s.footer))*s.small*1.4 + s.label + s.pad*0.4
}

func (s *sheet) draw(c *canvas) {
	y := s.pad * 0.8
	for _, t := range s.titles {
		c.text(t, s.pad, y+s.title*0.6, s.title, left, ink)
		y += s.title * 1.25
	}
	for _, t := range s.subtitles {
		c.text(t, s.pad, y+s.small*0.7, s.small, left, soft)
		y += s.small * 1.4
	}
	for _, row := range s.legendRows() {
		x, mid := s.pad, y+s.small*0.95
		for _, k := range row {
			k.draw(c, x, mid)
			c.text(k.text, x+keyWidth+6, mid, s.small, left, ink)
			x += s.keySpan(k)
		}
		y += s.small * 1.7
	}
	if len(s.footer) == 0 {
		return
	}
	y = float64(c.h) - s.below()
	c.hline(s.pad, float64(c.w)-s.pad, y+s.label*0.3, rule)
	y += s.label * 0.6
	for _, t := range s.footer {
		c.text(t, s.pad, y+s.small*0.7, s.small, left, soft)
		y += s.small * 1.4
	}
}

// listed is "a, b, c and 4 more".
func listed(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// drawScale writes the rules and labels of a vertical scale, leaving out labels
// that would touch the one below.
func (s *sheet) drawScale(c *canvas, a axis, x0, x1 float64, at func(float64) float64) {
	free := math.Inf(1)
	for _, t := range a.ticks {
		c.hline(x0, x1, at(t), rule)
		if at(t) > free {
			continue
		}
		c.text(a.label(t), x0-s.label*0.5, at(t), s.small, right, soft)
		free = at(t) - s.small*1.1
	}
}
