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
	// Requests gives the single requests of a trial, nil where none are kept. The
	// moments of their chunks may be left out where withChunks is false. An unknown
	// trial is core.ErrNotFound.
	Requests(ctx context.Context, id core.ID, withChunks bool) ([]core.Sample, error)
}
