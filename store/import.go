package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// Import records trials that were measured elsewhere, all in one transaction,
// and says what became of each. A trial that is here already (the same id, a
// source with the same key, or the same figures at the coarser printed
// precision) is a duplicate: it keeps its own values and gains the sources that
// it lacks. Where the record gives measured figures, versions, GPU, driver or the
// command that the trial lacks, and nothing in it contradicts the trial, these are
// filled in, and the trial counts as updated; its place in a study never changes.
// What was deleted stays out. Trials of another history's export keep their ids,
// times, assertions and acknowledgements; two trials that were both run by
// Sweepbook are the same by their id alone, since a simulator repeats figures.
//
// It calls Derive and sets Number on each trial, that of the trial here for a
// duplicate. The studies of all trials are audited, see Options.Audit; files that
// belong together are best given in one call, since each call audits once. A
// trial that is not Storable fails the whole batch with its position: ask
// Storable before.
func (db *DB) Import(ctx context.Context, trials []*core.Trial) ([]core.ImportOutcome, error) {
	outcomes := make([]core.ImportOutcome, len(trials))
	err := db.write(ctx, "import", func(w *writeTx) error {
		for i, t := range trials {
			var err error
			if outcomes[i], err = w.importTrial(t); err != nil {
				return fmt.Errorf("record %d: %w", i+1, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

func (w *writeTx) importTrial(t *core.Trial) (core.ImportOutcome, error) {
	t.Derive()
	if err := Storable(t); err != nil {
		return 0, err
	}
	for i := range t.Sources {
		if t.Sources[i].Imported.IsZero() {
			t.Sources[i].Imported = w.db.opt.Now().UTC()
		}
	}
	if number, err := w.twin(t); err != nil {
		return 0, err
	} else if number != 0 {
		t.Number = number
		return w.importAgain(number, t)
	}
	if deleted, err := w.deleted(t); err != nil {
		return 0, err
	} else if deleted {
		t.Number = 0
		return core.ImportDeleted, nil
	}
	number, err := w.put(t, stored{})
	if err != nil {
		return 0, err
	}
	t.Number = number
	w.given[number] = t
	if _, err := w.addSources(number, t.Sources); err != nil {
		return 0, err
	}
	if err := w.importAcks(number, t.Findings); err != nil {
		return 0, err
	}
	return core.ImportNew, w.importAssertions(t)
}

// importAssertions records the assertions of another history. Its values have
// them laid on already; the original is what is left when they are taken off in
// reverse order.
func (w *writeTx) importAssertions(t *core.Trial) error {
	if len(t.Assertions) == 0 {
		return nil
	}
	source, err := w.whole(t.Number)
	if err != nil {
		return err
	}
	effective := false
	for _, a := range slices.Backward(t.Assertions) {
		switch a.Verb {
		case verbSet:
			err = source.SetField(a.Field, a.Old)
		case verbTag:
			if a.Old.IsMissing() {
				source.Tags = slices.DeleteFunc(source.Tags, func(tag string) bool { return tag == a.New.Text })
			}
		case verbRetract:
			source.Status = core.Status(a.Old.Text)
		}
		if err != nil {
			return fmt.Errorf("assertion on %s: %w", a.Field, err)
		}
		effective = effective || a.Verb != verbNote
	}
	if effective {
		source.Asserted = nil
		source.Derive()
		if err := w.saveOriginal(t.Number, source); err != nil {
			return err
		}
		if _, err := w.exec("UPDATE trial SET fingerprint = ? WHERE number = ?", fingerprint(source), t.Number); err != nil {
			return err
		}
	}
	for _, a := range t.Assertions {
		if _, err := w.insertAssertion(t.Number, a); err != nil {
			return err
		}
	}
	return nil
}

// twin finds the stored trial that a record is, 0 for none.
func (w *writeTx) twin(t *core.Trial) (int64, error) {
	var number int64
	found, err := w.find([]any{&number}, "SELECT number FROM trial WHERE id = ?", t.ID[:])
	if err != nil || found {
		return number, err
	}
	for _, s := range t.Sources {
		if s.SHA256 == "" {
			continue
		}
		found, err := w.find([]any{&number}, `SELECT x.trial FROM source_file f JOIN source x ON x.file = f.id AND x.position = ?
			WHERE f.sha256 = ? ORDER BY x.trial LIMIT 1`, s.Position, s.SHA256)
		if err != nil || found {
			return number, err
		}
	}
	return w.twinByFigures(t)
}

// candidate is a stored trial that may be the same by its figures.
type candidate struct {
	number   int64
	decimals int
}

func (w *writeTx) twinByFigures(t *core.Trial) (int64, error) {
	key := fingerprint(t)
	if key == nil {
		return 0, nil
	}
	duration, decimals := t.Figures["duration_s"], sourceDecimals(t)
	var candidates []candidate
	var c candidate
	var d float64
	var id any
	err := w.each([]any{&c.number, &id, &d, &c.decimals}, func() error {
		coarser := core.CoarserDecimals(decimals, c.decimals)
		if bothRun(t.ID, asID(id)) || math.Abs(d-duration) > tolerance(coarser, duration) {
			return nil
		}
		candidates = append(candidates, candidate{c.number, coarser})
		return nil
	}, `SELECT t.number, t.id, t.duration_s, ifnull(x.decimals, -1) FROM trial t LEFT JOIN source x ON x.trial = t.number AND x.seq = 0
		WHERE t.fingerprint = ? AND t.duration_s BETWEEN ? AND ? ORDER BY t.number`, key, duration-0.51, duration+0.51)
	if err != nil {
		return 0, err
	}
	for _, c := range candidates {
		stored, err := w.asGiven(c.number)
		if err != nil {
			return 0, err
		}
		if core.SameTrial(t, stored, c.decimals) {
			return c.number, nil
		}
	}
	return 0, nil
}

// tolerance is a little more than what SameTrial allows for a figure, so that
// this first look loses nothing.
func tolerance(decimals int, v float64) float64 {
	if decimals < 0 {
		return 2e-9 * math.Abs(v)
	}
	return 0.51 * math.Pow(10, -float64(decimals))
}

// bothRun: two UUIDv7 name two runs.
func bothRun(a, b core.ID) bool { return a[6]>>4 == 7 && b[6]>>4 == 7 }

// sourceDecimals is the precision that a trial's figures were printed with.
func sourceDecimals(t *core.Trial) int {
	if len(t.Sources) == 0 {
		return -1
	}
	return t.Sources[0].Decimals
}

// asGiven reads a trial's figures without assertions.
func (w *writeTx) asGiven(number int64) (*core.Trial, error) {
	var asserted bool
	if _, err := w.find([]any{&asserted}, "SELECT EXISTS (SELECT 1 FROM original WHERE trial = ?)", number); err != nil {
		return nil, err
	}
	if asserted {
		return w.original(number)
	}
	trials, err := newLoader(w.ctx, w.tx, rowAlone).trials("number = ?", number)
	if err != nil || len(trials) == 0 {
		return nil, fmt.Errorf("trial %d: %w", number, orNotFound(err))
	}
	return trials[0], nil
}

func orNotFound(err error) error {
	if err == nil {
		return core.ErrNotFound
	}
	return err
}

// deleted reports whether a tombstone keeps a record out.
func (w *writeTx) deleted(t *core.Trial) (bool, error) {
	var n int64
	found, err := w.find([]any{&n}, "SELECT number FROM tombstone WHERE id = ?", t.ID[:])
	if err != nil || found {
		return found, err
	}
	for _, s := range t.Sources {
		if s.SHA256 == "" {
			continue
		}
		found, err := w.find([]any{&n}, "SELECT 1 FROM tombstone_source WHERE sha256 = ? AND position = ?", s.SHA256, s.Position)
		if err != nil || found {
			return found, err
		}
	}
	key := fingerprint(t)
	if key == nil {
		return false, nil
	}
	var id any
	var figures string
	var decimals int
	same := false
	err = w.each([]any{&id, &figures, &decimals}, func() error {
		gone := &core.Trial{Figures: core.Figures{}}
		if err := json.Unmarshal([]byte(figures), &gone.Figures); err != nil {
			return fmt.Errorf("tombstone: %w", err)
		}
		same = same || (!bothRun(t.ID, asID(id)) && core.SameTrial(t, gone, core.CoarserDecimals(sourceDecimals(t), decimals)))
		return nil
	}, "SELECT id, ifnull(figures, '{}'), decimals FROM tombstone WHERE fingerprint = ?", key)
	return same, err
}

// Delete removes trials with all that hangs on them and leaves tombstones, so
// that an import of the same records does not bring them back. It says how many
// there were; ids that are not there are left out. The studies that they leave
// are audited, see Options.Audit.
func (db *DB) Delete(ctx context.Context, ids []core.ID, why string) (int, error) {
	n := 0
	err := db.write(ctx, "delete", func(w *writeTx) error {
		for _, id := range ids {
			s, err := w.stored(id)
			if err != nil {
				return err
			}
			if s.number == 0 {
				continue
			}
			if err := w.delete(id, s.number, why); err != nil {
				return fmt.Errorf("trial %s: %w", id, err)
			}
			if !s.status.Open() {
				w.touchIn(s.study, s.number)
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (w *writeTx) delete(id core.ID, number int64, why string) error {
	given, err := w.asGiven(number)
	if err != nil {
		return err
	}
	var decimals int
	if _, err := w.find([]any{&decimals}, "SELECT ifnull((SELECT decimals FROM source WHERE trial = ? AND seq = 0), -1)", number); err != nil {
		return err
	}
	var figures any
	key := fingerprint(given)
	if key != nil {
		if figures, err = optJSON(given.Figures, len(given.Figures)); err != nil {
			return err
		}
	}
	if _, err := w.exec(`INSERT INTO tombstone (id, number, fingerprint, figures, decimals, at, who, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id[:], number, key, figures, decimals, w.db.opt.Now().UnixMicro(), w.db.opt.User, optText(why)); err != nil {
		return err
	}
	if _, err := w.exec(`INSERT INTO tombstone_source (sha256, position, tombstone)
		SELECT f.sha256, x.position, ? FROM source x JOIN source_file f ON f.id = x.file WHERE x.trial = ? AND f.sha256 <> ''
		ON CONFLICT DO NOTHING`, id[:], number); err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM trial WHERE number = ?", number)
	return err
}
