package ingest_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// FuzzRead: whatever the bytes, some format or none takes them, and something is
// said of them.
func FuzzRead(f *testing.F) {
	addFixtures(f, "*")
	f.Add([]byte("# random 4K input\n" + printedBlock(5, 4000, 20)))
	f.Add([]byte("dataset_name: x\nrequest_rate: inf\n--a={\"b\":1}\n" + printedBlock(5, 1, 1, "Mean Latency(s): 1e308", "P99.9 TTFT (ms): NaN")))
	f.Fuzz(func(t *testing.T, data []byte) {
		res := readTwice(t, "fuzz.log", data, ingest.Options{})
		if len(res.Trials)+len(res.Skipped)+len(res.Errors) == 0 {
			t.Error("nothing imported and nothing said")
		}
	})
}

// FuzzServingBlock: every header is a record, whatever stands around it.
func FuzzServingBlock(f *testing.F) {
	addFixtures(f, "*.txt", "*.log", "*.md", "*.py")
	f.Fuzz(func(t *testing.T, data []byte) {
		res := readTwice(t, "fuzz.txt", data, ingest.Options{Format: "serving-block"})
		if n := strings.Count(string(data), "\n============ Serving Benchmark Result ============\n"); res.Records < n {
			t.Errorf("%d headers, %d records", n, res.Records)
		}
	})
}

// One target for each further format. All share the properties of readTwice.

func FuzzVLLMResult(f *testing.F)       { fuzzFormat(f, "vllm-json", "vllm-*.json", "trtllm-*.json") }
func FuzzSGLang(f *testing.F)           { fuzzFormat(f, "sglang-jsonl", "sglang-*.jsonl") }
func FuzzTRTLLM(f *testing.F)           { fuzzFormat(f, "trtllm-json", "trtllm-*.json") }
func FuzzGuidellm(f *testing.F)         { fuzzFormat(f, "guidellm-json", "guidellm-*.json") }
func FuzzLLMOptimizer(f *testing.F)     { fuzzFormat(f, "llm-optimizer-jsonl", "llm-optimizer.jsonl") }
func FuzzSweepFailure(f *testing.F)     { fuzzFormat(f, "vllm-sweep-failure", "sweep-failure.json") }
func FuzzJSON(f *testing.F)             { fuzzFormat(f, "json", "*.json", "*.jsonl") }
func FuzzAIPerfRequests(f *testing.F)   { fuzzPeer(f, "aiperf-requests", "aiperf", ".jsonl") }
func FuzzAIPerf(f *testing.F)           { fuzzPeer(f, "aiperf-json", "aiperf", ".json") }
func FuzzAIPerfCSV(f *testing.F)        { fuzzPeer(f, "aiperf-csv", "aiperf", ".csv") }
func FuzzGuidellmRequests(f *testing.F) { fuzzPeer(f, "guidellm-json", "guidellm", ".json") }
func FuzzGenAIBench(f *testing.F)       { fuzzPeer(f, "genai-bench-json", "genai-bench", "2s.json") }
func FuzzTRTLLMBench(f *testing.F)      { fuzzPeer(f, "trtllm-bench-json", "trtllm-bench", ".json") }
func FuzzTRTLLMBenchText(f *testing.F)  { fuzzPeer(f, "trtllm-bench-text", "trtllm-bench", ".txt") }
func FuzzInferencePerf(f *testing.F)    { fuzzPeer(f, "inference-perf-json", "inference-perf", ".json") }
func FuzzInferencePerfRequests(f *testing.F) {
	fuzzPeer(f, "inference-perf-requests", "inference-perf", "metrics.json")
}
func FuzzEvalscope(f *testing.F)       { fuzzPeer(f, "evalscope-json", "evalscope", ".json") }
func FuzzInferenceX(f *testing.F)      { fuzzPeer(f, "inferencex-json", "inferencex", ".json") }
func FuzzLLMDReport(f *testing.F)      { fuzzPeer(f, "llm-d-report", "llm-d", ".json") }
func FuzzLLMDReportYAML(f *testing.F)  { fuzzDecoded(f, "yaml", "llm-d", ".yaml") }
func FuzzEvalscopeSQLite(f *testing.F) { fuzzDatabase(f, "evalscope-sqlite", "evalscope") }
func FuzzOptuna(f *testing.F)          { fuzzDatabase(f, "optuna-sqlite", "optuna") }
func FuzzMLflow(f *testing.F)          { fuzzDatabase(f, "mlflow-sqlite", "mlflow") }

// FuzzMLflowRun fuzzes the files of a run's folder: meta.yaml, one parameter, metric
// and tag.
func FuzzMLflowRun(f *testing.F) {
	f.Add([]byte("experiment_id: '1'\nlifecycle_stage: active\nrun_id: abc\nrun_name: run-1\nstatus: 3\nstart_time: 1796118749186\n"), "max_num_seqs", "64", "1796118749203 1620.25 2\n", "mlflow.runName")
	f.Add([]byte("experiment_id: 1\nlifecycle_stage: deleted\nrun_uuid: abc\nstatus: 4\n"), "hf_token", "x", "1 nan", "failure_reason")
	f.Fuzz(func(t *testing.T, meta []byte, name, param, metric, tag string) {
		dir := t.TempDir()
		for path, content := range map[string]string{"meta.yaml": string(meta), "params/" + cleanName(name): param, "metrics/" + cleanName(name): metric, "tags/" + cleanName(tag): param} {
			path = filepath.Join(dir, path)
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(content), 0o600) != nil {
				t.Skip("no name of a file")
			}
		}
		opt := able()
		opt.Format = "mlflow-run"
		res, err := ingest.File(t.Context(), filepath.Join(dir, "meta.yaml"), opt)
		if err != nil {
			return // no YAML
		}
		checkResult(t, res, nil)
	})
}

func cleanName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '/' || c < ' ' {
			return '_'
		}
		return c
	}, s)
	if s = strings.Trim(s, "."); s == "" {
		return "x"
	}
	return s[:min(len(s), 100)]
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"sweepbook":1,"trial":{"id":"00000000-0000-8000-8000-000000000001","status":"ok","figures":{"total_tps":1}}}` + "\n{\"sweepbook\":2}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := ingest.Read(context.Background(), "fuzz.ndjson", bytes.NewReader(data), ingest.Options{Format: "records"})
		checkResult(t, res, err)
	})
}

func FuzzTable(f *testing.F) {
	addFixtures(f, "measured.*")
	f.Add([]byte("a;TTFT p99 [s]\n1;2\n"))
	m := &ingest.Mapping{Columns: map[string]string{"a": "total_tps", "b": "status", "c": "args.x", "d": "started_at"}, Units: map[string]string{"a": "k", "tpot": "s"}, Set: map[string]string{"gpus": "2"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		readTwice(t, "fuzz.csv", data, ingest.Options{Format: "table"})
		readTwice(t, "fuzz.csv", data, ingest.Options{Format: "table", Mapping: m})
		readTwice(t, "fuzz.json", data, ingest.Options{Format: "json", Mapping: m})
	})
}

// FuzzPattern: no pattern and no path panics, and what a pattern accepts can be
// set.
func FuzzPattern(f *testing.F) {
	f.Add("{gpu}/{model}_tp{tp}_c{concurrency}/*.json", "h100/q_tp2_c8/a.json")
	f.Add("{args.x}{}?*[({extra.y}", "a/b")
	data := `{"backend": "x", "duration": 1, "completed": 1, "request_throughput": 1}`
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if ingest.CheckPattern(pattern) != nil {
			return
		}
		res, err := ingest.Read(context.Background(), path, strings.NewReader(data), ingest.Options{Pattern: pattern, Format: "vllm-json"})
		if pattern == "" || err != nil {
			t.Fatalf("an accepted pattern is refused: %v", err)
		}
		checkResult(t, res, err)
	})
}

func addFixtures(f *testing.F, globs ...string) {
	n := 0
	for _, glob := range globs {
		paths, err := filepath.Glob(filepath.Join("testdata", "fixtures", glob))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			n++
		}
	}
	if n == 0 {
		f.Fatalf("no fixtures %v", globs)
	}
}

func fuzzFormat(f *testing.F, format string, globs ...string) {
	addFixtures(f, globs...)
	f.Fuzz(func(t *testing.T, data []byte) { readTwice(t, "fuzz", data, ingest.Options{Format: format}) })
}

// fuzzPeer fuzzes the reader of another load generator, from the files of its kind
// under testdata/peers.
func fuzzPeer(f *testing.F, format, tool, ending string) {
	peerFiles(f, tool, ending)
	f.Fuzz(func(t *testing.T, data []byte) { readTwice(t, "fuzz", data, ingest.Options{Format: format}) })
}

// peerFiles adds the files of a tool with an ending as seeds.
func peerFiles(f *testing.F, tool, ending string) {
	n := 0
	err := filepath.WalkDir(filepath.Join("testdata", "peers", tool), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ending) {
			return err
		}
		data, err := os.ReadFile(path)
		f.Add(data)
		n++
		return err
	})
	if err != nil || n == 0 {
		f.Fatalf("%d files of %s: %v", n, tool, err)
	}
}

// fuzzDecoded is fuzzPeer with the decoders of the command line.
func fuzzDecoded(f *testing.F, format, tool, ending string) {
	peerFiles(f, tool, ending)
	opt := able()
	opt.Format = format
	f.Fuzz(func(t *testing.T, data []byte) { readTwice(t, "fuzz.yaml", data, opt) })
}

// fuzzDatabase fuzzes the bytes of a SQLite file: a page that lies gives an error or
// other rows, and never a panic, a written file or a trial that cannot be stored.
func fuzzDatabase(f *testing.F, format, tool string) {
	peerFiles(f, tool, ".db")
	opt := able()
	opt.Format = format
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "fuzz.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		res, err := ingest.File(ctx, path, opt)
		if err != nil {
			if ctx.Err() != nil {
				t.Fatal("reading a small file has no end")
			}
			return // no database
		}
		checkResult(t, res, nil)
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("beside the file: %v, %v", left, err)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, data) {
			t.Errorf("the file was changed (%v)", err)
		}
	})
}

// readTwice reads whatever the bytes are: nothing panics, the result is sound, and
// reading again gives the same.
func readTwice(t *testing.T, name string, data []byte, opt ingest.Options) ingest.Result {
	t.Helper()
	res, err := ingest.Read(context.Background(), name, bytes.NewReader(data), opt)
	if compressed(err) {
		return ingest.Result{Skipped: make([]ingest.Note, 1)}
	}
	checkResult(t, res, err)
	for _, tr := range res.Trials {
		if tr.Study == "" || len(tr.Sources) != 1 || tr.Sources[0].SHA256 == "" {
			t.Errorf("study %q, sources %v", tr.Study, tr.Sources)
		}
	}
	again, err := ingest.Read(context.Background(), name, bytes.NewReader(data), opt)
	if err != nil || len(again.Trials) != len(res.Trials) {
		t.Fatalf("a second reading gave %d trials instead of %d (%v)", len(again.Trials), len(res.Trials), err)
	}
	for i := range res.Trials {
		if res.Trials[i].ID != again.Trials[i].ID || describe(res.Trials[i], true) != describe(again.Trials[i], true) {
			t.Error("a second reading gave another trial")
		}
	}
	return res
}

// compressed: bytes that look like an archive are refused as a whole.
func compressed(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "gzip") || strings.Contains(err.Error(), "unpack it first") || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, new(flate.CorruptInputError)))
}

// checkResult holds what is true of every result: records are accounted for, every
// trial is fit to be stored, nothing is infinite, no text holds control characters
// of a terminal, and what is kept is bounded.
func checkResult(t *testing.T, res ingest.Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	checkAccount(t, "fuzz", res)
	finite := func(name string, f float64) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			t.Errorf("%s is %v", name, f)
		}
	}
	for _, tr := range res.Trials {
		if err := tr.Validate(); err != nil {
			t.Error(err)
		}
		for name, v := range tr.Figures {
			finite(name, v)
		}
		for name, v := range tr.Extra {
			finite("extra."+name, v.Num)
			if strings.ContainsRune(v.Text, 0x1b) {
				t.Errorf("extra.%s holds an escape code", name)
			}
		}
		if len(tr.Extra) > 200 || len(tr.Setup.Config.Knobs) > 1000 {
			t.Errorf("%d extras, %d knobs", len(tr.Extra), len(tr.Setup.Config.Knobs))
		}
		if _, err := json.Marshal(core.Record{Format: 1, Trial: tr, Samples: res.Samples[tr.ID]}); err != nil {
			t.Error(err)
		}
	}
}
