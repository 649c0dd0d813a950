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
	t := r.looks[key]
	if t == nil {
		of, err := tableOf(fields)
		if err != nil {
			return nil, err
		}
		t = &sharedTable{}
		for _, name := range fields {
			f, _ := core.LookupField(name)
			t.column(of.columns[name], f.Type)
		}
		if err := t.load(ctx, r.session, of, nil); err != nil {
			return nil, err
		}
		r.looks[key] = t
	}
	if at := n * len(fields); n > 0 && at+len(fields) <= len(t.vals) {
		return t.vals[at : at+len(fields) : at+len(fields)], nil
	}
	return make([]core.Value, len(fields)), nil // a trial without a launch
}

// sharedTable holds some columns of a small table by row id.
type sharedTable struct {
	exprs []string
	types []core.Type
	vals  []core.Value // len(exprs) to a row
}

// column returns the position of an expression.
func (s *sharedTable) column(expr string, t core.Type) int {
	if i := slices.Index(s.exprs, expr); i >= 0 && s.types[i] == t {
		return i
	}
	s.exprs, s.types = append(s.exprs, expr), append(s.types, t)
	return len(s.exprs) - 1
}

// at returns a column of the row that a cell names.
func (s *sharedTable) at(id any, column int) core.Value {
	i, _ := id.(int64)
	if n := int(i)*len(s.exprs) + column; n < len(s.vals) {
		return s.vals[n]
	}
	return core.Missing()
}

// load reads the table, or the part of it that the few trials of a plan name.
func (s *sharedTable) load(ctx context.Context, q querier, of shared, p *rowPlan) error {
	if len(s.exprs) == 0 {
		return nil
	}
	texts := map[string]string{}
	text, args := "SELECT "+of.id+", "+strings.Join(s.exprs, ", ")+" FROM "+of.from, []any(nil)
	if p != nil && p.few {
		text += " WHERE " + of.id + " IN (SELECT " + of.cell + " FROM trial t WHERE " + strings.Join(p.conds, " AND ") + ")"
		args = p.args
	}
	err := eachCells(ctx, q, text, args, func(cells []any) bool {
		at := int(asInt(cells[0])) * len(s.exprs)
		if need := at + len(s.exprs); need > len(s.vals) {
			s.vals = append(s.vals, make([]core.Value, need-len(s.vals))...)
		}
		for i, t := range s.types {
			v := typed(t, cells[1+i])
			if v.Kind == core.KindText {
				v = sharedText(texts, v.Text)
			}
			s.vals[at+i] = v
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%s: %w", of.from, err)
	}
	return nil
}
