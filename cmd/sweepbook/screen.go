package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// colours are what a terminal is told of them.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// screen is the foot of a terminal: a few lines that are drawn over, below lines
// that stay.
type screen struct {
	out   io.Writer
	size  func() (columns, rows int)
	drawn []int // the width of each line at the foot
}

// erase takes the foot away. The terminal may have become narrower meanwhile and have
// broken the lines anew.
func (s *screen) erase() string {
	if len(s.drawn) == 0 {
		return ""
	}
	columns, _ := s.size()
	rows := 0
	for _, width := range s.drawn {
		rows += max(1, (width+columns-1)/columns)
	}
	s.drawn = nil
	text := "\r"
	if rows > 1 {
		text += fmt.Sprintf("\x1b[%dA", rows-1)
	}
	return text + "\x1b[J"
}

// draw puts lines that stay above the foot and draws the foot anew, in one write.
func (s *screen) draw(stay []string, foot []string) {
	var b strings.Builder
	b.WriteString(s.erase())
	for _, line := range stay {
		b.WriteString(line + "\r\n")
	}
	_, rows := s.size()
	foot = foot[:min(len(foot), max(1, rows-1))]
	for i, line := range foot {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line)
		s.drawn = append(s.drawn, utf8.RuneCountInString(colours.ReplaceAllString(line, "")))
	}
	_, _ = io.WriteString(s.out, b.String()) // a terminal that is gone shows nothing
}
