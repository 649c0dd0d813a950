package ingest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// repository is the folder of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// shared gives a folder of the material beside the repository, or skips the test.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(repository(t), "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is not beside the repository", filepath.Join("shared", name))
	}
	return dir
}

func readFile(t *testing.T, path string) ingest.Result {
	t.Helper()
	res, err := ingest.File(context.Background(), path, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// distinct gives one trial of each identity, and checks that ids and SameTrial agree.
func distinct(t *testing.T, trials []*core.Trial) []*core.Trial {
	t.Helper()
	var out []*core.Trial
	for _, tr := range trials {
		seen := false
		for _, old := range out {
			same := core.SameTrial(old, tr, core.CoarserDecimals(old.Sources[0].Decimals, tr.Sources[0].Decimals))
			if same != (old.ID == tr.ID) {
				t.Errorf("%s and %s: same trial %t, same id %t", old.Sources[0].Position, tr.Sources[0].Position, same, old.ID == tr.ID)
			}
			seen = seen || same
		}
		if !seen {
			out = append(out, tr)
		}
	}
	return out
}

// describe renders a trial for a golden file: one field a line, missing ones left out.
func describe(t *core.Trial, figures bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", t.Sources[0].Position, t.ID)
	line := func(name string, v core.Value) {
		if !v.IsMissing() && v.Kind != core.KindUnset && v.String() != "" {
			fmt.Fprintf(&b, "  %s: %s\n", name, v)
		}
	}
	for _, name := range []string{"study", "stage", "option", "role", "status", "engine", "engine_version", "model", "checkpoint", "weight_dtype",
		"kv_dtype", "spec_method", "image", "gpu", "gpus", "tool", "workload", "dataset", "input_len", "output_len", "ignore_eos",
		"concurrency", "request_rate", "burstiness", "num_prompts", "seed", "success_rate"} {
		line(name, t.Value(name))
	}
	fmt.Fprintf(&b, "  path: %s endpoint: %s params: %s\n", t.Workload.Path, t.Workload.Endpoint, t.Workload.Params)
	fmt.Fprintf(&b, "  knobs: %s known: %t env: %v\n", t.Setup.Config.Knobs, t.Setup.Config.CommandKnown, t.Setup.Config.Env)
	for _, name := range core.Knobs(t.Extra).Names() {
		line("extra."+name, t.Extra[name])
	}
	if figures {
		b.WriteString(" ")
		for _, name := range t.Figures.Names() {
			if t.Derived[name] == "" {
				fmt.Fprintf(&b, " %s=%v", name, t.Figures[name])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func describeAll(res ingest.Result, figures bool) string {
	var b strings.Builder
	for _, tr := range res.Trials {
		b.WriteString(describe(tr, figures))
	}
	for _, n := range res.Skipped {
		fmt.Fprintf(&b, "skipped %s\n", n)
	}
	for _, n := range res.Errors {
		fmt.Fprintf(&b, "error %s\n", n)
	}
	return b.String()
}
