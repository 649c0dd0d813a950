package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// agree holds every column against core.Trial.Value on the trials read whole.
func agree(t *testing.T, db *store.DB) {
	t.Helper()
	columns := slices.Concat(core.FieldNames(), dynamicColumns())
	trials := all(t, db)
	got := rows(t, db, core.Select{Columns: columns})
	if len(got) != len(trials) {
		t.Fatalf("%d rows of %d trials", len(got), len(trials))
	}
	known := 0
	for i, trial := range trials {
		for j, name := range columns {
			if want := trial.Value(name); got[i][j] != want {
				t.Errorf("trial %d: %s is %#v, want %#v", trial.Number, name, got[i][j], want)
			} else if !want.IsMissing() {
				known++
			}
		}
	}
	if known < 100 {
		t.Errorf("only %d values compared: the fixture says nothing", known)
	}
	if faults, err := db.Check(context.Background()); err != nil || len(faults) > 0 {
		t.Errorf("check: %v %v", faults, err)
	}
}

func TestRowsEqualTrials(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	trials := varied()
	for _, trial := range trials {
		ok(t, db.SaveTrial(ctx, trial))
	}
	t.Run("saved", func(t *testing.T) {
		agree(t, db)
		if d := diff(trials, all(t, db)); d != "" {
			t.Errorf("whole trials (-saved +read):\n%s", d)
		}
	})
	ok(t, db.Close())
	db = openAt(t, path, options())
	t.Run("reopened", func(t *testing.T) { agree(t, db) })

	sets := []core.Assertion{
		{Trial: trials[0].ID, Verb: "set", Field: "gpus", New: core.Number(8)},
		{Trial: trials[0].ID, Verb: "set", Field: "args.max_num_batched_tokens", New: core.Number(2048)},
		{Trial: trials[0].ID, Verb: "set", Field: "completed", New: core.Number(900)},
		{Trial: trials[3].ID, Verb: "set", Field: "engine", New: core.String("vllm")},
		{Trial: trials[2].ID, Verb: "set", Field: "extra.note", New: core.String("by hand")},
		{Trial: trials[4].ID, Verb: "tag", New: core.String("gold")},
		{Trial: trials[4].ID, Verb: "retract", Why: "wrong driver"},
	}
	_, err := db.Set(ctx, sets)
	ok(t, err)
	t.Run("set", func(t *testing.T) { agree(t, db) })

	for _, trial := range trials {
		if len(trial.Findings) == 0 {
			continue
		}
		before := trial.Value("severity.total_tps")
		n, err := db.Acknowledge(ctx, trial.Findings[0].Rule, []core.ID{trial.ID, id(99)}, "known")
		ok(t, err)
		now, err := db.Trial(ctx, trial.ID.String())
		ok(t, err)
		if n != 1 || now.Value("findings") == trial.Value("findings") || now.Value("severity.total_tps") == before {
			t.Errorf("acknowledged %d: findings %v, severity %v", n, now.Value("findings"), now.Value("severity.total_tps"))
		}
	}
	t.Run("acknowledged", func(t *testing.T) { agree(t, db) })

	other := openNew(t)
	_, err = other.Import(ctx, all(t, db))
	ok(t, err)
	t.Run("imported", func(t *testing.T) {
		agree(t, other)
		forget := func(ts []*core.Trial) []*core.Trial {
			for _, trial := range ts {
				for i := range trial.Assertions {
					trial.Assertions[i].ID = 0
				}
			}
			return ts
		}
		if d := diff(forget(all(t, db)), forget(all(t, other))); d != "" {
			t.Errorf("another history's trials (-there +here):\n%s", d)
		}
	})
}

func TestRowsOrderAndReuse(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	batch := make([]*core.Trial, 300)
	for n := range batch {
		batch[n] = plain(n)
	}
	imports(t, db, batch...)
	n := 0
	for row, err := range db.Rows(ctx, core.Select{Columns: []string{"number"}}) {
		ok(t, err)
		if n++; row[0] != core.Number(float64(n)) {
			t.Fatalf("row %d has number %v", n, row[0])
		}
		if n == 200 {
			break
		}
	}
	if n != 200 {
		t.Errorf("stopped after %d rows", n)
	}
	// A walk that was left must not hold a connection.
	for range 10 {
		for range db.Rows(ctx, core.Select{}) {
			break
		}
	}
	if got := rows(t, db, core.Select{}); len(got) != 300 || len(got[0]) != 0 {
		t.Errorf("no columns: %d rows", len(got))
	}
}

func TestRowsConditions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	trials := varied()
	for _, trial := range trials {
		ok(t, db.SaveTrial(ctx, trial))
	}
	literals := []core.Value{core.Number(0), core.Number(256), core.Number(1000), core.Number(2), core.Unlimited(), core.String("vllm"), core.String("ok"),
		core.String("fp8"), core.String("warm"), core.String("auto"), core.String("qwen3-32b"), core.String(trials[1].ID.String()), core.String("a.json"),
		core.Bool(true), core.Bool(false), core.Missing(), core.Unset(), trials[1].Value("started_at")}
	fields := []string{"number", "id", "study", "status", "role", "engine", "model", "gpus", "simulated", "workload", "ignore_eos", "turns", "concurrency",
		"request_rate", "completed", "total_tps", "total_tps_per_gpu", "throttled", "started_at", "launch", "compile_cache", "ready_s", "source", "tag",
		"args.max_num_seqs", "args.tp_size", "passed.max_num_seqs", "args.chunked_prefill", "args.auto", "args.free", "extra.flag", "extra.limit", "quality.mmlu",
		"p75_ttft_ms", "findings"}
	kept := 0
	for _, field := range fields {
		for _, op := range []core.Op{core.OpEq, core.OpNe, core.OpLt, core.OpLe, core.OpGt, core.OpGe, core.OpIn} {
			for i, lit := range literals {
				c := core.Cond{Field: field, Op: op, Values: []core.Value{lit}}
				if op == core.OpIn {
					c.Values = append(c.Values, literals[(i+1)%len(literals)])
				}
				var want []string
				for _, trial := range trials {
					if decide(trial.Value(field), c) {
						want = append(want, trial.ID.String())
					}
				}
				var got []string
				for _, row := range rows(t, db, core.Select{Columns: []string{"id"}, Where: []core.Cond{c}}) {
					got = append(got, row[0].Text)
				}
				kept += len(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s %s %q: got %d trials, want %d", field, op, c.Values, len(got), len(want))
				}
			}
		}
	}
	if kept < 500 {
		t.Errorf("only %d rows passed any condition", kept)
	}
}

// decide is the meaning of a condition, said as plainly as possible.
func decide(v core.Value, c core.Cond) bool {
	is := func(w core.Value) bool {
		return v.Kind != core.KindUnset && v.Kind == w.Kind && v == w
	}
	if v.IsMissing() {
		return false
	}
	w := c.Values[0]
	switch c.Op {
	case core.OpEq:
		return is(w)
	case core.OpNe:
		return !w.IsMissing() && !is(w)
	case core.OpIn:
		return slices.ContainsFunc(c.Values, is)
	}
	if v.Kind != w.Kind || (v.Kind != core.KindNumber && v.Kind != core.KindText) {
		return false
	}
	less, more := v.Num < w.Num || v.Text < w.Text, v.Num > w.Num || v.Text > w.Text
	return map[core.Op]bool{core.OpLt: less, core.OpLe: !more, core.OpGt: more, core.OpGe: !less}[c.Op]
}

func TestRowsRefuses(t *testing.T) {
	db := openNew(t)
	one := []core.Value{core.Number(1)}
	for name, sel := range map[string]core.Select{
		"unknown column":    {Columns: []string{"totl_tps"}},
		"unknown field":     {Where: []core.Cond{{Field: "totl_tps", Op: core.OpEq, Values: one}}},
		"version":           {Where: []core.Cond{{Field: "engine_version", Op: core.OpEq, Values: []core.Value{core.String("0.11.0")}}}},
		"no value":          {Where: []core.Cond{{Field: "total_tps", Op: core.OpEq}}},
		"unknown operation": {Where: []core.Cond{{Field: "total_tps", Op: "~", Values: one}}},
	} {
		t.Run(name, func(t *testing.T) {
			for row, err := range db.Rows(context.Background(), sel) {
				if !errors.Is(err, core.ErrInvalid) || row != nil {
					t.Errorf("got row %v, error %v", row, err)
				}
				return
			}
			t.Error("no error")
		})
	}
}

// A history may hold more names than SQLite can join tables.
func TestRowsManyColumns(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	trial := plain(0)
	trial.Extra = map[string]core.Value{}
	var columns []string
	for i := range 200 {
		name := fmt.Sprint("x", i)
		trial.Extra[name] = core.Number(float64(i))
		columns = append(columns, "extra."+name)
	}
	ok(t, db.SaveTrial(ctx, trial))
	got := rows(t, db, core.Select{Columns: columns})
	for i := range columns {
		if got[0][i] != core.Number(float64(i)) {
			t.Errorf("%s is %v", columns[i], got[0][i])
		}
	}
}
