package servingtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// prepare checks that a misspelt flag is found before anything is started, in an
// environment, in a container and behind a command of several words, and that what
// is known then stands in the facts.
func (b behaviour) prepare(t *testing.T) {
	dir := t.TempDir()
	// One program plays interpreter, executable and docker: it tells the version,
	// inspects an image and prints the fake's help.
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
*importlib.metadata*) echo "sweepbook-version:1.2.3";;
"image inspect"*) echo "demo/image@sha256:abc";;
*--help*) exec '%s' fake-%s --help;;
*) exit 3;;
esac
`, os.Args[0], b.fake.Engine)
	programs := []string{"bin/docker", "venv/bin/python3"}
	plain, err := b.engine.Plan(t.Context(), core.PlanRequest{Config: core.Config{Checkpoint: testModel}, Origin: core.Origin{Venv: filepath.Join(dir, "venv")}, Host: "127.0.0.1", Port: 21000})
	if err != nil {
		t.Fatal(err)
	}
	if own, err := filepath.Rel(dir, plain.Processes[0].Argv[0]); err == nil && !slices.Contains(programs, own) {
		programs = append(programs, own)
	}
	for _, name := range programs {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/usr/bin:/bin")
	t.Setenv("HF_HOME", filepath.Join(dir, "hf"))
	t.Setenv("HF_HUB_OFFLINE", "1")
	for name, origin := range map[string]core.Origin{
		"environment": {Venv: filepath.Join(dir, "venv")}, "container": {Image: "demo/image:1"}, "command": b.origin(),
	} {
		t.Run(name, func(t *testing.T) {
			req := core.PlanRequest{
				Config: core.Config{Engine: b.fake.Engine, Checkpoint: testModel, Knobs: core.Knobs{"kv_cache_dtyp": core.String("fp8"), "max_num_seqs": core.Number(8)}, CommandKnown: true},
				Origin: origin, Host: "127.0.0.1", Port: 21000,
			}
			b.prepared(t, name, req)
		})
	}
}

func (b behaviour) prepared(t *testing.T, form string, req core.PlanRequest) {
	plan, err := b.engine.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.engine.Prepare(t.Context(), core.PrepareRequest{PlanRequest: req, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Flags) != 1 || !strings.HasPrefix(p.Flags[0].Text, p.Flags[0].Flag+": ") || !slices.ContainsFunc(plan.Processes[0].Argv, func(arg string) bool {
		return arg == p.Flags[0].Flag || strings.HasPrefix(arg, p.Flags[0].Flag+"=")
	}) {
		t.Errorf("flags %+v of %q", p.Flags, plan.Processes[0].Argv)
	}
	want := map[string]core.Value{"environment": core.String("1.2.3"), "container": core.String("1.2.3")}[form]
	if got := p.Facts["engine_version"]; got != want {
		t.Errorf("version %v, want %v", got, want)
	}
	if got := p.Facts["image"]; form == "container" && got != core.String("demo/image:1@sha256:abc") {
		t.Errorf("image %v", got)
	}
	for name, v := range p.Facts {
		if err := (&core.Trial{}).SetField(name, v); err != nil {
			t.Error(err)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(p.Needs), func(n core.Need) bool { return n.Found != "" })
	if form == "command" {
		// Nobody knows where a wrapper has its models.
		if len(missing) > 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], testModel) {
			t.Errorf("missing %+v, notes %q", missing, p.Notes)
		}
		return
	}
	if len(p.Notes) > 0 {
		t.Errorf("notes %q", p.Notes)
	}
	if len(missing) != 1 || missing[0].Kind != "model" || missing[0].Name != testModel || !strings.Contains(missing[0].Problem, "HF_HUB_OFFLINE") {
		t.Errorf("missing: %+v", missing)
	}
}

// The adapters prepare.
var _ core.Preparer = (*serving.Adapter)(nil)
