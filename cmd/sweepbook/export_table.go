package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// exportTable gives a row for each trial that meets the condition: the fixed
// fields, then whatever else one of them has, as args.NAME, quality.NAME, extra.NAME
// and further percentiles.
func (a *app) exportTable(ctx context.Context, db *store.DB, where string) (table, error) {
	var names []string
	for _, f := range core.Fields() {
		names = append(names, f.Name)
	}
	fixed := len(names)
	more, err := db.Names(ctx)
	if err != nil {
		return table{}, fmt.Errorf("export: %w", err)
	}
	names = append(names, more.Figures...)
	for _, list := range []struct {
		prefix string
		names  []string
	}{{"args.", more.Knobs}, {"quality.", more.Quality}, {"extra.", more.Extra}} {
		for _, name := range list.names {
			if f, ok := core.LookupField(list.prefix + name); ok && f.Name == list.prefix+name {
				names = append(names, f.Name)
			}
		}
	}
	answer, err := query.Run(ctx, db, "show "+strings.Join(names, ", ")+" where "+where, query.Options{Now: a.now()})
	if err != nil {
		return table{}, err
	}
	return table{answer.Columns, answer.Rows}.withoutEmpty(fixed), nil
}

// withoutEmpty leaves out the columns after the first few that no row has a value in.
func (t table) withoutEmpty(first int) table {
	var keep []int
	for i := range t.columns {
		used := i < first
		for _, row := range t.rows {
			used = used || row[i].Kind != core.KindMissing && row[i].Kind != core.KindUnset
		}
		if used {
			keep = append(keep, i)
		}
	}
	var out table
	for _, i := range keep {
		out.columns = append(out.columns, t.columns[i])
	}
	for _, row := range t.rows {
		kept := make([]core.Value, len(keep))
		for at, i := range keep {
			kept[at] = row[i]
		}
		out.rows = append(out.rows, kept)
	}
	return out
}

// parquetColumns is a group of columns in a given order; the library's own group is
// in the order of the names.
type parquetColumns struct {
	parquet.Group
	order []string
}

func (g parquetColumns) Fields() []parquet.Field {
	named := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		named[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.order))
	for i, name := range g.order {
		fields[i] = named[name]
	}
	return fields
}

// writeParquet writes the table with a column of its type each: double (a limit
// that is none is infinite), boolean, UTC timestamp of milliseconds, or text. What is
// missing is null. A knob or extra that is sometimes a number and sometimes a word is
// text.
func (t table) writeParquet(w io.Writer) error {
	columns := parquetColumns{Group: parquet.Group{}}
	kinds := make([]core.Type, len(t.columns))
	for i, c := range t.columns {
		kinds[i] = t.typeOf(i)
		columns.Group[c.Name] = parquet.Optional(parquetNode(kinds[i]))
		columns.order = append(columns.order, c.Name)
	}
	if len(columns.Group) != len(t.columns) {
		return fmt.Errorf("export: %w: two columns have one name", core.ErrInvalid)
	}
	out := parquet.NewGenericWriter[any](w, parquet.NewSchema("trial", columns), parquet.Compression(&parquet.Snappy), parquet.CreatedBy("sweepbook", "", ""))
	const batch = 1000
	rows := make([]parquet.Row, 0, batch)
	for n, row := range t.rows {
		values := make(parquet.Row, len(row))
		for i, v := range row {
			values[i] = parquetValue(kinds[i], t.columns[i], v).Level(0, 1, i)
			if values[i].IsNull() {
				values[i] = parquet.NullValue().Level(0, 0, i)
			}
		}
		if rows = append(rows, values); len(rows) == batch || n == len(t.rows)-1 {
			if _, err := out.WriteRows(rows); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			rows = rows[:0]
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// typeOf is the type of a column, of one that may hold anything what its values are.
func (t table) typeOf(column int) core.Type {
	if c := t.columns[column]; c.Type != core.AnyType {
		return c.Type
	}
	found := core.Type(0)
	for _, row := range t.rows {
		kind := core.TextType
		switch row[column].Kind {
		case core.KindMissing, core.KindUnset:
			continue
		case core.KindNumber:
			kind = core.NumberType
		case core.KindBool:
			kind = core.BoolType
		}
		if found != 0 && found != kind {
			return core.TextType
		}
		found = kind
	}
	if found == 0 {
		return core.TextType
	}
	return found
}

func parquetNode(t core.Type) parquet.Node {
	switch t {
	case core.NumberType:
		return parquet.Leaf(parquet.DoubleType)
	case core.BoolType:
		return parquet.Leaf(parquet.BooleanType)
	case core.TimeType:
		return parquet.Timestamp(parquet.Millisecond)
	}
	return parquet.String()
}

func parquetValue(t core.Type, c query.Column, v core.Value) parquet.Value {
	switch {
	case v.Kind == core.KindMissing || v.Kind == core.KindUnset:
		return parquet.NullValue()
	case t == core.NumberType && v.Kind == core.KindNumber:
		return parquet.DoubleValue(v.Num)
	case t == core.BoolType && v.Kind == core.KindBool:
		return parquet.BooleanValue(v.Num == 1)
	case t == core.TimeType && v.Kind == core.KindNumber:
		return parquet.Int64Value(int64(v.Num * float64(time.Second/time.Millisecond)))
	case t == core.NumberType || t == core.BoolType || t == core.TimeType:
		return parquet.NullValue()
	case v.Kind == core.KindText:
		return parquet.ByteArrayValue([]byte(v.Text))
	}
	return parquet.ByteArrayValue([]byte(exact(c, v)))
}
