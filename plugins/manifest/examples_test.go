package manifest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/manifest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

const examples = "../../examples/plugins/manifests"

func engine(t *testing.T, name string) *manifest.Engine {
	t.Helper()
	m, err := manifest.Read(filepath.Join(examples, name+".engine.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	return manifest.New(m)
}

// TestExamples holds each manifest that we ship to a command word by word.
func TestExamples(t *testing.T) {
	for name, c := range map[string]struct {
		checkpoint, revision, folder string
		knobs                        core.Knobs
		want, env, model             string
	}{
		"lmdeploy": {
			checkpoint: "Qwen/Qwen3-8B", revision: "abc", folder: "",
			knobs: core.Knobs{"tp": core.Number(2), "max_num_seqs": core.Number(64), "context_len": core.String("32K"), "enable_prefix_caching": core.Bool(true),
				"kernel_block_size": core.Number(16)},
			want: "lmdeploy serve api_server Qwen/Qwen3-8B --model-name Qwen/Qwen3-8B --revision abc --session-len 32768 --max-batch-size 64 --tp 2" +
				" --enable-prefix-caching --kernel-block-size 16 --server-name 127.0.0.1 --server-port 21000",
			model: "Qwen/Qwen3-8B",
		},
		"tgi": {
			checkpoint: "Qwen/Qwen3-8B", folder: "/models/qwen",
			knobs: core.Knobs{"tp": core.Number(1), "dtype": core.String("bfloat16"), "trust_remote_code": core.Bool(false)},
			want:  "text-generation-launcher --model-id /models/qwen --num-shard 1 --dtype bfloat16 --hostname 127.0.0.1 --port 21000",
			env:   "DISABLE_TELEMETRY=1", model: "/models/qwen",
		},
		"ollama": {
			checkpoint: "qwen3:8b",
			knobs:      core.Knobs{"max_num_seqs": core.Number(4), "flash_attention": core.Bool(true), "kv_cache_dtype": core.String("q8_0")},
			want:       "ollama serve",
			env: "OLLAMA_FLASH_ATTENTION=1 OLLAMA_HOST=127.0.0.1:21000 OLLAMA_KEEP_ALIVE=-1 OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_MAX_LOADED_MODELS=1" +
				" OLLAMA_NUM_PARALLEL=4",
			model: "qwen3:8b",
		},
		"openai": {
			checkpoint: "some/model", knobs: core.Knobs{"max_num_seqs": core.Number(4), "eager": core.Bool(true)},
			want: "openai-server --model some/model --eager --max-num-seqs 4 --host 127.0.0.1 --port 21000", model: "some/model",
		},
		"toy": {
			checkpoint: "Qwen/Qwen3-8B", knobs: core.Knobs{"enable_prefix_caching": core.Bool(false), "x": core.Bool(false)},
			want: "sweepbook sim-server --model Qwen/Qwen3-8B --no-enable-prefix-caching --no-x --host 127.0.0.1 --port 21000", model: "Qwen/Qwen3-8B",
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := servingtest.Case{Checkpoint: c.checkpoint, Revision: c.revision, Knobs: c.knobs}.PlanRequest(name)
			req.ModelPath = c.folder
			plan, err := engine(t, name).Plan(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			var env []string
			for _, k := range core.Knobs(knobsOf(plan.Processes[0].Env)).Names() {
				env = append(env, k+"="+plan.Processes[0].Env[k])
			}
			got := []string{servingtest.Shell(plan.Processes[0].Argv), strings.Join(env, " "), plan.Ready.Model, plan.Ready.BaseURL}
			if diff := cmp.Diff([]string{c.want, c.env, c.model, "http://127.0.0.1:21000"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// knobsOf gives a map the sorted names of knobs.
func knobsOf(env map[string]string) core.Knobs {
	out := core.Knobs{}
	for k := range env {
		out[k] = core.Bool(true)
	}
	return out
}

func TestExamplesConform(t *testing.T) {
	files, err := filepath.Glob(examples + "/*.engine.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d manifests (%v)", len(files), err)
	}
	for _, file := range files {
		name, _ := strings.CutSuffix(filepath.Base(file), ".engine.yaml")
		t.Run(name, func(t *testing.T) {
			enginetest.Conformance(t, engine(t, name), enginetest.Options{MustBenchmark: true})
		})
	}
}
