package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// History names the file and counts its trials.
func (db *DB) History(ctx context.Context) (h core.History, err error) {
	err = db.Snapshot(ctx, func(r *Reading) error { h, err = r.History(ctx); return err })
	return h, err
}

func historyOf(ctx context.Context, q querier) (h core.History, err error) {
	err = q.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE key = 'history_id'), (SELECT value FROM meta WHERE key = 'trials')`).
		Scan(&h.ID, &h.Trials)
	return h, err
}

// Names lists, each in order, what trials record beyond the fixed fields. A name
// stays listed when the last trial that had it is deleted.
func (db *DB) Names(ctx context.Context) (names core.Names, err error) {
	err = db.Snapshot(ctx, func(r *Reading) error { names, err = r.Names(ctx); return err })
	return names, err
}

func namesOf(ctx context.Context, q querier) (core.Names, error) {
	var names core.Names
	rows, err := q.QueryContext(ctx, "SELECT name FROM knob_name UNION SELECT own FROM knob_name WHERE own IS NOT NULL ORDER BY 1")
	if err != nil {
		return names, err
	}
	var space, name string
	if err := eachRow(rows, []any{&name}, func() error { names.Knobs = append(names.Knobs, name); return nil }); err != nil {
		return names, err
	}
	if rows, err = q.QueryContext(ctx, "SELECT space, name FROM name WHERE space <> 'knob' ORDER BY name"); err != nil {
		return names, err
	}
	return names, eachRow(rows, []any{&space, &name}, func() error {
		switch space {
		case spaceExtra:
			names.Extra = append(names.Extra, name)
		case spaceQuality:
			names.Quality = append(names.Quality, name)
		case spaceFigure:
			names.Figures = append(names.Figures, name)
		}
		return nil
	})
}

// Trial returns the trial that ref names: its number, its id, or the first
// characters of its id, four at least, where only one begins so. Otherwise the
// error is core.ErrNotFound, or says which trials an ambiguous prefix fits.
func (db *DB) Trial(ctx context.Context, ref string) (*core.Trial, error) {
	var found *core.Trial
	err := db.read(ctx, func(q querier) error {
		where, args, err := refCondition(ctx, q, ref)
		if err != nil {
			return err
		}
		trials, err := newLoader(ctx, q, allOfIt).trials("number IN (SELECT number FROM trial WHERE "+where+" LIMIT 4)", args...)
		switch {
		case err != nil:
			return err
		case len(trials) == 0:
			return core.ErrNotFound
		case len(trials) > 1:
			var fits []string
			for _, t := range trials {
				fits = append(fits, fmt.Sprintf("%s (%d)", t.ID, t.Number))
			}
			return fmt.Errorf("%w: ambiguous: begins %s", core.ErrInvalid, strings.Join(fits, ", "))
		}
		found = trials[0]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("trial %s: %w", ref, err)
	}
	return found, nil
}

// refCondition turns a reference into a condition. Digits are a number where a
// trial has it, else the start of an id.
func refCondition(ctx context.Context, q querier, ref string) (string, []any, error) {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil {
		var have bool
		if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM trial WHERE number = ?)", n).Scan(&have); err != nil {
			return "", nil, err
		}
		if have {
			return "number = ?", []any{n}, nil
		}
	}
	digits := strings.ReplaceAll(strings.ToLower(ref), "-", "")
	if len(digits) < 4 || len(digits) > 32 {
		return "", nil, core.ErrNotFound
	}
	low, err1 := hex.DecodeString(digits + strings.Repeat("0", 32-len(digits)))
	high, err2 := hex.DecodeString(digits + strings.Repeat("f", 32-len(digits)))
	if err1 != nil || err2 != nil {
		return "", nil, core.ErrNotFound
	}
	return "id BETWEEN ? AND ?", []any{low, high}, nil
}

// TrialsByID returns the whole trials with these ids in the order of the ids;
// an id that is not there is left out.
func (db *DB) TrialsByID(ctx context.Context, ids []core.ID) ([]*core.Trial, error) {
	byID := map[core.ID]*core.Trial{}
	err := db.read(ctx, func(q querier) error {
		l := newLoader(ctx, q, allOfIt)
		for batch := range slices.Chunk(ids, batchSize) {
			if err := l.byID(batch, byID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("trials: %w", err)
	}
	var out []*core.Trial
	for _, id := range ids {
		if t := byID[id]; t != nil {
			out = append(out, t)
		}
	}
	return out, nil
}

// batchSize is how many trials are read whole at once.
const batchSize = 256

// byID reads a batch into m.
func (l *loader) byID(batch []core.ID, m map[core.ID]*core.Trial) error {
	texts := make([]string, len(batch))
	for i, id := range batch {
		texts[i] = hex.EncodeToString(id[:])
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	trials, err := l.trials("id IN (SELECT unhex(value) FROM json_each(?))", string(list))
	for _, t := range trials {
		m[t.ID] = t
	}
	return err
}

// AllTrials walks over all trials, whole, in order of their numbers and in one
// snapshot: what is written meanwhile is not seen. It ends at the first error.
func (db *DB) AllTrials(ctx context.Context) iter.Seq2[*core.Trial, error] {
	return func(yield func(*core.Trial, error) bool) {
		stopped := false
		err := db.read(ctx, func(q querier) error {
			l := newLoader(ctx, q, allOfIt)
			for after := int64(0); ; {
				trials, err := l.trials("number IN (SELECT number FROM trial WHERE number > ? ORDER BY number LIMIT ?)", after, batchSize)
				if err != nil || len(trials) == 0 {
					return err
				}
				for _, t := range trials {
					if !yield(t, nil) {
						stopped = true
						return nil
					}
				}
				after = trials[len(trials)-1].Number
			}
		})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("trials: %w", err))
		}
	}
}

// Trials returns the whole trials of a study in the order of their numbers.
func (db *DB) Trials(ctx context.Context, study string) ([]*core.Trial, error) {
	var trials []*core.Trial
	err := db.read(ctx, func(q querier) (err error) {
		trials, err = newLoader(ctx, q, allOfIt).trials("study = ?", study)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("trials of study %s: %w", study, err)
	}
	return trials, nil
}
