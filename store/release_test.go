package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// A file of every schema is kept as the program of its time wrote it, with what that
// program answered. The first migration after a release makes it necessary to write
// the file of the schema before; -update does so for the schema of this program, and
// never again.
func releaseFile(version int) string {
	return filepath.Join("testdata", "releases", fmt.Sprintf("schema-%d.db.gz", version))
}

func releaseAnswers(version int) string {
	return filepath.Join("testdata", "releases", fmt.Sprintf("schema-%d.tsv", version))
}

// answers are all that a history says of its trials: a line for each value that is
// known, and the requests.
func answers(t *testing.T, db *store.DB) []string {
	t.Helper()
	columns := slices.Concat(core.FieldNames(), dynamicColumns())
	var lines []string
	for _, row := range rows(t, db, core.Select{Columns: columns}) {
		number := row[slices.Index(columns, "number")].String()
		for i, v := range row {
			if !v.IsMissing() {
				lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%q", number, columns[i], v.Kind, v.String()))
			}
		}
	}
	for _, trial := range all(t, db) {
		s, err := db.Samples(context.Background(), trial.ID)
		ok(t, err)
		if d := diff(samples(len(s)), s); d != "" {
			t.Errorf("trial %d: requests (-written +read):\n%s", trial.Number, d)
		}
		lines = append(lines, fmt.Sprintf("%d\trequests\t%d", trial.Number, len(s)))
	}
	return lines
}

// writeRelease writes the file of this program's schema.
func writeRelease(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	for i, trial := range varied() {
		var requests []core.Sample
		if trial = finished(trial); i < 3 {
			requests = samples(20)
		}
		ok(t, db.FinishTrial(ctx, trial, requests))
	}
	_, err := db.Set(ctx, []core.Assertion{{Trial: plain(0).ID, Verb: "tag", New: core.String("kept")}})
	ok(t, err)
	lines := answers(t, db)
	ok(t, db.Close())
	data, err := os.ReadFile(path)
	ok(t, err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	ok(t, err)
	_, err = w.Write(data)
	ok(t, errors.Join(err, w.Close()))
	version := store.SupportedSchema()
	ok(t, os.MkdirAll(filepath.Dir(releaseFile(version)), 0o755))
	ok(t, os.WriteFile(releaseFile(version), packed.Bytes(), 0o644))
	ok(t, os.WriteFile(releaseAnswers(version), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// The file of each schema is read as it lies, and answers what it answered then; so it
// does after it is migrated, with the backup that was made before; and what is written
// then is read back like the rest.
func TestReleases(t *testing.T) {
	if _, err := os.Stat(releaseFile(store.SupportedSchema())); errors.Is(err, fs.ErrNotExist) && *update {
		writeRelease(t)
	}
	for version := 1; version <= store.SupportedSchema(); version++ {
		t.Run(fmt.Sprint("schema ", version), func(t *testing.T) {
			t.Parallel()
			release(t, version)
		})
	}
}

func release(t *testing.T, version int) {
	ctx := context.Background()
	packed, err := os.Open(releaseFile(version))
	if err != nil {
		t.Fatalf("a schema without its file: %v; write it with -update by the program that has this schema", err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	ok(t, err)
	before, err := io.ReadAll(r)
	ok(t, err)
	path := filepath.Join(t.TempDir(), "history.db")
	ok(t, os.WriteFile(path, before, 0o600))
	golden, err := os.ReadFile(releaseAnswers(version))
	ok(t, err)
	want := strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n")
	if len(want) < 300 {
		t.Fatalf("only %d answers are known: the file says nothing", len(want))
	}
	same := func(what string, db *store.DB) {
		t.Helper()
		// A later program may know more of a trial, never less or otherwise.
		got := map[string]bool{}
		for _, line := range answers(t, db) {
			got[line] = true
		}
		for _, line := range want {
			if !got[line] {
				t.Errorf("%s: does not say any more: %s", what, line)
			}
		}
	}

	read := options()
	read.ReadOnly = true
	db := openAt(t, path, read)
	if db.SchemaVersion() != version {
		t.Fatalf("the file has schema %d", db.SchemaVersion())
	}
	same("read as it lies", db)
	ok(t, db.Close())
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a reader has changed the file")
	}

	db = openAt(t, path, options())
	if db.SchemaVersion() != store.SupportedSchema() {
		t.Errorf("migrated to schema %d", db.SchemaVersion())
	}
	same("migrated", db)
	agree(t, db)
	ok(t, db.FinishTrial(ctx, plain(77), samples(20)))
	agree(t, db)
	backups, _ := filepath.Glob(path + ".bak-*")
	if version < store.SupportedSchema() {
		if len(backups) != 1 {
			t.Fatalf("backups: %q", backups)
		}
		kept := openAt(t, backups[0], read)
		same("the backup", kept)
	} else if len(backups) > 0 {
		t.Errorf("backups without a migration: %q", backups)
	}
}
