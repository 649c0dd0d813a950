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

// Sharer is a Source that knows what its trials share, and that can be asked again for
// trials by their number, at the same moment of the history. A query then reads of
// every trial a number for each set of fields instead of the fields, and what only the
// rows of its answer need of those alone.
type Sharer interface {
	Source
	// Facets cuts fields into sets, each of which may be asked for in Select.Looks; a
	// field in none of them can only be a column.
	Facets(fields []string) [][]string
	// Look gives the values of a set's fields that a row names by number. It may be
	// asked during a walk over rows that have the set among their Looks, and the values
	// must not be changed.
	Look(ctx context.Context, fields []string, n int) ([]core.Value, error)
	// Statement says how Rows reads a selection: in which words, and how its engine goes
	// about it, one line a step.
	Statement(ctx context.Context, sel core.Select) (statement string, plan []string, err error)
}
