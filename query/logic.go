package query

import (
	"cmp"
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// tri is a truth value of Kleene's logic. The zero value is undecided.
type tri int8

const (
	undecided tri = iota
	no
	yes
)

func truth(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (t tri) not() tri {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return undecided
}

func (t tri) and(u tri) tri {
	switch {
	case t == no || u == no:
		return no
	case t == yes && u == yes:
		return yes
	}
	return undecided
}

func (t tri) or(u tri) tri { return t.not().and(u.not()).not() }

// value is the truth value as a field's value: undecided is missing.
func (t tri) value() core.Value {
	if t == undecided {
		return core.Missing()
	}
	return core.Bool(t == yes)
}

// condition is a value as a truth value, as if it were compared with true.
func condition(v core.Value) tri {
	switch v.Kind {
	case core.KindMissing:
		return undecided
	case core.KindBool:
		return truth(v.Num == 1)
	}
	return no
}

// known reports whether the value is one: neither missing nor unset.
func known(v core.Value) bool { return v.Kind != core.KindMissing && v.Kind != core.KindUnset }

// equal is == of the language. Unset is known to equal nothing, whatever the other
// side may turn out to be.
func equal(a, b core.Value) tri {
	switch {
	case a.Kind == core.KindUnset || b.Kind == core.KindUnset:
		return no
	case a.Kind == core.KindMissing || b.Kind == core.KindMissing:
		return undecided
	case a.Kind != b.Kind:
		return no
	case a.Kind == core.KindText:
		return truth(a.Text == b.Text)
	}
	return truth(a.Num == b.Num)
}

// order compares two values of one kind; ok is false where they have no order.
func order(a, b core.Value) (c int, ok bool) {
	switch {
	case a.Kind != b.Kind:
		return 0, false
	case a.Kind == core.KindNumber:
		return cmp.Compare(a.Num, b.Num), true
	case a.Kind == core.KindText:
		return strings.Compare(a.Text, b.Text), true
	}
	return 0, false
}

// holds turns an order into the truth of a comparison.
func holds(op string, c int) tri {
	switch op {
	case "<":
		return truth(c < 0)
	case "<=":
		return truth(c <= 0)
	case ">":
		return truth(c > 0)
	case ">=":
		return truth(c >= 0)
	case "==":
		return truth(c == 0)
	}
	return truth(c != 0)
}

// finite is a number, or missing when the result is not finite. There is one zero:
// adding 0 turns -0 into it.
func finite(f float64) core.Value {
	if math.IsInf(f, 0) {
		return core.Missing()
	}
	return core.Number(f + 0)
}

// arithmetic is a + b and the like on two values.
func arithmetic(op string, a, b core.Value) core.Value {
	if a.Kind != core.KindNumber || b.Kind != core.KindNumber || math.IsInf(a.Num, 0) || math.IsInf(b.Num, 0) {
		return core.Missing()
	}
	switch op {
	case "+":
		return finite(a.Num + b.Num)
	case "-":
		return finite(a.Num - b.Num)
	case "*":
		return finite(a.Num * b.Num)
	case "/":
		return finite(a.Num / b.Num)
	case "%":
		return finite(math.Mod(a.Num, b.Num))
	}
	return finite(math.Pow(a.Num, b.Num))
}

// versions reads version texts, each distinct one once. It serves one run.
type versions map[string]parsedVersion

type parsedVersion struct {
	version
	ok bool
}

func (m versions) parse(text string) parsedVersion {
	p, seen := m[text]
	if !seen {
		p.version, p.ok = parseVersion(text)
		m[text] = p
	}
	return p
}

// compare is a comparison of two values as versions.
func (m versions) compare(op string, a, b core.Value) tri {
	if a.Kind == core.KindText && b.Kind == core.KindText {
		x, y := m.parse(a.Text), m.parse(b.Text)
		if x.ok && y.ok {
			return holds(op, compareVersions(x.version, y.version))
		}
	}
	return compareValues(op, a, b, false)
}

// compareValues is a comparison of two values that are no versions. ordered says
// whether text has an order here.
func compareValues(op string, a, b core.Value, ordered bool) tri {
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return equal(a, b).not()
	}
	c, ok := order(a, b)
	if !ok || (a.Kind == core.KindText && !ordered) {
		return undecided
	}
	return holds(op, c)
}

// sortValues orders values for people: by kind, then by content; unset and
// missing come last, also in descending order.
func (m versions) sortValues(a, b core.Value, t core.Type, desc bool) int {
	if known(a) != known(b) {
		if known(a) {
			return -1
		}
		return 1
	}
	c := cmp.Compare(kindRank(a.Kind), kindRank(b.Kind))
	switch {
	case c != 0:
	case a.Kind == core.KindText && t == core.VersionType:
		x, y := m.parse(a.Text), m.parse(b.Text)
		switch {
		case x.ok && y.ok:
			c = compareVersions(x.version, y.version)
		case x.ok != y.ok:
			c = -1
			if y.ok {
				c = 1
			}
		}
		if c == 0 {
			c = strings.Compare(a.Text, b.Text)
		}
	case a.Kind == core.KindText:
		c = strings.Compare(a.Text, b.Text)
	default:
		c = cmp.Compare(a.Num, b.Num)
	}
	if desc && known(a) {
		return -c
	}
	return c
}

func kindRank(k core.Kind) int {
	switch k {
	case core.KindBool:
		return 0
	case core.KindNumber:
		return 1
	case core.KindText:
		return 2
	case core.KindUnset:
		return 3
	}
	return 4
}
