package ingest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// block is one printed result while its rows arrive.
type block struct {
	line      int // of the header
	figures   core.Figures
	extra     map[string]core.Value
	limit     string // printed concurrency limit, "" where none is
	rate      string // printed request rate
	backend   string
	absent    []string // figures whose row says that there is none
	unread    []string // rows whose value is no number
	seconds   bool     // a Latency section in seconds: guidellm
	sglang    bool     // rows that only SGLang's tool prints
	trtllm    bool     // rows that only TensorRT-LLM's tool prints
	decimals  int      // the fewest that a latency was printed with; -1 before the first
	mark      string   // of a comment, before each of its lines
	raw       strings.Builder
	blank     bool   // a blank line has come since the last row
	foreign   []line // lines since the last row that are none of the block's
	truncated bool
}

const (
	maxRaw     = 64 << 10
	maxForeign = 3  // further output that may stand between two rows
	maxLogs    = 50 // of it, lines of a log
	maxExtra   = 100
)

func newBlock(l line) *block {
	b := emptyBlock(l.no)
	b.mark = commentMark.FindString(l.text)
	if m := header.FindString(l.raw); m != "" {
		b.keep(m) // without what a progress bar left before it
	} else {
		b.keep(l.raw)
	}
	return b
}

func emptyBlock(no int) *block {
	return &block{line: no, figures: core.Figures{}, extra: map[string]core.Value{}, decimals: -1}
}

// commentMark stands before the header of a block that was pasted into a program.
var commentMark = regexp.MustCompile(`^(?:#+|//+|;+|\*|--|%)\s+`)

func (b *block) keep(raw string) {
	if b.raw.Len()+len(raw) < maxRaw {
		b.raw.WriteString(raw)
		b.raw.WriteByte('\n')
	}
}

var (
	header     = regexp.MustCompile(`={3,}\s*Serving Benchmark Result\s*={3,}`)
	bareHeader = regexp.MustCompile(`^[\s#*]*Serving Benchmark Result[\s*:]*$`)
	footer     = regexp.MustCompile(`^={10,}(?:\W*|\s*</\w+>.*)$`) // the end tag of a web page may follow
	ruler      = regexp.MustCompile(`^(?:={3,}|-{3,})[^=-].*(?:={3,}|-{3,})$|^-{10,}$`)
)

// isHeader reports whether a block begins, with its rulers or, in text pasted
// into a form that eats them, as a line of its own.
func isHeader(text string) bool {
	return strings.Contains(text, "Serving Benchmark Result") && (header.MatchString(text) || bareHeader.MatchString(text))
}

// verdict is what a line means to an open block.
type verdict uint8

const (
	rowTaken  verdict = iota
	blockEnds         // and the line belongs to it
	blockOver         // before the line: hand back foreign lines and this one
)

// take reads one line of an open block. event reports whether a line would mean
// something outside of a block, so that a block without a closing ruler ends there.
func (b *block) take(l line, event func(line) bool) verdict {
	if b.mark != "" {
		l.text = strings.TrimSpace(strings.TrimPrefix(l.text, strings.TrimSpace(b.mark)))
	}
	switch {
	case l.text == "":
		b.blank = true
		b.keep(l.raw)
		return rowTaken
	case footer.MatchString(l.text):
		b.keep(l.raw)
		return blockEnds
	case isHeader(l.text):
		return blockOver
	case ruler.MatchString(l.text):
		return b.own(l)
	}
	if b.row(l.text, !b.blank && !l.prefixed) {
		return b.own(l)
	}
	if b.blank || event(l) {
		return blockOver
	}
	b.foreign = append(b.foreign, l)
	plain := 0
	for _, f := range b.foreign {
		if !f.prefixed {
			plain++
		}
	}
	if plain > maxForeign || len(b.foreign) > maxLogs {
		b.foreign = b.foreign[:len(b.foreign)-1]
		return blockOver
	}
	return rowTaken
}

// own keeps a line of the block; what stood in between was output of others.
func (b *block) own(l line) verdict {
	b.foreign, b.blank = nil, false
	b.keep(l.raw)
	return rowTaken
}

// row reads "label: value …" and reports whether the line is a row. A label that
// no field means becomes an extra where free is set.
func (b *block) row(text string, free bool) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != ':' {
			continue
		}
		if p, label, seconds, ok := knownLabel(text[:i]); ok {
			b.put(p, label, strings.TrimSpace(text[i+1:]))
			b.seconds = b.seconds || seconds
			return true
		}
	}
	label, value, found := strings.Cut(text, ":")
	if !found || !free || !freeLabel.MatchString(label) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	if first == "" {
		return true // a heading within the block
	}
	v, ok := parseNumber(first)
	if !ok || value[0] != ' ' && value[0] != '\t' {
		return false
	}
	if strings.HasSuffix(first, "%") {
		v /= 100
	}
	b.setExtra(snakeLabel(label), v)
	return true
}

var freeLabel = regexp.MustCompile(`^[A-Za-z][\w ./%()+-]{0,60}$`)

// knownLabel looks for a known label at the end of what stands before a colon,
// since a container's name or a time may still stand before it.
func knownLabel(left string) (p place, label string, seconds, ok bool) {
	words := strings.Fields(left)
	for from := max(0, len(words)-8); from < len(words); from++ {
		label = strings.Join(words[from:], " ")
		if p, seconds, ok = lookupRow(label); ok {
			return p, label, seconds, true
		}
	}
	return place{}, "", false, false
}

// put records the value of a known row. The first of two equal rows counts; what
// people write behind a value is not part of it.
func (b *block) put(p place, label, text string) {
	first, _, _ := strings.Cut(text, " ")
	first, _, _ = strings.Cut(first, "\t")
	switch name := normalLabel(label); {
	case p.kind == toBackend, strings.Contains(name, "retokenized"), strings.HasPrefix(name, "max req"):
		b.sglang = true
	case name == "user throughput(tok/s)", strings.HasSuffix(name, "request ar"):
		b.trtllm = true
	}
	switch p.kind {
	case toBackend:
		b.backend = first
		return
	case toLimit, toRate:
		if strings.HasPrefix(text, "not set") {
			first = "inf"
		}
		to := &b.limit
		if p.kind == toRate {
			to = &b.rate
		}
		if *to == "" {
			*to = first
		}
		return
	}
	if isAbsent(first) {
		if !slices.Contains(b.absent, p.name) {
			b.absent = append(b.absent, p.name)
		}
		return
	}
	v, ok := parseNumber(first)
	if !ok {
		b.unread = append(b.unread, fmt.Sprintf("%q is %q", label, clip(text, 40)))
		return
	}
	if p.kind == toExtra {
		b.setExtra(p.name, p.scaled(v))
		return
	}
	if _, given := b.figures[p.name]; given {
		return
	}
	b.figures.Set(p.name, p.scaled(v))
	if strings.HasSuffix(p.name, "_ms") {
		if d := decimalsOf(first); b.decimals < 0 || d < b.decimals {
			b.decimals = d
		}
	}
}

func (b *block) setExtra(name string, v float64) {
	if _, given := b.extra[name]; !given && name != "" && len(b.extra) < maxExtra {
		b.extra[name] = core.Number(v)
	}
}

// measured gives the counts by which an ask is found.
func (b *block) measured() measured {
	m := measured{completed: b.figures["completed"]}
	if m.completed > 0 {
		m.meanIn = b.figures["input_tokens"] / m.completed
		m.meanOut = b.figures["output_tokens"] / m.completed
	}
	return m
}

// refusal says why the block is no result, "" where it is one. broken tells a
// damaged result from text that never was one.
func (b *block) refusal() (why string, broken bool) {
	_, completed := b.figures["completed"]
	duration := b.figures["duration_s"]
	switch {
	case len(b.unread) > 0 && (!completed || duration <= 0 || len(b.unread) >= 3):
		return "block left out: values are not numbers: " + strings.Join(b.unread[:min(3, len(b.unread))], ", "), false
	case len(b.figures) == 0:
		return "block left out: no row with a figure follows its header", false
	case !completed:
		return `block left out: no "Successful requests" row`, true
	case duration <= 0 && b.figures["completed"] > 0:
		return `block left out: no "Benchmark duration (s)" row above 0`, true
	}
	return "", false
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
