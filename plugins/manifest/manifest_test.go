package manifest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/manifest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

const sound = `engine: mine
command: [serve, --model, "{model}", --host, "{host}", --port, "{port}"]
`

func TestParseFaults(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "mine.engine.yaml: want one engine in the file"},
		"two documents":      {sound + "---\n" + sound, "found 2 documents"},
		"no YAML":            {"engine: [", "mine.engine.yaml:1:9: "},
		"a list":             {"- engine\n", "mine.engine.yaml:1:1: the file: want a mapping"},
		"not UTF-8":          {"engine: \xff", "not UTF-8"},
		"deep":               {"engine: " + strings.Repeat("[", 100), "nested too deep"},
		"large":              {"# " + strings.Repeat("x", 300<<10), "larger than 256 KiB"},
		"unknown key":        {sound + "knob: {}\n", `mine.engine.yaml:3:1: unknown key "knob" in the file; did you mean knobs?`},
		"unknown deep key":   {sound + "ready: {time: 3s}\n", `mine.engine.yaml:3:9: unknown key "time" in ready`},
		"key twice":          {sound + "engine: other\n", `mine.engine.yaml:3:1: `},
		"no engine":          {strings.SplitN(sound, "\n", 2)[1], "the file has no engine:"},
		"no command":         {"engine: mine\n", "the file has no command:"},
		"name with a path":   {strings.Replace(sound, "mine", "../mine", 1), `mine.engine.yaml:1:9: engine: "../mine" is no engine name`},
		"no port":            {strings.Replace(sound, "{port}", "8000", 1), "mine.engine.yaml:2:10: command: {port} stands neither in the command nor in env"},
		"placeholder":        {strings.Replace(sound, "{model}", "{modeel}", 1), "command[2]: unknown placeholder {modeel}"},
		"no executable":      {strings.Replace(sound, "serve", `"{model}"`, 1), "its first word is the executable"},
		"nested mapping":     {strings.Replace(sound, "serve", "{a: b}", 1), `command[0]: want a text, got a mapping; a placeholder is written in quotes: "{port}"`},
		"an alias":           {"engine: &a mine\ncommand: *a\n", "an anchor, alias or tag: write the value here"},
		"secret variable":    {sound + "env: {HF_TOKEN: x}\n", "mine.engine.yaml:3:7: HF_TOKEN looks like a secret"},
		"variable name":      {sound + "env: {A=B: x}\n", `"A=B" is no name of an environment variable`},
		"knob without flag":  {sound + "knobs: {tp: {doc: x}}\n", `mine.engine.yaml:3:9: knob "tp": give one of flag: and env:`},
		"knob with both":     {sound + "knobs: {tp: {doc: x, flag: --tp, env: TP}}\n", `give one of flag: and env:`},
		"knob without doc":   {sound + "knobs: {tp: {flag: --tp}}\n", "give one line of doc:"},
		"flag without dash":  {sound + "knobs: {tp: {flag: tp, doc: x}}\n", `mine.engine.yaml:3:20: knobs.tp.flag: want a flag such as --max-batch-size, got "tp"`},
		"the same flag":      {sound + "knobs: {tp: {flag: --tp, doc: x}, tpp: {flag: --tp, doc: x}}\n", `knob "tpp": --tp is that of knob "tp" already`},
		"type":               {sound + "knobs: {tp: {flag: --tp, doc: x, type: int}}\n", "want one of text, number, whole, size, switch, list, json, got \"int\""},
		"default":            {sound + "knobs: {tp: {flag: --tp, doc: x, type: whole, default: many}}\n", "knobs.tp.default: the default is none of its values"},
		"knob name":          {sound + "knobs: {Max-Seqs: {flag: --tp, doc: x}}\n", "want lower-case letters"},
		"raw":                {sound + "flags: {raw: yes please}\n", "flags.raw: want kebab, snake or refuse"},
		"duration":           {sound + "ready: {timeout: 5}\n", `ready.timeout: want a duration up to 24h such as 20m or 90s, got "5"`},
		"negative duration":  {sound + "ready: {idle: -5s}\n", "ready.idle: want a duration"},
		"health":             {sound + "ready: {health: health}\n", "want a path such as /health"},
		"pattern":            {sound + "version_pattern: '('\n", "version_pattern: error parsing regexp"},
		"pattern sans group": {sound + "version_pattern: 'x'\n", "a group (…) must hold the version"},
		"class":              {sound + "failures: [{class: oom, contains: x}]\n", `failures[0].class: unknown failure class "oom"; the classes are oom_weights`},
		"failure sans proof": {sound + "failures: [{class: oom_kv}]\n", "a failure has a class: and what its line contains:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse("mine.engine.yaml", []byte(c.text))
			var fault *manifest.FileError
			if !errors.As(err, &fault) || !errors.Is(err, core.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(sound + "knobs: {tp: {flag: --tp, doc: x, type: whole, default: 1}}\nfailures: [{class: oom_kv, contains: [a, b]}]\n"))
	f.Add([]byte("engine: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse("x", data)
		var fault *manifest.FileError
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil {
			// What was accepted can be planned or refused, and never panics.
			_, _ = manifest.New(m).Plan(t.Context(), servingtest.Case{Checkpoint: "a/b"}.PlanRequest(m.Name))
		}
	})
}

func TestRefusals(t *testing.T) {
	m, err := manifest.Parse("mine", []byte(sound+`
knobs:
  max_num_seqs: {flag: --max-batch-size, type: whole, min: 1, doc: x}
  spread: {env: SPREAD, type: switch, doc: x}
  eager: {flag: --eager, type: switch, doc: x}
  late: {flag: --late, since: "2.0", doc: x}
reserved: {log_level: the log is read by sweepbook}
`))
	if err != nil {
		t.Fatal(err)
	}
	e := manifest.New(m)
	servingtest.Refuses(t, e, "mine", []servingtest.Refusal{
		servingtest.Knob("max_num_seqs", core.Number(0), "at least 1"),
		servingtest.Knob("max_num_seqs", core.String("many"), "--max-batch-size"),
		servingtest.Knob("max_batch_size", core.Number(1), `give it as "max_num_seqs"`),
		servingtest.Knob("host", core.String("0.0.0.0"), "the manifest's command gives --host"),
		servingtest.Knob("log_level", core.String("debug"), "the log is read by sweepbook"),
		servingtest.Knob("api_key", core.String("x"), "secrets are never knobs"),
		servingtest.Knob("eager", core.Bool(false), "no way to turn it off"),
		servingtest.Knob("other", core.Bool(false), "no form for a switch that is off"),
		servingtest.Knob("other", core.Unlimited(), "unlimited"),
		servingtest.Knob("other", core.String("a\nb"), "no line break"),
		servingtest.Knob("other", core.String("hf_abcdefghijklmnopqrstuvwxyz123456"), "looks like a secret"),
		{Name: "an image", Says: []string{"docker run"}, Change: func(r *core.PlanRequest) { r.Origin.Image = "x" }},
		{Name: "a url", Says: []string{"sweepbook bench"}, Change: func(r *core.PlanRequest) { r.Origin.URL = "http://x" }},
		{Name: "too few GPUs", Says: []string{"needs 4 GPUs"}, Change: func(r *core.PlanRequest) {
			r.Config.Knobs, r.GPUs = core.Knobs{"tp": core.Number(4)}, []string{"0"}
		}},
		{Name: "a secret variable", Says: []string{"HF_TOKEN", "run.secrets"}, Change: func(r *core.PlanRequest) { r.Config.Env = map[string]string{"HF_TOKEN": "x"} }},
		{Name: "a knob's variable", Says: []string{`knob "spread"`}, Change: func(r *core.PlanRequest) { r.Config.Env = map[string]string{"SPREAD": "1"} }},
		{Name: "too old", Says: []string{"came with version 2.0"}, Change: func(r *core.PlanRequest) {
			r.Config.Knobs, r.Origin.Version = core.Knobs{"late": core.String("x")}, "1.0"
		}},
		{Name: "another engine", Says: []string{`is for "vllm"`}, Change: func(r *core.PlanRequest) { r.Config.Engine = "vllm" }},
		{Name: "no checkpoint", Says: []string{"checkpoint"}, Change: func(r *core.PlanRequest) { r.Config.Checkpoint = "" }},
		{Name: "a checkpoint that is a flag", Says: []string{"no name of a model"}, Change: func(r *core.PlanRequest) { r.Config.Checkpoint = "--x" }},
	})
}

func TestDiagnose(t *testing.T) {
	m, err := manifest.Parse("mine", []byte(sound+"failures:\n  - {class: oom_kv, contains: [cache, too small], without: warning}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for log, want := range map[string]core.FailureClass{
		"starting\nthe cache is too small\n":          core.OOMKV,
		"starting\nwarning: the cache is too small\n": core.UnknownFailure,
		// What every engine stands on needs no line of the manifest.
		"torch: CUDA out of memory. Tried to allocate 2 GiB\n": core.OOMWeights,
	} {
		d, err := manifest.New(m).Diagnose(t.Context(), core.DiagnoseRequest{LogTail: log, ExitCode: 1, Phase: "load"})
		if err != nil || d.Class != want {
			t.Errorf("%q is %s (%v), want %s", log, d.Class, err, want)
		}
	}
}

func TestProbe(t *testing.T) {
	m, err := manifest.Parse("mine", []byte("engine: mine\ninstall: buy it\ncommand: [go, \"{host}\", \"{port}\"]\nversion_command: [go, version]\nversion_pattern: 'go version go(\\S+)'\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := manifest.New(m)
	found, err := e.Probe(t.Context(), core.Origin{})
	if err != nil || !strings.HasPrefix(found.Version, "1.") || found.Command == "" {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := e.Probe(t.Context(), core.Origin{Version: "0.1"}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("another version than asked for: %v", err)
	}
	_, err = e.Probe(t.Context(), core.Origin{Venv: "/nowhere"})
	if !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), "there is no /nowhere/bin/go here: buy it") {
		t.Errorf("an engine that is not here: %v", err)
	}
}
