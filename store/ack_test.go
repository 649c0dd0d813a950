package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &census{version: 1}
	db := openAudited(t, c)
	short := func(n int) *core.Trial {
		trial := plain(n)
		trial.Figures["completed"] = 3
		return trial
	}
	imports(t, db, short(0), short(1), plain(2))
	ids := []core.ID{id(0), id(1), id(2), id(99)}
	counted := func() []core.Value {
		var got []core.Value
		for _, row := range rows(t, db, core.Select{Columns: []string{"findings", "severity.total_tps"}}) {
			got = append(got, row...)
		}
		return got
	}
	no, one, two, hard := core.Number(0), core.Number(1), core.Number(2), core.Number(3)

	n, err := db.Acknowledge(ctx, "short", ids, "a smoke test")
	if n != 2 || err != nil {
		t.Errorf("acknowledged %d: %v", n, err)
	}
	if d := diff([]core.Value{one, no, one, no, one, no}, counted()); d != "" {
		t.Errorf("what counts:\n%s", d)
	}
	imports(t, db, plain(3)) // audits all of them again
	if got := said(t, db); got != "4+short ack,4+short ack,4,4" {
		t.Errorf("after another audit: %s", got)
	}
	// A rule that falls silent and speaks again is still acknowledged.
	for _, c := range []struct {
		completed float64
		want      string
	}{{1000, "4,4+short ack,4,4"}, {4, "4+short ack,4+short ack,4,4"}} {
		_, err := db.Set(ctx, []core.Assertion{{Trial: id(0), Verb: "set", Field: "completed", New: core.Number(c.completed)}})
		ok(t, err)
		if got := said(t, db); got != c.want {
			t.Errorf("%v completed: %s, want %s", c.completed, got, c.want)
		}
	}
	hardOnes, err := db.Findings(ctx, core.SeverityHard)
	ok(t, err)
	want := core.Finding{Rule: "short", Version: 1, Severity: core.SeverityHard, Metrics: []string{"total_tps", "rps"}, Evidence: "few",
		Ack: "a smoke test", AckBy: "ada", AckAt: options().Now()}
	if d := diff(map[core.ID][]core.Finding{id(0): {want}, id(1): {want}}, hardOnes); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	var ack string
	ok(t, db.Query(ctx, &ack, "SELECT ack || ' ' || ack_by || ' ' || ack_at_utc FROM v_finding WHERE number = 1 AND rule = 'short'"))
	if ack != "a smoke test ada 2026-11-30T13:00:00.123Z" {
		t.Errorf("v_finding says %q", ack)
	}

	// They travel with the trial, and say who gave them when.
	other := options()
	other.User, other.Now = "bo", func() time.Time { return epoch.Add(48 * time.Hour) }
	there := openAt(t, t.TempDir()+"/h.db", other)
	_, err = there.Import(ctx, all(t, db))
	ok(t, err)
	for i, trial := range all(t, there) {
		if d := diff(all(t, db)[i].Findings, trial.Findings); d != "" {
			t.Errorf("imported trial %d (-there +here):\n%s", trial.Number, d)
		}
	}
	sound(t, there)
	fresh := plain(50)
	fresh.Study = "s"
	fresh.Findings = []core.Finding{{Rule: "X", Severity: core.SeverityVoid, Metrics: []string{"*"}, Ack: "by hand"}}
	_, err = there.Import(ctx, []*core.Trial{fresh})
	ok(t, err)
	got, err := there.Trial(ctx, fresh.ID.String())
	ok(t, err)
	if f := got.Findings[0]; f.AckBy != "bo" || !f.AckAt.Equal(other.Now()) || got.Severity("rps") != 0 {
		t.Errorf("an acknowledgement that does not say whose it is: %+v", f)
	}
	// Saving a trial writes no acknowledgement and takes none away.
	got.Findings[0].Ack = ""
	ok(t, there.SaveTrial(ctx, got))
	if again, err := there.Trial(ctx, fresh.ID.String()); err != nil || again.CountFindings() != 0 || again.Value("findings") != no {
		t.Errorf("saving took it away: %+v %v", again.Findings, err)
	}
	sound(t, there)

	_, err = db.Acknowledge(ctx, "short", ids[:1], "another reason")
	ok(t, err)
	if first, err := db.Trial(ctx, "1"); err != nil || first.Findings[1].Ack != "another reason" {
		t.Errorf("replaced: %+v %v", first.Findings, err)
	}
	n, err = db.Unacknowledge(ctx, "short", ids)
	if n != 2 || err != nil {
		t.Errorf("taken back %d: %v", n, err)
	}
	if d := diff([]core.Value{two, hard, two, hard, one, no, one, no}, counted()); d != "" {
		t.Errorf("what counts again:\n%s", d)
	}
	if n, err := db.Unacknowledge(ctx, "short", ids); n != 0 || err != nil {
		t.Errorf("twice: %d %v", n, err)
	}
	for _, c := range [][2]string{{"", "why"}, {"short", ""}} {
		if _, err := db.Acknowledge(ctx, c[0], ids, c[1]); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("rule %q, reason %q: %v", c[0], c[1], err)
		}
	}
	_, err = db.Delete(ctx, ids, "")
	ok(t, err)
	sound(t, db)
}
