package query

import (
	"cmp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// numbersOf are the numbers of the trials that a row stands for, none for an
// aggregate.
func (p *plan) numbersOf(row []core.Value) []int64 {
	if p.grouped {
		return nil
	}
	var out []int64
	for _, one := range p.trialsOf(row) {
		if n := one[p.number]; n.Kind == core.KindNumber {
			out = append(out, int64(n.Num))
		}
	}
	return out
}

// CompareVersions orders two texts as the language orders fields that hold versions:
// by PEP 440, and what is no version behind, by code point.
func CompareVersions(a, b string) int {
	x, okX := parseVersion(a)
	y, okY := parseVersion(b)
	switch {
	case okX && okY:
		return cmp.Or(compareVersions(x, y), strings.Compare(a, b))
	case okX:
		return -1
	case okY:
		return 1
	}
	return strings.Compare(a, b)
}
