package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Frame draws a state for a terminal of so many columns, as lines that are at most
// one column narrower, since a full line may wrap. It is a function of the state and
// the time alone.
func Frame(s State, now time.Time, columns int) []string {
	width := max(20, columns-1)
	var lines []string
	if s.Study != "" {
		lines = append(lines, fit(head(s, now), width))
	}
	if s.Config != "" {
		lines = append(lines, fit("  launch  "+s.Config, width))
	}
	if text := doing(s.Doing, now, width); text != "" {
		lines = append(lines, fit("  "+text, width))
	}
	for _, l := range s.Lanes {
		lines = append(lines, fit(fmt.Sprintf("  [%d] %s  %s", l.Lane, doing(l, now, 0), cmp.Or(l.Option, l.Config)), width))
	}
	if b := s.Best; b != nil {
		lines = append(lines, fit(fmt.Sprintf("  best    %s  %s, trial %d", bestText(*b), b.Option, b.Number), width))
	}
	for _, f := range s.Failures {
		lines = append(lines, fit(fmt.Sprintf("  failed  %s: %s  %s", strings.TrimSpace(f.What), f.Class, f.Reason), width))
	}
	return lines
}

func head(s State, now time.Time) string {
	text := s.Study
	if s.Stage != "" {
		text += ", " + s.Stage
	}
	text += fmt.Sprintf(": %d measured", s.Left.Done)
	if s.Left.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Left.Failed)
	}
	if s.Left.Known > 0 {
		text += fmt.Sprintf(", %d known", s.Left.Known)
	}
	switch {
	case s.End != nil:
		text += ", ended: " + EndText(*s.End)
	case s.Ending:
		text += ", ending"
	case s.Left.Trials > 0:
		text += fmt.Sprintf(", at most %d left, about %s", s.Left.Trials, About(s.TimeLeft(now)))
	}
	return text
}

// TimeLeft is about how long the run still takes: the estimate, less what went by
// since the phase began.
func (s State) TimeLeft(now time.Time) time.Duration {
	left := seconds(s.Left.Seconds)
	if s.Phase == "measure" && now.After(s.Since) {
		left -= now.Sub(s.Since)
	}
	return max(0, left)
}

// bar is how wide the bar of a measurement is.
const bar = 20

// doing is what is going on.
func doing(s Doing, now time.Time, width int) string {
	if s.Phase == "" {
		return ""
	}
	text := fmt.Sprintf("%-7s ", s.Phase)
	if s.Total > 0 {
		full := min(bar, bar*s.Done/s.Total)
		text += fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("#", full), strings.Repeat("-", bar-full), s.Done, s.Total)
	}
	if s.Rate != nil {
		text += fmt.Sprintf("  %.4g tok/s", *s.Rate)
	}
	if took := now.Sub(s.Since); took >= time.Second {
		text += "  " + About(took)
	}
	if s.Message != "" && utf8.RuneCountInString(text)+4 < width {
		text += "  " + s.Message
	}
	return strings.TrimRight(text, " ")
}

// bestText is the value of the objective with what was asked, in short.
func bestText(b Best) string {
	of := b.Of
	if what, _, cut := strings.Cut(of, " where "); cut {
		of = what
	}
	return fmt.Sprintf("%s = %.6g", of, b.Value)
}

// fit makes one line of a text and cuts it to a width.
func fit(text string, width int) string {
	runes := []rune(text)
	used, cut := 0, 0 // cut is how many runes fit beside the mark of a cut
	for i, r := range runes {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			runes[i] = ' '
		}
		if used += cells(r); used < width {
			cut = i + 1
		}
	}
	if used <= width {
		return string(runes)
	}
	return string(runes[:cut]) + "…"
}

// cells is how many columns a rune takes: two for the scripts of East Asia and for
// pictures.
func cells(r rune) int {
	switch {
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
