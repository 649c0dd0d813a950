package ingest_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// seeds are the three reports, the number of blocks in each, and the log under
// examples/imported that holds the same figures, commands and labels.
var seeds = []struct {
	file, example string
	blocks        int
	guidellm      bool
}{
	{"000_31084286601db8cc.txt", "qwen3-8b-latency", 25, false},
	{"001_88681084640b87c0.txt", "qwen3.5-9b-throughput", 24, true},
	{"003_1ca70e27a8e9ad1f.txt", "qwen3-32b-throughput", 13, false},
}

func TestSeedsGolden(t *testing.T) {
	dir := shared(t, "seeds")
	var all []*core.Trial
	for _, s := range seeds {
		res := readFile(t, filepath.Join(dir, s.file))
		if len(res.Trials) != s.blocks {
			t.Errorf("%s: %d trials, want %d", s.file, len(res.Trials), s.blocks)
		}
		golden(t, s.file[:3]+".txt", describeAll(res, true))
		all = append(all, res.Trials...)
	}
	if n := len(distinct(t, all)); len(all) != 62 || n != 58 {
		t.Errorf("%d records of %d trials, want 62 of 58", len(all), n)
	}
}

// printedFields is a second, independent reading of a block: label to field.
var printedFields = map[string]string{
	"Successful requests": "completed", "Benchmark duration (s)": "duration_s", "Total input tokens": "input_tokens",
	"Total generated tokens": "output_tokens", "Request throughput (req/s)": "rps", "Output token throughput (tok/s)": "output_tps",
	"Peak output token throughput (tok/s)": "peak_output_tps", "Peak concurrent requests": "peak_concurrency",
	"Total Token throughput (tok/s)": "total_tps",
	"Mean Latency(s)":                "mean_e2el_ms", "Median Latency(s)": "median_e2el_ms", "P95 Latency(s)": "p95_e2el_ms", "P99 Latency(s)": "p99_e2el_ms",
	"Mean TTFT (ms)": "mean_ttft_ms", "Median TTFT (ms)": "median_ttft_ms", "P95 TTFT (ms)": "p95_ttft_ms", "P99 TTFT (ms)": "p99_ttft_ms",
	"Mean TPOT (ms)": "mean_tpot_ms", "Median TPOT (ms)": "median_tpot_ms", "P95 TPOT (ms)": "p95_tpot_ms", "P99 TPOT (ms)": "p99_tpot_ms",
	"Mean ITL (ms)": "mean_itl_ms", "Median ITL (ms)": "median_itl_ms", "P95 ITL (ms)": "p95_itl_ms", "P99 ITL (ms)": "p99_itl_ms",
}

var printedRow = regexp.MustCompile(`^(.+?):\s+(\S+)$`)

// TestFiguresEqualTheText compares every printed figure of seeds and corpus with
// the trial, both ways: none is lost, none is made up.
func TestFiguresEqualTheText(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shared(t, "corpus"), "performance-lab", "*.log"))
	if err != nil || len(paths) != 10 {
		t.Fatalf("%d logs (%v)", len(paths), err)
	}
	for _, s := range seeds {
		paths = append(paths, filepath.Join(shared(t, "seeds"), s.file))
	}
	compared, blocks := 0, 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		res := readFile(t, path)
		guidellm := strings.Contains(string(text), "Latency(s)")
		var tr *core.Trial
		left, index := map[string]bool{}, -1
		for no, line := range append(strings.Split(string(text), "\n"), "==========") {
			switch {
			case strings.Contains(line, " Serving Benchmark Result "):
				index++
				blocks++
				tr = res.Trials[index]
				if want := "line " + strconv.Itoa(no+1); tr.Sources[0].Position != want {
					t.Fatalf("%s: trial %d stands at %s, want %s", path, index, tr.Sources[0].Position, want)
				}
				left = map[string]bool{}
				for name := range tr.Figures {
					left[name] = tr.Derived[name] == ""
				}
			case strings.HasPrefix(line, "=========="):
				for name, given := range left {
					if given {
						t.Errorf("%s:%d: %s=%v is not printed", path, no+1, name, tr.Figures[name])
					}
				}
				left, tr = nil, nil
			}
			if tr == nil {
				continue
			}
			if raw := "\n" + tr.Sources[0].Raw; !strings.Contains(raw, "\n"+strings.TrimRight(line, " ")+"\n") {
				t.Errorf("%s:%d: the raw text lacks %q", path, no+1, line)
			}
			m := printedRow.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			compared++
			name := printedFields[m[1]]
			got := tr.Value(name)
			want, err := strconv.ParseFloat(m[2], 64)
			switch {
			case m[1] == "Maximum request concurrency" && guidellm:
				got = tr.Value("extra.printed_max_concurrency")
				if !tr.Load.Concurrency.IsUnlimited() {
					t.Errorf("%s:%d: the observed peak was taken for a limit", path, no+1)
				}
			case m[1] == "Maximum request concurrency":
				got = tr.Load.Concurrency
			case name == "":
				t.Errorf("%s:%d: the test does not know %q", path, no+1, m[1])
			case strings.HasSuffix(m[1], "(s)") && strings.Contains(m[1], "Latency"):
				want *= 1000
			case strings.HasSuffix(name, "_tpot_ms") && guidellm:
				if !got.IsMissing() {
					t.Errorf("%s:%d: guidellm's TPOT was stored as %s", path, no+1, name)
				}
				got = tr.Extra[strings.Replace(name, "_tpot_ms", "_tpot_incl_first_ms", 1)]
			}
			delete(left, name)
			if m[2] == "N/A" {
				if !got.IsMissing() {
					t.Errorf("%s:%d: %s is N/A, got %s", path, no+1, name, got)
				}
				continue
			}
			if err != nil || got.Kind != core.KindNumber || math.Abs(got.Num-want) > 1e-9*want {
				t.Errorf("%s:%d: %s is %q, want %v", path, no+1, name, got, m[2])
			}
		}
		if index+1 != len(res.Trials) {
			t.Errorf("%s: %d trials, %d blocks", path, len(res.Trials), index+1)
		}
	}
	if blocks != 62+148 || compared < 18*blocks {
		t.Errorf("compared %d figures of %d blocks, want 210 blocks", compared, blocks)
	}
}

// TestSeedAnswers asks three questions whose answers were worked out by hand.
func TestSeedAnswers(t *testing.T) {
	dir := shared(t, "seeds")
	for i, want := range []struct {
		workload, concurrency, line, engine string
		total                               float64
	}{
		{"sharegpt", "4", "line 766", "sglang", 2149.30},
		{"sharegpt", "unlimited", "line 609", "vllm", 11768.22},
		{"sharegpt", "unlimited", "line 342", "trtllm", 4284.68},
	} {
		var best *core.Trial
		for _, tr := range readFile(t, filepath.Join(dir, seeds[i].file)).Trials {
			if tr.Value("workload").Text != want.workload || tr.Load.Concurrency.String() != want.concurrency || tr.Figures["success_rate"] != 1 {
				continue
			}
			if best == nil || tr.Figures["total_tps"] > best.Figures["total_tps"] {
				best = tr
			}
		}
		if best.Sources[0].Position != want.line || best.Figures["total_tps"] != want.total || best.Setup.Config.Engine != want.engine {
			t.Errorf("%s: best is %s with %v on %s, want %+v", seeds[i].file, best.Sources[0].Position, best.Figures["total_tps"], best.Setup.Config.Engine, want)
		}
	}
}

// examples reads the logs that come with the program.
func examples(t *testing.T) map[string]ingest.Result {
	t.Helper()
	out := map[string]ingest.Result{}
	for _, s := range seeds {
		out[s.example] = readFile(t, filepath.Join(repository(t), "examples", "imported", s.example+".log"))
	}
	return out
}

func TestExamples(t *testing.T) {
	var all []*core.Trial
	for _, s := range seeds {
		res := examples(t)[s.example]
		if len(res.Trials) != s.blocks || len(res.Skipped)+len(res.Errors) != 0 {
			t.Errorf("%s: %d trials, skipped %v, errors %v", s.example, len(res.Trials), res.Skipped, res.Errors)
		}
		for _, tr := range res.Trials {
			if tr.Study != s.example || tr.Stage == "" || tr.Option == "" || tr.Setup.Config.Engine == "" || tr.Workload.Name == "" {
				t.Errorf("%s %s: study %q stage %q option %q engine %q workload %q", s.example, tr.Sources[0].Position,
					tr.Study, tr.Stage, tr.Option, tr.Setup.Config.Engine, tr.Workload.Name)
			}
		}
		all = append(all, res.Trials...)
	}
	if n := len(distinct(t, all)); n != 58 {
		t.Errorf("%d distinct trials, want 58", n)
	}
	var got strings.Builder
	for _, tr := range all {
		got.WriteString(describe(tr, false))
	}
	golden(t, "examples.txt", got.String())
}

// TestExamplesEqualSeeds: the logs under examples import to the same trials as
// the reports, apart from the names that people gave.
func TestExamplesEqualSeeds(t *testing.T) {
	dir := shared(t, "seeds")
	for _, s := range seeds {
		want := readFile(t, filepath.Join(dir, s.file)).Trials
		got := examples(t)[s.example].Trials
		for i := range min(len(want), len(got)) {
			w, g := *want[i], *got[i]
			for _, tr := range []*core.Trial{&w, &g} {
				tr.Study, tr.Stage, tr.Option, tr.Sources = "", "", "", nil
			}
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("%s, trial %d (-report +log):\n%s", s.example, i+1, diff)
			}
		}
		if !slices.EqualFunc(want, got, func(a, b *core.Trial) bool { return a.ID == b.ID }) {
			t.Errorf("%s: ids differ", s.example)
		}
	}
}
