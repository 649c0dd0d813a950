package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// shared is a table of what trials have in common: how it is read and by which
// column a trial names its row.
type shared struct {
	from, id, cell string
	columns        map[string]string // query field -> SQL expression
}

// The shared tables and where the fixed fields lie in them. They are never changed.
var (
	setupTable = shared{"setup s JOIN config c ON c.id = s.config", "s.id", "t.setup", map[string]string{
		"engine": "c.engine", "model": "c.model", "checkpoint": "c.checkpoint", "config": "c.hash",
		"tp": "c.tp", "pp": "c.pp", "dp": "c.dp", "ep": "c.ep",
		"engine_version": "s.engine_version", "image": "s.image", "gpu": "s.gpu", "gpus": "s.gpus", "nodes": "s.nodes",
		"power_limit_w": "s.power_limit_w", "driver": "s.driver", "weight_dtype": "s.weight_dtype", "kv_dtype": "s.kv_dtype",
		"spec_method": "s.spec_method", "tool": "s.tool", "tool_version": "s.tool_version", "simulated": "s.simulated", "setup": "s.hash",
	}}
	workloadTable = shared{"workload w", "w.id", "t.workload", map[string]string{
		"workload": "w.label", "dataset": "w.dataset", "input_len": "w.input_len", "output_len": "w.output_len",
		"ignore_eos": "w.ignore_eos", "turns": "w.turns",
	}}
	pointTable = shared{"load_point p", "p.id", "t.load_point", map[string]string{
		"load": "p.load", "concurrency": "p.concurrency", "request_rate": "p.request_rate", "burstiness": "p.burstiness", "num_prompts": "p.num_prompts",
	}}
	contextTable = shared{"context x", "x.id", "t.context", map[string]string{
		"study": "x.study", "role": "x.role", "status": "x.status", "host": "x.host",
	}}
	launchTable = shared{"launch l", "l.id", "t.launch", map[string]string{
		"compile_cache": "CASE l.compile_warm WHEN 1 THEN 'warm' WHEN 0 THEN 'cold' END",
	}}
	sharedTables = []shared{setupTable, workloadTable, pointTable, contextTable, launchTable}
)

// Facets cuts fields into sets of which a trial names the values all at once. It
// leaves out those that trials do not share.
func (r *Reading) Facets(fields []string) [][]string {
	var out [][]string
	for _, table := range sharedTables {
		var in []string
		for _, name := range fields {
			if table.columns[name] != "" && !slices.Contains(in, name) {
				in = append(in, name)
			}
		}
		if in != nil {
			out = append(out, in)
		}
	}
	return out
}

// tableOf is the table that holds all the fields of a facet.
func tableOf(fields []string) (shared, error) {
	for _, table := range sharedTables {
		if len(fields) > 0 && !slices.ContainsFunc(fields, func(name string) bool { return table.columns[name] == "" }) {
			return table, nil
		}
	}
	return shared{}, fmt.Errorf("%w: trials do not share %s", core.ErrInvalid, strings.Join(fields, ", "))
}

// look plans the number by which a row names the values of a facet, 0 for none.
func (p *rowPlan) look(fields []string) (getter, error) {
	table, err := tableOf(fields)
	if err != nil {
		return nil, err
	}
	at := p.cell(table.cell)
	return func(cells []any) core.Value { return core.Number(float64(asInt(cells[at]))) }, nil
}

// Look gives the values of a facet's fields that a row names by number. The whole
// facet is read at its first use.
func (r *Reading) Look(ctx context.Context, fields []string, n int) ([]core.Value, error) {
	key := strings.Join(fields, " ")
	vals, ok := r.looks[key]
	if !ok {
		of, err := tableOf(fields)
		if err != nil {
			return nil, err
		}
		columns := make([]sharedColumn, len(fields))
		for i, name := range fields {
			f, _ := core.LookupField(name)
			columns[i] = sharedColumn{expr: of.columns[name], t: f.Type}
		}
		err = of.read(ctx, r.session, columns, "", nil, func(id, column int, v core.Value) {
			at := id * len(fields)
			if need := at + len(fields); need > len(vals) {
				vals = append(vals, make([]core.Value, need-len(vals))...)
			}
			vals[at+column] = v
		})
		if err != nil {
			return nil, err
		}
		r.looks[key] = vals
	}
	if at := n * len(fields); n > 0 && at+len(fields) <= len(vals) {
		return vals[at : at+len(fields) : at+len(fields)], nil
	}
	return make([]core.Value, len(fields)), nil // a trial without a launch
}

// read gives the columns of every row, or of those that a condition leaves.
func (of shared) read(ctx context.Context, q querier, columns []sharedColumn, where string, args []any, fn func(id, column int, v core.Value)) error {
	texts := map[string]string{}
	text := "SELECT " + of.id
	for _, c := range columns {
		text += ", " + c.expr
	}
	err := eachCells(ctx, q, text+" FROM "+of.from+where, args, func(cells []any) bool {
		id := int(asInt(cells[0]))
		for i, c := range columns {
			v := typed(c.t, cells[1+i])
			if v.Kind == core.KindText {
				v = sharedText(texts, v.Text)
			}
			fn(id, i, v)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%s: %w", of.from, err)
	}
	return nil
}

// tablesRead are the sharedTables with the columns that the questions of one moment have
// read so far.
type tablesRead []*sharedTable

func newTables() tablesRead {
	tables := make(tablesRead, len(sharedTables))
	for i, of := range sharedTables {
		tables[i] = &sharedTable{of: of}
	}
	return tables
}

// of is a table for a plan. Its columns stay for the questions to come, but for a plan
// that reads the rows of few trials alone.
func (t tablesRead) of(i int, few bool) *sharedTable {
	if few {
		return &sharedTable{of: t[i].of, known: t[i]}
	}
	return t[i]
}

// sharedTable holds some columns of a small table.
type sharedTable struct {
	of      shared
	columns []sharedColumn
	known   *sharedTable // where a column may stand already; nil for none
}

// sharedColumn is a column by row id, nil before it is read.
type sharedColumn struct {
	expr string
	t    core.Type
	vals []core.Value
}

// column returns the position of an expression.
func (s *sharedTable) column(expr string, t core.Type) int {
	if i := s.find(expr, t); i >= 0 {
		return i
	}
	c := sharedColumn{expr: expr, t: t}
	if s.known != nil {
		if i := s.known.find(expr, t); i >= 0 {
			c.vals = s.known.columns[i].vals
		}
	}
	s.columns = append(s.columns, c)
	return len(s.columns) - 1
}

func (s *sharedTable) find(expr string, t core.Type) int {
	return slices.IndexFunc(s.columns, func(c sharedColumn) bool { return c.expr == expr && c.t == t })
}

// at returns a column of the row that a cell names.
func (s *sharedTable) at(id any, column int) core.Value {
	i, _ := id.(int64)
	if vals := s.columns[column].vals; int(i) < len(vals) {
		return vals[i]
	}
	return core.Missing()
}

// load reads the columns that were not read yet, or the part of them that the few
// trials of a plan name.
func (s *sharedTable) load(ctx context.Context, p *rowPlan) error {
	var columns []sharedColumn
	var places []int
	for i, c := range s.columns {
		if c.vals == nil {
			columns, places = append(columns, c), append(places, i)
		}
	}
	if columns == nil {
		return nil
	}
	where, args := "", []any(nil)
	if p.few {
		where = " WHERE " + s.of.id + " IN (SELECT " + s.of.cell + " FROM trial t WHERE " + strings.Join(p.conds, " AND ") + ")"
		args = p.args
	}
	vals := make([][]core.Value, len(columns))
	err := s.of.read(ctx, p.q, columns, where, args, func(id, column int, v core.Value) {
		if need := id + 1; need > len(vals[column]) {
			vals[column] = append(vals[column], make([]core.Value, need-len(vals[column]))...)
		}
		vals[column][id] = v
	})
	if err != nil {
		return err
	}
	for i, at := range places {
		if s.columns[at].vals = vals[i]; vals[i] == nil {
			s.columns[at].vals = []core.Value{} // read, of an empty table
		}
	}
	return nil
}
