package ingest

import (
	"slices"
	"strings"
)

// paragraph is a run of lines without a blank one: its first and last line.
type paragraph struct {
	lines       int
	first, last string
}

// expectation is the fact that a heading has announced.
type expectation uint8

const (
	expectNothing expectation = iota
	expectModel
	expectHardware
)

// commentLine keeps a comment, which is a label if a block follows.
func (r *servingReader) commentLine(text string) {
	r.inFlags, r.defining = false, nil
	if r.gap || len(r.comment) >= 3 {
		if !r.titled && len(r.comment) == 1 {
			r.titleOf(r.comment[0])
		}
		r.comment = nil
	}
	r.gap = false
	r.comment = append(r.comment, clip(strings.TrimSpace(strings.TrimLeft(text, "# ")), 1000))
}

// titleOf takes the first line of a text as the name of its study.
func (r *servingReader) titleOf(text string) {
	r.titled = true
	if h, ok := asHeading(text); ok && !r.terminal {
		r.study = maskSecrets(h.text)
	}
}

// endParagraph judges the lines since the last blank one.
func (r *servingReader) endParagraph() {
	p := r.para
	r.para = paragraph{}
	if p.lines == 0 {
		return
	}
	expected := r.expect
	r.expect = expectNothing
	if p.lines > 1 {
		r.titled = true
		if expected != expectNothing {
			r.fact(expected, p.first)
		}
		if last := p.last; !strings.ContainsAny(last[len(last)-1:], ".!?:") && !strings.HasSuffix(last, "…") {
			r.outline.table()
		}
		return
	}
	if !r.titled {
		r.titleOf(p.first)
		return
	}
	if expected != expectNothing && r.fact(expected, p.first) {
		return
	}
	if r.terminal && markdownHeading.FindString(p.first) == "" {
		return
	}
	h, ok := asHeading(p.first)
	if !ok {
		return
	}
	if r.expect = factHeading(h.text); r.expect != expectNothing {
		return
	}
	r.outline.add(h)
	r.profile = ""
}

// factHeading recognises the heading above a fact.
func factHeading(text string) expectation {
	switch strings.ToLower(strings.Trim(text, "*: ")) {
	case "модель", "model":
		return expectModel
	case "оборудование", "hardware", "gpu", "gpus":
		return expectHardware
	}
	return expectNothing
}

// fact takes an announced fact and reports whether the text was one.
func (r *servingReader) fact(what expectation, text string) bool {
	switch what {
	case expectModel:
		if name := strings.Trim(text, "`* "); !strings.ContainsAny(name, " \t") {
			r.facts.model = name
			r.name(name)
			return true
		}
	case expectHardware:
		return r.facts.hardware(text)
	}
	return false
}

// name remembers a model's name that gives its owner.
func (r *servingReader) name(model string) {
	if strings.Contains(model, "/") && !strings.HasPrefix(model, "/") && !strings.Contains(model, "$") &&
		!slices.Contains(r.names, model) && len(r.names) < 32 {
		r.names = append(r.names, model)
	}
}
