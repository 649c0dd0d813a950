package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// The verbs of an assertion.
const (
	verbSet     = "set"
	verbTag     = "tag"
	verbNote    = "note"
	verbRetract = "retract"
)

// Set lays assertions over trials, all in one transaction, and says how many it
// recorded. It fills ID, Old, When (where zero) and By (where empty) of each.
//
//	set      New is the value of Field, whose name joins the trial's Asserted
//	tag      New is the text of a tag
//	note     Why is the note; nothing else changes
//	retract  the status becomes retracted; Why is the reason
//
// After a set the trial's derived figures are worked out again, and its study is
// audited (see Options.Audit).
func (db *DB) Set(ctx context.Context, sets []core.Assertion) (int, error) {
	byTrial := map[core.ID][]*core.Assertion{}
	var order []core.ID
	for i := range sets {
		a := &sets[i]
		if byTrial[a.Trial] == nil {
			order = append(order, a.Trial)
		}
		byTrial[a.Trial] = append(byTrial[a.Trial], a)
	}
	err := db.write(ctx, "set", func(w *writeTx) error {
		for _, id := range order {
			if err := w.assert(id, byTrial[id]); err != nil {
				return fmt.Errorf("trial %s: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(sets), nil
}

func (w *writeTx) assert(id core.ID, sets []*core.Assertion) error {
	s, err := w.stored(id)
	if err != nil {
		return err
	}
	if s.number == 0 {
		return core.ErrNotFound
	}
	t, err := w.whole(s.number)
	if err != nil {
		return err
	}
	changes := slices.ContainsFunc(sets, func(a *core.Assertion) bool { return a.Verb != verbNote })
	if changes && !s.asserted {
		if err := w.saveOriginal(s.number, t); err != nil {
			return err
		}
		s.asserted = true
	}
	for _, a := range sets {
		a.Old = before(t, *a)
		if a.When.IsZero() {
			a.When = w.db.opt.Now()
		}
		a.When = a.When.UTC()
		if a.By == "" {
			a.By = w.db.opt.User
		}
		if err := lay(t, *a); err != nil {
			return err
		}
		if a.ID, err = w.insertAssertion(s.number, *a); err != nil {
			return err
		}
	}
	if !changes {
		return nil
	}
	return w.putEffective(t, s)
}

// putEffective writes a trial with its assertions laid on. The fingerprint stays
// that of the source, by which a second import of it is known.
func (w *writeTx) putEffective(t *core.Trial, s stored) error {
	if err := Storable(t); err != nil {
		return err
	}
	original, err := w.original(s.number)
	if err != nil {
		return err
	}
	if _, err := w.put(t, s); err != nil {
		return err
	}
	_, err = w.exec("UPDATE trial SET fingerprint = ? WHERE number = ?", fingerprint(original), s.number)
	return err
}

// before is what an assertion changes.
func before(t *core.Trial, a core.Assertion) core.Value {
	switch a.Verb {
	case verbSet:
		return t.Value(a.Field)
	case verbTag:
		if slices.Contains(t.Tags, a.New.Text) {
			return a.New
		}
	case verbRetract:
		return core.String(string(t.Status))
	}
	return core.Missing()
}

// lay applies one assertion to a trial.
func lay(t *core.Trial, a core.Assertion) error {
	switch a.Verb {
	case verbSet:
		if err := t.SetField(a.Field, a.New); err != nil {
			return err
		}
		t.Derive()
		f, _ := core.LookupField(a.Field)
		if !slices.Contains(t.Asserted, f.Name) {
			t.Asserted = append(t.Asserted, f.Name)
		}
	case verbTag:
		if a.New.Kind != core.KindText || a.New.Text == "" {
			return fmt.Errorf("tag: %w: want a text", core.ErrInvalid)
		}
		if !slices.Contains(t.Tags, a.New.Text) {
			t.Tags = append(t.Tags, a.New.Text)
		}
	case verbNote:
	case verbRetract:
		t.Status = core.StatusRetracted
	default:
		return fmt.Errorf("%w: verb %q", core.ErrInvalid, a.Verb)
	}
	return nil
}

// Undo takes one assertion back: the trial becomes what its source gives with
// the remaining ones laid on, and its study is audited (see Options.Audit). The
// assertion stays in the file, marked.
func (db *DB) Undo(ctx context.Context, assertionID int64) error {
	return db.write(ctx, fmt.Sprintf("undo assertion %d", assertionID), func(w *writeTx) error {
		var number int64
		var undone bool
		found, err := w.find([]any{&number, &undone}, "SELECT trial, undone_at IS NOT NULL FROM assertion WHERE id = ?", assertionID)
		switch {
		case err != nil:
			return err
		case !found:
			return core.ErrNotFound
		case undone:
			return fmt.Errorf("%w: already undone", core.ErrConflict)
		}
		if _, err := w.exec("UPDATE assertion SET undone_at = ?, undone_by = ? WHERE id = ?",
			w.db.opt.Now().UnixMicro(), w.db.opt.User, assertionID); err != nil {
			return err
		}
		var id any
		var asserted bool
		if _, err := w.find([]any{&id, &asserted}, "SELECT id, EXISTS (SELECT 1 FROM original o WHERE o.trial = number) FROM trial WHERE number = ?", number); err != nil {
			return err
		}
		if !asserted {
			return nil // notes only
		}
		now, err := w.whole(number)
		if err != nil {
			return err
		}
		original, err := w.original(number)
		if err != nil {
			return err
		}
		original.Launch, original.Findings = now.Launch, now.Findings
		return w.relay(number, original)
	})
}

// relay lays the assertions that count over a trial as its source gives it, and
// writes both. Without any the trial is again what the source gives.
func (w *writeTx) relay(number int64, source *core.Trial) error {
	s, err := w.stored(source.ID)
	if err != nil {
		return err
	}
	assertions, err := newLoader(w.ctx, w.tx, allOfIt).assertionsOf(number)
	if err != nil {
		return err
	}
	assertions = slices.DeleteFunc(assertions, func(a core.Assertion) bool { return a.Verb == verbNote })
	if len(assertions) == 0 {
		if _, err := w.put(source, s); err != nil {
			return err
		}
		_, err := w.exec("DELETE FROM original WHERE trial = ?", number)
		return err
	}
	if err := w.saveOriginal(number, source); err != nil {
		return err
	}
	t, err := w.original(number)
	if err != nil {
		return err
	}
	t.Launch, t.Findings = source.Launch, source.Findings
	for _, a := range assertions {
		if err := lay(t, a); err != nil {
			return fmt.Errorf("assertion %d: %w", a.ID, err)
		}
	}
	return w.putEffective(t, s)
}

// whole reads one trial inside the transaction.
func (w *writeTx) whole(number int64) (*core.Trial, error) {
	trials, err := newLoader(w.ctx, w.tx, allOfIt).trials("number = ?", number)
	if err != nil {
		return nil, err
	}
	if len(trials) != 1 {
		return nil, fmt.Errorf("trial %d: %w", number, core.ErrNotFound)
	}
	return trials[0], nil
}

// saveOriginal keeps a trial as its source gives it, without what has a table of
// its own. It is written with gob since JSON does not tell unset from missing.
func (w *writeTx) saveOriginal(number int64, t *core.Trial) error {
	bare := *t
	bare.Launch, bare.Sources, bare.Findings, bare.Assertions, bare.Course = nil, nil, nil, nil, nil
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(&bare); err != nil {
		return fmt.Errorf("original: %w", err)
	}
	data, err := w.state.pack.data(buf.Bytes())
	if err != nil {
		return fmt.Errorf("original: %w", err)
	}
	_, err = w.exec("INSERT OR REPLACE INTO original (trial, data) VALUES (?, ?)", number, data)
	return err
}

func (w *writeTx) original(number int64) (*core.Trial, error) {
	var data []byte
	found, err := w.find([]any{&data}, "SELECT data FROM original WHERE trial = ?", number)
	if err == nil && !found {
		err = core.ErrNotFound
	}
	if err == nil {
		data, err = unpack(data)
	}
	t := &core.Trial{}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data)).Decode(t)
	}
	if err != nil {
		return nil, fmt.Errorf("original of trial %d: %w", number, err)
	}
	return t, nil
}

func (w *writeTx) insertAssertion(number int64, a core.Assertion) (int64, error) {
	oldKind, oldNum, oldText := packValue(a.Old)
	newKind, newNum, newText := packValue(a.New)
	return w.insert(`INSERT INTO assertion (trial, verb, field, old_kind, old_num, old_text, new_kind, new_num, new_text, at, who, why)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, number, a.Verb, optText(a.Field), oldKind, oldNum, oldText, newKind, newNum, newText,
		a.When.UnixMicro(), a.By, optText(a.Why))
}

// assertions reads what counts of the assertions of a batch of trials.
func (l *loader) assertions(of, list string, at func(int64) *core.Trial) error {
	return l.eachAssertion(func(number int64, a core.Assertion) {
		t := at(number)
		a.Trial = t.ID
		t.Assertions = append(t.Assertions, a)
	}, "trial"+of, list)
}

func (l *loader) assertionsOf(number int64) (all []core.Assertion, err error) {
	err = l.eachAssertion(func(_ int64, a core.Assertion) { all = append(all, a) }, "trial = ?", number)
	return all, err
}

func (l *loader) eachAssertion(add func(int64, core.Assertion), where string, args ...any) error {
	rows, err := l.q.QueryContext(l.ctx, `SELECT trial, id, verb, ifnull(field, ''), old_kind, old_num, old_text, new_kind, new_num, new_text, at, who, ifnull(why, '')
		FROM assertion WHERE undone_at IS NULL AND `+where+" ORDER BY id", args...)
	if err != nil {
		return err
	}
	var number, oldKind, newKind int64
	var oldNum, newNum sql.NullFloat64
	var oldText, newText sql.NullString
	var when any
	var a core.Assertion
	dest := []any{&number, &a.ID, &a.Verb, &a.Field, &oldKind, &oldNum, &oldText, &newKind, &newNum, &newText, &when, &a.By, &a.Why}
	return eachRow(rows, dest, func() error {
		a.Old, a.New, a.When = unpackValue(oldKind, oldNum, oldText), unpackValue(newKind, newNum, newText), asTime(when)
		add(number, a)
		return nil
	})
}
