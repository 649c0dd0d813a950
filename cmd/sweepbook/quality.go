package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/store"
)

// attach records the figures of evaluations as assertions on the trials of their
// model, or on those that a condition names, and says on how many.
func (a *app) attach(ctx context.Context, db *store.DB, evaluations []ingest.Quality, where string) (int, error) {
	attached := 0
	for _, q := range evaluations {
		condition := where
		if condition == "" {
			if q.Model == "" {
				a.warn("%s: the evaluation does not name its model", q.File)
				a.hint("say which trials it speaks of: sweepbook import --where 'CONDITION' " + q.File)
				continue
			}
			condition = "checkpoint == " + strconv.Quote(q.Model)
		}
		ids, err := a.selectIDs(ctx, db, condition)
		if err != nil {
			return attached, err
		}
		if len(ids) == 0 {
			a.warn("%s: no trial where %s", q.File, condition)
			continue
		}
		var sets []core.Assertion
		for _, id := range ids {
			for name, v := range q.Values() {
				sets = append(sets, core.Assertion{Trial: id, Verb: "set", Field: "quality." + name, New: v, When: a.now().UTC(), Why: "import " + q.File})
			}
		}
		if _, err := db.Set(ctx, sets); err != nil {
			return attached, fmt.Errorf("attach %s: %w", q.File, err)
		}
		attached += len(ids)
	}
	return attached, nil
}
