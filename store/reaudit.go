package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// FindingChange is one verdict that an audit has changed: what a rule says of
// some metrics of a trial. It is gained where Old is 0 and lost where New is 0.
type FindingChange struct {
	Trial  core.ID
	Number int64
	Study  string
	Rule   string
	// Metrics are those of which the rule says another severity than before; none
	// where its finding names none.
	Metrics  []string
	Old, New core.Severity
	// OldVersion and NewVersion are the rule's; 0 on the side that has no finding.
	OldVersion, NewVersion int
	Evidence               string // of the new finding, or of the one that is lost
	Ack                    string // why a person accepts what the rule says of the trial
}

// Reaudit makes all findings of a study anew, "" for those of all trials, and
// returns the verdicts that are others than before, in order of the studies and
// the trials' numbers. Findings whose evidence or version alone has changed are
// renewed and not listed. Acknowledgements stay.
//
// Options.Derive is called of every trial before it is judged, since what it knows
// beside the trial may have changed as well.
//
// Every study is audited as a whole, in a transaction of its own, and held in
// memory meanwhile; trials without a study in portions of 20,000. After all
// trials AuditVersion is that of the rules in use. An error leaves the studies
// before it renewed and returns their changes.
func (db *DB) Reaudit(ctx context.Context, study string) (changes []FindingChange, err error) {
	if db.opt.Audit == nil {
		return nil, fmt.Errorf("audit: %w: the history was opened without rules", core.ErrInvalid)
	}
	if study != "" {
		changes, judged, err := db.reauditStudy(ctx, study, nil)
		if err == nil && judged == 0 {
			err = fmt.Errorf("audit study %s: %w: it has no trials", study, core.ErrNotFound)
		}
		return changes, err
	}
	studies, err := db.Studies(ctx)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	for _, name := range studies {
		if changes, _, err = db.reauditStudy(ctx, name, changes); err != nil {
			return changes, err
		}
	}
	if changes, err = db.reauditRest(ctx, changes); err != nil {
		return changes, err
	}
	return changes, db.write(ctx, "audit", func(w *writeTx) error {
		_, err := w.exec("UPDATE meta SET value = ? WHERE key = 'audit_version'", db.opt.auditVersion())
		return err
	})
}

// AuditVersion is the version of the rules that all findings of the history were
// made with; 0 where some were not made by an audit of the store. It is lower
// than Options.AuditVersion after an upgrade, until Reaudit has been over all
// trials.
func (db *DB) AuditVersion(ctx context.Context) (int, error) {
	var version int
	err := db.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'audit_version'").Scan(&version)
	})
	if err != nil {
		return 0, fmt.Errorf("version of the audit: %w", err)
	}
	return version, nil
}

// reauditStudy appends the changes of one study, all or none, and says how many
// trials it has.
func (db *DB) reauditStudy(ctx context.Context, study string, changes []FindingChange) ([]FindingChange, int, error) {
	n, judged := len(changes), 0
	err := db.write(ctx, "audit study "+study, func(w *writeTx) (err error) {
		judged, err = w.judge(func(t *core.Trial, before, after []core.Finding) {
			changes = append(changes, verdictChanges(t, before, after)...)
		}, "study = ?", study)
		return err
	})
	if err != nil {
		return changes[:n], 0, err
	}
	return changes, judged, nil
}

// reauditRest appends the changes of the trials without a study.
func (db *DB) reauditRest(ctx context.Context, changes []FindingChange) ([]FindingChange, error) {
	for after, more := int64(0), true; more; {
		n := len(changes)
		err := db.write(ctx, "audit trials without a study", func(w *writeTx) error {
			var last int64
			if _, err := w.find([]any{&last}, `SELECT ifnull(max(number), 0) FROM
				(SELECT number FROM trial WHERE study IS NULL AND number > ? ORDER BY number LIMIT ?)`, after, db.maxAudited); err != nil {
				return err
			}
			judged, err := w.judge(func(t *core.Trial, before, after []core.Finding) {
				changes = append(changes, verdictChanges(t, before, after)...)
			}, "study IS NULL AND number > ? AND number <= ?", after, last)
			after, more = last, judged == db.maxAudited
			return err
		})
		if err != nil {
			return changes[:n], err
		}
	}
	return changes, nil
}

// rederive works out anew the figures that need more than the trial itself.
func (w *writeTx) rederive(t *core.Trial) error {
	if w.db.opt.Derive == nil {
		return nil
	}
	before, how := t.Figures, t.Derived
	t.Figures, t.Derived = maps.Clone(before), maps.Clone(how) // a loader's trials share them
	w.db.opt.Derive(t)
	if maps.Equal(before, t.Figures) && maps.Equal(how, t.Derived) {
		return nil
	}
	id, err := w.derivation(t.Derived)
	if err != nil {
		return err
	}
	set, args := "derivation = ?", []any{id}
	for _, name := range fixedFigures {
		if v := t.Figures.Value(name); v != before.Value(name) {
			set, args = set+", "+name+" = ?", append(args, optNumber(v))
		}
	}
	_, err = w.exec("UPDATE trial SET "+set+" WHERE number = ?", append(args, t.Number)...)
	return err
}

// verdict is what a rule says of one metric, "" where a finding names none.
type verdict struct{ rule, metric string }

// verdicts gives the worst finding of every verdict, and the verdicts in order.
func verdicts(findings []core.Finding) (map[verdict]core.Finding, []verdict) {
	worst := map[verdict]core.Finding{}
	var order []verdict
	for _, f := range findings {
		metrics := f.Metrics
		if len(metrics) == 0 {
			metrics = []string{""}
		}
		for _, m := range metrics {
			v := verdict{f.Rule, m}
			known, ok := worst[v]
			if !ok {
				order = append(order, v)
			}
			if f.Severity > known.Severity {
				worst[v] = f
			}
		}
	}
	return worst, order
}

// verdictChanges compares two audits of one trial, rule by rule and metric by
// metric, and joins the metrics of one rule whose severity changed alike.
func verdictChanges(t *core.Trial, before, after []core.Finding) []FindingChange {
	old, order := verdicts(before)
	now, more := verdicts(after)
	var changes []FindingChange
	seen := map[verdict]bool{}
	for _, v := range append(more, order...) {
		was, is := old[v], now[v]
		if seen[v] || was.Severity == is.Severity {
			continue
		}
		seen[v] = true
		i := slices.IndexFunc(changes, func(c FindingChange) bool { return c.Rule == v.rule && c.Old == was.Severity && c.New == is.Severity })
		if i < 0 {
			i = len(changes)
			says := is
			if is.Severity == 0 {
				says = was
			}
			changes = append(changes, FindingChange{Trial: t.ID, Number: t.Number, Study: t.Study, Rule: v.rule, Old: was.Severity, New: is.Severity,
				OldVersion: was.Version, NewVersion: is.Version, Evidence: says.Evidence, Ack: says.Ack})
		}
		if v.metric != "" {
			changes[i].Metrics = append(changes[i].Metrics, v.metric)
		}
	}
	return changes
}
