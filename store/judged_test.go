package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// What is kept of a study between audits is what reading it anew would give: after
// each of many writes of all kinds, by this connection and by another, an audit is
// shown the same trials as one that has just opened the file.
func TestAuditSeesTheStudyAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	var shown string
	audit := func(study []*core.Trial) map[core.ID][]core.Finding {
		text, err := json.Marshal(study)
		if err != nil {
			t.Error(err)
		}
		shown = string(text)
		said := map[core.ID][]core.Finding{}
		for i, trial := range study {
			if !trial.Status.Open() && (i+len(study))%3 == 0 { // it changes from audit to audit
				said[trial.ID] = []core.Finding{{Rule: "third", Version: 1, Severity: core.SeverityNote, Metrics: []string{"rps"}, Evidence: fmt.Sprint(len(study))}}
			}
		}
		return said
	}
	opt := options()
	opt.Audit, opt.AuditVersion = audit, 1
	db, other := openAt(t, path, opt), openAt(t, path, opt)
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(7, 7))
	var trials []*core.Trial
	launch := &core.Launch{ID: id(5000), StartedAt: epoch}
	next := 0
	fresh := func(status core.Status) *core.Trial {
		next++
		n := plain(next)
		n.Status, n.Launch = status, launch
		if rng.IntN(8) == 0 {
			n.Study = "another"
		}
		trials = append(trials, n)
		return n
	}
	any := func() *core.Trial { return trials[rng.IntN(len(trials))] }
	acts := map[string]func() error{
		"finish": func() error { return db.FinishTrial(ctx, fresh(core.StatusOK), nil) },
		"plan":   func() error { return db.SaveTrial(ctx, fresh(core.StatusPlanned)) },
		"go on": func() error {
			for _, n := range trials {
				if n.Status.Open() {
					n.Status = core.StatusOK
					return db.FinishTrial(ctx, n, nil)
				}
			}
			return nil
		},
		"launch learns": func() error {
			launch.ReadyS = core.Number(rng.Float64())
			launch.Resolved = core.Knobs{"x": core.Number(rng.Float64())}
			return db.FinishTrial(ctx, fresh(core.StatusFailed), nil)
		},
		"new launch": func() error { next++; launch = &core.Launch{ID: id(5000 + next), StartedAt: epoch}; return nil },
		"change an ended one": func() error {
			n := *any()
			n.Figures = figures(1000 + next)
			return db.SaveTrial(ctx, &n)
		},
		"set": func() error {
			_, err := db.Set(ctx, []core.Assertion{{Trial: any().ID, Verb: "set", Field: "requested", New: core.Number(float64(1000 + rng.IntN(9)))}})
			return err
		},
		"by another": func() error { return other.FinishTrial(ctx, fresh(core.StatusOK), nil) },
		"delete": func() error {
			i := rng.IntN(len(trials))
			_, err := db.Delete(ctx, []core.ID{trials[i].ID}, "not needed")
			trials = slices.Delete(trials, i, i+1)
			return err
		},
		"import": func() error { _, err := db.Import(ctx, []*core.Trial{fresh(core.StatusOK)}); return err },
		"fails": func() error {
			n := fresh(core.StatusOK)
			trials = trials[:len(trials)-1]
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if err := db.FinishTrial(ended, n, nil); err == nil {
				return fmt.Errorf("a cancelled write succeeded")
			}
			return nil
		},
	}
	names := []string{"finish", "finish", "finish", "plan", "go on", "launch learns", "new launch", "change an ended one", "set", "by another", "import", "fails", "delete"}
	var done []string
	for range 150 {
		what := names[rng.IntN(len(names))]
		if len(trials) < 2 {
			what = "finish"
		}
		done = append(done, what)
		if err := acts[what](); err != nil {
			t.Fatalf("%v: %s: %v", done, what, err)
		}
		if rng.IntN(3) > 0 {
			continue
		}
		// What is kept is seen by the audit of a write, and what there is by that of the
		// same write to a copy, whose connection has kept nothing.
		copied := filepath.Join(t.TempDir(), "copy.db")
		ok(t, db.Backup(ctx, copied))
		probe := fresh(core.StatusOK)
		probe.Study = "qwen3-32b"
		same := *probe
		same.Figures = maps.Clone(probe.Figures)
		ok(t, db.FinishTrial(ctx, probe, nil))
		kept := shown
		one := openAt(t, copied, opt)
		ok(t, one.FinishTrial(ctx, &same, nil))
		ok(t, one.Close())
		if d := cmp.Diff(decoded(t, shown), decoded(t, kept)); d != "" {
			t.Fatalf("after %v the audit was shown another study than there is (-there +shown):\n%s", done[max(0, len(done)-6):], d)
		}
	}
	if !slices.Contains(done, "by another") {
		t.Error("the draw is too short")
	}
}

// decoded is a study as an audit was shown it.
func decoded(t *testing.T, text string) (study []map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &study); err != nil {
		t.Fatal(err)
	}
	return study
}
