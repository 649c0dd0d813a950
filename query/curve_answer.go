package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// curveOutputs are the columns of the rows of a curve: where it breaks and what
// stands on either side. Of two trials the one that answers has plain names.
func (p *plan) curveOutputs() {
	c, q := p.curve, p.q
	answer := func(n *node) func(*group, []core.Value) core.Value {
		return func(_ *group, row []core.Value) core.Value { return n.val(row[:p.keep]) }
	}
	other := func(n *node) func(*group, []core.Value) core.Value {
		return func(_ *group, row []core.Value) core.Value {
			if side := row[p.keep : 2*p.keep]; known(side[p.id]) {
				return n.val(side)
			}
			return core.Missing()
		}
	}
	said := func(i int) func(*group, []core.Value) core.Value {
		return func(_ *group, row []core.Value) core.Value { return row[2*p.keep+i] }
	}
	add := func(c Column, get func(*group, []core.Value) core.Value) {
		if !slices.ContainsFunc(p.outputs, func(o output) bool { return o.Name == c.Name }) {
			p.outputs = append(p.outputs, output{c, get})
		}
	}
	x := q.along.name
	switch q.verb {
	case "first", "last":
		side := "before"
		if q.verb == "last" {
			side = "after"
		}
		add(describe(x, c.along, 0), answer(c.along))
		add(describe(side+"("+x+")", c.along, 0), other(c.along))
		for i, n := range c.shown {
			add(describe(c.names[i], n, 0), answer(n))
			add(describe(side+"("+c.names[i]+")", n, 0), other(n))
		}
		p.tailOutputs(answer, other, said, side)
	case "at":
		add(describe(x, c.along, 0), said(curveAt))
		add(describe("before("+x+")", c.along, 0), answer(c.along))
		add(describe("after("+x+")", c.along, 0), other(c.along))
		add(describe("before("+q.value.name+")", c.value, 0), said(curveBefore))
		add(describe("after("+q.value.name+")", c.value, 0), said(curveAfter))
		p.tailOutputs(answer, other, said, "after")
	case "change":
		add(describe(x, c.along, 0), answer(c.along))
		add(describe("before("+x+")", c.along, 0), other(c.along))
		v := describe(q.value.name, c.value, 0)
		add(v, said(curveAfter))
		add(describe("before("+q.value.name+")", c.value, 0), said(curveBefore))
		add(Column{Name: "change", Type: core.NumberType, Better: v.Better}, func(_ *group, row []core.Value) core.Value {
			return gain(row[2*p.keep+curveAfter], row[2*p.keep+curveBefore], core.HigherBetter)
		})
		p.tailOutputs(answer, other, said, "before")
	}
}

// tailOutputs are the columns that name the trials. Of at, both trials stand on a
// side of the place, so that neither has the plain name.
func (p *plan) tailOutputs(answer, other func(*node) func(*group, []core.Value) core.Value, said func(int) func(*group, []core.Value) core.Value, side string) {
	add := func(c Column, get func(*group, []core.Value) core.Value) {
		if !slices.ContainsFunc(p.outputs, func(o output) bool { return o.Name == c.Name }) {
			p.outputs = append(p.outputs, output{c, get})
		}
	}
	for _, name := range p.tail() {
		switch name {
		case "n":
			add(Column{Name: name, Type: core.NumberType}, said(curveTrials))
			continue
		case "failed_repeats":
			add(Column{Name: name, Type: core.NumberType, Better: core.LowerBetter}, said(curveFailed))
			continue
		case "findings":
			add(Column{Name: name, Type: core.NumberType, Better: core.LowerBetter}, said(curveFindings))
			continue
		}
		n := p.fieldColumn(name)
		if name != "number" && name != "id" {
			add(describe(name, n, 0), answer(n))
			continue
		}
		plain := name
		if p.q.verb == "at" {
			plain = "before(" + name + ")"
		}
		add(describe(plain, n, 0), answer(n))
		add(describe(side+"("+name+")", n, 0), other(n))
	}
}

// curveWarnings says what the rows of a curve do not show.
func (p *plan) curveWarnings() []Warning {
	c := p.curve
	if c == nil {
		return nil
	}
	var out []Warning
	warn := func(code, hint, lead string, list []string) {
		if len(list) == 0 {
			return
		}
		const most = 5
		text := strings.Join(list[:min(most, len(list))], "; ")
		if n := len(list) - most; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, Warning{Code: code, Message: lead + text, Hint: hint})
	}
	what := ""
	if c.cond != nil {
		what = p.q.cond.text
	} else {
		what = p.q.value.text
	}
	switch p.q.verb {
	case "first":
		warn("never", "", what+" holds nowhere: ", c.never)
		warn("open", "measure lower to bracket it", what+" holds already ", c.open)
		warn("later", "", what+" does not hold any more at ", c.later)
	case "last":
		warn("never", "", what+" does not hold: ", c.never)
		warn("open", "measure higher to bracket it", what+" still holds ", c.open)
		warn("later", "", what+" holds again at ", c.later)
	case "at":
		target := core.Number(p.q.target)
		warn("never", "", fmt.Sprintf("%s is nowhere %s, and nothing is extrapolated: ", what, target), c.never)
		warn("later", "", fmt.Sprintf("%s is %s at several places: ", what, target), c.later)
		warn("open", "", fmt.Sprintf("%s is %s at a place that cannot be interpolated, because one end is unlimited: above ", what, target), c.between)
	}
	warn("mixed", "per setup judges repeats as one", what+" holds for some trials only at ", c.mixed)
	warn("repeats", "choose one of the configurations in where", "imported trials of different option stand at one place, because all that is known of their setup is equal: ", c.doubt)
	if c.single > 0 {
		out = append(out, Warning{Code: "single", Message: fmt.Sprintf("%s with one value of %s only: nothing to compare it with",
			plural(c.single, "curve"), p.q.along.text)})
	}
	return out
}
