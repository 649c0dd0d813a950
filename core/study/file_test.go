package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

const small = `study: s
model: {name: m}
engines: {sim: {}}
workloads:
  a: {dataset: random, input: 8, output: 4, requests: 10}
objective: max total_tps
baseline: {engine: sim}
`

func read(t *testing.T, text string) (*study.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return study.Read(path)
}

func TestSeedStudy(t *testing.T) {
	f, err := study.Read("../../examples/studies/qwen3-32b-throughput.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := f.Study
	if got := s.Engines["vllm"].Version; got != "0.11.0" {
		t.Errorf("vllm version %q", got)
	}
	if s.Run.Repeats != 3 || s.Run.TrialTimeout != 45*time.Minute || s.Run.GPUHours != 8 || s.DecideOn != "sharegpt" {
		t.Errorf("run rules: %+v, decide on %q", s.Run, s.DecideOn)
	}
	var names []string
	for _, w := range s.Workloads {
		names = append(names, w.Workload.Name)
	}
	if got := strings.Join(names, " "); got != "sharegpt short medium long very-long" {
		t.Errorf("workloads are not in file order: %s", got)
	}
	short := s.Workloads[1]
	if short.Workload.InputLen != core.Number(128) || !short.Loads[0].RequestRate.IsUnlimited() || short.Loads[0].NumPrompts != core.Number(1000) ||
		short.Loads[0].Seed != core.Number(42) || !short.Workload.IgnoreEOS.True() {
		t.Errorf("workload short: %+v", short)
	}
	if len(s.Stages) != 3 || len(s.Stages[0].Try) != 3 || s.Stages[2].When != `engine == "trtllm"` {
		t.Errorf("stages: %+v", s.Stages)
	}
	change := s.Stages[2].Try[0].Change
	if change.Knobs["context_len"] != core.Number(40960) || change.Knobs["chunked_prefill"] != core.Bool(true) {
		t.Errorf("knobs of the last stage: %v", change.Knobs)
	}
}

func TestLoadsAreCurves(t *testing.T) {
	f, err := read(t, small+"load: {concurrency: [1, 2, 4]}\n")
	if err != nil {
		t.Fatal(err)
	}
	loads := f.Study.Workloads[0].Loads
	if len(loads) != 3 || loads[2].Concurrency != core.Number(4) || !loads[0].RequestRate.IsUnlimited() {
		t.Errorf("loads: %+v", loads)
	}
}

func TestFaultsHaveAPlace(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"wrong key", small + "stagez: []\n", `:8:1: unknown key "stagez"; did you mean stages?`},
		{"wrong key inside", strings.Replace(small, "requests: 10", "request: 10", 1), `:5:45: unknown key "request" in workloads.a; did you mean requests?`},
		{"wrong type", small + "run: {repeats: many}\n", `:8:16: run.repeats: want a whole number of at least 1, got "many"`},
		{"list for a mapping", small + "run: [1]\n", `:8:6: run: want a mapping (key: value), got a list`},
		{"unknown engine", strings.Replace(small, "engine: sim}\n", "engine: simm}\n", 1), `baseline: engine "simm" is not listed under engines; did you mean sim?`},
		{"unknown dataset", strings.Replace(small, "random", "randum", 1), `unknown dataset "randum"`},
		{"no length", strings.Replace(small, "input: 8, ", "", 1), `dataset random needs input and output`},
		{"no request count", strings.Replace(small, ", requests: 10", "", 1), `give requests (how many) or duration (how long)`},
		{"unknown deciding workload", small + "decide_on: b\n", `:8:12: decide_on: no workload is named "b"; did you mean a?`},
		{"missing objective", strings.Replace(small, "objective: max total_tps\n", "", 1), `objective is missing`},
		{"bad duration", small + "run: {timeouts: {ready: 20}}\n", `run.timeouts.ready: want a duration such as 20m or 90s`},
		{"bad warm-up", small + "run: {warmup: {requests: 2 * clients}}\n", `want a number, concurrency or N * concurrency`},
		{"key twice", small + "objective: min mean_ttft_ms\n", `objective`},
		{"not yaml", "study: [\n", `study.yaml:`},
		{"empty", "", `the file is empty`},
		{"stage without options", small + "stages: [{name: x, try: []}]\n", `stage "x" has nothing to try`},
		{"verify something else", small + "verify: {configs: [best]}\n", `want baseline or winner, got "best"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := read(t, tc.text)
			var fault *study.FileError
			if !errors.As(err, &fault) || !errors.Is(err, core.ErrInvalid) {
				t.Fatalf("got %v, want a fault of the file", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, want it to say %q", err, tc.want)
			}
		})
	}
}

func TestLocalFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "study.yaml")
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "local.yaml"), []byte("data_dir: data\nports: 30000\nengines: {sim: {cmd: /opt/sim}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := study.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Local.DataDir != filepath.Join(dir, "data") || f.Local.PortBase != 30000 || f.Study.Engines["sim"].Cmd != "/opt/sim" {
		t.Errorf("local: %+v, engines %+v", f.Local, f.Study.Engines)
	}
	if err := os.WriteFile(filepath.Join(dir, "local.yaml"), []byte("data: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := study.Read(path); err == nil || !strings.Contains(err.Error(), "local.yaml:1:1") {
		t.Errorf("a fault of local.yaml: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add("study: x\nstages: [{name: a, try: [{engine: {}}]}]\n")
	f.Add("a: &x [*x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "study.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if file, err := study.Read(path); err == nil && file.Study.Name == "" {
			t.Error("a study without a name was accepted")
		}
	})
}

func TestExampleStudies(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d studies: %v", len(files), err)
	}
	for _, path := range files {
		if _, err := study.Read(path); err != nil {
			t.Error(err)
		}
	}
}
