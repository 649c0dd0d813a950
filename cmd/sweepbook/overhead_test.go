//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core/progress"
)

var overheadTrials = flag.Int("overhead", 8, "trials of TestOverhead; from 200 on its share is judged")

// overheadStudy is a grid whose launches measure four loads each. Where it is judged the
// simulator keeps twice the pace of a GPU, so that trials last as long as short ones do.
const overheadStudy = `study: overhead
model: {name: Qwen/Qwen3-8B}
hardware: {gpu: NVIDIA H100 80GB HBM3, gpus: 1}
engines: {sim: {}}
run: {timeouts: {ready: 5m, trial: 5m}, warmup: {requests: 2}, budget: {trials: %d}}
load: {concurrency: [1, 2, 4, 8]}
workloads:
  chat: {dataset: random, input: 256, output: 64, requests: 32, seed: 1, endpoint: completions}
objective: max output_tps where success_rate == 1
baseline: {engine: sim, time_scale: %d}
search:
  strategy: grid
  matrix:
    max_num_seqs: [null, 1, 2, 3, 4, 5, 6, 8, 12, 16]
    max_num_batched_tokens: [null, 512, 1024, 2048, 4096, 8192, 16384]
`

// TestOverhead runs a study and accounts for its time by what it tells of itself:
// what is neither a server on its way to ready or to its end nor a benchmark is
// Sweepbook's own. A short study only shows that the account is whole.
func TestOverhead(t *testing.T) {
	n, scale := *overheadTrials, 20
	if n >= 200 {
		scale = 2
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"study.yaml": fmt.Sprintf(overheadStudy, n, scale), "local.yaml": fmt.Sprintf("ports: %d\n", testPorts())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sweepbook", "--db", "h.db", "run", "--progress", "ndjson", "study.yaml")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "SWEEPBOOK_DB=")
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began).Seconds()
	if exit := cmd.ProcessState.ExitCode(); exit != exitError { // the budget ends it
		t.Fatalf("exit code %d (%v):\n%s", exit, err, said.String())
	}
	var launch, bench, stop float64
	var launched time.Time
	trials, outcome := 0, ""
	for line := range bytes.Lines(said.Bytes()) {
		var e progress.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("stderr has a line that is no event: %s", line)
		}
		switch e.Event {
		case progress.KindLaunch:
			launched = e.At
		case progress.KindReady:
			launch += e.At.Sub(launched).Seconds()
		case progress.KindTrial:
			bench += *e.Elapsed
			trials++
		case progress.KindStopped:
			stop += *e.Elapsed
		case progress.KindEnd:
			outcome = e.End.Outcome
		}
	}
	own := wall - launch - bench - stop
	t.Logf("%d trials in %.1f s on %d cores at time_scale %d: launches %.1f s, benchmarks %.1f s, ends of servers %.1f s, the rest %.2f s: %.2f %%, %.1f ms a trial",
		trials, wall, runtime.NumCPU(), scale, launch, bench, stop, own, 100*own/wall, 1000*own/float64(max(1, trials)))
	switch {
	case trials != n || outcome != "budget":
		t.Errorf("%d trials were measured, outcome %s; want %d and budget", trials, outcome, n)
	case launch <= 0 || bench <= 0 || stop <= 0 || own <= 0:
		t.Error("the account is not whole")
	case n >= 200 && own > wall/100:
		t.Errorf("%.2f %% of the time is Sweepbook's own, want less than 1 %%", 100*own/wall)
	}
}
