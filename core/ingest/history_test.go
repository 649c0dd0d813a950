package ingest_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/store"
)

// makeDatabase writes a SQLite file of statements.
func makeDatabase(t *testing.T, path string, statements ...string) {
	t.Helper()
	// How the driver locks is chosen once in a process, before it opens a file.
	if db, err := store.OpenForeign(t.Context(), filepath.Join("testdata", "peers", "optuna", "study.db")); err != nil {
		t.Fatal(err)
	} else if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func readHistory(t *testing.T, path string, opt ingest.Options) ingest.Result {
	t.Helper()
	res, err := ingest.File(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	checkAccount(t, path, res)
	return res
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOptunaStates: how a trial ended there is how it ended here.
func TestOptunaStates(t *testing.T) {
	res := readHistory(t, filepath.Join("testdata", "peers", "optuna", "study.db"), able())
	byStatus := map[core.Status]int{}
	for _, tr := range res.Trials {
		byStatus[tr.Status]++
		if tr.StartedAt.IsZero() || tr.EndedAt.Before(tr.StartedAt) || !tr.ZoneAssumed {
			t.Errorf("%s: from %v to %v, zone assumed: %v", tr.Sources[0].Position, tr.StartedAt, tr.EndedAt, tr.ZoneAssumed)
		}
		if tr.Status == core.StatusFailed && (tr.Failure != core.OOMRuntime || tr.FailureText != "CUDA out of memory") {
			t.Errorf("failed trial of class %q, %q", tr.Failure, tr.FailureText)
		}
		if tr.Status == core.StatusStopped && !tr.Value("output_tps").IsMissing() {
			t.Error("what a pruned trial reported last was taken for its result")
		}
		if text := tr.Sources[0].Raw + describe(tr, true); strings.Contains(text, "sk-secret") {
			t.Errorf("a secret is kept: %s", text)
		}
	}
	if byStatus[core.StatusOK] != 7 || byStatus[core.StatusFailed] != 1 || byStatus[core.StatusStopped] != 1 {
		t.Errorf("states %v, want 7 ok, 1 failed, 1 stopped", byStatus)
	}
	if res.Left != 1 {
		t.Errorf("%d left out, want the one that still runs", res.Left)
	}
}

// TestHistoryGrows: a history that has grown gives its old trials the same ids.
func TestHistoryGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "study.db")
	copyFile(t, filepath.Join("testdata", "peers", "optuna", "study.db"), path)
	before := readHistory(t, path, able())
	makeDatabase(t, path, `UPDATE trials SET state = 'COMPLETE', datetime_complete = '2026-12-01 10:00:00' WHERE state = 'RUNNING'`)
	after := readHistory(t, path, able())
	ids := map[core.ID]bool{}
	for _, tr := range after.Trials {
		ids[tr.ID] = true
	}
	for _, tr := range before.Trials {
		if !ids[tr.ID] {
			t.Errorf("%s has another id in the grown history", tr.Sources[0].Position)
		}
	}
	if len(ids) != len(before.Trials)+1 || len(after.Trials) != len(ids) {
		t.Errorf("%d trials of %d ids, want one more than %d", len(after.Trials), len(ids), len(before.Trials))
	}
}

// TestOlderHistories: Optuna before 2.4 had one value in the trial itself, MLflow
// before 1.0 no table of latest metrics.
func TestOlderHistories(t *testing.T) {
	dir := t.TempDir()
	optuna, mlflow := filepath.Join(dir, "optuna.db"), filepath.Join(dir, "mlflow.db")
	makeDatabase(t, optuna,
		`CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512), direction VARCHAR(8))`,
		`CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, study_id INTEGER, state VARCHAR(8), value FLOAT, datetime_start DATETIME, datetime_complete DATETIME)`,
		`CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json VARCHAR(2048))`,
		`INSERT INTO studies VALUES (1, 'old', 'MAXIMIZE')`,
		`INSERT INTO trials VALUES (1, 1, 'COMPLETE', 1234.5, '2020-01-01 10:00:00.123456', '2020-01-01 10:05:00')`,
		`INSERT INTO trial_params VALUES (1, 1, 'max_num_seqs', 32.0, '{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 64}}')`,
		`INSERT INTO trial_params VALUES (2, 1, 'dtype', 7.0, '{"name": "CategoricalDistribution", "attributes": {"choices": ["half"]}}')`)
	makeDatabase(t, mlflow,
		`CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256))`,
		`CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), status VARCHAR(20), start_time BIGINT, end_time BIGINT, experiment_id INTEGER)`,
		`CREATE TABLE params (key VARCHAR(250), value VARCHAR(250), run_uuid VARCHAR(32))`,
		`CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, step BIGINT, run_uuid VARCHAR(32))`,
		`INSERT INTO experiments VALUES (1, 'old')`,
		`INSERT INTO runs VALUES ('aa', '', 'FINISHED', 1577872800000, 1577873100000, 1)`,
		`INSERT INTO metrics VALUES ('output_throughput', 2.0, 2, 2, 'aa'), ('output_throughput', 1.0, 1, 1, 'aa'), ('output_throughput', 1.7976931348623157e308, 0, 0, 'aa')`)
	opt := able()
	opt.Mapping = &ingest.Mapping{Columns: map[string]string{"objective": "total_tps"}}
	res := readHistory(t, optuna, opt)
	if len(res.Trials) != 1 {
		t.Fatalf("optuna: %d trials: %v %v", len(res.Trials), res.Skipped, res.Errors)
	}
	tr := res.Trials[0]
	if tr.Figures["total_tps"] != 1234.5 || tr.Study != "old" || tr.Value("args.max_num_seqs") != core.Number(32) || !tr.Value("args.dtype").IsMissing() {
		t.Errorf("optuna: %s", describe(tr, true))
	}
	res = readHistory(t, mlflow, able())
	if len(res.Trials) != 1 || res.Trials[0].Figures["output_tps"] != 2 || !res.Trials[0].StartedAt.Equal(time.UnixMilli(1577872800000)) {
		t.Errorf("mlflow: %d trials, %v", len(res.Trials), res.Errors)
	}
}

// TestOnlyNamedColumns: evalscope's requests are read where the columns with prompts
// and pickled answers do not even exist, and a view is never looked at.
func TestOnlyNamedColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "benchmark_data.db")
	makeDatabase(t, path,
		`CREATE TABLE result (start_time REAL, inter_token_latencies TEXT, success INTEGER, completed_time REAL, latency REAL, first_chunk_latency REAL, prompt_tokens INTEGER, completion_tokens INTEGER)`,
		`INSERT INTO result VALUES (10.0, '[0.01, 0.02]', 1, 10.5, 0.5, 0.1, 7, 3), (11.0, '[]', 0, 11.5, NULL, NULL, NULL, NULL), (12.0, NULL, 1, 12.5, 0.5, NULL, 7, 1)`)
	res := readHistory(t, path, able())
	if len(res.Trials) != 1 || len(res.Errors) != 0 {
		t.Fatalf("%d trials, %v", len(res.Trials), res.Errors)
	}
	tr := res.Trials[0]
	if f := tr.Figures; f["completed"] != 2 || f["failed"] != 1 || f["mean_ttft_ms"] != 100 || f["mean_tpot_ms"] != 200 || f["duration_s"] != 2.5 || f["output_tokens"] != 4 {
		t.Errorf("figures %v", f)
	}
	if samples := res.Samples[tr.ID]; len(samples) != 3 || len(samples[0].Chunks) != 3 || samples[0].Chunks[2]-samples[0].Chunks[1] != 20*time.Millisecond {
		t.Errorf("samples %+v", samples)
	}
	view := filepath.Join(t.TempDir(), "view.db")
	makeDatabase(t, view, `CREATE VIEW result AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		SELECT i AS start_time, 1 AS success, 1 AS latency, 1 AS completion_tokens FROM n`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if res, err := ingest.File(ctx, view, able()); err != nil || len(res.Trials) != 0 || len(res.Skipped) != 1 {
		t.Errorf("a view without end: %v, %v", res.Skipped, err)
	}
}

// TestDatabaseUntouched: a file in the mode with a log is read without one, and one
// whose changes stand in its log is refused.
func TestDatabaseUntouched(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "study.db")
	copyFile(t, filepath.Join("testdata", "peers", "optuna", "study.db"), path)
	makeDatabase(t, path, `PRAGMA journal_mode = WAL`, `UPDATE studies SET study_name = study_name`)
	for _, name := range []string{"study.db-wal", "study.db-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if res := readHistory(t, path, able()); len(res.Trials) != 9 {
		t.Errorf("%d trials, want 9", len(res.Trials))
	}
	after, err := os.ReadFile(path)
	files, _ := os.ReadDir(dir)
	if err != nil || !bytes.Equal(before, after) || len(files) != 1 {
		t.Errorf("the file changed: %v, or %d files are beside it", err, len(files)-1)
	}
	for _, ending := range []string{"-wal", "-journal"} {
		if err := os.WriteFile(path+ending, []byte("change"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ingest.File(t.Context(), path, able()); err == nil || !strings.Contains(err.Error(), "open the file once with its own program") {
			t.Errorf("changes in %s: %v", ending, err)
		}
		if err := os.Remove(path + ending); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ingest.Read(t.Context(), "study.db", bytes.NewReader(before), able()); err == nil || !strings.Contains(err.Error(), "cannot be read from a pipe") {
		t.Errorf("a database from a pipe: %v", err)
	}
}

// TestStagesOfInferencePerf: the requests of all stages stand in one file, and each
// stage takes its own where counts and latencies say which these are.
func TestStagesOfInferencePerf(t *testing.T) {
	counts := []int{3, 5, 2}
	write := func(dir string, meanOf func(stage int) float64) {
		var all []string
		at := 1000.0
		for stage, n := range counts {
			latency := 0.1 * float64(stage+1)
			for range n {
				// In the file the requests stand as they ended, not as they were sent.
				all = append([]string{fmt.Sprintf(`{"start_time": %g, "end_time": %g, "request": "", "response": "", "error": null,
					"info": {"request_metrics": {"text": {"input_tokens": 5}}, "response_metrics": {"output_tokens": 2, "output_token_times": [%g, %g]}}}`, at, at+latency, at+latency/2, at+latency)}, all...)
				at++
			}
			summary := fmt.Sprintf(`{"load_summary": {"count": %d}, "failures": {"count": 0}, "successes": {"count": %d, "latency": {"request_latency": {"mean": %g}}, "throughput": {}}}`, n, n, meanOf(stage))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("stage_%d_lifecycle_metrics.json", stage)), []byte(summary), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "per_request_lifecycle_metrics.json"), []byte("["+strings.Join(all, ",")+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	write(dir, func(stage int) float64 { return 0.1 * float64(stage+1) })
	res := readAll(t, dir)
	if len(res.Trials) != len(counts) || len(res.Warnings) != 0 {
		t.Fatalf("%d trials, warnings %v", len(res.Trials), res.Warnings)
	}
	for stage, tr := range res.Trials {
		one := readHistory(t, filepath.Join(dir, tr.Sources[0].File), able())
		samples := one.Samples[tr.ID]
		if len(samples) != counts[stage] {
			t.Errorf("stage %d has %d requests, want %d", stage, len(samples), counts[stage])
			continue
		}
		want := time.Duration(stage+1) * 50 * time.Millisecond
		for _, s := range samples {
			if got := s.First - s.Sent; got < want-time.Microsecond || got > want+time.Microsecond {
				t.Errorf("stage %d has a request whose first token took %v, want %v", stage, got, want)
			}
		}
	}
	dir = t.TempDir()
	write(dir, func(stage int) float64 { return 0.3 - 0.1*float64(stage) }) // not in this order
	res = readAll(t, dir)
	if len(res.Trials) != len(counts) || len(res.Warnings) != 2 { // the middle one fits
		t.Errorf("stages that do not fit: %d trials, warnings %v", len(res.Trials), res.Warnings)
	}
}

// TestYAMLBomb: references that multiply are refused, soon and in little memory.
func TestYAMLBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: '0.2'\na0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	began := time.Now()
	res, err := ingest.Read(t.Context(), "bomb.yaml", strings.NewReader(b.String()), able())
	if err != nil || len(res.Errors) != 1 || !strings.Contains(res.Errors[0].Message, "YAML: invalid") {
		t.Errorf("%v, %v", res.Errors, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestReportsOfOtherTools: one report by three tools means three things.
func TestReportsOfOtherTools(t *testing.T) {
	report := func(tool string) *core.Trial {
		text := "version: '0.2'\nscenario: {load: {standardized: {tool: " + tool + "}}}\nresults: {request_performance: {aggregate: {requests: {total: 10, failures: 1}, " +
			"latency: {time_to_first_token: {units: s, mean: 0.05}, time_per_output_token: {units: ms/token, mean: 9}, inter_token_latency: {units: ms/token, mean: 8, p99: 12}}, throughput: {request_rate: {mean: 2}}}}}\n"
		res, err := ingest.Read(t.Context(), "r.yaml", strings.NewReader(text), able())
		if err != nil || len(res.Trials) != 1 {
			t.Fatalf("%s: %v, %v %v", tool, err, res.Skipped, res.Errors)
		}
		return res.Trials[0]
	}
	for _, tt := range []struct {
		tool string
		want map[string]float64 // 0 is missing
	}{
		{"inference-perf", map[string]float64{"mean_tpot_ms": 9, "mean_itl_ms": 8, "p99_itl_ms": 12, "completed": 9, "failed": 1, "mean_ttft_ms": 50}},
		{"guidellm", map[string]float64{"mean_tpot_ms": 0, "mean_itl_ms": 8, "p99_itl_ms": 0, "completed": 9, "failed": 1, "mean_ttft_ms": 50}},
		{"aiperf", map[string]float64{"mean_tpot_ms": 8, "p99_tpot_ms": 12, "mean_itl_ms": 0, "completed": 10, "failed": 0}},
	} {
		tr := report(tt.tool)
		for name, want := range tt.want {
			if got, ok := tr.Figures[name]; ok != (want != 0) || got != want {
				t.Errorf("%s: %s is %v (%v), want %v", tt.tool, name, got, ok, want)
			}
		}
	}
}
