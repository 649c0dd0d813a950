package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

func TestLifeOfATrial(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	trial := plain(0)
	trial.Figures, trial.Status = nil, core.StatusPlanned
	ok(t, db.SaveTrial(ctx, trial))
	if trial.Number != 1 || trial.SweepbookVersion != "0.1.0" {
		t.Errorf("number %d, version %q", trial.Number, trial.SweepbookVersion)
	}
	launch := &core.Launch{ID: core.NewID(epoch), Setup: trial.Setup, Argv: []string{"vllm"}}
	ok(t, db.SaveLaunch(ctx, launch))
	trial.Launch, trial.Status = launch, core.StatusRunning
	ok(t, db.SaveTrial(ctx, trial))
	launch.ReadyS = core.Number(48)
	ok(t, db.SaveLaunch(ctx, launch))

	stale := *trial
	trial.Status, trial.Figures = core.StatusOK, figures(0)
	ok(t, db.FinishTrial(ctx, trial, samples(5)))
	got, err := db.Trial(ctx, "1")
	ok(t, err)
	if d := diff(trial, got); d != "" {
		t.Errorf("(-saved +read):\n%s", d)
	}
	if got.Value("ready_s") != core.Number(48) || got.Figures["duration_tps"] == 0 || got.Derived["requested"] == "" {
		t.Errorf("ready_s %v, derived %v", got.Value("ready_s"), got.Derived)
	}

	// A runner that was taken for dead comes back.
	for _, status := range []core.Status{core.StatusFailed, core.StatusOK} {
		stale.Status, stale.Figures = status, core.Figures{"total_tps": 1}
		if err := db.FinishTrial(ctx, &stale, samples(9)); !errors.Is(err, core.ErrConflict) {
			t.Errorf("finish again as %s: %v", status, err)
		}
	}
	stale.Status = core.StatusRunning
	if err := db.SaveTrial(ctx, &stale); !errors.Is(err, core.ErrConflict) {
		t.Errorf("reopen: %v", err)
	}
	after, err := db.Trial(ctx, "1")
	ok(t, err)
	kept, err := db.Samples(ctx, trial.ID)
	ok(t, err)
	if d := diff(got, after); d != "" || len(kept) != 5 {
		t.Errorf("a stale runner changed the trial: %d samples\n%s", len(kept), d)
	}
	// What the audit adds later is saved.
	after.Findings = []core.Finding{{Rule: "A1", Version: 1, Severity: core.SeverityHard, Metrics: []string{"total_tps"}, Evidence: "1 > 0"}}
	ok(t, db.SaveTrial(ctx, after))
	hard, err := db.Findings(ctx, core.SeverityHard)
	ok(t, err)
	if d := diff(map[core.ID][]core.Finding{trial.ID: after.Findings}, hard); d != "" {
		t.Error(d)
	}
	ok(t, db.SaveFindings(ctx, map[core.ID][]core.Finding{trial.ID: nil}))
	if again, err := db.Trial(ctx, "1"); err != nil || again.Value("findings") != core.Number(0) {
		t.Errorf("findings taken off: %v %v", again.Findings, err)
	}
	if err := db.FinishTrial(ctx, &core.Trial{ID: id(5), Status: core.StatusRunning}, nil); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("finish as running: %v", err)
	}
}

func TestNotStorable(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	for name, change := range map[string]func(*core.Trial){
		"no id":         func(t *core.Trial) { t.ID = core.ID{} },
		"status":        func(t *core.Trial) { t.Status = "fine" },
		"figure":        func(t *core.Trial) { t.Figures["gpus"] = 1 },
		"text for load": func(t *core.Trial) { t.Load.Concurrency = core.String("many") },
		"number for eos": func(t *core.Trial) {
			t.Workload.IgnoreEOS = core.Number(1)
		},
		"unset seed": func(t *core.Trial) { t.Load.Seed = core.Unset() },
		"tag":        func(t *core.Trial) { t.Tags = []string{"a,b"} },
		"gpus":       func(t *core.Trial) { t.Setup.GPUs = -1 },
		"launch":     func(t *core.Trial) { t.Launch = &core.Launch{ReadyS: core.String("soon")} },
	} {
		t.Run(name, func(t *testing.T) {
			trial := plain(0)
			change(trial)
			if err := store.Storable(trial); !errors.Is(err, core.ErrInvalid) {
				t.Errorf("Storable: %v", err)
			}
			if err := db.SaveTrial(ctx, trial); !errors.Is(err, core.ErrInvalid) {
				t.Errorf("SaveTrial: %v", err)
			}
			if _, err := db.Import(ctx, []*core.Trial{plain(1), trial}); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "record 2") {
				t.Errorf("Import: %v", err)
			}
		})
	}
	if h, err := db.History(ctx); err != nil || h.Trials != 0 {
		t.Errorf("%+v %v: something was stored", h, err)
	}
	ok(t, store.Storable(plain(0)))
}

func TestTrialByRef(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	mk := func(text string) core.ID {
		id, err := core.ParseID(text)
		ok(t, err)
		return id
	}
	ids := []core.ID{mk("01234567-89ab-7def-8000-000000000001"), mk("01234567-89ab-7def-8000-000000000002"), mk("00020000-0000-7000-8000-000000000003")}
	for i, id := range ids {
		trial := plain(i)
		trial.ID = id
		ok(t, db.SaveTrial(ctx, trial))
	}
	for _, c := range []struct {
		ref  string
		want int // position in ids, -1 for none
		err  error
	}{
		{"1", 0, nil}, {"3", 2, nil}, {"4", -1, core.ErrNotFound}, {"0", -1, core.ErrNotFound}, {"-1", -1, core.ErrNotFound},
		{"01234567-89ab-7def-8000-000000000002", 1, nil}, {"01234567-89AB-7DEF-8000-000000000002", 1, nil},
		{"0002", 1, nil}, // digits are a number first
		{"00020", 2, nil}, {"000200000000-7", 2, nil}, {"0123", -1, core.ErrInvalid}, {"01234567-89ab-7def-8000-00000000000", -1, core.ErrInvalid},
		{"000", -1, core.ErrNotFound}, {"", -1, core.ErrNotFound}, {"fghi", -1, core.ErrNotFound}, {"ffff", -1, core.ErrNotFound},
		{"01234567-89ab-7def-8000-0000000000021", -1, core.ErrNotFound},
	} {
		got, err := db.Trial(ctx, c.ref)
		switch {
		case !errors.Is(err, c.err):
			t.Errorf("%q: error %v, want %v", c.ref, err, c.err)
		case c.want >= 0 && got.ID != ids[c.want]:
			t.Errorf("%q: trial %s, want %s", c.ref, got.ID, ids[c.want])
		case errors.Is(err, core.ErrInvalid) && !strings.Contains(err.Error(), ids[1].String()):
			t.Errorf("%q: %v does not name the trials", c.ref, err)
		}
	}
	many := []core.ID{ids[2], id(99), ids[0], ids[2]}
	for range 600 {
		many = append(many, ids[1])
	}
	got, err := db.TrialsByID(ctx, many)
	ok(t, err)
	if len(got) != 603 || got[0].ID != ids[2] || got[1].ID != ids[0] || got[2].ID != ids[2] || got[602].ID != ids[1] {
		t.Errorf("by id: %d trials", len(got))
	}
}

func TestNamesAndStudies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	for _, trial := range varied() {
		ok(t, db.SaveTrial(ctx, trial))
	}
	names, err := db.Names(ctx)
	ok(t, err)
	for _, want := range []string{"max_num_seqs", "max_running_requests", "max_batch_size", "tp", "tensor_parallel_size", "swap", "max_num_batched_tokens"} {
		if !slices.Contains(names.Knobs, want) {
			t.Errorf("knobs lack %s: %q", want, names.Knobs)
		}
	}
	if slices.Contains(names.Knobs, "temperature") {
		t.Error("a parameter of a workload is listed as a knob")
	}
	names.Knobs = nil
	want := core.Names{Extra: []string{"flag", "inf", "limit", "none", "note", "жар"}, Quality: []string{"gsm8k", "mmlu"},
		Figures: []string{"mean_queue_ms", "p75_ttft_ms", "p99_9_e2el_ms"}}
	if d := diff(want, names); d != "" {
		t.Error(d)
	}

	ok(t, db.SaveStudy(ctx, "b study", []byte(`{"v": 1}`), epoch))
	ok(t, db.SaveStudy(ctx, "b study", []byte(`{"v": 2}`), epoch))
	ok(t, db.SaveStudy(ctx, "b study", []byte(`{"v": 2}`), epoch))
	got, err := db.Study(ctx, "b study")
	ok(t, err)
	if string(got.Resolved) != `{"v": 2}` || !got.At.Equal(epoch) {
		t.Errorf("study %s of %v", got.Resolved, got.At)
	}
	var versions int
	ok(t, db.Query(ctx, &versions, "SELECT count(*) FROM study"))
	studies, err := db.Studies(ctx)
	ok(t, err)
	if d := diff([]string{"b study", "qwen3-32b"}, studies); d != "" || versions != 2 {
		t.Errorf("%d versions, studies\n%s", versions, d)
	}
	if _, err := db.Study(ctx, "qwen3-32b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a study with trials only: %v", err)
	}
	if err := db.SaveStudy(ctx, "", nil, epoch); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no name: %v", err)
	}
	trials, err := db.Trials(ctx, "qwen3-32b")
	ok(t, err)
	if len(trials) != 5 {
		t.Errorf("%d trials of the study", len(trials))
	}
}

// A launch without an id is a trial's own: writing one must not overwrite a
// launch that other trials were measured on.
func TestLaunchesAreNotMixed(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	shared := &core.Launch{ID: core.NewID(epoch), Setup: plain(0).Setup, Host: "node-1"}
	first, second := plain(0), plain(1)
	first.Launch, second.Launch = shared, shared
	ok(t, db.SaveTrial(ctx, first))
	ok(t, db.SaveTrial(ctx, second))
	second.Launch = &core.Launch{Setup: second.Setup, Host: "node-2"}
	ok(t, db.SaveTrial(ctx, second))
	second.Launch.Host = "node-3"
	ok(t, db.SaveTrial(ctx, second))
	if d := diff([]*core.Trial{first, second}, all(t, db)); d != "" {
		t.Errorf("(-saved +read):\n%s", d)
	}
	var launches int
	ok(t, db.Query(ctx, &launches, "SELECT count(*) FROM launch"))
	if launches != 2 {
		t.Errorf("%d launches", launches)
	}
}
