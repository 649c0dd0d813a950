package serving_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

func TestMessage(t *testing.T) {
	for in, want := range map[string]string{
		"INFO 11-30 21:00:00 [__init__.py:216] text":                                                    "text",
		"(APIServer pid=4242) INFO 11-30 21:00:01 [api_server.py:1839] text":                            "text",
		"\x1b[1;36m(EngineCore_DP0 pid=4243)\x1b[0;0m ERROR 11-30 21:00:09 [core.py:210] ValueError: x": "ValueError: x",
		"(Worker_TP1 pid=4244) (Worker_TP1 pid=4244) text":                                              "text",
		"(VllmWorker rank=1 pid=77) text":                                                               "text",
		"(APIServer pid=4242) INFO:     Application startup complete.":                                  "Application startup complete.",
		"[2026-11-30 21:00:05] text":                                                                    "text",
		"[2026-11-30 21:00:05 TP3] text":                                                                "text",
		"[2026-11-30 21:00:05 DP1 TP3 EP0] text":                                                        "text",
		"[11/30/2026-21:00:05] [TRT-LLM] [RANK 0] [E] text":                                             "text",
		"[11/30/2026-21:00:05] [TRT-LLM] [I] text":                                                      "text",
		"2026-11-30 21:00:05,123 - ERROR - text":                                                        "text",
		"2026-11-30 21:00:05.123 INFO text":                                                             "text",
		"W1130 21:00:05.123000 4242 torch/x.py:10] text":                                                "text",
		"\r 10%|#  \r 20%|## ":                                                                          "20%|##",
		"[TensorRT-LLM][ERROR] Assertion failed: x":                                                     "Assertion failed: x",
		"plain (with pid=3) text":                                                                       "plain (with pid=3) text",
		"OSError: [Errno 98] in use":                                                                    "OSError: [Errno 98] in use",
	} {
		if got := serving.Message(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestPythonFields(t *testing.T) {
	got := serving.PythonFields(`model='a,b=c', n=8, f=0.5, b=True, d=torch.bfloat16, none=None, list=[1, 2], nested={"x": "y=1", 'z': 2}, s="it's", last=auto`)
	want := map[string]core.Value{"model": core.String("a,b=c"), "n": core.Number(8), "f": core.Number(0.5), "b": core.Bool(true), "d": core.String("bfloat16"), "s": core.String("it's"), "last": core.String("auto")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := serving.PythonFields(`'a': 1, "b": 'x'`); got["a"] != core.Number(1) || got["b"] != core.String("x") {
		t.Errorf("a dictionary: %v", got)
	}
}

func FuzzPythonFields(f *testing.F) {
	f.Add("a=1, b='x\\', c=[(")
	f.Add("=,=,:'")
	f.Add("a=")
	f.Add("a= ")
	f.Fuzz(func(t *testing.T, text string) {
		for name, v := range serving.PythonFields(text) {
			if name == "" || v.IsMissing() {
				t.Errorf("%q has %q: %v", text, name, v)
			}
		}
	})
}

// A message never grows, keeps no colours and is a message itself.
func FuzzMessage(f *testing.F) {
	f.Add("\x1b[\x1b[31mm [2026-11-30 21:00:05 TP0] x")
	f.Add("INFO: INFO: INFO: INFO: INFO: INFO: INFO: x")
	f.Fuzz(func(t *testing.T, line string) {
		if got := serving.Message(line); len(got) > len(line) {
			t.Errorf("%q became %q", line, got)
		}
	})
}

// Help texts come from programs: whatever they hold, a flag is a word with dashes.
func FuzzCheckFlags(f *testing.F) {
	f.Add("usage: x [--a A]\n  --b, --no-b  text\n  -c C\n  --d\n  --e\n", "--f=1\n--a\n-")
	f.Add("  --a --b --c\n  -\n  --\n", "--=\n--\n---")
	f.Fuzz(func(t *testing.T, help, argv string) {
		for name := range serving.HelpFlags(help) {
			if !strings.HasPrefix(name, "-") || len(name) < 2 {
				t.Errorf("flag %q", name)
			}
		}
		for _, p := range serving.CheckFlags(help, strings.Split(argv, "\n")) {
			if p.Flag == "" || p.Text == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}

// Every row of the table of failure signatures has a fragment.
func TestEveryRowHasAFragment(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range []string{"testdata", "../vllm/testdata", "../sglang/testdata", "../trtllm/testdata"} {
		files, err := filepath.Glob(filepath.Join(dir, "failures", "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			seen[filepath.Base(f)[:2]] = true
		}
	}
	for row := 1; row <= 71; row++ {
		if name := string([]byte{byte('0' + row/10), byte('0' + row%10)}); !seen[name] {
			t.Errorf("row %s has no fragment", name)
		}
	}
}
