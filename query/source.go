package query

import (
	"context"
	"iter"

	"github.com/sweepbook/sweepbook/core"
)

// Source is a history as a query reads it.
type Source interface {
	// History names the history.
	History(ctx context.Context) (core.History, error)
	// Names lists the knobs and other names that its trials record.
	Names(ctx context.Context) (core.Names, error)
	// Rows streams the selected columns of every trial that passes sel.Where, in
	// any order. A row may be reused for the next one.
	Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error]
}
