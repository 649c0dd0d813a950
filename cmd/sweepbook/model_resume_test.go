//go:build linux

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A model goes on after kill -9 as if nothing had been: from what is recorded it comes to
// the same next choice, whenever it was killed.
func TestModelAfterKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = `study: model
model: {name: Qwen/Qwen3-8B}
engines: {sim: {}}
run: {timeouts: {ready: 30s, trial: 30s}}
load: {concurrency: 8}
workloads:
  chat: {dataset: random, input: 64, output: 16, requests: 16, seed: 1}
  quick: {dataset: random, input: 64, output: 16, requests: 8, seed: 1}
objective: max output_tokens / num_prompts * (1000 - (args.max_num_seqs - 8) * (args.max_num_seqs - 8)) * (50000 + args.max_num_batched_tokens) where success_rate == 1
decide_on: chat
baseline: {engine: sim, time_scale: 20, max_num_seqs: 16, max_num_batched_tokens: 1024}
search:
  strategy: model
  samples: 8
  min_gain: 0.01%
  seed: 4
  screen: {workload: quick, repeats: 2}
  matrix: {max_num_seqs: [4, 8, 12], max_num_batched_tokens: [1024, 2048, 3072]}
`
	if err := os.WriteFile(filepath.Join(dir, "model.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(db string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sweepbook", append([]string{"--db", db}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_DATA_HOME="+filepath.Join(dir, "data"), "TMPDIR="+dir, "SWEEPBOOK_LOCK_DIR="+filepath.Join(dir, "locks"))
		return cmd
	}
	way := func(db string) string {
		out, err := command(db, "-o", "csv", "query", `show stage, option, workload, repeat where status == "ok" order by number`).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out, err := command("whole.db", "run", "model.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	killed := 0
	for i := range 30 {
		cmd := command("killed.db", "run", "model.yaml")
		told, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		trials, lines := 0, bufio.NewScanner(told)
		for lines.Scan() {
			// After one, two, three trials of its own, in the launch or after it.
			if strings.HasPrefix(lines.Text(), "  trial ") {
				if trials++; trials == 1+i%3 && killed < 8 {
					killed++
					_ = cmd.Process.Kill() // that it is gone says Wait
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			break
		}
	}
	if killed < 4 {
		t.Errorf("killed %d times only", killed)
	}
	if got, want := way("killed.db"), way("whole.db"); got != want {
		t.Errorf("after %d kills the way is\n%s, want\n%s", killed, got, want)
	}
	if !strings.Contains(way("whole.db"), "\nmodel,") {
		t.Error("the model proposed nothing by itself")
	}
}
