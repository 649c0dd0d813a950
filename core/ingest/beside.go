package ingest

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// beside are blocks that stand side by side, as paste, diff -y and two terminals
// leave them: a line holds a row of each, or of some.
type beside struct {
	starts []int // of the headers, in characters
	blocks []*block
	done   bool // the closing ruler has come
}

// newBeside gives the blocks that a line of several headers begins; nil for one
// header.
func newBeside(l line) *beside {
	at := header.FindAllStringIndex(l.raw, 8)
	if len(at) < 2 {
		return nil
	}
	b := &beside{}
	for _, m := range at {
		one := emptyBlock(l.no)
		one.keep(l.raw[m[0]:m[1]])
		b.starts = append(b.starts, utf8.RuneCountInString(l.raw[:m[0]]))
		b.blocks = append(b.blocks, one)
	}
	return b
}

var (
	besideEnd   = regexp.MustCompile(`^[\s|<>]*={10,}[\s|<>=]*$`)
	besideRuler = regexp.MustCompile(`^[\s|<>]*[-=]{3,}`)
)

// take reads one line; false says that the blocks were over before it.
func (b *beside) take(l line) bool {
	switch {
	case b.done || isHeader(l.text):
		return false
	case besideEnd.MatchString(l.raw):
		for _, one := range b.blocks {
			one.keep("==================================================")
		}
		b.done = true
		return true
	case strings.TrimSpace(l.raw) == "":
		b.done = true
		return true
	}
	pairs := rowPairs(l.raw)
	for i, p := range pairs {
		to := b.blocks[b.nearest(p.start)]
		if len(pairs) == len(b.blocks) {
			to = b.blocks[i]
		}
		if to.row(p.text, false) {
			to.keep(p.text)
		}
	}
	return len(pairs) > 0 || besideRuler.MatchString(l.raw)
}

// nearest is the block whose header begins nearest to a row.
func (b *beside) nearest(start int) int {
	best := 0
	for i, at := range b.starts {
		if abs(start-at) < abs(start-b.starts[best]) {
			best = i
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// rowPair is one "label: value" of a line.
type rowPair struct {
	start int // of the label, in characters
	text  string
}

// rowPairs finds the rows of known labels within a line.
func rowPairs(raw string) (pairs []rowPair) {
	from := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != ':' {
			continue
		}
		_, label, _, ok := knownLabel(raw[from:i])
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(label, " ")
		begin := from + strings.LastIndex(raw[from:i], first)
		if n := len(pairs); n > 0 {
			pairs[n-1].text = strings.TrimSpace(raw[from:begin])
		}
		pairs = append(pairs, rowPair{start: utf8.RuneCountInString(raw[:begin])})
		from = begin
		if n := len(pairs); n > 0 {
			pairs[n-1].text = strings.TrimSpace(raw[from:])
		}
		// The value is not searched for the next label's beginning.
		rest := raw[i+1:]
		value := len(rest) - len(strings.TrimLeft(rest, " \t"))
		if end := strings.IndexAny(rest[value:], " \t"); end > 0 {
			i += value + end
		}
	}
	return pairs
}
