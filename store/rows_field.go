package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isTrialColumn holds the fixed fields that are columns of trial. It is never changed.
var isTrialColumn = func() map[string]bool {
	set := map[string]bool{"number": true}
	for _, c := range columns {
		set[c.name] = true
	}
	return set
}()

// field plans how one field is read.
func (p *rowPlan) field(name string) (getter, error) {
	f, ok := core.LookupField(name)
	if !ok {
		return nil, core.CheckFieldName(name)
	}
	name = f.Name
	for _, table := range []*sharedTable{p.setups, p.workloads, p.points, p.contexts} {
		if expr, ok := table.of.columns[name]; ok {
			id, column := p.cell(table.of.cell), table.column(expr, f.Type)
			return func(cells []any) core.Value { return table.at(cells[id], column) }, nil
		}
	}
	if base, ok := strings.CutSuffix(name, "_per_gpu"); ok && !strings.Contains(name, ".") {
		return p.perGPU(base), nil
	}
	switch name {
	case "id":
		at := p.cell("t.id")
		return func(cells []any) core.Value { return core.String(asID(cells[at]).String()) }, nil
	case "launch":
		at := p.launchCell("l.uuid")
		return func(cells []any) core.Value {
			if cells[at] == nil {
				return core.Missing()
			}
			return core.String(asID(cells[at]).String())
		}, nil
	case "load_s", "ready_s":
		at := p.launchCell("l." + name)
		return func(cells []any) core.Value { return asNumber(cells[at]) }, nil
	case "compile_cache":
		at := p.launchCell("l.compile_warm")
		return func(cells []any) core.Value {
			switch warm := asBool(cells[at]); {
			case warm.IsMissing():
				return warm
			case warm.True():
				return core.String("warm")
			}
			return core.String("cold")
		}, nil
	case "source":
		p.files = map[int64]string{}
		at := p.cell("(SELECT x.file FROM source x WHERE x.trial = t.number AND x.seq = 0)")
		return func(cells []any) core.Value {
			if cells[at] == nil {
				return core.Missing()
			}
			return core.String(p.files[asInt(cells[at])])
		}, nil
	}
	if prefix, rest, dotted := strings.Cut(name, "."); dotted {
		switch prefix {
		case "args", "passed":
			return p.knob(name)
		case "severity":
			return p.severity(rest), nil
		default:
			return p.sideValue(prefix, rest)
		}
	}
	if isTrialColumn[name] {
		at, t := p.cell("t."+name), f.Type
		if t == core.TextType {
			// A few texts (studies, loads, statuses) stand in many rows.
			seen := map[string]string{}
			return func(cells []any) core.Value { return sharedText(seen, cells[at]) }, nil
		}
		return func(cells []any) core.Value { return typed(t, cells[at]) }, nil
	}
	return p.sideValue(spaceFigure, name)
}

// severity plans the worst finding that touches a metric and counts. The findings
// themselves are not read: the trial's verdict sums them up.
func (p *rowPlan) severity(metric string) getter {
	at, column := p.cell("t.verdict"), p.verdicts.column(metric)
	return func(cells []any) core.Value { return p.verdicts.at(cells[at], column) }
}

// verdictTable holds, for each verdict, the severity of some metrics.
type verdictTable struct {
	metrics []string
	vals    []core.Severity // len(metrics) to a row
}

func (v *verdictTable) column(metric string) int {
	if i := slices.Index(v.metrics, metric); i >= 0 {
		return i
	}
	v.metrics = append(v.metrics, metric)
	return len(v.metrics) - 1
}

// at returns a severity of the row that a cell names, 0 where it names none.
func (v *verdictTable) at(id any, column int) core.Value {
	i, _ := id.(int64)
	if n := int(i)*len(v.metrics) + column; n < len(v.vals) {
		return core.Number(float64(v.vals[n]))
	}
	return core.Number(0)
}

func (v *verdictTable) load(ctx context.Context, q querier) error {
	if len(v.metrics) == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, "SELECT id, severities FROM verdict")
	if err != nil {
		return err
	}
	var id int64
	var text sql.RawBytes
	return eachRow(rows, []any{&id, &text}, func() error {
		var worst map[string]core.Severity
		if err := json.Unmarshal(text, &worst); err != nil {
			return fmt.Errorf("verdict %d: %w", id, err)
		}
		at := int(id) * len(v.metrics)
		if need := at + len(v.metrics); need > len(v.vals) {
			v.vals = append(v.vals, make([]core.Severity, need-len(v.vals))...)
		}
		for i, metric := range v.metrics {
			v.vals[at+i] = max(worst[metric], worst["*"])
		}
		return nil
	})
}

// maxShared bounds the texts that are shared between the rows of one answer.
const maxShared = 1 << 12

func sharedText(seen map[string]string, x any) core.Value {
	if x == nil {
		return core.Missing()
	}
	s := asText(x)
	if known, ok := seen[s]; ok {
		return core.String(known)
	}
	if len(seen) < maxShared {
		seen[s] = s
	}
	return core.String(s)
}

func (p *rowPlan) launchCell(expr string) int {
	p.launch = true
	return p.cell(expr)
}

func (p *rowPlan) perGPU(base string) getter {
	at, id, gpus := p.cell("t."+base), p.cell("t.setup"), p.setups.column("s.gpus", core.NumberType)
	return func(cells []any) core.Value {
		v, ok := asFloat(cells[at])
		n := p.setups.at(cells[id], gpus)
		if !ok || n.IsMissing() {
			return core.Missing()
		}
		return core.Number(v / n.Num)
	}
}

// A typed value of a side table comes as one cell whose storage class tells its
// kind: a real is a number, an integer a boolean, a text a text, the blob 00
// unset and 01 a missing value that is recorded as such; NULL is no row.
//
// Note: a join for each such column would stop at 64 tables.
const packedCell = "CASE kind WHEN 1 THEN num WHEN 2 THEN text WHEN 3 THEN CAST(num AS INTEGER) WHEN 4 THEN x'00' ELSE x'01' END"

func unpackCell(x any) (v core.Value, recorded bool) {
	switch x := x.(type) {
	case float64:
		return core.Number(x), true
	case string:
		return core.String(x), true
	case int64:
		return core.Bool(x != 0), true
	case []byte:
		if len(x) == 1 && x[0] == 0 {
			return core.Unset(), true
		}
		return core.Missing(), true
	}
	return core.Missing(), false
}

// nameID finds the row of a name, 0 for a name that nothing records.
func (p *rowPlan) nameID(space, name string) (int64, error) {
	var id int64
	err := p.q.QueryRowContext(p.ctx, "SELECT id FROM name WHERE space = ? AND name = ?", space, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func (p *rowPlan) sideValue(space, name string) (getter, error) {
	id, err := p.nameID(space, name)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return func([]any) core.Value { return core.Missing() }, nil
	}
	at := p.cell("(SELECT " + packedCell + " FROM value WHERE trial = t.number AND name = " + itoa(id) + ")")
	return func(cells []any) core.Value { v, _ := unpackCell(cells[at]); return v }, nil
}

// knob plans a column args.x or passed.x. Which stored knob x means depends on
// the engine, so that package core is asked once for each configuration; only
// what a server resolved is read row by row.
func (p *rowPlan) knob(field string) (getter, error) {
	if err := p.knobs.readEngines(p.ctx, p.q); err != nil {
		return nil, err
	}
	id, config := p.cell("t.setup"), p.setups.column("c.id", core.NumberType)
	column, candidates := p.knobs.column(field)
	resolved := make([]int, len(candidates))
	for i, name := range candidates {
		resolved[i] = -1
		n, err := p.nameID(spaceKnob, name)
		if err != nil {
			return nil, err
		}
		if n != 0 && strings.HasPrefix(field, "args.") {
			resolved[i] = p.launchCell("(SELECT " + packedCell + " FROM knob WHERE knobset = l.resolved AND name = " + itoa(n) + ")")
		}
	}
	return func(cells []any) core.Value {
		k := p.knobs.at(p.setups.at(cells[id], config), column)
		if k.resolved >= 0 && resolved[k.resolved] >= 0 {
			if v, ok := unpackCell(cells[resolved[k.resolved]]); ok {
				return v
			}
		}
		return k.passed
	}, nil
}

// knobTable holds, for each configuration, what some columns args.x and passed.x
// are before a server has resolved anything.
type knobTable struct {
	engines []string
	read    bool
	fields  []string
	names   [][]string // of each field, the stored names that it may mean
	vals    []knobValue
}

type knobValue struct {
	passed   core.Value
	resolved int // which of the field's names a launch may have resolved; -1 none
}

func (k *knobTable) readEngines(ctx context.Context, q querier) error {
	if k.read {
		return nil
	}
	k.read = true
	rows, err := q.QueryContext(ctx, "SELECT DISTINCT ifnull(engine, '') FROM config")
	if err != nil {
		return err
	}
	var engine string
	return eachRow(rows, []any{&engine}, func() error { k.engines = append(k.engines, engine); return nil })
}

func (k *knobTable) column(field string) (int, []string) {
	if i := slices.Index(k.fields, field); i >= 0 {
		return i, k.names[i]
	}
	_, name, _ := strings.Cut(field, ".")
	names := []string{name}
	for _, engine := range k.engines {
		if c := core.CanonicalKnob(engine, name); !slices.Contains(names, c) {
			names = append(names, c)
		}
	}
	k.fields, k.names = append(k.fields, field), append(k.names, names)
	return len(k.fields) - 1, names
}

func (k *knobTable) at(config core.Value, column int) knobValue {
	if n := int(config.Num)*len(k.fields) + column; n < len(k.vals) {
		return k.vals[n]
	}
	return knobValue{core.Missing(), -1}
}

func (k *knobTable) load(ctx context.Context, q querier) error {
	if len(k.fields) == 0 {
		return nil
	}
	sets, err := k.loadSets(ctx, q)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, "SELECT id, ifnull(engine, ''), command_known, ifnull(knobs, 0) FROM config")
	if err != nil {
		return err
	}
	var id, knobset int64
	var engine string
	var known bool
	return eachRow(rows, []any{&id, &engine, &known, &knobset}, func() error {
		at := int(id) * len(k.fields)
		if need := at + len(k.fields); need > len(k.vals) {
			k.vals = append(k.vals, make([]knobValue, need-len(k.vals))...)
		}
		t := &core.Trial{}
		t.Setup.Config = core.Config{Engine: engine, CommandKnown: known, Knobs: sets[knobset]}
		for i, field := range k.fields {
			k.vals[at+i] = k.ask(t, field, k.names[i])
		}
		return nil
	})
}

// ask lets core.Trial.Value say what a field is, and which name it would look up
// among the resolved settings: each name is given a value that tells it.
func (k *knobTable) ask(t *core.Trial, field string, names []string) knobValue {
	t.Launch = nil
	v := knobValue{t.Value(field), -1}
	if v.passed.Kind == core.KindMissing || v.passed.Kind == core.KindUnset {
		t.Launch = &core.Launch{Resolved: core.Knobs{}}
		for i, name := range names {
			t.Launch.Resolved[name] = core.Number(float64(i))
		}
		if asked := t.Value(field); asked.Kind == core.KindNumber {
			v.resolved = int(asked.Num)
		}
	}
	return v
}

// loadSets reads the knobs that the fields may mean, by knobset.
func (k *knobTable) loadSets(ctx context.Context, q querier) (map[int64]core.Knobs, error) {
	list, err := json.Marshal(slices.Concat(k.names...))
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT k.knobset, n.name, k.kind, k.num, k.text FROM knob k JOIN name n ON n.id = k.name
		WHERE k.name IN (SELECT id FROM name WHERE space = 'knob' AND name IN (SELECT value FROM json_each(?)))`, string(list))
	if err != nil {
		return nil, err
	}
	sets := map[int64]core.Knobs{}
	var set, kind int64
	var name string
	var num sql.NullFloat64
	var text sql.NullString
	return sets, eachRow(rows, []any{&set, &name, &kind, &num, &text}, func() error {
		if sets[set] == nil {
			sets[set] = core.Knobs{}
		}
		sets[set][name] = unpackValue(kind, num, text)
		return nil
	})
}
