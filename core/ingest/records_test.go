package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

func TestRecordsKeepTheirIdentity(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	trial := &core.Trial{ID: core.NewID(at), Number: 7, Study: "s", Status: core.StatusOK, StartedAt: at,
		Figures: core.Figures{"completed": 2, "total_tps": 1.5}, Load: core.Load{Concurrency: core.Unlimited()},
		Sources: []core.Source{{File: "a.log", SHA256: "00", Position: "line 1"}}}
	samples := []core.Sample{{Index: 1, Sent: time.Second, Due: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: 3, RequestedOutput: -1, Outcome: core.OutcomeIncomplete}}
	good, err := json.Marshal(core.Record{Format: 1, Trial: trial, Samples: samples})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{string(good), `{"sweepbook":1}`, `{"sweepbook":99,"trial":{}}`, `{"sweepbook":1,"trial":{"id":"` + trial.ID.String() + `","status":"fine"}}`, "", `{"sweepbook":1,"tri`}, "\n")
	res, err := ingest.Read(t.Context(), "x.ndjson", strings.NewReader(text), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Trials) != 1 || len(res.Errors) != 4 {
		t.Fatalf("%d trials, errors %v", len(res.Trials), res.Errors)
	}
	trial.Number = 0
	if diff := cmp.Diff(trial, res.Trials[0]); diff != "" {
		t.Errorf("trial changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(samples, res.Samples[trial.ID]); diff != "" {
		t.Errorf("samples changed (-want +got):\n%s", diff)
	}
	for i, want := range []string{"no trial", "format 99", `status "fine"`, "unexpected end"} {
		if got := fmt.Sprint(res.Errors[i]); !strings.Contains(got, want) {
			t.Errorf("error %d: %s, want %q", i, got, want)
		}
	}
}
