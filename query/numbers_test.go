package query_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/query"
)

// TestTrialsOfRows: with marks an answer names the trials behind each of its rows, all
// repeats of a combined one, and none of an aggregate.
func TestTrialsOfRows(t *testing.T) {
	h := audited(t)
	for _, c := range []struct {
		query string
		marks bool
	}{{"show number, total_tps", true}, {"max total_tps top 3", true}, {"show number", false}} {
		a, err := query.Run(t.Context(), h, c.query, query.Options{Now: noon, Marks: c.marks})
		if err != nil {
			t.Fatal(err)
		}
		if !c.marks {
			if a.Trials != nil {
				t.Errorf("%s: trials without marks", c.query)
			}
			continue
		}
		var want [][]int64
		for _, row := range a.Rows {
			want = append(want, []int64{int64(row[a.Column("number")].Num)})
		}
		if diff := cmp.Diff(want, a.Trials); diff != "" || len(want) == 0 {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
	a, err := query.Run(t.Context(), h, "show count() as n by engine", query.Options{Now: noon, Marks: true})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(a.Trials, func(ns []int64) bool { return len(ns) > 0 }) {
		t.Errorf("an aggregate names trials: %v", a.Trials)
	}
}

func TestCompareVersions(t *testing.T) {
	want := []string{"0.9.2", "0.10.0rc1", "0.10.0", "0.10.0.post1", "0.11", "1.0", "", "main", "nightly"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, query.CompareVersions)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
