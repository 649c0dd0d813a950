package store_test

import (
	"context"
	"testing"
)

// Whatever changes a row, its numbers for load and context follow.
func TestContextFollows(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	for n := range 3 {
		ok(t, db.SaveTrial(ctx, plain(n)))
	}
	for _, change := range []string{
		"UPDATE trial SET status = 'lost' WHERE number = 1", "UPDATE trial SET study = NULL, host = 'elsewhere' WHERE number = 2",
		"UPDATE trial SET load = 'c=3', concurrency = 3 WHERE number = 3", "UPDATE trial SET status = 'lost' WHERE number = 1",
	} {
		ok(t, db.Exec(ctx, change))
		agree(t, db)
	}
}
