//go:build linux

package main

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/store"
)

var acknowledged = regexp.MustCompile(`(?m)^  trial  (\d+) \S+ c=\d+(.*)$`)

// judge reads the history of a study that is finished and holds it against what its
// runs had told.
func (k *torturer) judge(name string, told []string, planned int) {
	t := k.t
	t.Helper()
	db := k.open()
	defer db.Close()
	answer, err := db.Query("SELECT number, option, concurrency, attempt, status, ifnull(failure, '') FROM v_trial WHERE study = ? ORDER BY number", name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer answer.Close()
	var rows [][6]string
	for answer.Next() {
		var row [6]string
		if err := answer.Scan(&row[0], &row[1], &row[2], &row[3], &row[4], &row[5]); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := answer.Err(); err != nil {
		t.Fatal(err)
	}
	status, settled, attempts := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, row := range rows {
		number, plan, state := row[0], row[1]+" c="+row[2], row[4]
		k.fates[strings.TrimSuffix(state+" "+row[5], " ")]++
		if status[number] != "" || attempts[plan+row[3]] {
			t.Errorf("%s: trial %s (%s, attempt %s) is there twice", name, number, plan, row[3])
		}
		status[number], attempts[plan+row[3]] = state, true
		switch state {
		case "ok":
			settled[plan]++
		case "failed":
			if !slices.Contains([]string{"plugin_crash", "interrupted", "port_in_use"}, row[5]) {
				settled[plan]++
			}
		case "lost":
		default:
			t.Errorf("%s: trial %s (%s) is %s", name, number, plan, state)
		}
	}
	for plan, n := range settled {
		if n != 1 {
			t.Errorf("%s: %s is settled %d times", name, plan, n)
		}
	}
	if len(settled) != planned {
		t.Errorf("%s: %d of %d planned trials are settled: %v", name, len(settled), planned, rows)
	}
	for _, text := range told {
		for _, m := range acknowledged.FindAllStringSubmatch(text, -1) {
			want := "ok"
			if strings.HasPrefix(m[2], ": ") {
				want, _, _ = strings.Cut(strings.TrimPrefix(m[2], ": "), " ")
			}
			if status[m[1]] != want {
				t.Errorf("%s: trial %s was told as %s and is %q in the history", name, m[1], want, status[m[1]])
			}
			k.fates["acknowledged"]++
		}
	}
	if t.Failed() {
		t.Logf("history of %s:\n%v\nits runs said:\n%s", name, rows, strings.Join(told, "\n---\n"))
	}
}

// ledger is what is known of a history from outside: how many rows each table had,
// and the rows of trials of finished studies, which never change again.
type ledger struct {
	rows   map[string]int      // by table
	frozen map[string][32]byte // by table and trial
	size   int64
	second string // the other SQLite
}

func newLedger() *ledger { return &ledger{rows: map[string]int{}, frozen: map[string][32]byte{}} }

func (l *ledger) String() string {
	return fmt.Sprintf("history of %d trials, %d kB, read by SQLite %s as well", l.rows["trial"], l.size>>10, l.second)
}

// check looks at the history after a round, when nobody has it open:
//
//  1. it opens, and the store's own check finds no fault;
//  2. SQLite's own integrity_check and foreign_key_check say ok;
//  3. no table of trials has fewer rows than before;
//  4. the -wal file can be folded in and is empty then;
//  5. the content of all tables is the same before and after that, and after once more;
//  6. another build of SQLite says ok as well, where one is installed.
//
// And the trials of earlier rounds, with their samples, are what they were.
func (l *ledger) check(t *testing.T, m *machine, study string) {
	t.Helper()
	path := filepath.Join(m.dir, "history.db")
	history, err := store.Open(t.Context(), path, store.Options{ReadOnly: true, MustExist: true})
	if err != nil {
		t.Fatalf("%s: %v", study, err)
	}
	faults, err := history.Check(t.Context())
	if err = errors.Join(err, history.Close()); err != nil || len(faults) > 0 {
		t.Errorf("%s: check: %q, %v", study, faults, err)
	}
	db := m.open()
	if got := ask1(t, db, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("%s: integrity_check: %s", study, got)
	}
	if got := ask1(t, db, "SELECT count(*) FROM pragma_foreign_key_check"); got != "0" {
		t.Errorf("%s: foreign_key_check: %s faults", study, got)
	}
	before := l.read(t, db, study)
	for range 2 {
		if got := ask1(t, db, "PRAGMA wal_checkpoint(TRUNCATE)"); got != "0" {
			t.Errorf("%s: wal_checkpoint: %s", study, got)
		}
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
			t.Errorf("%s: the -wal file has %d bytes after a checkpoint", study, info.Size())
		}
		if again := l.read(t, db, study); again != before {
			t.Errorf("%s: the content differs after a checkpoint", study)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err == nil {
		l.size = info.Size()
	}
	l.askAnother(t, path, study)
}

// open opens the history without the store.
func (m *machine) open() *sql.DB {
	m.t.Helper()
	// Locks are of one kind in a process, and the store chooses it before the first.
	if _, err := store.Inspect(m.t.Context(), filepath.Join(m.dir, "history.db")); err != nil {
		m.t.Fatal(err)
	}
	name := url.URL{Scheme: "file", Path: filepath.Join(m.dir, "history.db"), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		m.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

func ask1(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatalf("%s: no answer: %v", text, errors.Join(err, rows.Err()))
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	if err := rows.Scan(values...); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(*values[0].(*any))
}

// read hashes every row of every table and holds it against what is known.
func (l *ledger) read(t *testing.T, db *sql.DB, study string) [32]byte {
	t.Helper()
	var tables []string
	rows, err := db.Query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	all := sha256.New()
	for _, table := range tables {
		n := 0
		each(t, db, table, func(key string, sum [32]byte) {
			n++
			all.Write(sum[:])
			if table != "trial" && table != "sample" && table != "sample_chunk" {
				return
			}
			key = table + " " + key
			if was, known := l.frozen[key]; known && was != sum {
				t.Errorf("%s: a row of an earlier study has changed: %s", study, key)
			}
			l.frozen[key] = sum
		})
		fmt.Fprintf(all, "%s %d\n", table, n)
		if n < l.rows[table] && table != "finding" {
			t.Errorf("%s: table %s had %d rows and has %d", study, table, l.rows[table], n)
		}
		l.rows[table] = n
	}
	for key := range l.frozen {
		table, _, _ := strings.Cut(key, " ")
		l.rows["known "+table]++
	}
	for _, table := range []string{"trial", "sample", "sample_chunk"} {
		if known := l.rows["known "+table]; known != l.rows[table] {
			t.Errorf("%s: table %s has %d rows, and %d were there in all", study, table, l.rows[table], known)
		}
		delete(l.rows, "known "+table)
	}
	return [32]byte(all.Sum(nil))
}

// each gives every row of a table: its first column and a digest.
func each(t *testing.T, db *sql.DB, table string, row func(key string, sum [32]byte)) {
	t.Helper()
	rows, err := db.Query(`SELECT * FROM "` + table + `"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		row(fmt.Sprint(values[0]), sha256.Sum256(fmt.Appendf(nil, "%#v", values)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// askAnother asks a SQLite that was built from C, which a user may have in Python or
// as a program.
func (l *ledger) askAnother(t *testing.T, path, study string) {
	t.Helper()
	const python = `import sqlite3, sys, urllib.parse
db = sqlite3.connect("file:" + urllib.parse.quote(sys.argv[1]) + "?immutable=1", uri=True)
print(sqlite3.sqlite_version, db.execute("PRAGMA integrity_check").fetchone()[0], db.execute("SELECT count(*) FROM trial").fetchone()[0])`
	for _, argv := range [][]string{
		{"sqlite3", "-separator", " ", "file:" + (&url.URL{Path: path}).EscapedPath() + "?immutable=1",
			"SELECT sqlite_version(), (SELECT * FROM pragma_integrity_check LIMIT 1), (SELECT count(*) FROM trial)"},
		{"python3", "-c", python, path},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue
		}
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		fields := strings.Fields(string(out))
		if err != nil || len(fields) != 3 || fields[1] != "ok" || fields[2] != fmt.Sprint(l.rows["trial"]) {
			t.Errorf("%s: %s says: %s %v", study, argv[0], out, err)
			return
		}
		l.second = fields[0]
		return
	}
	l.second = "none"
}
