package store

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// condition plans one condition: in SQL where the field is a column whose SQL
// comparison means the same, else in Go on each row.
func (p *rowPlan) condition(c core.Cond) error {
	f, ok := core.LookupField(c.Field)
	if !ok {
		return core.CheckFieldName(c.Field)
	}
	if err := checkCond(c); err != nil {
		return err
	}
	if f.Type == core.VersionType {
		return fmt.Errorf("%w: versions are compared by the query, not here", core.ErrInvalid)
	}
	expr, conds, args := p.sqlPlace(f, c)
	if expr == "" {
		get, err := p.field(f.Name)
		if err != nil {
			return err
		}
		p.filters = append(p.filters, func(cells []any) bool { return passes(get(cells), c) })
		return nil
	}
	text, params, never := sqlCond(expr, f, c)
	if never {
		p.nothing = true
		return nil
	}
	*conds, *args = append(*conds, text), append(*args, params...)
	return nil
}

// picksFew reports whether a condition leaves few trials, found by an index.
func picksFew(c core.Cond) bool {
	return c.Field == "number" && c.Op != core.OpNe || c.Field == "id" && (c.Op == core.OpEq || c.Op == core.OpIn)
}

func checkCond(c core.Cond) error {
	switch c.Op {
	case core.OpEq, core.OpNe, core.OpLt, core.OpLe, core.OpGt, core.OpGe:
		if len(c.Values) != 1 {
			return fmt.Errorf("%w: %s wants one value, not %d", core.ErrInvalid, c.Op, len(c.Values))
		}
	case core.OpIn:
	default:
		return fmt.Errorf("%w: unknown comparison %q", core.ErrInvalid, c.Op)
	}
	return nil
}

// sqlPlace names the column of a field and the list that its condition joins;
// an empty name sends the condition to Go.
//
// A + before a column keeps SQLite from an index that would pick most of the
// table row by row; only what picks few trials may use one.
func (p *rowPlan) sqlPlace(f core.Field, c core.Cond) (expr string, conds *[]string, args *[]any) {
	if expr, ok := setupTable.columns[f.Name]; ok {
		return expr, &p.setupConds, &p.setupArgs
	}
	if expr, ok := workloadTable.columns[f.Name]; ok {
		return expr, &p.loadConds, &p.loadArgs
	}
	if !isTrialColumn[f.Name] || f.Type == core.TimeType {
		return "", nil, nil
	}
	if f.Name == "id" {
		if c.Op != core.OpEq && c.Op != core.OpIn {
			return "", nil, nil
		}
		return "t.id", &p.conds, &p.args
	}
	selective := c.Op == core.OpEq && (f.Name == "study" || f.Name == "number" ||
		(f.Name == "status" && c.Values[0] != core.String(string(core.StatusOK))))
	if !selective && f.Name != "number" {
		return "+t." + f.Name, &p.conds, &p.args
	}
	return "t." + f.Name, &p.conds, &p.args
}

// sqlCond writes a comparison of a typed column; never says that no row passes.
func sqlCond(expr string, f core.Field, c core.Cond) (text string, args []any, never bool) {
	for _, v := range c.Values {
		if arg, ok := sqlLiteral(f, v); ok {
			args = append(args, arg)
		}
	}
	switch {
	case c.Op == core.OpIn && len(args) > 0:
		return expr + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args, false
	case c.Op == core.OpNe && len(args) == 0 && !c.Values[0].IsMissing():
		return expr + " IS NOT NULL", nil, false // of another kind, so unequal
	case len(args) == 0:
		return "", nil, true
	case f.Type == core.BoolType && c.Op != core.OpEq && c.Op != core.OpNe:
		return "", nil, true
	}
	op := string(c.Op)
	switch c.Op {
	case core.OpEq:
		op = "="
	case core.OpNe:
		op = "<>"
	}
	return expr + " " + op + " ?", args, false
}

// sqlLiteral turns a literal into a parameter where its kind is the field's.
func sqlLiteral(f core.Field, v core.Value) (any, bool) {
	switch f.Type {
	case core.NumberType:
		if v.Kind == core.KindNumber && !math.IsNaN(v.Num) {
			return v.Num, true
		}
	case core.BoolType:
		if v.Kind == core.KindBool {
			return int64(v.Num), true
		}
	case core.TextType:
		if v.Kind != core.KindText {
			return nil, false
		}
		if f.Name == "id" {
			id, err := core.ParseID(v.Text)
			return id[:], err == nil && id.String() == v.Text
		}
		return v.Text, true
	}
	return nil, false
}

// passes evaluates a condition on a value; undecided is false.
func passes(v core.Value, c core.Cond) bool {
	if v.IsMissing() {
		return false
	}
	switch c.Op {
	case core.OpEq:
		return equal(v, c.Values[0])
	case core.OpNe:
		return !c.Values[0].IsMissing() && !equal(v, c.Values[0])
	case core.OpIn:
		for _, w := range c.Values {
			if equal(v, w) {
				return true
			}
		}
		return false
	}
	w := c.Values[0]
	if v.Kind != w.Kind {
		return false
	}
	var order int
	switch v.Kind {
	case core.KindNumber:
		if math.IsNaN(w.Num) {
			return false
		}
		order = compareFloats(v.Num, w.Num)
	case core.KindText:
		order = strings.Compare(v.Text, w.Text)
	default:
		return false
	}
	switch c.Op {
	case core.OpLt:
		return order < 0
	case core.OpLe:
		return order <= 0
	case core.OpGt:
		return order > 0
	}
	return order >= 0
}

// equal: unset equals nothing, not even unset.
func equal(v, w core.Value) bool {
	return v.Kind == w.Kind && v.Kind != core.KindUnset && v.Kind != core.KindMissing && v.Num == w.Num && v.Text == w.Text
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
