package load

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// nfcTable is the part of the Unicode character database that normalization form
// C needs, written by testdata/nfc.py: a line "C class" gives the combining class
// of a code point, a line "C=A B" its canonical decomposition, and "C>A B" one
// that is never composed again. All are hexadecimal but the class. The
// decompositions of characters that exist never change in later versions.
//
//go:embed nfc.txt
var nfcTable string

// composer brings texts into Unicode normalization form C (UAX 15).
type composer struct {
	class     map[rune]uint8
	decompose map[rune][]rune // fully
	compose   map[[2]rune]rune
	// touched are the characters whose presence may mean that a text is not
	// composed yet; every other text is returned as it is.
	touched map[rune]struct{}
}

// Hangul syllables are composed by arithmetic (Unicode, 3.12).
const (
	hangulS, hangulL, hangulV, hangulT = 0xAC00, 0x1100, 0x1161, 0x11A7
	hangulLs, hangulVs, hangulTs       = 19, 21, 28
)

func newComposer() (*composer, error) {
	c := &composer{class: map[rune]uint8{}, decompose: map[rune][]rune{}, compose: map[[2]rune]rune{}, touched: map[rune]struct{}{}}
	for line := range strings.Lines(nfcTable) {
		line = strings.TrimSuffix(line, "\n")
		if at := strings.IndexAny(line, "=>"); at > 0 {
			from, err := hexRunes(line[:at])
			to, err2 := hexRunes(line[at+1:])
			if err != nil || err2 != nil || len(from) != 1 || len(to) > 2 {
				return nil, fmt.Errorf("nfc table: line %q", line)
			}
			c.decompose[from[0]] = to
			if line[at] == '>' {
				c.touched[from[0]] = struct{}{}
				continue
			}
			c.compose[[2]rune{to[0], to[1]}] = from[0]
			c.touched[to[1]] = struct{}{}
			continue
		}
		point, class, _ := strings.Cut(line, " ")
		from, err := hexRunes(point)
		n, err2 := strconv.ParseUint(class, 10, 8)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("nfc table: line %q", line)
		}
		c.class[from[0]] = uint8(n)
		c.touched[from[0]] = struct{}{}
	}
	for r := range c.decompose {
		c.decompose[r] = c.full(nil, r)
	}
	for i := range rune(hangulVs) {
		c.touched[hangulV+i] = struct{}{}
	}
	for i := range rune(hangulTs) {
		c.touched[hangulT+i] = struct{}{}
	}
	return c, nil
}

func hexRunes(text string) (runes []rune, err error) {
	for _, one := range strings.Fields(text) {
		n, err := strconv.ParseInt(one, 16, 32)
		if err != nil {
			return nil, err
		}
		runes = append(runes, rune(n))
	}
	if len(runes) == 0 {
		return nil, strconv.ErrSyntax
	}
	return runes, nil
}

// full appends the full decomposition of a character of the table.
func (c *composer) full(to []rune, r rune) []rune {
	parts, ok := c.decompose[r]
	if !ok || (len(parts) == 1 && parts[0] == r) {
		return append(to, r)
	}
	for _, part := range parts {
		to = c.full(to, part)
	}
	return to
}

// normalize gives the text in form C.
func (c *composer) normalize(text string) string {
	clean := true
	for _, r := range text {
		if r < 0x300 { // every character below is composed
			continue
		}
		if _, ok := c.touched[r]; ok {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var runes []rune
	for _, r := range text {
		switch parts, ok := c.decompose[r]; {
		case ok:
			runes = append(runes, parts...)
		case r >= hangulS && r < hangulS+hangulLs*hangulVs*hangulTs:
			i := r - hangulS
			runes = append(runes, hangulL+i/(hangulVs*hangulTs), hangulV+i/hangulTs%hangulVs)
			if i%hangulTs > 0 {
				runes = append(runes, hangulT+i%hangulTs)
			}
		default:
			runes = append(runes, r)
		}
	}
	c.order(runes)
	return string(c.join(runes))
}

// order sorts each run of combining characters by class, equal ones in place.
func (c *composer) order(runes []rune) {
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && c.class[runes[j]] > 0 {
			j++
		}
		if j-i > 1 {
			slices.SortStableFunc(runes[i:j], func(a, b rune) int { return int(c.class[a]) - int(c.class[b]) })
		}
		i = max(j, i+1)
	}
}

// join composes in place: a character goes into the last starter before it unless
// one of its own or a higher class stands between.
func (c *composer) join(runes []rune) []rune {
	out := runes[:0]
	starter, blocked := -1, -1 // class of the last character kept after the starter
	for _, r := range runes {
		class := int(c.class[r])
		if starter >= 0 && blocked < class {
			if joined, ok := c.pair(out[starter], r); ok {
				out[starter] = joined
				continue
			}
		}
		if class == 0 {
			starter, blocked = len(out), -1
		} else {
			blocked = class
		}
		out = append(out, r)
	}
	return out
}

func (c *composer) pair(a, b rune) (rune, bool) {
	switch {
	case a >= hangulL && a < hangulL+hangulLs && b >= hangulV && b < hangulV+hangulVs:
		return hangulS + ((a-hangulL)*hangulVs+b-hangulV)*hangulTs, true
	case a >= hangulS && a < hangulS+hangulLs*hangulVs*hangulTs && (a-hangulS)%hangulTs == 0 && b > hangulT && b < hangulT+hangulTs:
		return a + b - hangulT, true
	}
	joined, ok := c.compose[[2]rune{a, b}]
	return joined, ok
}
