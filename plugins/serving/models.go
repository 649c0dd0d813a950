package serving

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// checkpoint is a model that a server loads, and what it needs of it.
type checkpoint struct {
	name, revision string
	parts
}

// loaded lists what a configuration makes a server load: the checkpoint, and the
// tokenizer and the drafting model where they are others.
func loaded(c core.Config) []checkpoint {
	dummy := c.Knobs["load_format"] == core.String("dummy")
	out := []checkpoint{{checkpointOf(c), c.Revision, parts{config: true, weights: !dummy}}}
	add := func(name string, need parts) {
		// A drafting method may stand where others name a model.
		if strings.Contains(name, "/") && !slices.ContainsFunc(out, func(m checkpoint) bool { return m.name == name }) {
			out = append(out, checkpoint{name: name, parts: need})
		}
	}
	for _, knob := range []string{"tokenizer", "tokenizer_path"} {
		add(c.Knobs[knob].Text, parts{})
	}
	add(c.Knobs["speculative_draft_model_path"].Text, parts{config: true, weights: !dummy})
	var speculative map[string]any
	if json.Unmarshal([]byte(c.Knobs["speculative_config"].Text), &speculative) == nil {
		for _, key := range []string{"model", "speculative_model", "speculative_model_dir"} {
			if name, ok := speculative[key].(string); ok {
				add(name, parts{config: true, weights: !dummy})
			}
		}
	}
	return out
}

// models adds a need for each model of a configuration.
func (a *Adapter) models(req core.PrepareRequest, installed bool, p *core.Preparation) {
	for i, m := range loaded(req.Config) {
		if i == 0 && req.ModelPath != "" {
			// The folder is what it is; there is no revision of it.
			m.name, m.revision = req.ModelPath, ""
		}
		if m.name == "" {
			continue
		}
		need, note := a.model(req, m, installed)
		if note != "" {
			p.Notes = append(p.Notes, "model "+m.name+" is not known to be here: "+note)
			continue
		}
		if i == 0 {
			need.Name = checkpointOf(req.Config)
			if commit := filepath.Base(need.Found); need.Found != "" && hubName.MatchString(need.Name) && req.ModelPath == "" {
				p.Facts["extra.checkpoint_revision"] = core.String(commit)
			}
		}
		if m.revision != "" {
			need.Name += "@" + m.revision
		}
		p.Needs = append(p.Needs, need)
	}
}

// model looks for one model, or says why it cannot.
func (a *Adapter) model(req core.PrepareRequest, m checkpoint, installed bool) (core.Need, string) {
	need := core.Need{Kind: "model", Name: m.name}
	switch {
	case filepath.IsAbs(m.name):
		if err := complete(m.name, m.parts); err != nil {
			need.Problem = err.Error()
			return need, ""
		}
		need.Found = m.name
		return need, ""
	case strings.HasPrefix(m.name, ".") || strings.HasPrefix(m.name, "~"):
		need.Problem = "a server runs in a folder of its own: give the whole path, or model_dir in local.yaml"
		return need, ""
	case !hubName.MatchString(m.name):
		return need, "it is no repository of the hub and no folder"
	}
	env := a.serverEnv(req)
	if truthy(env("VLLM_USE_MODELSCOPE")) || truthy(env("SGLANG_USE_MODELSCOPE")) {
		return need, "it comes from ModelScope"
	}
	cache := hubCache(env)
	if req.Origin.Image != "" {
		if a.cacheDir == "" || req.Config.Env["HF_HOME"] != "" || req.Config.Env["HF_HUB_CACHE"] != "" {
			return need, "the configuration has the container's cache elsewhere"
		}
		cache = filepath.Join(a.cacheDir, "hub")
	}
	dir, _, err := snapshot(cache, m.name, m.revision)
	if err == nil {
		err = complete(dir, m.parts)
	}
	if err == nil {
		need.Found = dir
		return need, ""
	}
	if req.Origin.Cmd != "" && req.Origin.Image == "" && a.interpreter(req.Origin) == "" {
		// A wrapper may set the cache, or run the server on another machine.
		return need, err.Error() + ", and a command of its own may have it elsewhere"
	}
	byHand := "hf download " + m.name
	if m.revision != "" {
		byHand += " --revision " + m.revision
	}
	need.Problem = err.Error() + "; get it with: " + byHand
	need.Denied = m.name + " is gated, private or misspelt: ask for access at https://huggingface.co/" + m.name +
		", list HF_TOKEN under run.secrets of the study and set it in the environment"
	if hubOffline(env) {
		need.Problem = err.Error() + ", and HF_HUB_OFFLINE forbids to fetch it; where there is a network: " + byHand
		return need, ""
	}
	if installed {
		need.Fetch, need.Env = a.download(req, m)
	}
	return need, ""
}

// serverEnv looks up what a server of a configuration would see.
func (a *Adapter) serverEnv(req core.PrepareRequest) func(string) string {
	return func(name string) string {
		if v, ok := req.Config.Env[name]; ok {
			return v
		}
		return os.Getenv(name)
	}
}

// downloadScript gets a model as an engine would: of two forms of the weights the
// newer one, and none where they are dummies.
const downloadScript = `import sys
from huggingface_hub import HfApi, snapshot_download
repo, revision, weights = sys.argv[1], sys.argv[2] or None, sys.argv[3]
skip = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.tflite", "original/*", "metal/*", "onnx/*"]
names = HfApi().list_repo_files(repo, revision=revision)
if weights == "none":
    skip += ["*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf"]
elif any(name.endswith(".safetensors") for name in names):
    skip += ["*.bin", "*.pt", "*.pth"]
print(snapshot_download(repo, revision=revision, ignore_patterns=skip))
`

// download is the command that gets a model, with the server's own interpreter
// where it is known: that writes the cache which the server reads.
func (a *Adapter) download(req core.PrepareRequest, m checkpoint) (argv []string, env map[string]string) {
	weights := "weights"
	if !m.weights {
		weights = "none"
	}
	args := []string{"-c", downloadScript, m.name, m.revision, weights}
	if req.Origin.Image != "" {
		argv = append(containerProgram(req.Origin), "run", "--rm", "--pull=never")
		for _, name := range secretNames {
			argv = append(argv, "-e", name)
		}
		argv = append(argv, "-e", "HF_HOME="+cacheInside, "-v", a.cacheDir+":"+cacheInside, "--entrypoint", "python3", req.Origin.Image)
		return append(argv, args...), nil
	}
	for name, v := range req.Config.Env {
		if strings.HasPrefix(name, "HF_") || strings.HasPrefix(name, "HUGGINGFACE_") {
			if env == nil {
				env = map[string]string{}
			}
			env[name] = v
		}
	}
	if python := a.interpreter(req.Origin); python != "" {
		return append([]string{python}, args...), env
	}
	for _, tool := range []string{"hf", "huggingface-cli"} {
		if _, err := exec.LookPath(tool); err == nil {
			argv = []string{tool, "download", m.name}
			if m.revision != "" {
				argv = append(argv, "--revision", m.revision)
			}
			return argv, env
		}
	}
	return nil, nil
}
