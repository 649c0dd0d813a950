package store

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// late records the end of a trial of which this history knows only that it began: its
// runner could not reach the history, or was taken for dead. It reports whether the
// record was that. A retry that was made meanwhile stays a trial of its own.
func (w *writeTx) late(s stored, record *core.Trial) (bool, error) {
	status, err := w.ownStatus(s)
	if err != nil {
		return false, err
	}
	began := status.Open() || status == core.StatusLost
	ended := slices.Contains([]core.Status{core.StatusOK, core.StatusFailed, core.StatusStopped, core.StatusAborted}, record.Status)
	if !began || !ended {
		return false, nil
	}
	// The same run alone: figures that are alike do not end another's trial.
	same, err := w.stored(record.ID)
	if err != nil || same.number != s.number {
		return false, err
	}
	if _, err := w.put(record, s); err != nil {
		return false, err
	}
	record.Number = s.number
	w.given[s.number] = record
	if _, err := w.addSources(s.number, record.Sources); err != nil {
		return false, err
	}
	if s.asserted {
		return true, w.relay(s.number, record)
	}
	return true, nil
}
