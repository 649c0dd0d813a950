package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

func TestAssertionsLayerAndUndo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	trial := varied()[1]
	ok(t, db.SaveTrial(ctx, trial))
	get := func() *core.Trial {
		t.Helper()
		got, err := db.Trial(ctx, "1")
		ok(t, err)
		return got
	}
	source := get()

	sets := []core.Assertion{
		{Trial: trial.ID, Verb: "note", Why: "looks odd"},
		{Trial: trial.ID, Verb: "set", Field: "requested", New: core.Number(2000), Why: "requested=2000"},
		{Trial: trial.ID, Verb: "set", Field: "args.max_num_seqs", New: core.Number(99)},
		{Trial: trial.ID, Verb: "set", Field: "requested", New: core.Number(4000), When: epoch.Add(time.Minute), By: "bo"},
		{Trial: trial.ID, Verb: "tag", New: core.String("late")},
		{Trial: trial.ID, Verb: "tag", New: core.String("gold")},
		{Trial: trial.ID, Verb: "retract", Why: "driver"},
	}
	n, err := db.Set(ctx, sets)
	ok(t, err)
	got := get()
	if n != len(sets) || len(got.Assertions) != n {
		t.Fatalf("recorded %d, read %d", n, len(got.Assertions))
	}
	if d := diff(sets, got.Assertions); d != "" {
		t.Errorf("assertions (-as filled +read):\n%s", d)
	}
	if a := got.Assertions[3]; a.Old != core.Number(2000) || a.By != "bo" || got.Assertions[1].By != "ada" || got.Assertions[1].Old != source.Value("requested") {
		t.Errorf("old or author: %+v %+v", got.Assertions[1], a)
	}
	for field, want := range map[string]core.Value{"requested": core.Number(4000), "args.max_num_seqs": core.Number(99), "status": core.String("retracted"),
		"tag": core.String("gold,rerun,late"), "asserted": core.String("requested,args.max_num_seqs")} {
		if v := got.Value(field); v != want {
			t.Errorf("%s is %v, want %v", field, v, want)
		}
	}
	if got.Value("config") == source.Value("config") {
		t.Error("another knob, the same configuration")
	}

	// Taken back out of order; what remains still counts.
	for _, step := range []struct {
		undo  int
		field string
		want  core.Value
	}{
		{1, "requested", core.Number(4000)},
		{3, "requested", source.Value("requested")},
		{5, "tag", core.String("gold,rerun,late")},
		{2, "config", source.Value("config")},
		{6, "status", source.Value("status")},
		{4, "tag", source.Value("tag")},
	} {
		ok(t, db.Undo(ctx, sets[step.undo].ID))
		if v := get().Value(step.field); v != step.want {
			t.Errorf("after undoing %d: %s is %v, want %v", step.undo, step.field, v, step.want)
		}
	}
	left := get()
	if len(left.Assertions) != 1 || left.Assertions[0].Verb != "note" {
		t.Errorf("left: %+v", left.Assertions)
	}
	left.Assertions = nil
	if d := diff(source, left); d != "" {
		t.Errorf("after all were undone (-source +now):\n%s", d)
	}
	if err := db.Undo(ctx, sets[1].ID); !errors.Is(err, core.ErrConflict) {
		t.Errorf("undo twice: %v", err)
	}
	if err := db.Undo(ctx, 999); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("undo nothing: %v", err)
	}
	var originals, marked int
	ok(t, db.Query(ctx, &originals, "SELECT count(*) FROM original"))
	ok(t, db.Query(ctx, &marked, "SELECT count(*) FROM v_assertion WHERE undone"))
	if originals != 0 || marked != 6 {
		t.Errorf("%d originals, %d marked", originals, marked)
	}
	sound(t, db)
}

func TestAssertionsStayOverARunner(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	trial := plain(0)
	trial.Status, trial.Figures = core.StatusRunning, nil
	ok(t, db.SaveTrial(ctx, trial))
	_, err := db.Set(ctx, []core.Assertion{{Trial: trial.ID, Verb: "set", Field: "gpus", New: core.Number(8)}, {Trial: trial.ID, Verb: "retract"}})
	ok(t, err)
	trial.Status, trial.Figures = core.StatusOK, figures(0)
	ok(t, db.FinishTrial(ctx, trial, nil)) // retracted by a person, yet not ended
	got, err := db.Trial(ctx, "1")
	ok(t, err)
	if got.Status != core.StatusRetracted || got.Value("gpus") != core.Number(8) || got.Figures["total_tps"] == 0 {
		t.Errorf("status %s, gpus %v, figures %v", got.Status, got.Value("gpus"), got.Figures)
	}
	ok(t, db.Undo(ctx, got.Assertions[1].ID))
	if got, err = db.Trial(ctx, "1"); err != nil || got.Status != core.StatusOK {
		t.Errorf("after undo: %s %v", got.Status, err)
	}
	if err := db.FinishTrial(ctx, trial, nil); !errors.Is(err, core.ErrConflict) {
		t.Errorf("finish again: %v", err)
	}
	sound(t, db)
}

func TestUndoOnAnImportedHistory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there, here := openNew(t), openNew(t)
	trial := plain(0)
	ok(t, there.SaveTrial(ctx, trial))
	source := all(t, there)[0]
	_, err := there.Set(ctx, []core.Assertion{
		{Trial: trial.ID, Verb: "set", Field: "completed", New: core.Number(900)},
		{Trial: trial.ID, Verb: "set", Field: "completed", New: core.Number(800)},
		{Trial: trial.ID, Verb: "tag", New: core.String("x")},
		{Trial: trial.ID, Verb: "retract"},
	})
	ok(t, err)
	_, err = here.Import(ctx, all(t, there))
	ok(t, err)
	for _, a := range all(t, here)[0].Assertions {
		ok(t, here.Undo(ctx, a.ID))
	}
	if d := diff(source, all(t, here)[0]); d != "" {
		t.Errorf("(-source there +undone here):\n%s", d)
	}
}

func TestSetRefuses(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	trial := plain(0)
	ok(t, db.SaveTrial(ctx, trial))
	before := all(t, db)
	for name, c := range map[string]struct {
		a    core.Assertion
		want error
	}{
		"unknown trial":  {core.Assertion{Trial: id(9), Verb: "set", Field: "gpus", New: core.Number(1)}, core.ErrNotFound},
		"unknown field":  {core.Assertion{Trial: trial.ID, Verb: "set", Field: "gpu_count", New: core.Number(1)}, core.ErrInvalid},
		"derived field":  {core.Assertion{Trial: trial.ID, Verb: "set", Field: "config", New: core.String("x")}, core.ErrInvalid},
		"wrong kind":     {core.Assertion{Trial: trial.ID, Verb: "set", Field: "gpus", New: core.String("many")}, core.ErrInvalid},
		"unknown status": {core.Assertion{Trial: trial.ID, Verb: "set", Field: "status", New: core.String("fine")}, core.ErrInvalid},
		"unknown verb":   {core.Assertion{Trial: trial.ID, Verb: "praise"}, core.ErrInvalid},
		"empty tag":      {core.Assertion{Trial: trial.ID, Verb: "tag"}, core.ErrInvalid},
		"tag with comma": {core.Assertion{Trial: trial.ID, Verb: "tag", New: core.String("a,b")}, core.ErrInvalid},
	} {
		good := core.Assertion{Trial: trial.ID, Verb: "tag", New: core.String("good")}
		n, err := db.Set(ctx, []core.Assertion{good, c.a})
		if n != 0 || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.a.Trial.String()) {
			t.Errorf("%s: recorded %d, error %v", name, n, err)
		}
	}
	if d := diff(before, all(t, db)); d != "" {
		t.Errorf("refused assertions changed the trial:\n%s", d)
	}
}
