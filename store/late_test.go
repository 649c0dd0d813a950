package store_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// The end of a trial that comes late, from a runner that could not reach the history
// or was taken for dead, is recorded once. Nothing else that ended changes.
func TestLateEnd(t *testing.T) {
	for before, want := range map[core.Status]core.Status{
		core.StatusRunning: core.StatusOK, core.StatusPlanned: core.StatusOK, core.StatusLost: core.StatusOK,
		core.StatusAborted: core.StatusAborted, core.StatusFailed: core.StatusFailed,
	} {
		t.Run(string(before), func(t *testing.T) {
			db := openNew(t)
			began := plain(1)
			began.Status, began.Figures, began.Findings = before, core.Figures{}, nil
			if err := db.SaveTrial(t.Context(), began); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				ended := plain(1)
				ended.Status, ended.Number = core.StatusOK, 0
				outcomes, err := db.Import(t.Context(), []*core.Trial{ended})
				if err != nil {
					t.Fatal(err)
				}
				wantOutcome := core.ImportDuplicate
				if i == 0 && want == core.StatusOK {
					wantOutcome = core.ImportUpdated
				}
				if outcomes[0] != wantOutcome || ended.Number != began.Number {
					t.Errorf("import %d: outcome %d of trial %d, want %d of %d", i+1, outcomes[0], ended.Number, wantOutcome, began.Number)
				}
			}
			got, err := db.Trial(t.Context(), began.ID.String())
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want || (want == core.StatusOK) != (got.Figures["output_tps"] > 0) {
				t.Errorf("%s became %s with figures %v, want %s", before, got.Status, got.Figures, want)
			}
		})
	}
}
