//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inProcess carries out one command line.
func inProcess(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newApp(strings.NewReader(""), &out, &errs).run(t.Context(), append([]string{"sweepbook"}, args...))
	return code, out.String(), errs.String()
}

// foreign makes a SQLite database of another program.
func foreign(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCorpus gives every command that opens a history files that are none, or no whole
// one: each is refused with exit code 1, by an error that names the file and says what
// to do, and is byte for byte what it was, with nothing beside it.
func TestCorpus(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	if code, _, errs := inProcess(t, "--db", good, "import", "../../examples/imported"); code != 0 {
		t.Fatal(errs)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(b []byte) []byte) func(string) {
		return func(path string) {
			if err := os.WriteFile(path, change(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(from, to int) func(b []byte) []byte {
		return func(b []byte) []byte {
			for i := from; i < to; i++ {
				b[i] ^= 0xff
			}
			return b
		}
	}
	study := filepath.Join(dir, "study.yaml")
	if err := os.WriteFile(study, []byte("study: corpus\nmodel: {name: Qwen/Qwen3-8B}\nengines: {sim: {}}\nworkloads:\n"+
		"  chat: {dataset: random, input: 16, output: 4, requests: 4, seed: 1}\n"+
		"objective: max output_tps where success_rate == 1\nbaseline: {engine: sim, time_scale: 20}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"query", "max total_tps"}, {"list"}, {"show", "1"}, {"audit"}, {"export"}, {"db", "check"}, {"db", "info"}, {"db", "backup", "OUT"},
		{"db", "vacuum"}, {"db", "prune", "--samples", "where true"}, {"tag", "x where true"}, {"import", "../../examples/imported"}, {"run", study}, {"plan", study},
	}
	for _, c := range []struct {
		name string
		make func(path string)
		says string // a pattern of what to do
		// damaged files are whole enough to open: whoever reads the damage says so.
		damaged bool
	}{
		{"empty", changed(func([]byte) []byte { return nil }), "the file is empty; restore a backup, or remove it", false},
		{"text", changed(func([]byte) []byte { return []byte(strings.Repeat("Serving Benchmark Result\n", 200)) }), "not a Sweepbook history.*--db", false},
		{"short text", changed(func([]byte) []byte { return []byte("x") }), "not a Sweepbook history.*--db", false},
		{"zeroes", changed(func([]byte) []byte { return make([]byte, 8192) }), "not a Sweepbook history.*--db", false},
		{"cut after the header", changed(func(b []byte) []byte { return b[:100] }), "not a Sweepbook history.*--db|restore a backup", false},
		{"cut in half", changed(func(b []byte) []byte { return b[:len(b)/2/4096*4096] }), "restore a backup", false},
		{"cut within a page", changed(func(b []byte) []byte { return b[:len(b)/2/4096*4096+1000] }), "restore a backup", false},
		{"broken header", changed(flip(0, 16)), "not a Sweepbook history.*--db", false},
		{"broken schema", changed(flip(100, 4096)), "restore a backup|not a Sweepbook history.*--db", false},
		{"flipped pages", changed(flip(len(whole)/4/4096*4096, len(whole)*3/4/4096*4096)), "restore a backup|integrity: ", true},
		{"another program's", func(p string) { foreign(t, p, "CREATE TABLE runs (id INTEGER)") }, "another program.*--db", false},
		{"another program's, marked", func(p string) { foreign(t, p, "PRAGMA application_id = 1", "CREATE TABLE trial (id INTEGER)") }, "another program.*--db", false},
		{"of a newer program", changed(func(b []byte) []byte { b[63]++; return b }), "use a newer sweepbook", false},
		{"a folder", func(p string) { _ = os.Mkdir(p, 0o700) }, "not a regular file", false},
		{"a link to nowhere", func(p string) { _ = os.Symlink(filepath.Join(dir, "gone", "x.db"), p) }, "leads nowhere|no history at", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := t.TempDir()
			path := filepath.Join(place, "history.db")
			c.make(path)
			before, _ := os.ReadFile(path)
			refused := 0
			for _, command := range commands {
				args := slices.Clone(command)
				for i := range args {
					args[i] = strings.Replace(args[i], "OUT", filepath.Join(place, "out.db"), 1)
				}
				writes := slices.Contains([]string{"import", "run", "tag"}, args[0]) || len(args) > 1 && (args[1] == "vacuum" || args[1] == "prune")
				if c.name == "empty" && (args[0] == "import" || args[0] == "run") || c.damaged && writes {
					continue // an empty file may become one; what does not touch the damage may be written
				}
				code, _, errs := inProcess(t, append([]string{"--db", path}, args...)...)
				if code == 0 && (c.damaged || args[0] == "plan") {
					continue
				}
				refused++
				if code != exitError || !strings.Contains(errs, place) || !regexp.MustCompile(c.says).MatchString(errs) || strings.Contains(errs, "goroutine ") {
					t.Errorf("%q: code %d, want 1 with the name of the file and %q:\n%s", args, code, c.says, errs)
				}
				after, _ := os.ReadFile(path)
				if !bytes.Equal(before, after) {
					t.Fatalf("%q has changed the file", args)
				}
				entries, err := os.ReadDir(place)
				if err != nil || len(entries) != 1 {
					t.Errorf("%q: beside the file: %v %v", args, entries, err)
				}
			}
			if refused < 2 {
				t.Errorf("only %d commands have noticed", refused)
			}
			if _, err := os.Stat(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
				t.Error("the folder that a link leads to was made")
			}
		})
	}
}
