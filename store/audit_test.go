package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// census is an audit that says of every trial how many trials of its study it was
// judged with, and remembers the studies that it was given.
type census struct {
	version int
	calls   []string
	look    func(study []*core.Trial)
}

func (c *census) audit(study []*core.Trial) map[core.ID][]core.Finding {
	said := map[core.ID][]core.Finding{}
	for _, t := range study {
		if t.Status.Open() || t.Status == core.StatusRetracted {
			continue
		}
		said[t.ID] = []core.Finding{{Rule: "census", Version: c.version, Severity: core.SeverityInfo, Evidence: fmt.Sprintf("one of %d", len(study))}}
		if t.Figures["completed"] < 1000 {
			said[t.ID] = append(said[t.ID], core.Finding{Rule: "short", Version: c.version, Severity: core.SeverityHard, Metrics: []string{"total_tps", "rps"}, Evidence: "few"})
		}
	}
	c.calls = append(c.calls, fmt.Sprintf("%s/%d", study[0].Study, len(study)))
	if c.look != nil {
		c.look(study)
	}
	return said
}

// took returns the calls since it was asked last.
func (c *census) took() string {
	calls := strings.Join(c.calls, " ")
	c.calls = nil
	return calls
}

func openAudited(t testing.TB, c *census) *store.DB {
	t.Helper()
	opt := options()
	opt.Audit, opt.AuditVersion = c.audit, c.version
	return openAt(t, filepath.Join(t.TempDir(), "history.db"), opt)
}

// said lists what the audit says of all trials, in order of their numbers.
func said(t *testing.T, db *store.DB) string {
	t.Helper()
	var out []string
	for _, trial := range all(t, db) {
		var parts []string
		for _, f := range trial.Findings {
			if f.Rule != "census" {
				f.Evidence = f.Rule
			}
			if f.Ack != "" {
				f.Evidence += " ack"
			}
			parts = append(parts, strings.TrimPrefix(f.Evidence, "one of "))
		}
		out = append(out, strings.Join(parts, "+"))
	}
	return strings.Join(out, ",")
}

// Every way in which trials come, change and go audits the studies concerned.
func TestAuditInTheTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &census{version: 3}
	db := openAudited(t, c)
	of := func(n int, study string, status core.Status) *core.Trial {
		trial := plain(n)
		trial.Study, trial.Status = study, status
		return trial
	}
	set := func(n int, verb, field string, v core.Value) func() error {
		return func() error {
			_, err := db.Set(ctx, []core.Assertion{{Trial: id(n), Verb: verb, Field: field, New: v}})
			return err
		}
	}
	planned := of(3, "a", core.StatusPlanned)
	again := record(1, "f", "1", 2)
	for _, step := range []struct {
		name  string
		do    func() error
		calls string
		said  string
	}{
		{"import into two studies and none", func() error {
			_, err := db.Import(ctx, []*core.Trial{of(0, "b", core.StatusOK), of(1, "a", core.StatusOK), of(2, "", core.StatusOK)})
			return err
		}, "/1 a/1 b/1", "1,1,1"},
		{"plan", func() error { return db.SaveTrial(ctx, planned) }, "", "1,1,1,"},
		{"finish", func() error {
			planned.Status = core.StatusOK
			return db.FinishTrial(ctx, planned, samples(2))
		}, "a/2", "1,2,1,2"},
		{"correct", set(1, "set", "completed", core.Number(3)), "a/2", "1,2+short,1,2"},
		{"note", set(1, "note", "", core.Missing()), "", "1,2+short,1,2"},
		{"tag", set(1, "tag", "", core.String("x")), "a/2", "1,2+short,1,2"},
		{"undo", func() error { return db.Undo(ctx, 1) }, "a/2", "1,2,1,2"},
		{"move", set(0, "set", "study", core.String("a")), "a/3", "3,3,1,3"},
		{"move back", func() error { return db.Undo(ctx, 4) }, "a/2 b/1", "1,2,1,2"},
		{"retract", set(3, "retract", "", core.Missing()), "a/2", "1,2,1,"},
		{"another print", func() error { _, err := db.Import(ctx, []*core.Trial{again}); return err }, "a/2", "1,2,1,"},
		{"the same print", func() error { _, err := db.Import(ctx, []*core.Trial{again}); return err }, "", "1,2,1,"},
		{"delete", func() error { _, err := db.Delete(ctx, []core.ID{id(3)}, ""); return err }, "a/1", "1,1,1"},
		{"delete the last", func() error { _, err := db.Delete(ctx, []core.ID{id(0)}, ""); return err }, "", "1,1"},
		{"run", func() error { return db.SaveTrial(ctx, of(5, "a", core.StatusRunning)) }, "", "1,1,"},
		{"lose", func() error { _, err := db.ReapLost(ctx, "a"); return err }, "a/2", "2,1,2"},
	} {
		ok(t, step.do())
		if calls, got := c.took(), said(t, db); calls != step.calls || got != step.said {
			t.Errorf("%s: audited %q, findings %q; want %q, %q", step.name, calls, got, step.calls, step.said)
		}
	}
	if d := diff(planned.Findings, []core.Finding{{Rule: "census", Version: 3, Severity: core.SeverityInfo, Evidence: "one of 2"}}); d != "" {
		t.Errorf("the caller's trial does not know what was found:\n%s", d)
	}
	if v, err := db.AuditVersion(ctx); v != 3 || err != nil {
		t.Errorf("version %d %v", v, err)
	}
	sound(t, db)
}

// The audit sees what it needs and nothing that is large, before anybody sees the
// trial without its findings.
func TestWhatAnAuditIsGiven(t *testing.T) {
	ctx := context.Background()
	c := &census{version: 1}
	db := openAudited(t, c)
	trial := varied()[1]
	c.look = func(study []*core.Trial) {
		if n := len(all(t, db)); n != 0 {
			t.Errorf("%d trials are visible before they were audited", n)
		}
		want := *trial
		want.Findings, want.Course = nil, nil
		want.Sources = slices.Clone(trial.Sources)
		for i := range want.Sources {
			want.Sources[i].Raw = ""
		}
		if d := diff(&want, study[0]); d != "" {
			t.Errorf("(-saved +given):\n%s", d)
		}
	}
	imports(t, db, trial)
	if c.took() == "" {
		t.Error("no audit")
	}
	// A failed transaction leaves nothing that its audit has said.
	c.look = nil
	before := all(t, db)
	bad := plain(2)
	bad.Load.Seed = core.String("x")
	if _, err := db.Import(ctx, []*core.Trial{plain(1), bad}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	if d := diff(before, all(t, db)); d != "" || c.took() != "" {
		t.Errorf("findings of a failed import:\n%s", d)
	}
	// Nor does a rule that panics leave the history locked.
	c.look = func([]*core.Trial) { panic("a rule divides by zero") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		imports(t, db, plain(5))
	}()
	if d := diff(before, all(t, db)); d != "" {
		t.Errorf("what a panicking audit left:\n%s", d)
	}
	c.look = nil
	imports(t, db, plain(5))
	sound(t, db)
}

func TestAuditOfALargeStudy(t *testing.T) {
	ctx := context.Background()
	c := &census{version: 1}
	db := openAudited(t, c)
	db.AuditAtMost(3)
	imports(t, db, plain(0), plain(1), plain(2))
	imports(t, db, plain(3))
	ok(t, db.FinishTrial(ctx, plain(4), nil))
	if calls, got := c.took(), said(t, db); calls != "qwen3-32b/3 qwen3-32b/1 qwen3-32b/1" || got != "3,3,3,1,1" {
		t.Errorf("audited %q, findings %q", calls, got)
	}
	loose := make([]*core.Trial, 7)
	for n := range loose {
		loose[n] = plain(10 + n)
		loose[n].Study = ""
	}
	imports(t, db, loose...)
	c.took()
	changes, err := db.Reaudit(ctx, "")
	ok(t, err)
	if calls := c.took(); calls != "qwen3-32b/5 /3 /3 /1" || len(changes) != 0 {
		t.Errorf("audited %q, %d changes", calls, len(changes))
	}
	if got := said(t, db); got != "5,5,5,5,5,3,3,3,3,3,3,1" {
		t.Errorf("findings %q", got)
	}
}

func TestReaudit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	finding := func(rule string, version int, s core.Severity, metrics ...string) core.Finding {
		return core.Finding{Rule: rule, Version: version, Severity: s, Metrics: metrics, Evidence: fmt.Sprint(rule, version)}
	}
	reopen := func(version int, said map[core.ID][]core.Finding) *store.DB {
		opt := options()
		if version > 0 {
			opt.Audit, opt.AuditVersion = func([]*core.Trial) map[core.ID][]core.Finding { return said }, version
		}
		return openAt(t, path, opt)
	}
	versionIs := func(db *store.DB, want int) {
		t.Helper()
		if v, err := db.AuditVersion(ctx); v != want || err != nil {
			t.Errorf("version of the audit %d %v, want %d", v, err, want)
		}
	}
	db := reopen(1, map[core.ID][]core.Finding{
		id(0): {finding("A1", 1, core.SeverityHard, "total_tps", "rps"), finding("A2", 1, core.SeverityNote)},
		id(1): {finding("A1", 1, core.SeverityHard, "rps"), finding("A3", 1, core.SeverityNote, "*"), finding("A3", 1, core.SeverityVoid, "rps")},
		id(2): {finding("A9", 1, core.SeverityInfo)},
	})
	loose := plain(2)
	loose.Study = ""
	imports(t, db, plain(0), plain(1), loose)
	_, err := db.Acknowledge(ctx, "A1", []core.ID{id(0), id(1)}, "known")
	ok(t, err)
	versionIs(db, 1)
	ok(t, db.Close())

	db = reopen(2, map[core.ID][]core.Finding{
		id(0): {finding("A2", 2, core.SeverityNote), finding("A1", 2, core.SeverityHard, "rps"), finding("A1", 2, core.SeverityVoid, "total_tps", "output_tps")},
		id(1): {finding("A1", 2, core.SeverityHard, "rps"), finding("A3", 1, core.SeverityNote, "*")},
	})
	versionIs(db, 1)
	change := func(n int, rule string, was, is core.Severity, v1, v2 int, metrics ...string) store.FindingChange {
		c := store.FindingChange{Trial: id(n), Number: int64(n + 1), Study: "qwen3-32b", Rule: rule, Metrics: metrics, Old: was, New: is,
			OldVersion: v1, NewVersion: v2, Evidence: fmt.Sprint(rule, max(v1, v2))}
		if rule == "A1" {
			c.Ack = "known"
		}
		return c
	}
	first, err := db.Reaudit(ctx, "qwen3-32b")
	ok(t, err)
	want := []store.FindingChange{
		change(0, "A1", core.SeverityHard, core.SeverityVoid, 1, 2, "total_tps"),
		change(0, "A1", 0, core.SeverityVoid, 0, 2, "output_tps"),
		change(1, "A3", core.SeverityVoid, 0, 1, 0, "rps"),
	}
	if d := diff(want, first); d != "" {
		t.Errorf("one study (-want +got):\n%s", d)
	}
	versionIs(db, 1) // not everything is of the new rules yet
	rest, err := db.Reaudit(ctx, "")
	ok(t, err)
	lost := change(2, "A9", core.SeverityInfo, 0, 1, 0)
	lost.Study = ""
	if d := diff([]store.FindingChange{lost}, rest); d != "" {
		t.Errorf("the rest (-want +got):\n%s", d)
	}
	versionIs(db, 2)
	if again, err := db.Reaudit(ctx, ""); err != nil || len(again) != 0 {
		t.Errorf("again: %v %v", again, err)
	}
	if _, err := db.Reaudit(ctx, "nothing"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an unknown study: %v", err)
	}
	got := all(t, db)[0]
	if got.Severity("total_tps") != 0 || got.CountFindings() != 1 || len(got.Findings) != 3 {
		t.Errorf("acknowledgement lost: %+v", got.Findings)
	}
	sound(t, db)
	ok(t, db.Close())

	// An older program, and one that audits nothing, take the version down.
	db = reopen(1, nil)
	versionIs(db, 2)
	ok(t, db.SaveTrial(ctx, plain(5)))
	versionIs(db, 1)
	ok(t, db.Close())
	db = reopen(0, nil)
	_, err = db.Acknowledge(ctx, "A9", []core.ID{id(5)}, "x")
	ok(t, err)
	versionIs(db, 1)
	ok(t, db.SaveTrial(ctx, plain(6)))
	versionIs(db, 0)
	if _, err := db.Reaudit(ctx, ""); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("without rules: %v", err)
	}
}

// BenchmarkAuditedFinish ends trials of a study of a thousand; the audit itself is
// that of package audit and not counted here.
func BenchmarkAuditedFinish(b *testing.B) {
	for _, c := range []struct{ audited, alone bool }{{false, true}, {true, true}, {true, false}} {
		audited := c.audited
		b.Run(fmt.Sprintf("audited=%t,alone=%t", audited, c.alone), func(b *testing.B) {
			ctx := context.Background()
			opt := options()
			if audited {
				opt.Audit = func(study []*core.Trial) map[core.ID][]core.Finding {
					if len(study) < 1000 {
						b.Fatalf("%d trials", len(study))
					}
					return nil
				}
			}
			db := openAt(b, filepath.Join(b.TempDir(), "history.db"), opt)
			batch := make([]*core.Trial, 1000)
			for n := range batch {
				batch[n] = record(n, fmt.Sprint("file ", n), "1", 2)
				for i, f := range core.Fields() {
					if f.Figure() {
						batch[n].Figures[f.Name] = float64(n) + float64(i)/3
					}
				}
				batch[n].ID = id(n)
				batch[n].Sources[0].Raw = strings.Repeat("Mean TTFT (ms): 12.5\n", 100)
			}
			imports(b, db, batch...)
			n := 10000
			for b.Loop() {
				n++
				ok(b, db.FinishTrial(ctx, plain(n), nil))
				if c.alone {
					continue // the study grows
				}
				b.StopTimer()
				_, err := db.Delete(ctx, []core.ID{id(n)}, "") // a write of another kind: the study is read again
				ok(b, err)
				b.StartTimer()
			}
		})
	}
}
