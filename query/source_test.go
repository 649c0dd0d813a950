package query_test

import (
	"context"
	"encoding/csv"
	"errors"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// memory is a history of trials in memory. Its rows are one slice that is used
// again, as a store's may be.
type memory []*core.Trial

func (m memory) History(context.Context) (core.History, error) {
	return core.History{ID: "h1", Trials: len(m)}, nil
}

func (m memory) Names(context.Context) (core.Names, error) {
	var names core.Names
	for _, t := range m {
		for knob := range t.Setup.Config.Knobs {
			names.Knobs = append(names.Knobs, core.KnobAliases(t.Setup.Config.Engine, knob)...)
		}
		for name := range t.Extra {
			names.Extra = append(names.Extra, name)
		}
		for name := range t.Quality {
			names.Quality = append(names.Quality, name)
		}
	}
	return names, nil
}

func (memory) Requests(context.Context, core.ID, bool) ([]core.Sample, error) { return nil, nil }

func (m memory) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		if len(sel.Where) > 0 {
			yield(nil, errors.New("memory filters nothing"))
			return
		}
		row := make([]core.Value, len(sel.Columns))
		for _, t := range m {
			for i, name := range sel.Columns {
				row[i] = t.Value(name)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ask(t testing.TB, src query.Source, text string) *query.Answer {
	t.Helper()
	a, err := query.Run(t.Context(), src, text, query.Options{Now: noon})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	excluded := a.Excluded.Where + a.Excluded.Undecided + a.Excluded.Status + a.Excluded.Simulated
	if a.History.Trials != a.Considered+excluded {
		t.Fatalf("%s: %d trials, %d considered and %d excluded", text, a.History.Trials, a.Considered, excluded)
	}
	return a
}

// column is one column of an answer as text.
func column(t testing.TB, a *query.Answer, name string) []string {
	t.Helper()
	i := a.Column(name)
	if i < 0 {
		t.Fatalf("%s: no column %s among %v", a.Query, name, a.Columns)
	}
	out := []string{}
	for _, row := range a.Rows {
		out = append(out, row[i].String())
	}
	return out
}

func codes(a *query.Answer) []string {
	out := []string{}
	for _, w := range a.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func message(a *query.Answer, code string) string {
	for _, w := range a.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// trial makes a trial with status ok of fields and values in turn. Its number and
// id follow from n.
func trial(t testing.TB, n int, set ...any) *core.Trial {
	t.Helper()
	tr := &core.Trial{ID: core.ID{14: byte(n >> 8), 15: byte(n)}, Number: int64(n), Status: core.StatusOK}
	for i := 0; i < len(set); i += 2 {
		var v core.Value
		switch x := set[i+1].(type) {
		case float64:
			v = core.Number(x)
		case int:
			v = core.Number(float64(x))
		case string:
			v = core.String(x)
		case bool:
			v = core.Bool(x)
		case core.Value:
			v = x
		case time.Time:
			v = core.Number(float64(x.Unix()))
		default:
			t.Fatalf("value %v", x)
		}
		if err := tr.SetField(set[i].(string), v); err != nil {
			t.Fatal(err)
		}
	}
	tr.Derive()
	return tr
}

// reports are the figures of three published tuning reports, 58 trials in all. The
// block's label stands in option.
func reports(t testing.TB) memory {
	t.Helper()
	f, err := os.Open("testdata/reports.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var m memory
	for n, record := range records[1:] {
		tr := trial(t, n+1)
		for i, text := range record {
			name := records[0][i]
			v := core.ParseValue(text)
			switch {
			case text == "":
				continue
			case name == "label":
				name, v = "option", core.String(text)
			case name == "mean_e2el_s":
				f, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				name, v = "mean_e2el_ms", core.Number(f*1000)
			}
			if err := tr.SetField(name, v); err != nil {
				t.Fatal(err)
			}
		}
		tr.Derive()
		m = append(m, tr)
	}
	return m
}

// without is a history that lacks fields whose names begin so.
type without struct {
	memory
	prefix string
}

func (w without) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		for row, err := range w.memory.Rows(ctx, sel) {
			row = slices.Clone(row)
			for i, name := range sel.Columns {
				if strings.HasPrefix(name, w.prefix) {
					row[i] = core.Missing()
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// seen is a history that notes which columns were read.
type seen struct {
	memory
	columns []string
}

func (s *seen) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	s.columns = append(s.columns, sel.Columns...)
	return s.memory.Rows(ctx, sel)
}
