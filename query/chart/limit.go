package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Limit is a service-level objective on one column: "p99_ttft_ms <= 200".
type Limit struct {
	Column string
	Value  float64
	Upper  bool // the column may not exceed the value; else not fall below it
	Strict bool // nor reach it
}

// ParseLimit reads a comparison of a column with a number.
func ParseLimit(text string) (*Limit, error) {
	// The last sign counts, since a column may be an expression with signs of its own.
	if i := strings.LastIndexAny(text, "<>"); i >= 0 {
		column, rest := strings.TrimSpace(text[:i]), text[i+1:]
		number, equal := strings.CutPrefix(rest, "=")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && column != "" && !math.IsNaN(v) && math.Abs(v) <= largest {
			return &Limit{Column: column, Value: v, Upper: text[i] == '<', Strict: !equal}, nil
		}
	}
	return nil, fmt.Errorf("limit %q: %w: want a column, a sign and a number, such as p99_ttft_ms <= 200", text, core.ErrInvalid)
}

// Keeps reports whether a value keeps the limit.
func (l *Limit) Keeps(v float64) bool {
	switch {
	case v == l.Value:
		return !l.Strict
	case l.Upper:
		return v < l.Value
	}
	return v > l.Value
}

func (l *Limit) String() string {
	op := ">"
	if l.Upper {
		op = "<"
	}
	if !l.Strict {
		op += "="
	}
	return l.Column + " " + op + " " + Number(l.Value)
}
