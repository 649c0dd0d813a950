package store_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

const (
	isNew, isDuplicate, isDeleted = core.ImportNew, core.ImportDuplicate, core.ImportDeleted
)

// record is a trial as an importer makes it from one place of a file.
func record(n int, sha, position string, decimals int) *core.Trial {
	t := plain(n)
	src := core.Source{File: sha + ".log", SHA256: sha, Position: position, Format: "serving-block", Decimals: decimals}
	if decimals >= 0 {
		unit := math.Pow(10, float64(decimals))
		for name, v := range t.Figures {
			t.Figures[name] = math.Round(v*unit) / unit
		}
	}
	t.Sources = []core.Source{src}
	t.ID = t.ImportID(src)
	return t
}

func imports(t testing.TB, db *store.DB, trials ...*core.Trial) []core.ImportOutcome {
	t.Helper()
	got, err := db.Import(context.Background(), trials)
	ok(t, err)
	return got
}

func TestImportIdentity(t *testing.T) {
	far := func(t *core.Trial) *core.Trial { // another id, so that figures must decide
		t.ID = core.HashID(t.ID.String() + t.Sources[0].Key())
		return t
	}
	few := func(t *core.Trial) *core.Trial {
		t.Figures = core.Figures{"completed": 1000, "input_tokens": 200000, "output_tokens": 180000, "duration_s": 61.25, "total_tps": 5}
		t.ID = t.ImportID(t.Sources[0])
		return t
	}
	moved := func(t *core.Trial, name string, by float64) *core.Trial { t.Figures[name] += by; return far(t) }
	ran := func(t *core.Trial, id core.ID) *core.Trial { t.ID, t.Sources = id, nil; return t }
	run1, run2 := core.NewID(epoch), core.NewID(epoch)
	for _, c := range []struct {
		name    string
		trials  []*core.Trial
		want    []core.ImportOutcome
		sources []int // of the trials that are there afterwards
	}{
		{"two trials", []*core.Trial{record(0, "a", "1", 2), record(1, "a", "2", 2)}, []core.ImportOutcome{isNew, isNew}, []int{1, 1}},
		{"same record twice", []*core.Trial{record(0, "a", "1", 2), record(0, "a", "1", 2)}, []core.ImportOutcome{isNew, isDuplicate}, []int{1}},
		{"block twice in one file", []*core.Trial{record(0, "a", "1", 2), record(0, "a", "90", 2)}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"block, then its full-float twin", []*core.Trial{record(0, "a", "1", 2), record(0, "b", "", -1)}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"twin, then block, other ids", []*core.Trial{record(0, "b", "", -1), far(record(0, "a", "1", 2))}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"block, then twin, other ids", []*core.Trial{record(0, "a", "1", 2), far(record(0, "b", "", -1))}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"coarser block", []*core.Trial{record(0, "a", "1", 2), far(record(0, "b", "1", 1))}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"a copy under another name", []*core.Trial{record(0, "a", "1", 2), func() *core.Trial {
			t := far(record(3, "a", "1", 2))
			t.Sources[0].File = "copy.log"
			return t
		}()}, []core.ImportOutcome{isNew, isDuplicate}, []int{1}},
		{"a latency differs", []*core.Trial{record(0, "a", "1", 2), moved(record(0, "b", "1", 2), "p99_ttft_ms", 0.02)}, []core.ImportOutcome{isNew, isNew}, []int{1, 1}},
		{"a throughput differs", []*core.Trial{record(0, "a", "1", 2), moved(record(0, "b", "1", 2), "total_tps", 5)}, []core.ImportOutcome{isNew, isDuplicate}, []int{2}},
		{"full floats differ a little", []*core.Trial{record(0, "a", "", -1), moved(record(0, "b", "", -1), "mean_ttft_ms", 0.001)}, []core.ImportOutcome{isNew, isNew}, []int{1, 1}},
		{"too few figures", []*core.Trial{few(record(0, "a", "1", 2)), few(record(0, "b", "1", 2))}, []core.ImportOutcome{isNew, isNew}, []int{1, 1}},
		{"two runs of a simulator", []*core.Trial{ran(record(0, "a", "1", -1), run1), ran(record(0, "a", "1", -1), run2)}, []core.ImportOutcome{isNew, isNew}, []int{0, 0}},
		{"one run twice", []*core.Trial{ran(record(0, "a", "1", -1), run1), ran(record(1, "a", "1", -1), run1)}, []core.ImportOutcome{isNew, isDuplicate}, []int{0}},
		{"a run, then its printed block", []*core.Trial{ran(record(0, "a", "1", -1), run1), record(0, "b", "1", 2)}, []core.ImportOutcome{isNew, isDuplicate}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, split := range []bool{false, true} {
				db := openNew(t)
				var got []core.ImportOutcome
				if split {
					for _, trial := range c.trials {
						got = append(got, imports(t, db, trial)...)
					}
				} else {
					got = imports(t, db, c.trials...)
				}
				var sources []int
				for _, trial := range all(t, db) {
					sources = append(sources, len(trial.Sources))
				}
				if !slices.Equal(got, c.want) || !slices.Equal(sources, c.sources) {
					t.Errorf("split %t: outcomes %v, sources %v; want %v, %v", split, got, sources, c.want, c.sources)
				}
				again := imports(t, db, c.trials...)
				if slices.Contains(again, isNew) {
					t.Errorf("split %t: a second import gives %v", split, again)
				}
			}
		})
	}
}

// What a person corrected must not hide a record from its twin.
func TestImportAfterAssertion(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	first := record(0, "a", "1", 2)
	imports(t, db, first)
	_, err := db.Set(ctx, []core.Assertion{{Trial: first.ID, Verb: "set", Field: "completed", New: core.Number(7)}})
	ok(t, err)
	twin := record(0, "b", "1", -1)
	twin.ID = id(50)
	if got := imports(t, db, twin); got[0] != isDuplicate {
		t.Errorf("outcome %v", got)
	}
	if got := all(t, db); len(got) != 1 || got[0].Figures["completed"] != 7 || len(got[0].Sources) != 2 {
		t.Errorf("trials %+v", got)
	}
}

func TestTombstones(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	imports(t, db, record(0, "a", "1", 2), record(1, "a", "2", 2))
	run := plain(2)
	run.ID = core.NewID(epoch)
	ok(t, db.FinishTrial(ctx, run, samples(3)))
	n, err := db.Delete(ctx, []core.ID{record(0, "a", "1", 2).ID, run.ID, id(77)}, "wrong flag")
	ok(t, err)
	h, err := db.History(ctx)
	ok(t, err)
	if n != 2 || h.Trials != 1 {
		t.Errorf("deleted %d, left %d", n, h.Trials)
	}
	otherID, otherFile := record(0, "a", "1", 2), record(0, "b", "1", -1)
	otherID.ID, otherFile.ID = id(60), id(61)
	if got := imports(t, db, record(0, "a", "1", 2), otherID, otherFile, record(1, "a", "2", 2)); !slices.Equal(got, []core.ImportOutcome{isDeleted, isDeleted, isDeleted, isDuplicate}) {
		t.Errorf("outcomes %v: by id, source, figures, and one that is there", got)
	}
	run.Status = core.StatusRunning
	if err := db.SaveTrial(ctx, run); !errors.Is(err, core.ErrConflict) {
		t.Errorf("save a deleted trial: %v", err)
	}
	if _, err := db.Samples(ctx, run.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("samples of a deleted trial: %v", err)
	}
	fresh := plain(9)
	ok(t, db.SaveTrial(ctx, fresh))
	if fresh.Number != 4 {
		t.Errorf("number %d: a number was used twice", fresh.Number)
	}
	sound(t, db)
}

func sound(t *testing.T, db *store.DB) {
	t.Helper()
	if faults, err := db.Check(context.Background()); err != nil || len(faults) > 0 {
		t.Errorf("check: %v %v", faults, err)
	}
}
