package store

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Storable reports the first thing that keeps a trial out of a history: what
// core.Trial.Validate refuses, a value of the wrong kind in a member that a
// typed column holds (text as a concurrency, say), a tag with a comma. An
// importer asks it record by record, so that one bad record does not hold up a
// batch. The error unwraps to core.ErrInvalid.
func Storable(t *core.Trial) error {
	if err := t.Validate(); err != nil {
		return err
	}
	type member struct {
		name string
		v    core.Value
		want core.Kind
	}
	members := []member{
		{"concurrency", t.Load.Concurrency, core.KindNumber},
		{"request_rate", t.Load.RequestRate, core.KindNumber},
		{"burstiness", t.Load.Burstiness, core.KindNumber},
		{"num_prompts", t.Load.NumPrompts, core.KindNumber},
		{"load duration", t.Load.DurationS, core.KindNumber},
		{"seed", t.Load.Seed, core.KindNumber},
		{"input_len", t.Workload.InputLen, core.KindNumber},
		{"output_len", t.Workload.OutputLen, core.KindNumber},
		{"turns", t.Workload.Turns, core.KindNumber},
		{"ignore_eos", t.Workload.IgnoreEOS, core.KindBool},
		{"throttled", t.Throttled, core.KindBool},
	}
	if l := t.Launch; l != nil {
		members = append(members, member{"load_s", l.LoadS, core.KindNumber}, member{"ready_s", l.ReadyS, core.KindNumber},
			member{"compile_cache", l.CompileWarm, core.KindBool})
	}
	for _, m := range members {
		if !m.v.IsMissing() && (m.v.Kind != m.want || m.v.Num != m.v.Num) {
			return fmt.Errorf("trial %s: %w: %s cannot be %q", t.ID, core.ErrInvalid, m.name, m.v.String())
		}
	}
	if err := t.Course.Validate(); err != nil {
		return fmt.Errorf("trial %s: %w", t.ID, err)
	}
	for name, n := range map[string]float64{"gpus": t.Setup.GPUs, "nodes": t.Setup.Nodes, "power_limit_w": t.Setup.PowerLimitW} {
		if !(n >= 0 && n <= math.MaxFloat64) {
			return fmt.Errorf("trial %s: %w: %s cannot be %g", t.ID, core.ErrInvalid, name, n)
		}
	}
	for _, tag := range slices.Concat(t.Tags, t.Asserted) {
		if tag == "" || strings.Contains(tag, ",") {
			return fmt.Errorf("trial %s: %w: %q in a list of tags or fields is empty or has a comma", t.ID, core.ErrInvalid, tag)
		}
	}
	return nil
}

// SaveTrial inserts a trial or updates the one with its id (planned, launching,
// running, …), with its launch, findings and sources, in one transaction. It
// calls t.Derive and sets t.Number. A trial that has ended keeps its status: an
// attempt to change it, or to save one that was deleted, is core.ErrConflict.
// Assertions stay laid over what is saved, and acknowledgements over its
// findings; t.Assertions and Ack are not written. One that has ended is audited
// with its study, see Options.Audit.
func (db *DB) SaveTrial(ctx context.Context, t *core.Trial) error {
	return db.write(ctx, "save trial "+t.ID.String(), func(w *writeTx) error {
		w.trialsAlone = true
		return w.saveTrial(t, false)
	})
}

// FinishTrial records the final state of a trial and its samples in one
// transaction, in which its study is audited (see Options.Audit). It refuses with core.ErrConflict, and changes nothing, if the
// stored trial has already ended: the caller is then a runner that was taken for
// dead and must stop.
func (db *DB) FinishTrial(ctx context.Context, t *core.Trial, samples []core.Sample) error {
	return db.write(ctx, "finish trial "+t.ID.String(), func(w *writeTx) error {
		if t.Status.Open() {
			return fmt.Errorf("%w: status %s is not an end", core.ErrInvalid, t.Status)
		}
		w.trialsAlone = true
		if err := w.saveTrial(t, true); err != nil {
			return err
		}
		return w.saveSamples(t.Number, samples)
	})
}

// SaveLaunch inserts a launch or updates the one with its id.
func (db *DB) SaveLaunch(ctx context.Context, l *core.Launch) error {
	return db.write(ctx, "save launch "+l.ID.String(), func(w *writeTx) error {
		if l.ID.IsZero() {
			return fmt.Errorf("%w: no id", core.ErrInvalid)
		}
		if err := Storable(&core.Trial{ID: l.ID, Status: core.StatusPlanned, Launch: l}); err != nil {
			return err
		}
		_, err := w.launch(l, 0)
		return err
	})
}

// stored is what is known of a trial before it is written again.
type stored struct {
	number   int64 // 0 when it is new
	study    string
	status   core.Status
	launch   int64
	asserted bool // an original is kept beside it
}

func (w *writeTx) stored(id core.ID) (stored, error) { return w.storedBy("id", id[:]) }

// storedBy looks a trial up by one of its two unique columns, id and number.
func (w *writeTx) storedBy(column string, key any) (stored, error) {
	var s stored
	var status string
	_, err := w.find([]any{&s.number, &s.study, &status, &s.launch, &s.asserted},
		`SELECT number, ifnull(study, ''), status, ifnull(launch, 0), EXISTS (SELECT 1 FROM original o WHERE o.trial = number)
			FROM trial WHERE `+column+" = ?", key)
	s.status = core.Status(status)
	return s, err
}

func (w *writeTx) saveTrial(t *core.Trial, finishing bool) error {
	if t.SweepbookVersion == "" && len(t.Sources) == 0 {
		t.SweepbookVersion = w.db.opt.SweepbookVersion
	}
	t.Derive()
	if err := Storable(t); err != nil {
		return err
	}
	s, err := w.stored(t.ID)
	if err != nil {
		return err
	}
	if s.number == 0 {
		var gone bool
		if gone, err = w.find([]any{new(int64)}, "SELECT number FROM tombstone WHERE id = ?", t.ID[:]); err != nil {
			return err
		} else if gone {
			return fmt.Errorf("%w: the trial was deleted", core.ErrConflict)
		}
	} else if status, err := w.ownStatus(s); err != nil {
		return err
	} else if !status.Open() && (finishing || status != t.Status) {
		return fmt.Errorf("%w: trial %d has already ended: %s", core.ErrConflict, s.number, status)
	}
	number, err := w.put(t, s)
	if err != nil {
		return err
	}
	t.Number = number
	w.given[number] = t
	if _, err := w.addSources(number, t.Sources); err != nil {
		return err
	}
	if s.asserted {
		return w.relay(number, t)
	}
	return nil
}

// ownStatus is the status without assertions, which say nothing of a runner.
func (w *writeTx) ownStatus(s stored) (core.Status, error) {
	if !s.asserted {
		return s.status, nil
	}
	original, err := w.original(s.number)
	if err != nil {
		return "", err
	}
	return original.Status, nil
}

// put writes the row of a trial and what hangs on it, but no sources, samples or
// assertions.
func (w *writeTx) put(t *core.Trial, s stored) (int64, error) {
	setup, err := w.setup(t.Setup)
	if err != nil {
		return 0, err
	}
	workload, err := w.workload(t.Workload)
	if err != nil {
		return 0, err
	}
	var launch any
	if t.Launch != nil {
		if launch, err = w.launch(t.Launch, s.launch); err != nil {
			return 0, fmt.Errorf("launch: %w", err)
		}
	}
	if w.db.opt.Derive != nil {
		w.db.opt.Derive(t)
	}
	derivation, err := w.derivation(t.Derived)
	if err != nil {
		return 0, err
	}
	verdict, err := w.verdict(t.Findings)
	if err != nil {
		return 0, err
	}
	point, err := w.loadPoint(t)
	if err != nil {
		return 0, err
	}
	context, err := w.context(t)
	if err != nil {
		return 0, err
	}
	args := make([]any, 0, len(columnNames)+1)
	args = append(args, setup, workload, launch, derivation, fingerprint(t), verdict, point, context)
	for _, c := range columns {
		args = append(args, c.get(t))
	}
	number := s.number
	if number == 0 {
		if number, err = w.insert(insertTrialSQL, args...); err != nil {
			return 0, err
		}
	} else {
		if _, err := w.exec(updateTrialSQL, append(args, number)...); err != nil {
			return 0, err
		}
		for _, table := range []string{"value", "finding"} {
			if _, err := w.exec("DELETE FROM "+table+" WHERE trial = ?", number); err != nil {
				return 0, err
			}
		}
	}
	if err := w.putValues(number, t); err != nil {
		return 0, err
	}
	if err := w.saveCourse(number, t.Course); err != nil {
		return 0, err
	}
	if err := w.putFindings(number, t.Findings); err != nil {
		return 0, err
	}
	if len(t.Findings) > 0 && (s.number != 0 || t.CountFindings() < len(t.Findings)) {
		// What is acknowledged here decides, not what the caller believes.
		if err := w.sumUpStored(number); err != nil {
			return 0, err
		}
	}
	w.touch(number, t, s)
	w.wrote = append(w.wrote, number)
	return number, nil
}

func (w *writeTx) putValues(number int64, t *core.Trial) error {
	put := func(space, name string, v core.Value) error {
		if v.IsMissing() {
			return nil
		}
		id, err := w.name(space, name)
		if err != nil {
			return err
		}
		kind, num, text := packValue(v)
		_, err = w.exec("INSERT INTO value (trial, name, kind, num, text) VALUES (?, ?, ?, ?, ?)", number, id, kind, num, text)
		return err
	}
	for name, v := range t.Figures {
		if !isFixed[name] {
			if err := put(spaceFigure, name, core.Number(v)); err != nil {
				return err
			}
		}
	}
	for name, v := range t.Quality {
		if err := put(spaceQuality, name, v); err != nil {
			return err
		}
	}
	for name, v := range t.Extra {
		if err := put(spaceExtra, name, v); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint is a number that is equal where the FingerprintKey is, for an
// index that does not hold the text; nil where there is none.
func fingerprint(t *core.Trial) any {
	key := t.FingerprintKey()
	if key == "" {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	return int64(h.Sum64())
}

func unmarshalText(x any, v any) error {
	text := asText(x)
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), v)
}
