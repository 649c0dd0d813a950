package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Check looks every field, knob and type up against what a history records and
// what the tables know. An error is a *SyntaxError with the nearest names.
func (q *Query) Check(names core.Names) error {
	_, err := q.plan(names, Options{Now: time.Unix(0, 0)})
	return err
}

// lookup finds a field, or says which were meant.
func (p *plan) lookup(e *expression, name string, off int) (core.Field, error) {
	f, ok := core.LookupField(name)
	prefix, rest, dotted := strings.Cut(name, ".")
	if !ok {
		if slices.Contains([]string{"args", "passed", "extra", "quality"}, name) {
			return f, e.errorf(off, "%s wants a name: %s.name", name, name)
		}
		err := e.errorf(off, "unknown field %q", name)
		if dotted {
			err.Msg += ": only args, passed, extra and quality have names behind a dot"
		}
		if err.Near = fieldHabit(name); err.Near == nil {
			err.Near = p.near(name)
		}
		if name == "baseline" || name == "candidate" {
			err.Msg += "; a role is text: role == \"" + name + "\""
		}
		return f, err
	}
	if !dotted || prefix == "severity" { // LookupField knows every metric behind severity
		p.asked[f.Name] = true
		return f, nil
	}
	known := map[string][]string{"args": p.names.Knobs, "passed": p.names.Knobs, "extra": p.names.Extra,
		"quality": p.names.Quality}[prefix]
	knob := prefix == "args" || prefix == "passed"
	if slices.Contains(known, rest) || (knob && core.KnownKnob(rest)) {
		p.asked[f.Name] = true
		return f, nil
	}
	what := "no trial records it"
	if knob {
		what = "no trial records this knob and no knob table lists it"
		known = slices.Clone(known)
		for _, idea := range core.Ideas() {
			if !slices.Contains(known, idea.Name) {
				known = append(known, idea.Name)
			}
		}
		if dashed := dashedName(e.query[off:]); dashed != name {
			snake := strings.ReplaceAll(dashed, "-", "_")
			return f, e.errorf(off, "unknown field %q: knobs are written with underscores: %s", name, snake)
		}
	}
	err := e.errorf(off, "unknown field %q: %s", name, what)
	for _, near := range core.NearestNames(rest, known) {
		err.Near = append(err.Near, prefix+"."+near)
	}
	return f, err
}

// dashedName is the name at the start of a text as a command line would spell it.
func dashedName(s string) string {
	for i, r := range s {
		if !isWordRune(r) && r != '.' && (r != '-' || i+1 >= len(s) || !isWordRune(rune(s[i+1]))) {
			return s[:i]
		}
	}
	return s
}

// near gives the names that a mistyped field may have meant: a knob without its
// prefix, the same words in another order, then names of few edits away.
func (p *plan) near(name string) []string {
	if core.KnownKnob(name) || slices.Contains(p.names.Knobs, name) {
		return []string{"args." + name}
	}
	if len([]rune(name)) < 2 {
		return nil // everything short is near
	}
	all := append(core.FieldNames(), p.names.Figures...)
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '.' })
	var near []string
	if len(words) > 1 {
		for _, f := range all {
			has := strings.Split(f, "_")
			if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
				near = append(near, f)
			}
		}
		slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	}
	for _, f := range core.NearestNames(name, all) {
		if !slices.Contains(near, f) {
			near = append(near, f)
		}
	}
	return near[:min(3, len(near))]
}
