package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// checkedTrials is how many trials Check compares column by column.
const checkedTrials = 200

// Check looks for faults and lists them, none for a sound history: SQLite's own
// integrity and foreign keys, counts that are kept twice, views that cannot be
// read, and for a sample of trials every column against core.Trial.Value. It
// reads the whole file.
func (db *DB) Check(ctx context.Context) ([]string, error) {
	var faults []string
	err := db.read(ctx, func(q querier) error {
		for _, part := range []func(context.Context, querier) ([]string, error){
			integrityFaults, foreignKeyFaults, countFaults, viewFaults, db.columnFaults,
		} {
			found, err := part(ctx, q)
			faults = append(faults, found...)
			if err != nil && sqliteCode(err) == codeCorrupt {
				faults = append(faults, err.Error())
				return nil // what is damaged cannot be looked at further
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return faults, fmt.Errorf("check %s: %w", db.path, err)
	}
	return faults, nil
}

// integrityFaults reads the text of the check: damage is no error to SQLite.
func integrityFaults(ctx context.Context, q querier) ([]string, error) {
	rows, err := q.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return nil, err
	}
	var faults []string
	var line string
	err = eachRow(rows, []any{&line}, func() error {
		if line != "ok" {
			faults = append(faults, "integrity: "+line)
		}
		return nil
	})
	return faults, err
}

func foreignKeyFaults(ctx context.Context, q querier) ([]string, error) {
	rows, err := q.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return nil, err
	}
	var faults []string
	var table, parent string
	var row, key any
	err = eachRow(rows, []any{&table, &row, &parent, &key}, func() error {
		faults = append(faults, fmt.Sprintf("reference: row %v of %s names a row of %s that is not there", row, table, parent))
		return nil
	})
	return faults, err
}

func countFaults(ctx context.Context, q querier) ([]string, error) {
	var faults []string
	for _, c := range []struct{ what, query string }{
		{"trials counted in meta, and rows of trial", "SELECT (SELECT value FROM meta WHERE key = 'trials'), (SELECT count(*) FROM trial)"},
		{"findings counted in trials, and rows of finding that nobody acknowledged", `SELECT (SELECT ifnull(sum(findings), 0) FROM trial),
			(SELECT count(*) FROM finding f WHERE NOT EXISTS (SELECT 1 FROM ack a WHERE a.trial = f.trial AND a.rule = f.rule))`},
		{"trials, and trials whose context and load point say what their own columns say", `SELECT (SELECT count(*) FROM trial), (SELECT count(*)
			FROM trial t JOIN context c ON c.id = t.context AND c.study IS t.study AND c.role IS t.role AND c.status IS t.status AND c.host IS t.host
			JOIN load_point p ON p.id = t.load_point AND p.load IS t.load AND p.concurrency IS t.concurrency AND p.request_rate IS t.request_rate
				AND p.burstiness IS t.burstiness AND p.num_prompts IS t.num_prompts)`},
		{"trials with samples, and trials with chunks among them",
			"SELECT (SELECT count(*) FROM sample_chunk), (SELECT count(*) FROM sample_chunk c JOIN sample s ON s.trial = c.trial)"},
	} {
		var a, b int64
		if err := q.QueryRowContext(ctx, c.query).Scan(&a, &b); err != nil {
			return faults, err
		}
		if a != b {
			faults = append(faults, fmt.Sprintf("count: %s: %d and %d", c.what, a, b))
		}
	}
	return faults, nil
}

func viewFaults(ctx context.Context, q querier) ([]string, error) {
	var views, faults []string
	rows, err := q.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
	if err != nil {
		return nil, err
	}
	var name string
	if err := eachRow(rows, []any{&name}, func() error { views = append(views, name); return nil }); err != nil {
		return nil, err
	}
	for _, name := range views {
		if err := readView(ctx, q, name); err != nil {
			faults = append(faults, fmt.Sprintf("view %s: %v", name, err))
		}
	}
	return faults, nil
}

func readView(ctx context.Context, q querier, name string) error {
	rows, err := q.QueryContext(ctx, `SELECT * FROM "`+name+`" LIMIT 1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// columnFaults compares rows with the trials read whole, spread over the file.
func (db *DB) columnFaults(ctx context.Context, q querier) ([]string, error) {
	trials, err := newLoader(ctx, q, allOfIt).trials(`number IN (SELECT number FROM trial
		WHERE number % max(1, (SELECT value FROM meta WHERE key = 'trials') / ?) = 0 LIMIT ?)`, checkedTrials, checkedTrials)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, t := range trials {
		columns := slices.Concat(core.FieldNames(), dynamicNames(t))
		sel := core.Select{Columns: columns, Where: []core.Cond{{Field: "number", Op: core.OpEq, Values: []core.Value{core.Number(float64(t.Number))}}}}
		n := 0
		err := rowsOf(ctx, q, newTables(), sel, true, func(row []core.Value) bool {
			n++
			for i, name := range columns {
				if want := t.Value(name); row[i] != want {
					faults = append(faults, fmt.Sprintf("trial %d: column %s is %q, the trial says %q", t.Number, name, row[i], want))
				}
			}
			return true
		})
		if err != nil {
			return faults, err
		}
		if n != 1 {
			faults = append(faults, fmt.Sprintf("trial %d: %d rows", t.Number, n))
		}
	}
	return faults, nil
}

// dynamicNames are the names beyond the fixed fields that one trial has.
func dynamicNames(t *core.Trial) []string {
	var names []string
	for name := range t.Setup.Config.Knobs {
		for _, alias := range core.KnobAliases(t.Setup.Config.Engine, name) {
			names = append(names, "args."+alias, "passed."+alias)
		}
	}
	if t.Launch != nil {
		for name := range t.Launch.Resolved {
			names = append(names, "args."+name)
		}
	}
	for name := range t.Extra {
		names = append(names, "extra."+name)
	}
	for name := range t.Quality {
		names = append(names, "quality."+name)
	}
	for _, f := range t.Findings {
		for _, metric := range f.Metrics {
			if f, ok := core.LookupField("severity." + metric); ok && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	for name := range t.Figures {
		if !isFixed[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
