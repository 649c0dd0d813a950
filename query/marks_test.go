package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// TestMarks: with marks, show says of each row how bad the findings on its figures are,
// and only on those that are there.
func TestMarks(t *testing.T) {
	h := audited(t)
	for _, c := range []struct {
		query string
		want  []core.Severity
		codes []string
	}{
		{"show engine, total_tps", []core.Severity{4, 2, 0, 0, 3, 4, 0}, []string{"void", "hard", "findings"}},
		{"show engine, mean_ttft_ms", []core.Severity{3, 2, 0, 0, 0, 0, 0}, []string{"hard", "findings"}},
		{"show mean_ttft_ms, total_tps where number <= 2", []core.Severity{4, 2}, []string{"void", "findings"}},
		{"show total_tps_per_gpu where engine == \"b\"", []core.Severity{0, 3}, []string{"hard"}},
		{"show engine, gpus", make([]core.Severity, 0), []string{}},
		{"show count(total_tps) by engine", make([]core.Severity, 0), []string{}},
		{"show total_tps per setup where engine == \"b\"", []core.Severity{3}, []string{"hard"}},
	} {
		a, err := query.Run(t.Context(), h, c.query, query.Options{Now: noon, Marks: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, append([]core.Severity{}, a.Severity...)); diff != "" {
			t.Errorf("%s: severities (-want +got):\n%s", c.query, diff)
		}
		if diff := cmp.Diff(c.codes, codes(a)); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.query, diff)
		}
		if a := ask(t, h, c.query); a.Severity != nil || slices.Contains(codes(a), "void") {
			t.Errorf("%s: marked although nobody asked", c.query)
		}
	}
}

// TestShowOrder: rows of show come by time, and where none is known as they were
// imported, whatever their ids; ties of max stay by id.
func TestShowOrder(t *testing.T) {
	var h memory
	for n := 1; n <= 4; n++ {
		tr := trial(t, n, "engine", "a", "total_tps", 5)
		tr.ID = core.HashID(fmt.Sprint(n * 7))
		h = append(h, tr)
	}
	h[2].StartedAt = noon.Add(time.Hour)
	h[1].StartedAt = noon.Add(2 * time.Hour)
	if diff := cmp.Diff([]string{"3", "2", "1", "4"}, column(t, ask(t, h, "show number"), "number")); diff != "" {
		t.Errorf("show (-want +got):\n%s", diff)
	}
	slices.Reverse(h)
	if diff := cmp.Diff([]string{"3", "2", "1"}, column(t, ask(t, h, "show number limit 3"), "number")); diff != "" {
		t.Errorf("show with a limit (-want +got):\n%s", diff)
	}
	h[1].StartedAt, h[2].StartedAt = time.Time{}, time.Time{}
	a := ask(t, h, "max total_tps")
	if ids := column(t, a, "id"); len(ids) != 4 || !slices.IsSorted(ids) {
		t.Errorf("ties of max: %v", ids)
	}
}
