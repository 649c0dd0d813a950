package chart_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

// memory is a history of a few trials.
type memory []*core.Trial

func (m memory) History(context.Context) (core.History, error) {
	return core.History{ID: "0192f3a1-0000", Trials: len(m)}, nil
}

func (m memory) Names(context.Context) (core.Names, error) { return core.Names{}, nil }

func (memory) Requests(context.Context, core.ID, bool) ([]core.Sample, error) { return nil, nil }

func (m memory) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		for _, t := range m {
			row := make([]core.Value, len(sel.Columns))
			for i, c := range sel.Columns {
				row[i] = t.Value(c)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func ask(t *testing.T, m memory, q string) *query.Answer {
	t.Helper()
	a, err := query.Run(context.Background(), m, q, query.Options{Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sweep is a sweep over concurrency whose records came in any order: one load
// twice, one failed, one configuration at a single load, one without a limit.
func sweep() memory {
	var m memory
	add := func(engine string, concurrency core.Value, total float64) {
		n := len(m) + 1
		t := &core.Trial{ID: core.HashID(fmt.Sprint(n)), Number: int64(n), Study: "sweep", Status: core.StatusOK,
			StartedAt: time.Date(2026, 11, 3, 8, n, 0, 0, time.UTC),
			Setup:     core.Setup{Config: core.Config{Engine: engine, Model: "example/8b"}},
			Workload:  core.Workload{Name: "random"}, Load: core.Load{Concurrency: concurrency, NumPrompts: core.Number(10)},
			Figures: core.Figures{"completed": 10, "failed": 0, "total_tps": total}}
		if total == 0 {
			t.Figures = core.Figures{"completed": 0, "failed": 10, "total_tps": 0}
		}
		if n == 1 {
			t.Role = core.RoleBaseline
		}
		t.Derive()
		m = append(m, t)
	}
	for _, p := range [][2]float64{{1, 100}, {16, 1200}, {128, 3000}, {2, 190}, {32, 1900}, {4, 370}} {
		add("tp1", core.Number(p[0]), p[1])
	}
	add("tp2", core.Number(16), 1400)
	add("tp1", core.Number(16), 1300)
	add("tp1", core.Number(64), 0)
	add("tp1-inf", core.Unlimited(), 3200)
	m[3].Findings = []core.Finding{{Rule: "A3", Severity: core.SeverityNote, Metrics: []string{"total_tps"}}}
	return m
}

func TestCurveOfAnAnswer(t *testing.T) {
	f, err := chart.FromAnswer(ask(t, sweep(), "show engine, concurrency, total_tps, findings"), chart.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.X != "concurrency" || f.Value != "total_tps" || f.Unit != "tok/s" || f.Better != core.HigherBetter {
		t.Errorf("x %q, value %q, unit %q, better %d", f.X, f.Value, f.Unit, f.Better)
	}
	got := map[string][]string{}
	for _, s := range f.Series {
		for _, p := range s.Points {
			got[s.Name] = append(got[s.Name], fmt.Sprintf("%s:%s:%d", p.X, p.Y, p.Findings))
		}
	}
	want := map[string][]string{
		"tp1":     {"1:100:0", "16:1200:0", "128:3000:0", "2:190:1", "32:1900:0", "4:370:0", "16:1300:0", "64::0"},
		"tp2":     {"16:1400:0"},
		"tp1-inf": {"unlimited:3200:0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestBarsOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		query string
		opt   chart.Options
		want  []string // label value emphasis findings
	}{
		{"max total_tps by engine", chart.Options{}, []string{"tp1 3000 0 0", "tp1-inf 3200 0 0", "tp2 1400 0 0"}},
		{"max total_tps where engine == \"tp1\" by engine, concurrency top 2 limit 3", chart.Options{},
			[]string{"concurrency=1 100 0 0", "concurrency=2 190 0 1", "concurrency=4 370 0 0"}},
		{"show total_tps, engine, role, concurrency, findings order by number limit 2", chart.Options{X: "-"},
			[]string{"concurrency=1 100 1 0", "concurrency=16 1200 0 0"}},
		{"show number, total_tps, engine where concurrency == 16", chart.Options{Label: []string{"engine"}},
			[]string{"tp1 #2 1200 0 0", "tp2 1400 0 0", "tp1 #8 1300 0 0"}},
		{"show median(total_tps) as middle, count() as n by engine", chart.Options{}, []string{"tp1 1200 0 1", "tp1-inf 3200 0 0", "tp2 1400 0 0"}},
		{"count by status", chart.Options{}, []string{"failed 1 0 0", "ok 9 0 0"}},
		{"show total_tps, engine where engine == \"tp2\"", chart.Options{}, []string{"tp2 1400 0 0"}},
		{"show engine, completed, total_tps where concurrency == 64", chart.Options{Value: "completed"}, []string{"tp1 0 0 0"}},
	} {
		f, err := chart.FromAnswer(ask(t, sweep(), c.query), c.opt)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		var got []string
		for _, m := range f.Bars {
			got = append(got, fmt.Sprintf("%s %s %d %d", m.Label, m.Value, m.Emphasis, m.Findings))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
		if _, err := chart.Draw(ask(t, sweep(), c.query), c.opt); err != nil {
			t.Errorf("%s: %v", c.query, err)
		}
	}
}

func TestAnswersThatCannotBeDrawn(t *testing.T) {
	for _, c := range []struct {
		query string
		opt   chart.Options
		want  error
		says  string
	}{
		{"max total_tps where engine == \"none\"", chart.Options{}, chart.ErrNothing, "no trial answers"},
		{"show total_tps, engine where engine == \"none\"", chart.Options{}, chart.ErrNothing, "no trial answers"},
		{"show engine, status", chart.Options{}, chart.ErrNothing, "no column"},
		{"show engine, total_tps where concurrency == 64", chart.Options{}, chart.ErrNothing, "no bar has a value"},
		{"show engine, total_tps", chart.Options{Value: "rps"}, core.ErrNotFound, "engine, total_tps"},
		{"show engine, total_tps", chart.Options{X: "tp"}, core.ErrNotFound, "engine, total_tps"},
		{"show engine, total_tps", chart.Options{Label: []string{"tp"}}, core.ErrNotFound, "engine, total_tps"},
	} {
		data, err := chart.Draw(ask(t, sweep(), c.query), c.opt)
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) || data != nil {
			t.Errorf("%s: %d bytes, %v", c.query, len(data), err)
		}
	}
}

func TestAccounting(t *testing.T) {
	m := sweep()
	delete(m[0].Figures, "total_tps")
	got := chart.Accounting(ask(t, m, `max total_tps where engine != "tp2"`))
	if want := "considered 7 trials; left out: 1 by where, 1 undecided (no total_tps: 1), 1 by status"; got[0] != want {
		t.Errorf("%q, want %q", got[0], want)
	}
	if all := strings.Join(got, "\n"); !strings.Contains(all, "the trials compared differ in load (") || !strings.Contains(all, "concurrency (2, 4, 16, 32 and 2 more)") {
		t.Errorf("the residue is not named: %s", all)
	}
}
