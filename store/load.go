package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// loader reads whole trials. What trials share is read once and kept, and given
// out as copies, since callers may change their trials.
type loader struct {
	ctx       context.Context //nolint:containedctx // a loader lives within one read
	q         querier
	setups    map[int64]core.Setup
	workloads map[int64]core.Workload
	launches  map[int64]core.Launch
	knobsets  map[int64]core.Knobs
	hows      map[int64]map[string]string
	want      extent
}

// extent is how much of a trial is read.
type extent uint8

const (
	// allOfIt is the zero extent: a whole trial that its reader may change.
	allOfIt extent = iota
	// rowAlone is without sources, findings and assertions.
	rowAlone
	// toJudge is what an audit needs: without assertions, course and the text of sources.
	// Settings are those of other trials too and must not be changed.
	toJudge
)

func newLoader(ctx context.Context, q querier, want extent) *loader {
	l := &loader{ctx: ctx, q: q, want: want}
	l.forget()
	return l
}

func (l *loader) forget() {
	l.setups, l.workloads, l.launches = map[int64]core.Setup{}, map[int64]core.Workload{}, map[int64]core.Launch{}
	l.knobsets, l.hows = map[int64]core.Knobs{}, map[int64]map[string]string{}
}

// maxKept bounds what a loader keeps over a long walk.
const maxKept = 1 << 14

// trials reads the trials that a condition on the table trial picks, in order
// of their numbers.
func (l *loader) trials(where string, args ...any) ([]*core.Trial, error) {
	if len(l.setups)+len(l.launches)+len(l.knobsets) > maxKept {
		l.forget()
	}
	rows, err := l.q.QueryContext(l.ctx, selectTrialSQL+" WHERE "+where+" ORDER BY number", args...)
	if err != nil {
		return nil, err
	}
	values := make([]any, 1+len(columnNames))
	dest := make([]any, len(values))
	for i := range values {
		dest[i] = &values[i]
	}
	type refs struct{ setup, workload, launch, derivation int64 }
	var out []*core.Trial
	var refer []refs
	err = eachRow(rows, dest, func() error {
		t := &core.Trial{Number: asInt(values[0]), Figures: core.Figures{}, Quality: map[string]core.Value{}, Extra: map[string]core.Value{}}
		for i, c := range columns {
			c.set(t, values[1+len(refColumns)+i])
		}
		out = append(out, t)
		refer = append(refer, refs{asInt(values[1]), asInt(values[2]), asInt(values[3]), asInt(values[4])})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, t := range out {
		if err := l.fill(t, refer[i].setup, refer[i].workload, refer[i].launch, refer[i].derivation); err != nil {
			return nil, fmt.Errorf("trial %d: %w", t.Number, err)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, l.attach(out)
}

func (l *loader) fill(t *core.Trial, setup, workload, launch, derivation int64) (err error) {
	if t.Setup, err = l.setup(setup); err != nil {
		return err
	}
	if t.Workload, err = l.workload(workload); err != nil {
		return err
	}
	if launch != 0 {
		made, err := l.launch(launch)
		if err != nil {
			return err
		}
		t.Launch = &made
	}
	t.Derived, err = l.how(derivation)
	return err
}

// attach reads the side tables of a batch of trials in order of their numbers.
func (l *loader) attach(batch []*core.Trial) error {
	numbers := make([]int64, len(batch))
	for i, t := range batch {
		numbers[i] = t.Number
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	const of = " IN (SELECT value FROM json_each(?))"
	at := func(number int64) *core.Trial {
		i, _ := slices.BinarySearch(numbers, number)
		return batch[i]
	}
	var number, kind int64
	var space, name string
	var num sql.NullFloat64
	var text sql.NullString
	rows, err := l.q.QueryContext(l.ctx, `SELECT v.trial, n.space, n.name, v.kind, v.num, v.text
		FROM value v JOIN name n ON n.id = v.name WHERE v.trial`+of, string(list))
	if err != nil {
		return err
	}
	err = eachRow(rows, []any{&number, &space, &name, &kind, &num, &text}, func() error {
		t, v := at(number), unpackValue(kind, num, text)
		switch space {
		case spaceFigure:
			t.Figures[name] = v.Num
		case spaceQuality:
			t.Quality[name] = v
		case spaceExtra:
			t.Extra[name] = v
		}
		return nil
	})
	if err != nil || l.want == rowAlone {
		return err
	}
	if rows, err = l.q.QueryContext(l.ctx, "SELECT f.trial, "+findingColumns+" WHERE f.trial"+of+" ORDER BY f.trial, f.seq", string(list)); err != nil {
		return err
	}
	if err := eachFinding(rows, &number, func(f core.Finding) {
		t := at(number)
		t.Findings = append(t.Findings, f)
	}); err != nil {
		return err
	}
	if err := l.sources(of, string(list), at); err != nil || l.want == toJudge {
		return err
	}
	if err := l.courses(of, string(list), at); err != nil {
		return err
	}
	return l.assertions(of, string(list), at)
}

func (l *loader) setup(id int64) (core.Setup, error) {
	s, ok := l.setups[id]
	if !ok {
		v := make([]any, 18)
		var knobs, env, known any
		dest := []any{&knobs, &env, &known}
		for i := range v {
			dest = append(dest, &v[i])
		}
		err := l.q.QueryRowContext(l.ctx, `SELECT c.knobs, c.env, c.command_known, c.engine, c.model, c.checkpoint, c.revision,
			s.engine_version, s.image, s.gpu, s.gpus, s.nodes, s.power_limit_w, s.driver, s.weight_dtype, s.kv_dtype, s.spec_method,
			s.tool, s.tool_version, s.simulated, c.id
			FROM setup s JOIN config c ON c.id = s.config WHERE s.id = ?`, id).Scan(dest...)
		if err != nil {
			return s, fmt.Errorf("setup %d: %w", id, err)
		}
		s = core.Setup{
			Config: core.Config{Engine: asText(v[0]), Model: asText(v[1]), Checkpoint: asText(v[2]), Revision: asText(v[3]),
				CommandKnown: asInt(known) != 0},
			EngineVersion: asText(v[4]), Image: asText(v[5]), GPU: asText(v[6]), GPUs: asCount(v[7]), Nodes: asCount(v[8]),
			PowerLimitW: asCount(v[9]), Driver: asText(v[10]), WeightDtype: asText(v[11]), KVDtype: asText(v[12]), SpecMethod: asText(v[13]),
			Tool: asText(v[14]), ToolVersion: asText(v[15]), Simulated: asInt(v[16]) != 0,
		}
		if err := unmarshalText(env, &s.Config.Env); err != nil {
			return s, fmt.Errorf("environment of setup %d: %w", id, err)
		}
		if s.Config.Knobs, err = l.knobset(asInt(knobs)); err != nil {
			return s, err
		}
		l.setups[id] = s
	}
	if l.want == toJudge {
		return s, nil
	}
	s.Config.Knobs, s.Config.Env = maps.Clone(s.Config.Knobs), maps.Clone(s.Config.Env)
	return s, nil
}

func (l *loader) workload(id int64) (core.Workload, error) {
	w, ok := l.workloads[id]
	if !ok {
		v := make([]any, 9)
		dest := make([]any, len(v))
		for i := range v {
			dest[i] = &v[i]
		}
		err := l.q.QueryRowContext(l.ctx, `SELECT name, dataset, path, input_len, output_len, ignore_eos, turns, endpoint, params
			FROM workload WHERE id = ?`, id).Scan(dest...)
		if err != nil {
			return w, fmt.Errorf("workload %d: %w", id, err)
		}
		w = core.Workload{Name: asText(v[0]), Dataset: asText(v[1]), Path: asText(v[2]), InputLen: asNumber(v[3]), OutputLen: asNumber(v[4]),
			IgnoreEOS: asBool(v[5]), Turns: asNumber(v[6]), Endpoint: asText(v[7])}
		if w.Params, err = l.knobset(asInt(v[8])); err != nil {
			return w, err
		}
		l.workloads[id] = w
	}
	if l.want == toJudge {
		return w, nil
	}
	w.Params = maps.Clone(w.Params)
	return w, nil
}

func (l *loader) launch(id int64) (core.Launch, error) {
	n, ok := l.launches[id]
	if !ok {
		v := make([]any, 14)
		dest := make([]any, len(v))
		for i := range v {
			dest[i] = &v[i]
		}
		err := l.q.QueryRowContext(l.ctx, `SELECT uuid, setup, argv, env, resolved, started_at, load_s, ready_s, compile_warm,
			host, plugin_sha256, failure, failure_text, log FROM launch WHERE id = ?`, id).Scan(dest...)
		if err != nil {
			return n, fmt.Errorf("launch %d: %w", id, err)
		}
		n = core.Launch{ID: asID(v[0]), StartedAt: asTime(v[5]), LoadS: asNumber(v[6]), ReadyS: asNumber(v[7]), CompileWarm: asBool(v[8]),
			Host: asText(v[9]), PluginSHA: asText(v[10]), Failure: core.FailureClass(asText(v[11])), FailureText: asText(v[12]), Log: asText(v[13])}
		if n.Setup, err = l.setup(asInt(v[1])); err != nil {
			return n, err
		}
		if err := unmarshalText(v[2], &n.Argv); err != nil {
			return n, fmt.Errorf("arguments of launch %d: %w", id, err)
		}
		if err := unmarshalText(v[3], &n.Env); err != nil {
			return n, fmt.Errorf("environment of launch %d: %w", id, err)
		}
		if n.Resolved, err = l.knobset(asInt(v[4])); err != nil {
			return n, err
		}
		l.launches[id] = n
	}
	if l.want == toJudge {
		return n, nil
	}
	n.Argv, n.Env, n.Resolved = slices.Clone(n.Argv), maps.Clone(n.Env), maps.Clone(n.Resolved)
	n.Setup.Config.Knobs, n.Setup.Config.Env = maps.Clone(n.Setup.Config.Knobs), maps.Clone(n.Setup.Config.Env)
	return n, nil
}

func (l *loader) knobset(id int64) (core.Knobs, error) {
	if id == 0 {
		return nil, nil
	}
	k, ok := l.knobsets[id]
	if ok {
		return k, nil
	}
	rows, err := l.q.QueryContext(l.ctx, "SELECT n.name, k.kind, k.num, k.text FROM knob k JOIN name n ON n.id = k.name WHERE k.knobset = ?", id)
	if err != nil {
		return nil, err
	}
	k = core.Knobs{}
	var name string
	var kind int64
	var num sql.NullFloat64
	var text sql.NullString
	if err := eachRow(rows, []any{&name, &kind, &num, &text}, func() error { k[name] = unpackValue(kind, num, text); return nil }); err != nil {
		return nil, err
	}
	l.knobsets[id] = k
	return k, nil
}

func (l *loader) how(id int64) (map[string]string, error) {
	how, ok := l.hows[id]
	if !ok {
		how = map[string]string{}
		if id != 0 {
			var text string
			if err := l.q.QueryRowContext(l.ctx, "SELECT how FROM derivation WHERE id = ?", id).Scan(&text); err != nil {
				return nil, err
			}
			if err := json.Unmarshal([]byte(text), &how); err != nil {
				return nil, err
			}
		}
		l.hows[id] = how
	}
	if l.want == toJudge {
		return how, nil
	}
	return maps.Clone(how), nil
}
