package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// TestFixtures reads the hand-made files: each shows one way in which blocks
// reach people.
func TestFixtures(t *testing.T) {
	var got strings.Builder
	err := ingest.Walk(context.Background(), []string{filepath.Join("testdata", "fixtures")}, ingest.Options{}, func(path string, res ingest.Result) error {
		got.WriteString("# " + filepath.Base(path) + "\n" + describeAll(res, true))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "fixtures.txt", got.String())
}

// TestCrashedCommand: a crashed run of a sweep is a failed trial with its error,
// and does not give its settings to the next one.
func TestCrashedCommand(t *testing.T) {
	res := readFile(t, filepath.Join("testdata", "fixtures", "bash-x-sweep.log"))
	if len(res.Trials) != 3 {
		t.Fatalf("%d trials, want 3", len(res.Trials))
	}
	for i, want := range []struct {
		concurrency, prompts float64
		status               core.Status
		failure              string
	}{{1, 10, core.StatusOK, ""}, {2, 20, core.StatusFailed, "ValueError: the initial test run failed"}, {4, 40, core.StatusOK, ""}} {
		tr := res.Trials[i]
		if l := tr.Load; l.Concurrency != core.Number(want.concurrency) || l.NumPrompts != core.Number(want.prompts) {
			t.Errorf("trial %d: concurrency %s, prompts %s, want %v", i, l.Concurrency, l.NumPrompts, want)
		}
		if tr.Status != want.status || tr.FailureText != want.failure {
			t.Errorf("trial %d is %s (%q), want %s (%q)", i, tr.Status, tr.FailureText, want.status, want.failure)
		}
	}
	if f := res.Trials[1]; f.Failure != core.BenchFailed || len(f.Figures) != 1 || f.Figures["requested"] != 20 || f.Sources[0].Position != "line 27" {
		t.Errorf("crashed run: %s, figures %v, %s", f.Failure, f.Figures, f.Sources[0].Position)
	}
	// The last command has no result and no error: the log may end too early.
	if len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Message, "without a result (max_concurrency 8") {
		t.Errorf("skipped: %v", res.Skipped)
	}
}

// TestNoSecret: no kept text holds the key of the server.
func TestNoSecret(t *testing.T) {
	for _, tr := range readFile(t, filepath.Join("testdata", "fixtures", "bash-x-sweep.log")).Trials {
		src := tr.Sources[0]
		if text := src.Raw + describe(tr, true); strings.Contains(text, "sk-abc") || !strings.Contains(src.Raw, "--api-key ***") {
			t.Errorf("the raw text keeps a secret or loses its place:\n%s", src.Raw)
		}
		if _, kept := tr.Setup.Config.Knobs["port"]; kept {
			t.Error("the port is a knob")
		}
	}
}

func TestReadChoosesFormat(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct{ name, content, want string }{
		{"archive.zip", "PK\x03\x04\x00\x00\x00", "read archive.zip: zip archive: invalid: unpack it first"},
		{"picture.png", "\x89PNG\r\n\x1a\n\x00\x00", "unknown content: looked for exports of sweepbook"},
		{"empty.log", "", "unknown content: looked for exports of sweepbook"},
		{"notes.txt", "no block here\n", "no result found: looked for exports of sweepbook"},
		{"settings.json", `{"a": 1}`, "unknown content: JSON without a known result: looked for"},
	} {
		res, err := ingest.Read(ctx, tt.name, strings.NewReader(tt.content), ingest.Options{})
		if err != nil && strings.HasPrefix(err.Error(), tt.want) {
			continue
		}
		if err != nil || len(res.Trials) != 0 || len(res.Skipped) != 1 || !strings.HasPrefix(res.Skipped[0].Message, tt.want) {
			t.Errorf("%s: %v, %+v", tt.name, err, res)
		}
	}
	_, err := ingest.Read(ctx, "x", strings.NewReader("x"), ingest.Options{Format: "parquet"})
	if err == nil || !strings.Contains(err.Error(), `format "parquet": invalid: known are records, `) {
		t.Errorf("a format that does not exist: %v", err)
	}
}

func TestOptions(t *testing.T) {
	path := filepath.Join("testdata", "fixtures", "quoted.md")
	if got := readFile(t, path).Trials[0].Study; got != "Tiny model on one card" {
		t.Errorf("study is %q, want the title", got)
	}
	if got := readFile(t, filepath.Join("testdata", "fixtures", "timestamps.log")).Trials[0].Study; got != "timestamps" {
		t.Errorf("study is %q, want the stem of the file", got)
	}
	res, err := ingest.File(context.Background(), path, ingest.Options{Study: "mine"})
	if err != nil || res.Trials[0].Study != "mine" {
		t.Errorf("study is %q (%v), want the one that was given", res.Trials[0].Study, err)
	}
}

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	block, err := os.ReadFile(filepath.Join("testdata", "fixtures", "timestamps.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.log", "a/z.log", ".hidden.log", ".git/x.log", "a/readme.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, block, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	each := func(path string, res ingest.Result) error {
		rel, _ := filepath.Rel(dir, path)
		got = append(got, filepath.ToSlash(rel)+" "+strings.Repeat("trial", len(res.Trials))+strings.Repeat("error", len(res.Errors)))
		return nil
	}
	roots := []string{dir, filepath.Join(dir, "missing.log"), filepath.Join(dir, ".hidden.log")}
	if err := ingest.Walk(context.Background(), roots, ingest.Options{}, each); err != nil {
		t.Fatal(err)
	}
	want := "a/readme.txt trial,a/z.log trial,b.log trial,missing.log error,.hidden.log trial"
	if strings.Join(got, ",") != want {
		t.Errorf("walked %s, want %s", strings.Join(got, ","), want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ingest.Walk(ctx, []string{dir}, ingest.Options{}, each); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled walk ended with %v", err)
	}
}
