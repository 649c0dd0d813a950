package ingest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

func readString(t *testing.T, name, content string, opt ingest.Options) ingest.Result {
	t.Helper()
	res, err := ingest.Read(t.Context(), name, strings.NewReader(content), opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	checkAccount(t, name, res)
	return res
}

// TestSweepFolder: run, summary and CSV copies give one trial, failure files are
// failed trials, warm-ups are none; the CSV alone gives the same trials.
func TestSweepFolder(t *testing.T) {
	root := filepath.Join("testdata", "trees", "sweep")
	check := func(root string, n map[float64][2]int, mean map[float64]float64) {
		t.Helper()
		ok, failed, sum := map[float64]int{}, map[float64]int{}, map[float64]float64{}
		seen := map[core.ID]bool{}
		for path, res := range walkAll(t, ingest.Options{}, root) {
			for _, e := range res.Errors {
				t.Errorf("error: %s", e)
			}
			for _, tr := range res.Trials {
				if seen[tr.ID] {
					t.Errorf("%s: trial %s came before", path, tr.ID)
				}
				seen[tr.ID] = true
				knob := tr.Value("args.max_num_seqs").Num
				if tr.Status == core.StatusFailed {
					failed[knob]++
					if tr.Failure == "" || tr.FailureText == "" || len(tr.Figures) > 0 {
						t.Errorf("%s: failed trial of class %q, text %q, figures %v", path, tr.Failure, tr.FailureText, tr.Figures)
					}
					continue
				}
				ok[knob]++
				sum[knob] += tr.Figures["total_tps"]
				if tr.Setup.Config.Engine != "vllm" || tr.Load.Concurrency != core.Number(16) || tr.Repeat < 1 || tr.Study != "20260910_125500" {
					t.Errorf("%s: engine %s, concurrency %s, repeat %d, study %s", path, tr.Setup.Config.Engine, tr.Load.Concurrency, tr.Repeat, tr.Study)
				}
			}
		}
		for knob, want := range n {
			if ok[knob] != want[0] || failed[knob] != want[1] {
				t.Errorf("%s, max_num_seqs %v: %d measured and %d failed, want %v", root, knob, ok[knob], failed[knob], want)
			}
			if want[0] > 0 && math.Abs(sum[knob]/float64(want[0])-mean[knob]) > 1e-6 {
				t.Errorf("%s, max_num_seqs %v: mean total_tps %v, want %v", root, knob, sum[knob]/float64(want[0]), mean[knob])
			}
		}
		if len(ok) != 2 || len(failed) != 2 {
			t.Errorf("%s: measured %v, failed %v", root, ok, failed)
		}
	}
	n := map[float64][2]int{32: {2, 0}, 64: {1, 1}, 128: {0, 1}}
	check(root, n, map[float64]float64{32: (12800/12.0 + 12800/11.0) / 2, 64: 12800 / 11.5})

	run := readFile(t, filepath.Join(root, "20260910_125500", "SERVE--max_num_seqs=32-dtype=auto-BENCH--max_concurrency=16", "run=0.json")).Trials[0]
	csv := readFile(t, filepath.Join(root, "20260910_125500", "summary.csv"))
	if len(csv.Trials) != 3 {
		t.Fatalf("summary.csv: %d trials", len(csv.Trials))
	}
	if got := csv.Trials[0]; got.ID != run.ID || !cmp.Equal(got.Figures, run.Figures) || got.Load != run.Load {
		t.Errorf("run file and CSV differ:\n%s", cmp.Diff(run, got))
	}
	// The folder's name gives what no key says, and no more.
	if got := run.Setup.Config.Knobs.String(); got != "dtype=auto max_num_seqs=32" {
		t.Errorf("knobs %q", got)
	}

	dir := shared(t, "cases")
	check(filepath.Join(dir, "25-vllm-sweep-folder", "results"), n, map[float64]float64{32: 1050, 64: 1250})
}

// TestDetailedResult checks samples and recomputed figures by hand.
func TestDetailedResult(t *testing.T) {
	res := readFile(t, filepath.Join("testdata", "fixtures", "vllm-detailed.json"))
	tr := res.Trials[0]
	ms := time.Millisecond
	want := []core.Sample{
		{Index: 0, Due: core.NoTime, Sent: 0, First: 100 * ms, Last: 400 * ms, End: 400 * ms, Chunks: []time.Duration{100 * ms, 200 * ms, 300 * ms, 400 * ms},
			InputTokens: 10, CachedTokens: -1, OutputTokens: 4, RequestedOutput: -1},
		{Index: 1, Due: core.NoTime, Sent: 500 * ms, First: 700 * ms, Last: 700 * ms, End: 700 * ms, Chunks: []time.Duration{700 * ms},
			InputTokens: 10, CachedTokens: -1, OutputTokens: 1, RequestedOutput: -1},
		{Index: 2, Due: core.NoTime, Sent: 1000 * ms, First: core.NoTime, Last: core.NoTime, End: core.NoTime, InputTokens: 10, CachedTokens: -1, OutputTokens: 0,
			RequestedOutput: -1, Outcome: core.OutcomeFailed, Error: `Traceback (most recent call last): File "x.py" aiohttp.client_exceptions.ServerDisconnectedError: gone`},
		{Index: 3, Due: core.NoTime, Sent: 1500 * ms, First: 1800 * ms, Last: 2200 * ms, End: 2200 * ms, Chunks: []time.Duration{1800 * ms, 2000 * ms, 2200 * ms},
			InputTokens: 10, CachedTokens: -1, OutputTokens: 4, RequestedOutput: -1},
	}
	if diff := cmp.Diff(want, res.Samples[tr.ID]); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	for name, want := range map[string]float64{
		"completed": 3, "failed": 1, "success_rate": 0.75, "mean_ttft_ms": 200, // as the file says
		"min_ttft_ms": 100, "p90_ttft_ms": 280, "median_ttft_ms": 200, // of 100, 200, 300: the failed one is no 0
		"mean_tpot_ms": (100 + 400.0/3) / 2, // the one-token answer has none
		"mean_e2el_ms": (400 + 200 + 700) / 3.0, "std_e2el_ms": math.Sqrt((33.333333333333*33.333333333333 + 233.333333333333*233.333333333333 + 266.666666666667*266.666666666667) / 3),
	} {
		if got := tr.Figures[name]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	// Two chunks of the last request hold more than a token: the gaps of all are
	// gaps between chunks, two of 100 ms among five.
	if _, ok := tr.Figures["mean_itl_ms"]; ok {
		t.Error("gaps between chunks pass for gaps between tokens")
	}
	if got := tr.Extra["errors"]; got != core.String("ServerDisconnectedError ×1") {
		t.Errorf("errors: %s", got)
	}
	if !tr.StartedAt.Equal(time.Date(2026, 8, 15, 8, 59, 58, 0, time.UTC)) || !tr.ZoneAssumed {
		t.Errorf("started at %s (zone assumed %t)", tr.StartedAt, tr.ZoneAssumed)
	}
}

// TestDetailedHazards: lists that do not fit, requests with impossible times.
func TestDetailedHazards(t *testing.T) {
	head := `{"backend": "x", "duration": 3.0, "completed": 2, "failed": 0, "num_prompts": 2, "request_throughput": 1, "output_throughput": 1, `
	for _, tt := range []struct {
		name, lists, warning string
		samples              int
		check                func(*core.Trial) bool
	}{
		{"unequal", `"output_lens": [1, 2], "ttfts": [0.1]}`, "per-request lists left out: ", 0, func(tr *core.Trial) bool { return !tr.Value("mean_ttft_ms").Equal(core.Number(100)) }},
		{"nulls", `"output_lens": [3, null], "ttfts": [0.1, null], "itls": [[0.1, null], null], "errors": ["", null]}`, "", 2,
			func(tr *core.Trial) bool { return tr.Figures["mean_ttft_ms"] == 100 && tr.Figures["failed"] == 0 }},
		{"relative", `"output_lens": [3, 3], "ttfts": [0.1, 0.3], "latencies": [0.5, 0.7]}`, "", 2,
			func(tr *core.Trial) bool {
				return tr.Extra["sample_times"] == core.String("relative") && tr.Figures["mean_tpot_ms"] == 200
			}},
		{"impossible", `"output_lens": [3, 3], "ttfts": [0.9, -0.3], "latencies": [0.5, 0.7], "mean_ttft_ms": 300}`, "2 requests with negative or inverted times", 2,
			func(tr *core.Trial) bool {
				_, valid := tr.Extra["valid_mean_ttft_ms"]
				return tr.Extra["invalid_requests"] == core.Number(2) && tr.Figures["mean_ttft_ms"] == 300 && tr.Value("mean_e2el_ms").IsMissing() && !valid
			}},
		{"huge", `"output_lens": [3, 1e300], "ttfts": [1e300, 0.1], "latencies": [1e308, Infinity], "itls": [[1e308], []]}`, "", 2,
			func(tr *core.Trial) bool { return tr.Figures["mean_ttft_ms"] == 100 }},
	} {
		res := readString(t, "x.json", head+tt.lists, ingest.Options{})
		if len(res.Trials) != 1 || len(res.Errors) != 0 {
			t.Errorf("%s: %d trials, %v", tt.name, len(res.Trials), res.Errors)
			continue
		}
		tr := res.Trials[0]
		if n := len(res.Samples[tr.ID]); n != tt.samples || !tt.check(tr) {
			t.Errorf("%s: %d samples, figures %v, extra %v", tt.name, n, tr.Figures, tr.Extra)
		}
		if got := fmt.Sprint(res.Warnings); (tt.warning == "") != (len(res.Warnings) == 0) || !strings.Contains(got, tt.warning) {
			t.Errorf("%s: warnings %s, want %q", tt.name, got, tt.warning)
		}
	}
}

// TestJSONHazards: what Python and broken disks leave in a file.
func TestJSONHazards(t *testing.T) {
	good := `{"backend": "x", "duration": 2.0, "completed": 1, "request_throughput": 0.5, "mean_ttft_ms": 5}`
	for _, tt := range []struct {
		name, text string
		trials     int
		errors     string // of the first, with its line
	}{
		{"concatenated", good + good + "\n" + good, 3, ""},
		{"list", "[\n" + good + ",\n" + good + "\n]\n", 2, ""},
		{"lists", "[" + good + "][" + good + "]", 2, ""},
		{"commas", "[" + good + ",]" + strings.Replace(good, "}", ",}", 1), 2, ""},
		{"marks", "\ufeff" + good + "\n\ufeff" + good, 2, ""},
		{"crlf", strings.ReplaceAll(good+"\n"+good, "\n", "\r\n"), 2, ""},
		{"cut", good + "\n" + good[:40], 1, ":2: record cut off: the file ends inside it"},
		{"cut list", "[" + good + ",", 1, ""},
		{"cut and appended", good + "\n" + good[:33] + "\n" + good + "\n", 2, ":2: record: line 3: want"},
		{"cut in a text and appended", good + "\n" + `{"backend": "x` + "\n" + good, 2, ":2: record cut off in line 2: a text without its closing quote"},
		{"garbage", good + "\nkilled by signal 9\n" + good, 2, ":2: record: line 2: \"killed\" is no number"},
		{"python", strings.NewReplacer("5}", "None}").Replace(good), 1, ""},
		{"deep", good + "\n" + strings.Repeat("[", 100000) + "\n" + good, 2, ":2: record: nested deeper than 64 levels"},
		{"deep objects", strings.Repeat(`{"a":`, 100) + "\n" + good, 1, ":1: record: nested deeper than 64 levels"},
		{"long number", good + "\n{\"a\": " + strings.Repeat("9", 1000) + "}\n" + good, 2, ":2: record: line 2: a number of more than 400 characters"},
		{"no colon", good + "\n{\"a\" 1}\n" + good, 2, ":2: record: line 2: want : after the key \"a\", got '1'"},
		{"bare key", good + "\n{a: 1}\n", 1, ":2: record: line 2: want a key in quotes, got 'a'"},
		{"escapes", strings.Replace(good, `"x"`, `"\u0041\ud83d\ude00\ud83d\n\x"`, 1), 1, ""},
		{"half an escape", good + "\n" + `{"a": "\u00`, 1, ":2: record cut off"},
	} {
		res := readString(t, "x.json", tt.text, ingest.Options{})
		got := ""
		if len(res.Errors) > 0 {
			got = res.Errors[0].String()
		}
		if len(res.Trials) != tt.trials || (tt.errors == "") != (got == "") || !strings.HasPrefix(got, "x.json"+tt.errors) && got != "" {
			t.Errorf("%s: %d trials, want %d; error %q, want %q", tt.name, len(res.Trials), tt.trials, got, tt.errors)
		}
	}
}

// TestForcedFormat: what a person names is read as that, whatever its keys.
func TestForcedFormat(t *testing.T) {
	odd := `{"completed": 3, "duration": 2, "concurrency": 7.5}`
	if res := readString(t, "x.json", odd, ingest.Options{}); len(res.Trials) != 0 || res.Records != 0 {
		t.Errorf("%d trials, %d records", len(res.Trials), res.Records)
	}
	if res := readString(t, "x.json", odd, ingest.Options{Format: "sglang-jsonl"}); len(res.Trials) != 1 || res.Trials[0].Figures["mean_concurrency"] != 7.5 {
		t.Errorf("forced: %v", res)
	}
	formats := ingest.Formats()
	if len(formats) < 8 || formats[len(formats)-1] != "serving-block" {
		t.Errorf("formats: %v", formats)
	}
	for _, name := range formats {
		if res, err := ingest.Read(t.Context(), "x", strings.NewReader(""), ingest.Options{Format: name}); err != nil || len(res.Skipped)+len(res.Errors) == 0 {
			t.Errorf("%s: an empty file gives %v, %v", name, res, err)
		}
	}
}

// TestUnknownJSON: one word for a file, however many values it holds.
func TestUnknownJSON(t *testing.T) {
	res := readString(t, "x.json", "{}\n[1]\n"+`{"level": "info"}`+"\n", ingest.Options{})
	if len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Message, "JSON without a known result") || res.Records != 0 {
		t.Errorf("skipped %v, %d records", res.Skipped, res.Records)
	}
	good := `{"backend": "x", "duration": 2.0, "completed": 1, "request_throughput": 0.5}`
	res = readString(t, "x.json", good+"\n{}\n{}\n", ingest.Options{})
	if len(res.Trials) != 1 || len(res.Skipped) != 1 || res.Skipped[0].String() != "x.json:2: 2 JSON values of no known kind left out" {
		t.Errorf("%d trials, skipped %v", len(res.Trials), res.Skipped)
	}
}

// TestEqualFiguresOtherRuns: two files whose figures agree and whose dates do not
// are two trials (case 16); a block has no date and stays as it was.
func TestEqualFiguresOtherRuns(t *testing.T) {
	dir := shared(t, "cases")
	var ids []core.ID
	for _, name := range []string{"old.json", "new.json"} {
		ids = append(ids, readFile(t, filepath.Join(dir, "16-vllm-json-legacy-and-twin", "results", name)).Trials[0].ID)
	}
	if ids[0] == ids[1] {
		t.Error("one id for two runs")
	}
}

// TestNothingWrittenAsZero: all trials of all fixtures lack what was not measured.
func TestNothingWrittenAsZero(t *testing.T) {
	for path, res := range walkAll(t, ingest.Options{}, filepath.Join("testdata", "fixtures")) {
		for _, tr := range res.Trials {
			for name, v := range tr.Figures {
				if f, _ := core.LookupField(name); f.Group == core.GroupLatency && v == 0 && !strings.HasPrefix(name, "std_") {
					t.Errorf("%s %s: %s is 0", path, tr.Sources[0].Position, name)
				}
			}
			if _, err := json.Marshal(tr); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if _, err := os.Stat(path); err != nil || tr.Sources[0].File != filepath.Base(path) {
				t.Errorf("%s: source %s", path, tr.Sources[0].File)
			}
		}
	}
}

// TestFileNameOfSGLang: the tool's own file name holds the number of prompts that
// its lines lack.
func TestFileNameOfSGLang(t *testing.T) {
	line := `{"backend": "sglang", "dataset_name": "random", "random_input_len": 1024, "random_output_len": 256, "completed": 64, "duration": 2, "total_throughput": 5}`
	for name, want := range map[string]string{
		"sglang_1130_80_1024_256.jsonl": "80 | 0.8", "sglang_1130_80_1024_128.jsonl": " | ", "sglang_1130_60_1024_256.jsonl": " | ", "mine.jsonl": " | ",
	} {
		if got := values(readString(t, name, line, ingest.Options{}).Trials[0], "num_prompts", "success_rate"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestTextAmongJSON: a block between documents is pointed at.
func TestTextAmongJSON(t *testing.T) {
	res := readString(t, "x.log", "{}\n"+printedBlock(5, 100, 20), ingest.Options{})
	if len(res.Warnings) != 1 || res.Warnings[0].String() != "x.log:2: a printed block stands in this file of JSON: read it with --format serving-block" {
		t.Errorf("warnings %v", res.Warnings)
	}
	if res := readString(t, "x.log", "{}\n"+printedBlock(5, 100, 20), ingest.Options{Format: "serving-block"}); len(res.Trials) != 1 {
		t.Errorf("%d trials", len(res.Trials))
	}
}
