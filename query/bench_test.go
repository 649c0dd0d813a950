package query_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// large is a history of n made-up trials whose values cost nothing to read, so that
// only the evaluation is measured.
type large int

func (l large) History(context.Context) (core.History, error) {
	return core.History{ID: "large", Trials: int(l)}, nil
}
func (l large) Names(context.Context) (core.Names, error) { return core.Names{}, nil }

func (large) Requests(context.Context, core.ID, bool) ([]core.Sample, error) { return nil, nil }

func (l large) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		pool := make([][]core.Value, len(sel.Columns))
		for i, name := range sel.Columns {
			pool[i] = large(0).column(name)
		}
		row := make([]core.Value, len(sel.Columns))
		for n := range int(l) {
			for i, values := range pool {
				row[i] = values[n*(2*i+1)%len(values)]
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// column gives the values that a column goes through.
func (large) column(name string) []core.Value {
	f, _ := core.LookupField(name)
	var out []core.Value
	for i := range 4096 {
		switch {
		case name == "status":
			out = append(out, core.String("ok"))
		case name == "simulated":
			out = append(out, core.Bool(false))
		case name == "id":
			out = append(out, core.String(fmt.Sprintf("%08d", i)))
		case f.Type == core.NumberType && f.Measured():
			out = append(out, core.Number(float64(i*7919%4096)/4095))
		case f.Type == core.NumberType:
			out = append(out, core.Number(float64(i%6)))
		case f.Type == core.BoolType:
			out = append(out, core.Bool(i%2 == 0))
		case i%10 == 9:
			out = append(out, core.Missing())
		default:
			out = append(out, core.String(fmt.Sprint(name, i%5)))
		}
	}
	return out
}

func BenchmarkRun(b *testing.B) {
	for _, text := range []string{
		"max total_tps where success_rate > 0.9",
		"max total_tps where success_rate > 0.9 and engine == \"engine3\" by model, load vs role == \"role1\"",
		"show engine, median(total_tps), count() where p99_ttft_ms < 0.5 by engine",
		"show number, total_tps where p99_ttft_ms < 0.5 order by total_tps desc limit 20",
		"count where total_tps > 0.5",
		"max total_tps where success_rate > 0.9 per setup",
		"max total_tps within noise",
		"last p99_ttft_ms < 0.9 along concurrency",
		"max total_tps by engine over workload",
	} {
		b.Run(text, func(b *testing.B) {
			const trials = 100_000
			b.ReportAllocs()
			for b.Loop() {
				if _, err := query.Run(b.Context(), large(trials), text, query.Options{Now: noon}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trials, "ns/trial")
		})
	}
}
