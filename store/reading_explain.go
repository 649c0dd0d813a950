package store

import (
	"context"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Statement is the SQL by which Rows reads a selection, and how SQLite goes about it,
// one line a step.
func (r *Reading) Statement(ctx context.Context, sel core.Select) (statement string, plan []string, err error) {
	p, _, err := planRows(ctx, r.session, r.tables, sel)
	if err != nil {
		return "", nil, err
	}
	text, args := p.sql()
	err = eachCells(ctx, r.session, "EXPLAIN QUERY PLAN "+text, args, func(cells []any) bool {
		plan = append(plan, strings.TrimSpace(asText(cells[3])))
		return true
	})
	return text, plan, err
}
