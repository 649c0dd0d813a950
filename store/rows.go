package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Rows streams the selected columns of every trial that passes sel.Where, in the
// order of the trials' numbers. A row has one value
// for each of sel.Columns and a number for each of sel.Looks; its slice is used again
// for the next row, so that a caller who keeps it must copy it. Only the columns
// needed are read, in one snapshot of the history. The walk ends at the first error,
// which comes with a nil row.
//
// A column equals core.Trial.Value. A condition compares as the query language
// does: with a missing value it is undecided and the row is left out; unset is
// unequal to every value and has no order; values of different kinds are unequal
// and have no order. An order of versions is the query language's, so that a
// condition on a version field is refused with core.ErrInvalid.
func (db *DB) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		stopped := false
		err := db.Snapshot(ctx, func(r *Reading) error {
			return rowsOf(ctx, r.session, r.tables, sel, true, func(row []core.Value) bool {
				stopped = !yield(row, nil)
				return !stopped
			})
		})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("rows: %w", err))
		}
	}
}

// planRows plans a selection.
func planRows(ctx context.Context, q querier, tables tablesRead, sel core.Select) (p *rowPlan, gets []getter, err error) {
	p = &rowPlan{ctx: ctx, q: q, cellOf: map[string]int{}, few: slices.ContainsFunc(sel.Where, picksFew)}
	p.setups, p.workloads, p.points, p.contexts = tables.of(0, p.few), tables.of(1, p.few), tables.of(2, p.few), tables.of(3, p.few)
	for _, name := range sel.Columns {
		get, err := p.field(name)
		if err != nil {
			return nil, nil, err
		}
		gets = append(gets, get)
	}
	for _, fields := range sel.Looks {
		get, err := p.look(fields)
		if err != nil {
			return nil, nil, err
		}
		gets = append(gets, get)
	}
	for _, c := range sel.Where {
		if err := p.condition(c); err != nil {
			return nil, nil, fmt.Errorf("condition on %s: %w", c.Field, err)
		}
	}
	return p, gets, nil
}

// rowsOf answers a selection on one connection until yield returns false.
func rowsOf(ctx context.Context, q querier, tables tablesRead, sel core.Select, inOrder bool, yield func([]core.Value) bool) error {
	p, gets, err := planRows(ctx, q, tables, sel)
	if err != nil || p.nothing {
		return err
	}
	p.inOrder = inOrder
	if err := p.loadShared(); err != nil {
		return err
	}
	text, args := p.sql()
	out := make([]core.Value, len(gets))
	return eachCells(ctx, q, text, args, func(cells []any) bool {
		for _, pass := range p.filters {
			if !pass(cells) {
				return true
			}
		}
		for i, get := range gets {
			out[i] = get(cells)
		}
		return yield(out)
	})
}

// getter reads one field from the cells of a row.
type getter func(cells []any) core.Value

// rowPlan collects what a selection needs: cells of SQL, what is looked up in Go
// by the row's setup or workload, and conditions of both kinds.
//
// Note: setups, configurations and workloads are few beside trials. Looking them
// up in slices costs a third of joining them row by row, and their texts are
// then shared by all rows.
type rowPlan struct {
	ctx context.Context //nolint:containedctx // a plan lives within one read
	q   querier

	cells  []string // SQL expressions over trial t and launch l
	cellOf map[string]int
	launch bool // the launch is joined

	setups    *sharedTable // by setup id
	workloads *sharedTable
	points    *sharedTable
	contexts  *sharedTable
	knobs     knobTable
	verdicts  verdictTable
	files     map[int64]string // of sources, by id; nil when not asked for

	setupConds []string // over setup s and config c
	setupArgs  []any
	loadConds  []string // over workload w
	loadArgs   []any
	conds      []string // over trial t
	args       []any
	filters    []func(cells []any) bool
	nothing    bool // no row can pass
	inOrder    bool // of their numbers
	few        bool // the conditions pick few trials
}

// cell returns the position of an SQL expression among a row's cells.
func (p *rowPlan) cell(expr string) int {
	i, ok := p.cellOf[expr]
	if !ok {
		i = len(p.cells)
		p.cells = append(p.cells, expr)
		p.cellOf[expr] = i
	}
	return i
}

func (p *rowPlan) sql() (string, []any) {
	if len(p.cells) == 0 {
		p.cell("1")
	}
	from := " FROM trial t"
	if p.launch {
		from += " LEFT JOIN launch l ON l.id = t.launch"
	}
	conds, args := p.conds, p.args
	if len(p.setupConds) > 0 {
		conds = append(conds, "+t.setup IN (SELECT s.id FROM setup s JOIN config c ON c.id = s.config WHERE "+strings.Join(p.setupConds, " AND ")+")")
		args = append(args, p.setupArgs...)
	}
	if len(p.loadConds) > 0 {
		conds = append(conds, "+t.workload IN (SELECT w.id FROM workload w WHERE "+strings.Join(p.loadConds, " AND ")+")")
		args = append(args, p.loadArgs...)
	}
	text := "SELECT " + strings.Join(p.cells, ", ") + from
	if len(conds) > 0 {
		text += " WHERE " + strings.Join(conds, " AND ")
	}
	if p.inOrder {
		text += " ORDER BY t.number"
	}
	return text, args
}

// loadShared reads what is looked up in Go, once all fields are known.
func (p *rowPlan) loadShared() error {
	for _, t := range []*sharedTable{p.setups, p.workloads, p.points, p.contexts} {
		if err := t.load(p.ctx, p); err != nil {
			return err
		}
	}
	if err := p.knobs.load(p.ctx, p.q); err != nil {
		return fmt.Errorf("knobs: %w", err)
	}
	if err := p.verdicts.load(p.ctx, p.q); err != nil {
		return err
	}
	if p.files != nil {
		rows, err := p.q.QueryContext(p.ctx, "SELECT id, file FROM source_file")
		if err != nil {
			return err
		}
		var id int64
		var file string
		return eachRow(rows, []any{&id, &file}, func() error { p.files[id] = file; return nil })
	}
	return nil
}

// typed turns a cell of a typed column into a value.
func typed(t core.Type, x any) core.Value {
	if x == nil {
		return core.Missing()
	}
	switch t {
	case core.TextType, core.VersionType:
		return core.String(asText(x))
	case core.BoolType:
		return asBool(x)
	case core.TimeType:
		return core.Number(float64(asInt(x)) / 1e6)
	}
	return asNumber(x)
}
