package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// defaultMaxAudited is up to how many trials a study is audited as a whole
// whenever one of them changes.
const defaultMaxAudited = 20_000

// auditVersion is that of the rules in use, 0 for none.
func (o Options) auditVersion() int {
	if o.Audit == nil {
		return 0
	}
	return max(o.AuditVersion, 1)
}

// touch notes that a trial was written, so that its study, and the one that it
// may have left, are audited before the transaction ends. Trials that have not
// ended are nobody's evidence yet.
func (w *writeTx) touch(number int64, t *core.Trial, before stored) {
	if t.Status.Open() && (before.number == 0 || before.status.Open()) {
		return
	}
	w.touchIn(t.Study, number)
	if before.number != 0 && before.study != t.Study {
		w.touchIn(before.study, number)
	}
}

func (w *writeTx) touchIn(study string, number int64) {
	if w.touched[study] == nil {
		w.touched[study] = map[int64]bool{}
	}
	w.touched[study][number] = true
}

// audit renews what is said of the studies that the transaction touched.
func (w *writeTx) audit() error {
	if len(w.touched) == 0 {
		return nil
	}
	if w.db.opt.Audit != nil {
		for _, study := range slices.Sorted(maps.Keys(w.touched)) {
			if err := w.auditTouched(study, w.touched[study]); err != nil {
				return fmt.Errorf("audit of %s: %w", studyLabel(study), err)
			}
		}
	}
	return w.lowerAuditVersion()
}

func studyLabel(study string) string {
	if study == "" {
		return "the trials without a study"
	}
	return "study " + study
}

// auditTouched audits a study as a whole, or of a very large one what was touched.
func (w *writeTx) auditTouched(study string, numbers map[int64]bool) error {
	var many bool
	if _, err := w.find([]any{&many}, "SELECT count(*) > ? FROM (SELECT 1 FROM trial WHERE study IS ? LIMIT ?)",
		w.db.maxAudited, optText(study), w.db.maxAudited+1); err != nil {
		return err
	}
	if !many {
		return w.judgeStudy(study)
	}
	list, err := json.Marshal(slices.Sorted(maps.Keys(numbers)))
	if err != nil {
		return err
	}
	_, err = w.judge(nil, "study IS ? AND number IN (SELECT value FROM json_each(?))", optText(study), string(list))
	return err
}

// judge audits the trials that a condition on the table trial picks, as one
// study, and says how many they were. report, where given, is told of every trial
// whose findings are others than before; what is derived beside the trial itself
// is then worked out anew as well.
func (w *writeTx) judge(report func(t *core.Trial, before, after []core.Finding), where string, args ...any) (int, error) {
	trials, err := newLoader(w.ctx, w.tx, toJudge).trials(where, args...)
	if err != nil {
		return 0, err
	}
	return len(trials), w.judgeTrials(trials, report)
}

// judgeTrials audits trials, as one study, that a loader read to be judged. It leaves
// them with their findings as they are stored then.
func (w *writeTx) judgeTrials(trials []*core.Trial, report func(t *core.Trial, before, after []core.Finding)) error {
	if len(trials) == 0 {
		return nil
	}
	before := make([][]core.Finding, len(trials))
	for i, t := range trials {
		before[i], t.Findings = t.Findings, nil // an audit says the same however often it is made
		if report == nil {
			continue
		}
		if err := w.rederive(t); err != nil {
			return fmt.Errorf("trial %d: %w", t.Number, err)
		}
	}
	said := w.db.opt.Audit(trials)
	for i, t := range trials {
		after, given := slices.Clone(said[t.ID]), w.given[t.Number]
		same := sameFindings(before[i], after)
		t.Findings = before[i]
		if same && given == nil {
			continue
		}
		err := w.addAcks(t.Number, after)
		if err == nil && !same {
			err = w.replaceFindings(t.Number, after)
		}
		if err != nil {
			return fmt.Errorf("trial %d: %w", t.Number, err)
		}
		if !same {
			t.Findings = slices.Clone(after)
		}
		if given != nil {
			given.Findings = after
		}
		if report != nil {
			report(t, before[i], after)
		}
	}
	return nil
}

// lowerAuditVersion: what was written now was judged by our rules, or by nobody.
func (w *writeTx) lowerAuditVersion() error {
	version := w.db.opt.auditVersion()
	_, err := w.exec("UPDATE meta SET value = ? WHERE key = 'audit_version' AND value > ?", version, version)
	return err
}
