//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkQueryProcess times whole processes: one that answers a question beside
// one that opens the history and ends. It reports the medians and their ratio,
// taken in turns, since a machine's noise comes and goes.
func BenchmarkQueryProcess(b *testing.B) {
	dir := b.TempDir()
	db := filepath.Join(dir, "a.db")
	examples, err := filepath.Abs("../../examples/imported")
	if err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) time.Duration {
		began := time.Now()
		if out, err := exec.Command("sweepbook", append([]string{"--db", db}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
		return time.Since(began)
	}
	run("import", examples)
	var open, answer []time.Duration
	for b.Loop() {
		open = append(open, run("db", "info"))
		answer = append(answer, run("query", "max total_tps where success_rate == 1 by study"))
	}
	slices.Sort(open)
	slices.Sort(answer)
	b.ReportMetric(float64(open[len(open)/2].Microseconds())/1e3, "ms-open")
	b.ReportMetric(float64(answer[len(answer)/2].Microseconds())/1e3, "ms-query")
	b.ReportMetric(float64(answer[len(answer)/2])/float64(open[len(open)/2]), "ratio")
}
