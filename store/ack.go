package store

import (
	"context"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// Acknowledge records that people accept what a rule says of trials, and why:
// its findings stay and no longer count, in this audit and in later ones. It says
// how many trials those were; a trial of which the rule says nothing now, or
// which is not there, is left out. A second acknowledgement replaces the first.
func (db *DB) Acknowledge(ctx context.Context, rule string, ids []core.ID, reason string) (int, error) {
	switch {
	case rule == "":
		return 0, fmt.Errorf("acknowledge: %w: no rule", core.ErrInvalid)
	case reason == "":
		return 0, fmt.Errorf("acknowledge %s: %w: no reason", rule, core.ErrInvalid)
	}
	return db.acknowledge(ctx, "acknowledge "+rule, ids, func(w *writeTx, number int64) (bool, error) {
		found, err := w.find([]any{new(int64)}, "SELECT 1 FROM finding WHERE trial = ? AND rule = ? LIMIT 1", number, rule)
		if err != nil || !found {
			return false, err
		}
		return true, w.putAck(number, core.Finding{Rule: rule, Ack: reason})
	})
}

// Unacknowledge takes acknowledgements of a rule back and says of how many
// trials. Trials without one are left out.
func (db *DB) Unacknowledge(ctx context.Context, rule string, ids []core.ID) (int, error) {
	return db.acknowledge(ctx, "unacknowledge "+rule, ids, func(w *writeTx, number int64) (bool, error) {
		res, err := w.exec("DELETE FROM ack WHERE trial = ? AND rule = ?", number, rule)
		if err != nil {
			return false, err
		}
		n, err := res.RowsAffected()
		return n > 0, err
	})
}

// acknowledge changes the acknowledgements of trials in one transaction and
// sums up again what counts of their findings.
func (db *DB) acknowledge(ctx context.Context, what string, ids []core.ID, change func(*writeTx, int64) (bool, error)) (int, error) {
	n := 0
	err := db.write(ctx, what, func(w *writeTx) error {
		for _, id := range ids {
			s, err := w.stored(id)
			if err != nil {
				return err
			}
			if s.number == 0 {
				continue
			}
			changed, err := change(w, s.number)
			if err == nil && changed {
				n++
				err = w.sumUpStored(s.number)
			}
			if err != nil {
				return fmt.Errorf("trial %s: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// putAck records the acknowledgement that a finding carries, as one of now and of
// our user where it does not say.
func (w *writeTx) putAck(number int64, f core.Finding) error {
	if f.AckAt.IsZero() {
		f.AckAt = w.db.opt.Now()
	}
	if f.AckBy == "" {
		f.AckBy = w.db.opt.User
	}
	_, err := w.exec("INSERT OR REPLACE INTO ack (trial, rule, reason, who, at) VALUES (?, ?, ?, ?, ?)",
		number, f.Rule, f.Ack, f.AckBy, f.AckAt.UnixMicro())
	return err
}

// importAcks records what people of another history accepted of a new trial.
func (w *writeTx) importAcks(number int64, findings []core.Finding) error {
	some := false
	for _, f := range findings {
		if f.Counts() {
			continue
		}
		some = true
		if err := w.putAck(number, f); err != nil {
			return err
		}
	}
	if !some {
		return nil
	}
	return w.sumUpStored(number)
}

// addAcks tells findings of one trial what was acknowledged.
func (w *writeTx) addAcks(number int64, findings []core.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	var rule string
	var reason, who, at any
	return w.each([]any{&rule, &reason, &who, &at}, func() error {
		for i := range findings {
			if f := &findings[i]; f.Rule == rule {
				f.Ack, f.AckBy, f.AckAt = asText(reason), asText(who), asTime(at)
			}
		}
		return nil
	}, "SELECT rule, reason, who, at FROM ack WHERE trial = ?", number)
}
