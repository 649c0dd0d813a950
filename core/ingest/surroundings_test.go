package ingest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// sidecars stands for the decoder that the command line gives: a few lines of the
// form "key: value" and "set: {a: b, c: d}" are enough here.
func sidecars(data []byte) (*ingest.Mapping, error) {
	m := &ingest.Mapping{}
	for _, text := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		key, value, ok := strings.Cut(text, ": ")
		switch {
		case !ok:
			return nil, fmt.Errorf("line %q: want key: value", text)
		case key == "study":
			m.Study = value
		case key == "set":
			m.Set = map[string]string{}
			for _, pair := range strings.Split(strings.Trim(value, "{}"), ", ") {
				name, v, _ := strings.Cut(pair, ": ")
				m.Set[name] = v
			}
		}
	}
	return m, nil
}

var lab = filepath.Join("testdata", "trees", "lab")

func walkAll(t *testing.T, opt ingest.Options, paths ...string) map[string]ingest.Result {
	t.Helper()
	all := map[string]ingest.Result{}
	err := ingest.Walk(t.Context(), paths, opt, func(path string, res ingest.Result) error {
		checkAccount(t, path, res)
		all[filepath.ToSlash(path)] = res
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func values(tr *core.Trial, names ...string) string {
	var out []string
	for _, name := range names {
		out = append(out, tr.Value(name).String())
	}
	return strings.Join(out, " | ")
}

// TestSurroundings: path, sidecars and companions complete what a result file of
// the client does not know, each with its own weight.
func TestSurroundings(t *testing.T) {
	all := walkAll(t, ingest.Options{Pattern: "{gpu}/{model}_tp{tp}_c{concurrency}/*.json", Sidecar: sidecars}, lab)
	fields := []string{"study", "engine", "engine_version", "model", "checkpoint", "gpu", "tp", "concurrency", "workload", "seed", "args.max_num_seqs", "args.context_len", "weight_dtype"}
	for _, tt := range []struct{ dir, want string }{
		// run.sh gives server and benchmark; the sidecar's GPU outranks the path's.
		{"h100/qwen3-8b_tp2_c8", "lab | vllm |  | Qwen/Qwen3-8B | Qwen/Qwen3-8B | NVIDIA A100-SXM4-80GB | 2 | 8 | random 128/64 | 3 | 64 | unset | bf16"},
		// server.log gives the passed arguments, the version and what was resolved.
		{"h100/qwen3-8b_tp2_c16", "lab | vllm | 0.11.0 | Qwen/Qwen3-8B | Qwen/Qwen3-8B | NVIDIA A100-SXM4-80GB | 2 | 16 |  |  | unset | 8192 | bf16"},
		// The path says c8, the file 4; server.sh is of another model than the path.
		{"a100/qwen3-8b_tp1_c8", "lab | vllm |  | qwen3-8b | demo/other | NVIDIA A100-SXM4-80GB | 1 | 4 |  |  | unset | unset | "},
		// The nearer sidecar outranks the one above; nothing in the path.
		{"plain", "plain things | sglang | 0.5.5 | Qwen/Qwen3-8B | Qwen/Qwen3-8B | NVIDIA H200 | 4 | 4 |  |  |  |  | bf16"},
	} {
		res := all["testdata/trees/lab/"+tt.dir+"/result.json"]
		if len(res.Trials) != 1 {
			t.Errorf("%s: %d trials, %v", tt.dir, len(res.Trials), res)
			continue
		}
		if got := values(res.Trials[0], fields...); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.dir, got, tt.want)
		}
	}
	launch := all["testdata/trees/lab/h100/qwen3-8b_tp2_c16/result.json"].Trials[0].Launch
	if launch == nil || launch.Resolved["max_batched_tokens"] != core.Number(2048) || launch.Resolved["dtype"] != core.String("bfloat16") {
		t.Errorf("resolved settings: %+v", launch)
	}
	launch = all["testdata/trees/lab/h100/qwen3-8b_tp2_c8/result.json"].Trials[0].Launch
	if want := []string{"vllm", "serve", "Qwen/Qwen3-8B", "--tensor-parallel-size", "2", "--max-num-seqs", "64", "--api-key", "***", "--port", "8001"}; launch == nil || !slices.Equal(launch.Argv, want) {
		t.Errorf("argv: %+v", launch)
	}
	warned := fmt.Sprint(all["testdata/trees/lab/a100/qwen3-8b_tp1_c8/result.json"].Warnings, all["testdata/trees/lab/plain/result.json"].Warnings)
	for _, want := range []string{"the path says concurrency=8, the file 4: the file counts", "does not match the pattern"} {
		if !strings.Contains(warned, want) {
			t.Errorf("warnings %s lack %q", warned, want)
		}
	}
	if data, _ := json.Marshal(all); strings.Contains(string(data), "sk-aaaa") {
		t.Error("a key of a companion was kept")
	}
}

func TestSeveralServersBesideAResult(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(lab, "plain", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	script := "vllm serve demo/m1 --seed 1\nkill $!\nvllm serve demo/m1 --seed 2\n"
	for name, content := range map[string]string{"result.json": string(data), "run.sh": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res, err := ingest.File(t.Context(), filepath.Join(dir, "result.json"), ingest.Options{})
	if err != nil || len(res.Trials) != 1 || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Message, "run.sh: several servers are started there") {
		t.Fatalf("%v, warnings %v", err, res.Warnings)
	}
	if tr := res.Trials[0]; tr.Setup.Config.Engine != "" || len(tr.Setup.Config.Knobs) != 0 || tr.Study != "result" {
		t.Errorf("one of two servers was taken: %+v", tr.Setup.Config)
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct{ pattern, path, want string }{
		{"{gpu}/{model}_tp{tp}_c{concurrency}/*.json", "x/NVIDIA H100/qwen_3_tp2_c16/a.json", "NVIDIA H100 | qwen_3 | 2 | 16"},
		{"{model}-{tp}.json", "qwen3-8b-4.json", " | qwen3-8b | 4 | "},
		{"{engine}/c{concurrency}/run?.json", "VLLM/cinf/run1.json", " |  |  | unlimited"},
		{"c{concurrency}_{}.json", "c8_tuesday.json", " |  |  | 8"},
		{"{tp}/*.json", "one/a.json", " |  |  | "},
	} {
		data := `{"backend": "x", "duration": 1, "completed": 1, "request_throughput": 1}`
		res, err := ingest.Read(t.Context(), tt.path, strings.NewReader(data), ingest.Options{Pattern: tt.pattern})
		if err != nil || len(res.Trials) != 1 {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := values(res.Trials[0], "gpu", "model", "tp", "concurrency"); got != tt.want {
			t.Errorf("%s of %s: got %q, want %q", tt.pattern, tt.path, got, tt.want)
		}
		if (len(res.Warnings) > 0) != (tt.path == "one/a.json") {
			t.Errorf("%s: warnings %v", tt.pattern, res.Warnings)
		}
	}
	for pattern, want := range map[string]string{
		"{gpuu}/*.json": `unknown field "gpuu"; nearest: gpu`, "{id}/x": "cannot be set", "{tp}_{tp}": "{tp} stands twice",
		"a/*.json": "no {field} in it", "": "want a path with {field}", "{tp}/{x": "a brace without its partner",
	} {
		if err := ingest.CheckPattern(pattern); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("pattern %q: ", pattern)) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

func TestMappingCheck(t *testing.T) {
	for want, m := range map[string]ingest.Mapping{
		`columns: x: invalid: unknown field "total_tsp"; nearest: total_tps`: {Columns: map[string]string{"x": "total_tsp"}},
		`units: x: invalid: "min"; known are %, k, ms, ns, s, us`:            {Units: map[string]string{"x": "min"}},
		`set: config: invalid: this field is worked out by Sweepbook`:        {Set: map[string]string{"config": "x"}},
		`set: tp: invalid: "two" is no value of this field`:                  {Set: map[string]string{"tp": "two"}},
		`format "excel": invalid: known are records, `:                       {Format: "excel"},
		`pattern "{x}": invalid: unknown field "x"`:                          {Pattern: "{x}"},
	} {
		if err := m.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := ingest.Read(t.Context(), "a.csv", strings.NewReader(""), ingest.Options{Mapping: &m}); err == nil {
			t.Errorf("%s: read all the same", want)
		}
	}
	good := ingest.Mapping{Columns: map[string]string{"a": "total_tps", "b": "-", "c": "extra.x", "d": "args.max_num_seqs", "e": "status"}, Set: map[string]string{"gpus": "8", "engine": "vLLM", "ignore_eos": "true"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

func TestSidecarErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.log", printedBlock(5, 100, 20))
	write("import.yaml", "set: {gpuu: x}")
	all := walkAll(t, ingest.Options{Sidecar: sidecars}, dir)
	if got := fmt.Sprint(all[filepath.ToSlash(filepath.Join(dir, "a.log"))].Errors); len(all) != 1 || !strings.Contains(got, "import.yaml: set: invalid: unknown field \"gpuu\"; nearest: gpu") {
		t.Errorf("%d results, errors %s", len(all), got)
	}
	write("import.yaml", "nonsense")
	if _, err := ingest.File(t.Context(), filepath.Join(dir, "a.log"), ingest.Options{Sidecar: sidecars}); err == nil || !strings.Contains(err.Error(), `import.yaml: line "nonsense"`) {
		t.Errorf("a broken sidecar: %v", err)
	}
	write("import.yaml", "study: "+strings.Repeat("x", 2<<20))
	if _, err := ingest.File(t.Context(), filepath.Join(dir, "a.log"), ingest.Options{Sidecar: sidecars}); err == nil || !strings.Contains(err.Error(), "longer than 1024 KiB") {
		t.Errorf("a huge sidecar: %v", err)
	}
}

func TestSuggest(t *testing.T) {
	s, err := ingest.Suggest(t.Context(), []string{lab}, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.Suggestion{
		Files: 4, Pattern: "{gpu}/{model}_tp{tp}_c{concurrency}/*.json", Matches: 3,
		ExampleFile: filepath.Join(lab, "a100", "qwen3-8b_tp1_c8", "result.json"),
		Example:     map[string]string{"gpu": "a100", "model": "qwen3-8b", "tp": "1", "concurrency": "8"},
		Lacking: []ingest.Lack{
			{File: filepath.Join(lab, "plain", "result.json"), Trials: 1, Fields: []string{"gpu"}},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("suggestion (-want +got):\n%s", diff)
	}
	s, err = ingest.Suggest(t.Context(), []string{filepath.Join("testdata", "fixtures", "timestamps.log")}, ingest.Options{})
	if err != nil || s.Pattern != "" || s.Files != 1 || len(s.Lacking) != 1 {
		t.Errorf("a path that tells nothing: %+v, %v", s, err)
	}
}

func TestPathTokens(t *testing.T) {
	for path, want := range map[string]string{
		"r/vllm/8xH200/Qwen3-32B-FP8-tp8/c64.json":          "{engine}/*x{gpu}/{model}-tp{tp}/c{concurrency}.json",
		"llama-3.1-8b-instruct_rate4.5_isl1024_osl128.json": "{model}_rate{request_rate}_isl{input_len}_osl{output_len}.json",
		"a/RTX 4090/seed=7/result-20250101.json":            "{gpu}/seed={seed}/*.json",
		"tp2/tp4.json":                                      "tp{tp}/*.json",
	} {
		dir := t.TempDir()
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(`{"backend": "x", "duration": 1, "completed": 1, "request_throughput": 1}`), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ingest.Suggest(t.Context(), []string{dir}, ingest.Options{})
		if err != nil || s.Pattern != want || s.Matches != 1 {
			t.Errorf("%s: %q, %d matches (%v), want %q", path, s.Pattern, s.Matches, err, want)
		}
	}
}
