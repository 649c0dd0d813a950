package chart

import (
	"fmt"
	"sort"
	"strings"
	"unicode"

	gochart "github.com/wcharczuk/go-chart/v2"
)

// face answers for the built-in font. Widths are taken from it rather than from a
// renderer, so that PNG and SVG have one layout.
type face struct {
	has func(rune) bool
	em  func(rune) float64 // advance in parts of the font size
}

func newFace() (face, error) {
	f, err := gochart.GetDefaultFont()
	if err != nil {
		return face{}, fmt.Errorf("chart font: %w", err)
	}
	widths := map[rune]float64{} // of one picture, whose texts are measured many times
	return face{
		has: func(r rune) bool { return f.Index(r) != 0 },
		em: func(r rune) float64 {
			w, ok := widths[r]
			if !ok {
				w = float64(f.HMetric(64000, f.Index(r)).AdvanceWidth) / 64000
				widths[r] = w
			}
			return w
		},
	}, nil
}

func (f face) width(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		w += f.em(r)
	}
	return w * size
}

// substitutes are readable spellings of signs that the built-in font lacks.
var substitutes = map[rune]string{
	'→': "->", '←': "<-", '↑': "up", '↓': "down", '⇒': "=>", '▲': "^", '▼': "v", '●': "*", '•': "*", '■': "#",
	'✓': "yes", '✔': "yes", '✗': "no", '✘': "no", '≈': "~", '≤': "<=", '≥': ">=", '≠': "!=", '−': "-", '⚠': "(!)",
	'×': "x", '–': "-", '—': "-", '…': "...", '†': "(!)", '∞': "unlimited", '“': `"`, '”': `"`, '‘': "'", '’': "'",
}

// unknownGlyph stands for a character that the font lacks and that has no
// spelling; lackNote then explains it in the footer.
const (
	unknownGlyph = '?'
	lackNote     = "? stands for a character that the chart font lacks"
)

// readable makes one line of text that the font can show. lacking says that some
// character was replaced by unknownGlyph.
func (f face) readable(s string) (line string, lacking bool) {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			// A joiner, direction mark or variation selector has no shape of its own.
		case f.has(r):
			b.WriteRune(r)
		case substitutes[r] != "":
			b.WriteString(substitutes[r])
		default:
			b.WriteRune(unknownGlyph)
			lacking = true
		}
	}
	return strings.Join(strings.Fields(b.String()), " "), lacking
}

// shorten fits a line into a width by leaving out its middle, since the names of
// configurations differ at both ends.
func (f face) shorten(s string, size, width float64) string {
	if f.width(s, size) <= width {
		return s
	}
	const gap = "..."
	rs := []rune(s)
	short := func(n int) string { // with n letters of the text
		head := (n + 1) / 2
		return strings.TrimRight(string(rs[:head]), " ") + gap + strings.TrimLeft(string(rs[len(rs)-(n-head):]), " ")
	}
	// The first n that is too wide; more letters are never narrower.
	n := sort.Search(len(rs), func(n int) bool { return n > 1 && f.width(short(n), size) > width })
	if n--; n < 2 {
		return gap
	}
	return short(n)
}

// wrap breaks a text into at most n lines of a width, at spaces and behind the
// signs at which names of models and flags divide; the last line is shortened.
func (f face) wrap(s string, size, width float64, n int) []string {
	var lines []string
	rest := []rune(s)
	for len(rest) > 0 && len(lines) < n-1 && f.width(string(rest), size) > width {
		cut, w := 0, 0.0
		for i, r := range rest {
			if r == ' ' && w <= width {
				cut = i
			}
			if w += f.em(r) * size; w > width {
				break
			}
			if strings.ContainsRune("/-_,=+&", r) && i+1 < len(rest) && rest[i+1] != r {
				cut = i + 1
			}
		}
		if cut == 0 {
			break
		}
		lines = append(lines, strings.TrimSpace(string(rest[:cut])))
		rest = []rune(strings.TrimSpace(string(rest[cut:])))
	}
	if len(rest) > 0 {
		lines = append(lines, f.shorten(string(rest), size, width))
	}
	return lines
}

// fits reports whether wrap shows the whole text.
func (f face) fits(s string, size, width float64, n int) bool {
	joined := strings.Join(f.wrap(s, size, width, n), "")
	return strings.ReplaceAll(joined, " ", "") == strings.ReplaceAll(s, " ", "")
}

// distinct makes labels that became equal by shortening tell apart again.
func distinct(full, short []string) []string {
	owner, times := map[string]string{}, map[string]int{}
	out := make([]string, len(short))
	for i, s := range short {
		out[i] = s
		if first, taken := owner[s]; taken && first != full[i] {
			times[s]++
			out[i] = fmt.Sprintf("(%d) %s", times[s]+1, s)
			continue
		}
		owner[s] = full[i]
	}
	return out
}
