package serving_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// write makes files below a folder; an empty text makes a link to nothing, as a
// download that was cut off leaves it.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(text), 0o600)
		if text == "" {
			_ = os.Remove(path)
			err = os.Symlink("nowhere", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// prepare asks the engine of these tests for the needs of one configuration.
func prepare(t *testing.T, engine *serving.Adapter, req core.PlanRequest) core.Preparation {
	t.Helper()
	p, err := engine.Prepare(t.Context(), core.PrepareRequest{PlanRequest: req})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// models gives the needs of the kind model as "name: found" or "name! problem".
func models(p core.Preparation, dir string) []string {
	var out []string
	for _, n := range p.Needs {
		text := n.Name + ": " + n.Found
		if n.Found == "" {
			text = n.Name + "! " + n.Problem
		}
		if n.Kind == "model" {
			out = append(out, strings.ReplaceAll(text, dir, "DIR"))
		}
	}
	return out
}

const index = `{"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}`

func TestModelsOfTheHub(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string // below the cache
		env   map[string]string
		knobs core.Knobs
		model string
		rev   string
		want  string // of the last model
	}{
		"here": {
			files: map[string]string{"models--a--b/refs/main": "c1\n", "models--a--b/snapshots/c1/config.json": "{}", "models--a--b/snapshots/c1/m.safetensors": "x"},
			want:  "a/b: DIR/hub/models--a--b/snapshots/c1",
		},
		"not at all": {want: `a/b! not in the cache DIR/hub; get it with: hf download a/b`},
		"another revision": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/config.json": "{}"}, rev: "v2",
			want: "a/b@v2! its revision v2 is not in the cache DIR/hub; get it with: hf download a/b --revision v2",
		},
		"revision of a pull request": {
			files: map[string]string{"models--a--b/refs/refs/pr/3": "c3", "models--a--b/snapshots/c3/config.json": "{}", "models--a--b/snapshots/c3/m.bin": "x"}, rev: "refs/pr/3",
			want: "a/b@refs/pr/3: DIR/hub/models--a--b/snapshots/c3",
		},
		"revision by its commit": {
			files: map[string]string{"models--a--b/snapshots/c4/config.json": "{}", "models--a--b/snapshots/c4/m.bin": "x"}, rev: "c4",
			want: "a/b@c4: DIR/hub/models--a--b/snapshots/c4",
		},
		"a revision that leaves the cache": {files: map[string]string{"models--a--b/refs/main": "c1"}, rev: "../../x", want: "a/b@../../x! its revision ../../x is not in the cache DIR/hub; get it with: hf download a/b --revision ../../x"},
		"cut off": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/config.json": "{}", "models--a--b/snapshots/c1/m.safetensors": ""},
			want:  "a/b! DIR/hub/models--a--b/snapshots/c1 has no weights; get it with: hf download a/b",
		},
		"one part is missing": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/config.json": "{}", "models--a--b/snapshots/c1/m.safetensors.index.json": index,
				"models--a--b/snapshots/c1/m-1.safetensors": "x", "models--a--b/snapshots/c1/m-2.safetensors": ""},
			want: "a/b! DIR/hub/models--a--b/snapshots/c1 lacks m-2.safetensors; get it with: hf download a/b",
		},
		"no configuration": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/m.safetensors": "x"},
			want:  "a/b! DIR/hub/models--a--b/snapshots/c1 has no config.json; get it with: hf download a/b",
		},
		"dummy weights": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/config.json": "{}"}, knobs: core.Knobs{"load_format": core.String("dummy")},
			want: "a/b: DIR/hub/models--a--b/snapshots/c1",
		},
		"offline by the study": {env: map[string]string{"HF_HUB_OFFLINE": "1"}, want: "a/b! not in the cache DIR/hub, and HF_HUB_OFFLINE forbids to fetch it; where there is a network: hf download a/b"},
		"cache by the study": {
			env: map[string]string{"HF_HUB_CACHE": "/nowhere/cache"}, want: "a/b! not in the cache /nowhere/cache; get it with: hf download a/b",
		},
		"a name without an owner": {model: "gpt2", want: "gpt2! not in the cache DIR/hub; get it with: hf download gpt2"},
		"tokenizer of another": {
			files: map[string]string{"models--a--b/refs/main": "c1", "models--a--b/snapshots/c1/config.json": "{}", "models--a--b/snapshots/c1/m.bin": "x"}, knobs: core.Knobs{"tokenizer": core.String("t/k")},
			want: "t/k! not in the cache DIR/hub; get it with: hf download t/k",
		},
		"drafting model":    {knobs: core.Knobs{"speculative_config": core.String(`{"method":"eagle3","model":"d/e"}`)}, want: "d/e! not in the cache DIR/hub; get it with: hf download d/e"},
		"no drafting model": {knobs: core.Knobs{"speculative_config": core.String(`{"method":"ngram","model":"ngram"}`)}, want: "a/b! not in the cache DIR/hub; get it with: hf download a/b"},
		"a relative folder": {model: "./m", want: "./m! a server runs in a folder of its own: give the whole path, or model_dir in local.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			tools(t, nil)
			dir := t.TempDir()
			t.Setenv("HF_HOME", dir)
			t.Setenv("HF_HUB_CACHE", "")
			t.Setenv("HF_HUB_OFFLINE", "")
			write(t, filepath.Join(dir, "hub"), tc.files)
			if tc.model == "" {
				tc.model = "a/b"
			}
			got := models(prepare(t, demo(), core.PlanRequest{Config: core.Config{Checkpoint: tc.model, Revision: tc.rev, Knobs: tc.knobs, Env: tc.env}}), dir)
			if len(got) == 0 || got[len(got)-1] != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestModelsInFolders(t *testing.T) {
	tools(t, nil)
	dir := t.TempDir()
	write(t, dir, map[string]string{"whole/config.json": "{}", "whole/m.safetensors": "x", "empty/config.json": "{}"})
	for path, want := range map[string]string{"whole": "a/b: DIR/whole", "empty": "a/b! DIR/empty has no weights", "nowhere": "a/b! there is no folder DIR/nowhere"} {
		req := core.PlanRequest{Config: core.Config{Checkpoint: "a/b"}, ModelPath: filepath.Join(dir, path)}
		p := prepare(t, demo(), req)
		if diff := cmp.Diff([]string{want}, models(p, dir)); diff != "" {
			t.Error(diff)
		}
		if v, ok := p.Facts["extra.checkpoint_revision"]; ok {
			t.Errorf("a folder has no revision: %v", v)
		}
		for _, n := range p.Needs {
			if n.Kind == "model" && len(n.Fetch) > 0 {
				t.Errorf("a folder is not fetched: %q", n.Fetch)
			}
		}
	}
	// What is neither a repository nor a folder is said, and holds up nothing.
	p := prepare(t, demo(), core.PlanRequest{Config: core.Config{Checkpoint: "s3://bucket/model"}})
	if got := models(p, dir); got != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "s3://bucket/model is not known to be here") {
		t.Errorf("%q, notes %q", got, p.Notes)
	}
}

// How a model is got: by the server's own interpreter, by a container's, by the
// hub's own program, or not at all.
func TestDownloads(t *testing.T) {
	version := `case "$*" in *importlib*) echo "sweepbook-version:1.0";; "image inspect"*) echo "sha256:abc";; esac` + "\n"
	dir := tools(t, map[string]string{"demo": "exit 0\n", "python3": version, "docker": version, "huggingface-cli": "exit 0\n"})
	write(t, dir, map[string]string{"script": "#!" + filepath.Join(dir, "python3") + "\n"})
	if err := os.Chmod(filepath.Join(dir, "script"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HF_HOME", filepath.Join(dir, "hf"))
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HUB_OFFLINE", "")
	config := core.Config{Checkpoint: "a/b", Revision: "v2", Env: map[string]string{"HF_HUB_ENABLE_HF_TRANSFER": "1", "OTHER": "x"}}
	for name, tc := range map[string]struct {
		origin core.Origin
		starts []string
		ends   []string
		env    map[string]string
	}{
		"interpreter of a script": {core.Origin{Cmd: filepath.Join(dir, "script")}, []string{filepath.Join(dir, "python3"), "-c"}, []string{"a/b", "v2", "weights"}, map[string]string{"HF_HUB_ENABLE_HF_TRANSFER": "1"}},
		"container": {core.Origin{Image: "demo:1"}, []string{"docker", "run", "--rm", "--pull=never", "-e", "HF_TOKEN", "-e", "HUGGING_FACE_HUB_TOKEN", "-e", "HF_HOME=/huggingface",
			"-v", filepath.Join(dir, "hf") + ":/huggingface", "--entrypoint", "python3", "demo:1", "-c"}, []string{"a/b", "v2", "weights"}, nil},
		"program of the hub": {core.Origin{}, []string{"huggingface-cli", "download", "a/b"}, []string{"--revision", "v2"}, map[string]string{"HF_HUB_ENABLE_HF_TRANSFER": "1"}},
		"no engine":          {core.Origin{Venv: "/nowhere"}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(t, demo(), core.PlanRequest{Config: config, Origin: tc.origin})
			need := p.Needs[len(p.Needs)-1]
			if need.Kind != "model" {
				t.Fatalf("%+v", need)
			}
			argv := need.Fetch
			if len(argv) < len(tc.starts)+len(tc.ends) || tc.starts == nil && argv != nil {
				t.Fatalf("%q", argv)
			}
			if diff := cmp.Diff(tc.starts, argv[:len(tc.starts)]); tc.starts != nil && diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.ends, argv[len(argv)-len(tc.ends):]); tc.ends != nil && diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.env, need.Env); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(need.Denied, "a/b is gated") || !strings.Contains(need.Denied, "HF_TOKEN") {
				t.Errorf("denied: %q", need.Denied)
			}
		})
	}
}

// A help that is only a page of the flags gives no verdict.
func TestPageOfHelp(t *testing.T) {
	tools(t, map[string]string{"demo": `printf 'usage: demo\n\n  --a A  x\n  --b B\n  --c C\n  --d D\n  --e E\n'` + "\n"})
	engine := serving.New(&serving.Dialect{Name: "vllm", Version: "1", Package: "demo", Command: []string{"demo"}, Help: [][]string{{"--help"}}, Always: []string{"--port"}})
	p, err := engine.Prepare(t.Context(), core.PrepareRequest{Plan: core.Plan{Processes: []core.Process{{Argv: []string{"demo", "m", "--max-num-seqs=8"}}}}})
	if err != nil || len(p.Flags) > 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "flags are not checked") {
		t.Errorf("%+v, %v", p, err)
	}
}

// An executable that is here counts, whatever its interpreter knows of packages; an
// interpreter that is to run a module must know it. A version with a build is the
// version.
func TestWhatCountsAsInstalled(t *testing.T) {
	dir := tools(t, map[string]string{"python3": `case "$*" in *importlib*) [ -z "$VERSION" ] && { echo PackageNotFoundError >&2; exit 1; }; echo "sweepbook-version:$VERSION";; esac` + "\n"})
	write(t, dir, map[string]string{"demo": "#!" + filepath.Join(dir, "python3") + "\n"})
	if err := os.Chmod(filepath.Join(dir, "demo"), 0o700); err != nil {
		t.Fatal(err)
	}
	module := serving.New(&serving.Dialect{Name: "sglang", Version: "1", Package: "demo", Install: "get it", Command: []string{"python3", "-m", "demo"}, Module: []string{"-m", "demo"}})
	for name, tc := range map[string]struct {
		engine         *serving.Adapter
		version, asked string
		found, problem string
	}{
		"executable":            {demo(), "", "", "version unknown", ""},
		"module":                {module, "", "", "", "has no package demo: get it"},
		"module of a version":   {module, "1.0+cu130", "1.0", "1.0+cu130 DIR/python3", ""},
		"executable of another": {demo(), "1.1", "1.0", "", "version 1.1 is installed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VERSION", tc.version)
			need := prepare(t, tc.engine, core.PlanRequest{Origin: core.Origin{Version: tc.asked}}).Needs[0]
			if got := strings.ReplaceAll(need.Found, dir, "DIR"); got != tc.found || !strings.Contains(need.Problem, tc.problem) || (need.Problem == "") != (tc.problem == "") {
				t.Errorf("%+v", need)
			}
		})
	}
}
