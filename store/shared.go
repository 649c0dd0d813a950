package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// What many trials share is written once and referred to by its row id. The ids
// already seen are remembered for the length of the process.

// shared returns the row of a table with a digest, or makes it.
func (w *writeTx) shared(table string, sum []byte, make func() (int64, error)) (int64, error) {
	key := table + string(sum)
	if id, ok := w.state.ids[key]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find([]any{&id}, "SELECT id FROM "+table+" WHERE digest = ?", sum)
	if err == nil && !found {
		id, err = make()
	}
	if err != nil {
		return 0, err
	}
	w.state.ids[key] = id
	return id, nil
}

// The spaces of the table name.
const (
	spaceKnob    = "knob"
	spaceFigure  = "figure"
	spaceQuality = "quality"
	spaceExtra   = "extra"
)

func (w *writeTx) name(space, name string) (int64, error) {
	key := "name " + space + " " + name
	if id, ok := w.state.ids[key]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find([]any{&id}, "SELECT id FROM name WHERE space = ? AND name = ?", space, name)
	if err == nil && !found {
		id, err = w.insert("INSERT INTO name (space, name) VALUES (?, ?)", space, name)
	}
	if err != nil {
		return 0, err
	}
	w.state.ids[key] = id
	return id, nil
}

// knobset returns the row of a set of settings, nil for none.
func (w *writeTx) knobset(knobs core.Knobs) (any, error) {
	if len(knobs) == 0 {
		return nil, nil
	}
	d := newDigest("knobset")
	names := knobs.Names()
	for _, name := range names {
		d.text(name)
		d.value(knobs[name])
	}
	sum := d.sum()
	id, err := w.shared("knobset", sum, func() (int64, error) {
		id, err := w.insert("INSERT INTO knobset (digest) VALUES (?)", sum)
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			n, err := w.name(spaceKnob, name)
			if err != nil {
				return 0, err
			}
			kind, num, text := packValue(knobs[name])
			if _, err := w.exec("INSERT INTO knob (knobset, name, kind, num, text) VALUES (?, ?, ?, ?, ?)", id, n, kind, num, text); err != nil {
				return 0, err
			}
		}
		return id, nil
	})
	return id, err
}

// knobNames records which knobs an engine's trials have, for Names and v_knob.
func (w *writeTx) knobNames(engine string, knobs core.Knobs) error {
	for name := range knobs {
		key := "knob_name " + engine + " " + name
		if _, ok := w.state.ids[key]; ok {
			continue
		}
		var own any
		if aliases := core.KnobAliases(engine, name); len(aliases) > 1 {
			own = aliases[1]
		}
		if _, err := w.exec("INSERT INTO knob_name (engine, name, own) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", engine, name, own); err != nil {
			return err
		}
		w.state.ids[key] = 1
	}
	return nil
}

func (w *writeTx) config(c core.Config) (int64, error) {
	d := newDigest("config")
	d.text(c.Engine, c.Model, c.Checkpoint, c.Revision)
	d.number(uint64(boolInt(c.CommandKnown)))
	d.number(uint64(len(c.Knobs)))
	for _, name := range c.Knobs.Names() {
		d.text(name)
		d.value(c.Knobs[name])
	}
	d.pairs(c.Env)
	sum := d.sum()
	return w.shared("config", sum, func() (int64, error) {
		knobs, err := w.knobset(c.Knobs)
		if err != nil {
			return 0, err
		}
		if err := w.knobNames(c.Engine, c.Knobs); err != nil {
			return 0, err
		}
		env, err := optJSON(c.Env, len(c.Env))
		if err != nil {
			return 0, err
		}
		s := core.Setup{Config: c}
		return w.insert(`INSERT INTO config (digest, hash, engine, model, checkpoint, revision, command_known, knobs, env, tp, pp, dp, ep)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			sum, c.Hash(), optText(c.Engine), optText(c.Model), optText(c.Checkpoint), optText(c.Revision), boolInt(c.CommandKnown), knobs, env,
			optNumber(s.Parallel("tp")), optNumber(s.Parallel("pp")), optNumber(s.Parallel("dp")), optNumber(s.Parallel("ep")))
	})
}

func (w *writeTx) setup(s core.Setup) (int64, error) {
	config, err := w.config(s.Config)
	if err != nil {
		return 0, err
	}
	d := newDigest("setup")
	d.number(uint64(config))
	d.text(s.EngineVersion, s.Image, s.GPU, s.Driver, s.WeightDtype, s.KVDtype, s.SpecMethod, s.Tool, s.ToolVersion)
	d.float(s.GPUs, s.Nodes, s.PowerLimitW)
	d.number(uint64(boolInt(s.Simulated)))
	sum := d.sum()
	return w.shared("setup", sum, func() (int64, error) {
		return w.insert(`INSERT INTO setup (digest, hash, config, engine_version, image, gpu, gpus, nodes, power_limit_w, driver,
				weight_dtype, kv_dtype, spec_method, tool, tool_version, simulated)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			sum, s.Hash(), config, optText(s.EngineVersion), optText(s.Image), optText(s.GPU), optCount(s.GPUs), optCount(s.Nodes),
			optCount(s.PowerLimitW), optText(s.Driver), optText(s.WeightDtype), optText(s.KVDtype), optText(s.SpecMethod),
			optText(s.Tool), optText(s.ToolVersion), boolInt(s.Simulated))
	})
}

func (w *writeTx) workload(l core.Workload) (int64, error) {
	d := newDigest("workload")
	d.text(l.Name, l.Dataset, l.Path, l.Endpoint)
	d.value(l.InputLen, l.OutputLen, l.IgnoreEOS, l.Turns)
	for _, name := range l.Params.Names() {
		d.text(name)
		d.value(l.Params[name])
	}
	sum := d.sum()
	return w.shared("workload", sum, func() (int64, error) {
		params, err := w.knobset(l.Params)
		if err != nil {
			return 0, err
		}
		return w.insert(`INSERT INTO workload (digest, hash, name, label, dataset, path, input_len, output_len, ignore_eos, turns, endpoint, params)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			sum, l.Hash(), optText(l.Name), optText(l.Label()), optText(l.Dataset), optText(l.Path), optNumber(l.InputLen), optNumber(l.OutputLen),
			optBool(l.IgnoreEOS), optNumber(l.Turns), optText(l.Endpoint), params)
	})
}

// loadPoint returns the row of a trial's load, seed and duration aside.
func (w *writeTx) loadPoint(t *core.Trial) (int64, error) {
	l := t.Load
	return w.alike("load_point", []string{"load", "concurrency", "request_rate", "burstiness", "num_prompts"},
		optText(l.Label()), optNumber(l.Concurrency), optNumber(l.RequestRate), optNumber(l.Burstiness), optNumber(l.NumPrompts))
}

// context returns the row of what a trial was run for, where, and what came of it.
func (w *writeTx) context(t *core.Trial) (int64, error) {
	return w.alike("context", []string{"study", "role", "status", "host"},
		optText(t.Study), optText(string(t.Role)), optText(string(t.Status)), optText(t.Host))
}

// alike returns the row of a table that has these values, of which some may be NULL,
// or makes it.
func (w *writeTx) alike(table string, columns []string, values ...any) (int64, error) {
	key := table
	for _, v := range values {
		key += fmt.Sprintf(" %#v", v)
	}
	if id, ok := w.state.ids[key]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find([]any{&id}, "SELECT id FROM "+table+" WHERE "+strings.Join(columns, " IS ? AND ")+" IS ?", values...)
	if err == nil && !found {
		id, err = w.insert("INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", values...)
	}
	if err != nil {
		return 0, err
	}
	w.state.ids[key] = id
	return id, nil
}

// derivation returns the row of a set of formulas, nil for none.
func (w *writeTx) derivation(how map[string]string) (any, error) {
	return w.object("derivation", "how", how, len(how))
}

// object returns the row of a table whose one column holds a JSON object of n
// members, nil for none.
func (w *writeTx) object(table, column string, v any, n int) (any, error) {
	text, err := optJSON(v, n) // in name order
	if text == nil || err != nil {
		return nil, err
	}
	key := table + " " + text.(string)
	if id, ok := w.state.ids[key]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find([]any{&id}, "SELECT id FROM "+table+" WHERE "+column+" = ?", text)
	if err == nil && !found {
		id, err = w.insert("INSERT INTO "+table+" ("+column+") VALUES (?)", text)
	}
	if err != nil {
		return nil, err
	}
	w.state.ids[key] = id
	return id, nil
}

// launch writes a launch and returns its row. known is the row it has already,
// for a launch without an id; 0 is none.
func (w *writeTx) launch(l *core.Launch, known int64) (int64, error) {
	setup, err := w.setup(l.Setup)
	if err != nil {
		return 0, err
	}
	resolved, err := w.knobset(l.Resolved)
	if err != nil {
		return 0, err
	}
	if err := w.knobNames(l.Setup.Config.Engine, l.Resolved); err != nil {
		return 0, err
	}
	argv, err := optJSON(l.Argv, len(l.Argv))
	if err != nil {
		return 0, err
	}
	env, err := optJSON(l.Env, len(l.Env))
	if err != nil {
		return 0, err
	}
	var uuid any
	var row int64
	if l.ID.IsZero() {
		// A launch with an id belongs to other trials too and is not reused.
		_, err = w.find([]any{&row}, "SELECT id FROM launch WHERE id = ? AND uuid IS NULL", known)
	} else {
		uuid = l.ID[:]
		_, err = w.find([]any{&row}, "SELECT id FROM launch WHERE uuid = ?", uuid)
	}
	if err != nil {
		return 0, err
	}
	args := []any{uuid, setup, argv, env, resolved, optTime(l.StartedAt), optNumber(l.LoadS), optNumber(l.ReadyS), optBool(l.CompileWarm),
		optText(l.Host), optText(l.PluginSHA), optText(string(l.Failure)), optText(l.FailureText), optText(l.Log)}
	if row == 0 {
		return w.insert(`INSERT INTO launch (uuid, setup, argv, env, resolved, started_at, load_s, ready_s, compile_warm,
			host, plugin_sha256, failure, failure_text, log) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...)
	}
	_, err = w.exec(`UPDATE launch SET (uuid, setup, argv, env, resolved, started_at, load_s, ready_s, compile_warm,
		host, plugin_sha256, failure, failure_text, log) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?`, append(args, row)...)
	return row, err
}

func optJSON(v any, n int) (any, error) {
	if n == 0 {
		return nil, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return string(text), nil
}
