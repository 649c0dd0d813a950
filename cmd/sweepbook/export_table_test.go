package main

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// TestParquet reads back what is written, column by column: types, nulls, the order
// of the columns, and more rows than one batch holds.
func TestParquet(t *testing.T) {
	at := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	in := table{columns: []query.Column{
		{Name: "study", Type: core.TextType}, {Name: "total_tps", Type: core.NumberType}, {Name: "started_at", Type: core.TimeType}, {Name: "simulated", Type: core.BoolType},
		{Name: "args.max_num_seqs", Type: core.AnyType}, {Name: "args.prefix", Type: core.AnyType}, {Name: "args.mixed", Type: core.AnyType}, {Name: "extra.none", Type: core.AnyType},
	}}
	const n = 2500
	for i := range n {
		row := []core.Value{core.String("s"), core.Number(float64(i) / 4), core.Number(float64(at.Unix())), core.Bool(i%2 == 0), core.Number(float64(i)), core.Bool(true), core.Number(8), core.Missing()}
		switch i {
		case 1:
			row[1], row[2], row[3], row[4] = core.Missing(), core.Missing(), core.Missing(), core.Unset()
			row[6] = core.String("auto")
		case 2:
			row[1] = core.Unlimited()
		}
		in.rows = append(in.rows, row)
	}
	var file bytes.Buffer
	if err := in.withoutEmpty(4).writeParquet(&file); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name()+" "+field.Type().String())
	}
	want := []string{"study STRING", "total_tps DOUBLE", "started_at TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS)", "simulated BOOLEAN", "args.max_num_seqs DOUBLE", "args.prefix BOOLEAN", "args.mixed STRING"}
	if len(names) != len(want) {
		t.Fatalf("columns %q, want %q", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("column %d is %q, want %q", i, names[i], want[i])
		}
	}
	rows := make([]parquet.Row, n+1)
	reader := parquet.NewReader(bytes.NewReader(file.Bytes()))
	got := 0
	for got < n {
		k, err := reader.ReadRows(rows[got:])
		for i := range k {
			rows[got+i] = rows[got+i].Clone()
		}
		if got += k; err != nil {
			break
		}
	}
	if got != n {
		t.Fatalf("%d rows, want %d", got, n)
	}
	if r := rows[0]; r[0].String() != "s" || r[1].Double() != 0 || r[2].Int64() != at.UnixMilli() || !r[3].Boolean() || r[4].Double() != 0 || r[6].String() != "8" {
		t.Errorf("first row: %v", r)
	}
	if r := rows[1]; !r[1].IsNull() || !r[2].IsNull() || !r[3].IsNull() || !r[4].IsNull() || r[6].String() != "auto" {
		t.Errorf("row without values: %v", r)
	}
	if !math.IsInf(rows[2][1].Double(), 1) || rows[n-1][1].Double() != float64(n-1)/4 {
		t.Errorf("unlimited is %v, the last value %v", rows[2][1], rows[n-1][1])
	}
}
