package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// judged is a study as the last audit left it. A run records trial after trial of one
// study, and each is judged among all of them: what has not changed since is not read
// again.
type judged struct {
	study string
	// version is that of the file as this connection sees it: another one after every
	// commit of another connection.
	version int64
	trials  []*core.Trial  // in the order of their numbers, as a loader gives them
	stale   map[int64]bool // written since by this connection
}

// maxJudged bounds the memory that is kept for it: about 20 MB.
const maxJudged = 2000

// studyToJudge reads a study for its audit. In a transaction that writes trials and
// nothing else it takes what is kept of it, and reads anew what was written.
func (w *writeTx) studyToJudge(study string) ([]*core.Trial, error) {
	load := newLoader(w.ctx, w.tx, toJudge)
	if !w.trialsAlone {
		return load.trials("study IS ?", optText(study))
	}
	var version int64
	if err := w.tx.QueryRowContext(w.ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return nil, err
	}
	j := w.state.judged
	w.state.judged = nil // until all went well
	if j == nil || j.study != study || j.version != version {
		trials, err := load.trials("study IS ?", optText(study))
		if err != nil {
			return nil, err
		}
		w.keepJudged(study, version, trials)
		return trials, nil
	}
	for _, number := range w.wrote {
		j.stale[number] = true
	}
	list, err := json.Marshal(slices.Collect(maps.Keys(j.stale)))
	if err != nil {
		return nil, err
	}
	fresh, err := load.trials("study IS ? AND number IN (SELECT value FROM json_each(?))", optText(study), string(list))
	if err != nil {
		return nil, err
	}
	trials := slices.DeleteFunc(j.trials, func(t *core.Trial) bool { return j.stale[t.Number] })
	// A launch is written with each of its trials, and is that of the others too.
	launches := map[core.ID]*core.Launch{}
	for _, t := range fresh {
		if t.Launch != nil && !t.Launch.ID.IsZero() {
			launches[t.Launch.ID] = t.Launch
		}
	}
	for _, t := range trials {
		if t.Launch != nil && launches[t.Launch.ID] != nil {
			t.Launch = launches[t.Launch.ID]
		}
	}
	trials = append(trials, fresh...)
	slices.SortFunc(trials, func(a, b *core.Trial) int { return int(a.Number - b.Number) })
	w.keepJudged(study, version, trials)
	return trials, nil
}

func (w *writeTx) keepJudged(study string, version int64, trials []*core.Trial) {
	w.wrote = nil
	if len(trials) <= maxJudged {
		w.state.judged = &judged{study: study, version: version, trials: trials, stale: map[int64]bool{}}
	}
}

// settle keeps what is known of a study true after a commit: what the transaction
// wrote beside its audit is read again by the next, and after one that wrote anything
// but trials nothing is known.
func (w *writeTx) settle() {
	switch j := w.state.judged; {
	case j == nil:
	case !w.trialsAlone:
		w.state.judged = nil
	default:
		for _, number := range w.wrote {
			j.stale[number] = true
		}
	}
}

// judgeStudy audits a whole study whose trials were touched.
func (w *writeTx) judgeStudy(study string) error {
	trials, err := w.studyToJudge(study)
	if err == nil {
		err = w.judgeTrials(trials, nil)
	}
	if err != nil {
		return fmt.Errorf("as a whole: %w", err)
	}
	return nil
}
