package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// findingColumns are what eachFinding reads, with their tables.
const findingColumns = `f.rule, f.version, f.severity, f.metrics, f.evidence, a.reason, a.who, a.at
	FROM finding f LEFT JOIN ack a ON a.trial = f.trial AND a.rule = f.rule`

// eachFinding reads findings whose first column is scanned into key.
func eachFinding(rows *sql.Rows, key any, fn func(core.Finding)) error {
	var f core.Finding
	var severity int64
	var metrics, reason, who, at any
	return eachRow(rows, []any{key, &f.Rule, &f.Version, &severity, &metrics, &f.Evidence, &reason, &who, &at}, func() error {
		f.Severity, f.Metrics = core.Severity(severity), nil
		if err := unmarshalText(metrics, &f.Metrics); err != nil {
			return err
		}
		f.Ack, f.AckBy, f.AckAt = asText(reason), asText(who), asTime(at)
		fn(f)
		return nil
	})
}

// Findings returns every trial's findings of a severity or above, acknowledged
// ones included: the few that decide whether a figure may be believed are read
// at once.
func (db *DB) Findings(ctx context.Context, least core.Severity) (map[core.ID][]core.Finding, error) {
	found := map[core.ID][]core.Finding{}
	err := db.read(ctx, func(q querier) error {
		where := "f.severity >= ?"
		if least >= core.SeverityHard {
			where += " AND f.severity >= 3" // in the words of the partial index
		}
		rows, err := q.QueryContext(ctx, "SELECT (SELECT t.id FROM trial t WHERE t.number = f.trial), "+findingColumns+
			" WHERE "+where+" ORDER BY f.trial, f.seq", int64(least))
		if err != nil {
			return err
		}
		var id any
		return eachFinding(rows, &id, func(f core.Finding) {
			found[asID(id)] = append(found[asID(id)], f)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("findings: %w", err)
	}
	return found, nil
}

// SaveFindings replaces what the audit says of trials, for a caller that audits
// by itself; with Options.Audit the next write to a study does so again. Ids that
// are not there are left out. Acknowledgements stay; Ack is not written.
func (db *DB) SaveFindings(ctx context.Context, findings map[core.ID][]core.Finding) error {
	return db.write(ctx, "save findings", func(w *writeTx) error {
		for id, fs := range findings {
			s, err := w.stored(id)
			if err != nil {
				return err
			}
			if s.number == 0 {
				continue
			}
			fs = slices.Clone(fs)
			if err := w.addAcks(s.number, fs); err != nil {
				return err
			}
			if err := w.replaceFindings(s.number, fs); err != nil {
				return err
			}
		}
		_, err := w.exec("UPDATE meta SET value = 0 WHERE key = 'audit_version' AND value <> 0")
		return err
	})
}

// replaceFindings writes the findings of a trial, which know what of them is
// acknowledged.
func (w *writeTx) replaceFindings(number int64, findings []core.Finding) error {
	if _, err := w.exec("DELETE FROM finding WHERE trial = ?", number); err != nil {
		return err
	}
	if err := w.putFindings(number, findings); err != nil {
		return err
	}
	return w.sumUp(number, findings)
}

func (w *writeTx) putFindings(number int64, findings []core.Finding) error {
	for i, f := range findings {
		metrics, err := optJSON(f.Metrics, len(f.Metrics))
		if err != nil {
			return err
		}
		if _, err := w.exec("INSERT INTO finding (trial, seq, rule, version, severity, metrics, evidence) VALUES (?, ?, ?, ?, ?, ?, ?)",
			number, i, f.Rule, f.Version, int64(f.Severity), metrics, f.Evidence); err != nil {
			return err
		}
	}
	return nil
}

// sumUp writes on a trial's row what its findings come to: how many count, and how
// severe they are for which metrics.
func (w *writeTx) sumUp(number int64, findings []core.Finding) error {
	verdict, err := w.verdict(findings)
	if err != nil {
		return err
	}
	t := core.Trial{Findings: findings}
	_, err = w.exec("UPDATE trial SET findings = ?, verdict = ? WHERE number = ?", t.CountFindings(), verdict, number)
	return err
}

// sumUpStored does so after the findings or acknowledgements of a trial changed.
func (w *writeTx) sumUpStored(number int64) error {
	rows, err := w.tx.QueryContext(w.ctx, "SELECT f.trial, "+findingColumns+" WHERE f.trial = ?", number)
	if err != nil {
		return err
	}
	var findings []core.Finding
	if err := eachFinding(rows, new(int64), func(f core.Finding) { findings = append(findings, f) }); err != nil {
		return err
	}
	return w.sumUp(number, findings)
}

// verdict returns the row of what the findings that count say of metrics, nil for
// nothing. Few verdicts differ among many trials, so that a reader looks them up
// and needs no findings.
func (w *writeTx) verdict(findings []core.Finding) (any, error) {
	worst := map[string]core.Severity{}
	for _, f := range findings {
		if !f.Counts() {
			continue
		}
		for _, m := range f.Metrics {
			worst[m] = max(worst[m], f.Severity)
		}
	}
	return w.object("verdict", "severities", worst, len(worst))
}

// sameFindings compares what an audit says, whatever was acknowledged.
func sameFindings(a, b []core.Finding) bool {
	return slices.EqualFunc(a, b, func(x, y core.Finding) bool {
		return x.Rule == y.Rule && x.Version == y.Version && x.Severity == y.Severity && x.Evidence == y.Evidence && slices.Equal(x.Metrics, y.Metrics)
	})
}
