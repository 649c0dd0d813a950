package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// A folder of vllm bench sweep holds every measured run three times: in the run's
// own file, in the summary of its combination and in the summary of all. Its
// folders are named after the settings that vary:
//
//	<experiment>/SERVE--max_num_seqs=32-BENCH--max_concurrency=16/run=0.json

var runFile = regexp.MustCompile(`^run=\d+\.json$`)

// isWarmup: the run that the sweep itself does not count.
func isWarmup(name string, o *object) bool {
	n, ok := number(o.vals["run_number"])
	return ok && n < 0 || name == "warmup.json" && o.has("run_number")
}

// copyOf makes the key by which the copies of one run are known in one walk. The
// copies hold the same full floats, so all figures count.
func (d *draft) copyOf(name string) {
	number, isRun := d.t.Extra["run_number"]
	if !isRun {
		return
	}
	d.summary = !runFile.MatchString(filepath.Base(name))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", number, d.t.Load.Concurrency, d.t.Load.RequestRate)
	for _, figure := range d.t.Figures.Names() {
		fmt.Fprintf(&b, " %s=%v", figure, d.t.Figures[figure])
	}
	sum := sha256.Sum256([]byte(b.String()))
	d.copyKey = hex.EncodeToString(sum[:])
}

// sweep takes the settings in the name of a combination's folder, where the file
// does not say them: SERVE--a=1-b=2-BENCH--c=3-WL--d=4.
func (d *draft) sweep(combination string) {
	if combination == "" {
		return
	}
	serve, bench, _ := strings.Cut(strings.TrimPrefix(combination, "SERVE-"), "-BENCH-")
	serve = strings.TrimLeft(serve, "-")
	bench, work, _ := strings.Cut(strings.TrimLeft(bench, "-"), "-WL-")
	for _, pair := range namePairs(serve) {
		d.knob(pair[0], setting(pair[1]))
	}
	for _, pair := range append(namePairs(bench), namePairs(strings.TrimLeft(work, "-"))...) {
		if p, ok := lookupKey(core.SnakeKnob(pair[0])); ok && p.kind == toField && d.t.Value(p.name).IsMissing() {
			d.setting(p.name, pair[1])
		}
	}
	if d.t.Option == "" {
		d.t.Option = clip(serve, 200)
	}
}

var namePair = regexp.MustCompile(`(?:^|-)([A-Za-z_][\w.]*(?:-[A-Za-z_]\w*)*)=`)

// namePairs splits "max_num_seqs=32-dtype=auto" into its pairs.
func namePairs(name string) (pairs [][2]string) {
	at := namePair.FindAllStringSubmatchIndex(name, 64)
	for i, m := range at {
		end := len(name)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		pairs = append(pairs, [2]string{name[m[2]:m[3]], name[m[1]:end]})
	}
	return pairs
}

// isSweepFailure: what a sweep that goes on after an error leaves of a run.
func isSweepFailure(o *object) bool {
	return o.has("error_type") && o.has("error") && !o.has("completed") &&
		(o.has("serve_overrides") || o.has("bench_overrides") || o.has("run_number"))
}

// readSweepFailure makes a failed trial of it, with the settings of the
// combination.
func readSweepFailure(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("vllm-sweep-failure", "vllm-bench", o.line)
	t := d.t
	t.Setup.Config.Engine = "vllm"
	combination, experiment := sweepPath(r.in.path)
	d.study = experiment
	serve, bench := o.sub("serve_overrides"), o.sub("bench_overrides")
	for _, key := range serve.keys {
		if value, scalar := scalarOf(serve.vals[key]); scalar {
			d.knob(key, value)
		}
	}
	for _, key := range bench.keys {
		d.key(key, bench.vals[key])
	}
	if n, ok := number(o.vals["run_number"]); ok && n >= 0 && n < 1e6 {
		t.Repeat = int(n) + 1
		d.extra("run_number", core.Number(n))
	}
	d.sweep(strings.TrimSuffix(combination, "-failure.json"))
	kind, message := o.text("error_type"), strings.Join(strings.Fields(o.text("error")), " ")
	t.Status = core.StatusFailed
	t.Failure = failureOf(kind, message, len(bench.keys) > 0 || o.has("run_number"))
	t.FailureText = maskSecrets(clip(strings.Trim(kind+": "+message, ": "), 1000))
	d.add(r.out, shortRaw(o))
}

// failureOf names the class of an error by its words; benching tells whether the
// server was up.
func failureOf(kind, message string, benching bool) core.FailureClass {
	lower := strings.ToLower(kind + " " + message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(lower, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("outofmemory", "out of memory"):
		return core.OOMRuntime
	case has("keyboardinterrupt"):
		return core.Interrupted
	case has("no space left"):
		return core.DiskFull
	case has("become ready", "not ready", "failed to start"):
		return core.StartupTimeout
	case has("timeout", "timed out"):
		if benching {
			return core.BenchTimeout
		}
		return core.StartupTimeout
	case benching:
		return core.BenchFailed
	case has("exit", "died", "terminated"):
		return core.Crash
	}
	return core.UnknownFailure
}
