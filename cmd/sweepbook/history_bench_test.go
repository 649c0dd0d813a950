//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The answers are those that other programs give which know nothing of the language.
func TestRivalsAgree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := makeHistory(t.Context(), path, 2000, func(int) {}); err != nil {
		t.Fatal(err)
	}
	for _, q := range rivalQueries {
		agreeWithRival(t, path, q.name, q.query)
	}
}

func agreeWithRival(t testing.TB, path, name, query string) {
	t.Helper()
	decode := func(command string, args ...string) any {
		var stderr bytes.Buffer
		cmd := exec.Command(command, args...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", command, args, err, &stderr)
		}
		var doc any
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatalf("%s %v: %v\n%s", command, args, err, out)
		}
		return doc
	}
	want := decode("rival", name, path)
	got := decode("sweepbook", "--db", path, "--output", "json", "query", query)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-rival +sweepbook):\n%s", query, d)
	}
}

// BenchmarkHistory asks a large history in whole processes, in turns with rivals that
// answer the same by SQL or a loop written by hand, and prints the medians of seven.
// BENCH_HISTORY names the file, which is made where it is not there and kept.
func BenchmarkHistory(b *testing.B) {
	path := os.Getenv("BENCH_HISTORY")
	if path == "" {
		b.Skip("make bench-history runs it")
	}
	n := 1_000_000
	if s := os.Getenv("BENCH_TRIALS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	small := path + ".small"
	for file, trials := range map[string]int{path: n, small: min(n, 10_000)} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		// In a process of its own: what a child is said to have used at most is no less
		// than what its parent did when it was started.
		made := file + ".part"
		cmd := exec.Command("rival", "make "+strconv.Itoa(trials), made)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		if err := os.Rename(made, file); err != nil {
			b.Fatal(err)
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%d cores, %s, %s, medians of %d in turns\n", runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly), rounds)
	fmt.Fprintf(out, "bytes a trial: %s\n", bytesOfTrial(b, path, n))
	fmt.Fprintln(out, "question\tms\tCPU ms\trival ms\tCPU ms\tratio\tof CPU\tbound\tMiB\tof 10,000 trials CPU ms\tgrowth")
	line := func(name, bound string, ours, rival func(db string) *exec.Cmd) {
		m := measure(b, ours(path), rival(path))
		s := measure(b, ours(small), rival(small))
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%s\t%d\t%.0f\t%.0f\n", name, m.wall[0], m.cpu[0], m.wall[1], m.cpu[1],
			m.wall[0]/m.wall[1], m.cpu[0]/m.cpu[1], bound, m.mib, s.cpu[0], m.cpu[0]/s.cpu[0])
		fmt.Fprintln(os.Stderr, name, m, s)
	}
	bounds := map[string]string{"matches": "2", "pareto": "2.5"}
	for _, q := range rivalQueries {
		agreeWithRival(b, path, q.name, q.query)
		bound := bounds[q.name]
		if bound == "" {
			bound = "1.5"
		}
		line(q.query, bound,
			func(db string) *exec.Cmd {
				return exec.Command("sweepbook", "--db", db, "--output", "json", "query", q.query)
			},
			func(db string) *exec.Cmd { return exec.Command("rival", q.name, db) })
	}
	open := func(db string) *exec.Cmd { return exec.Command("rival", "open", db) }
	defer out.Flush()
	for _, args := range [][]string{{"list"}, {"show", "5000"}, {"where"}} {
		line("sweepbook "+strings.Join(args, " "), "2",
			func(db string) *exec.Cmd { return exec.Command("sweepbook", append([]string{"--db", db}, args...)...) }, open)
	}
}

const rounds = 7

// measured are medians in milliseconds, ours and the rival's. Processor time is what a
// machine that does other things changes least.
type measured struct {
	wall, cpu [2]float64
	mib       int // most memory of ours
}

// measure runs two commands in turns, since a machine's noise comes and goes.
func measure(b *testing.B, ours, rival *exec.Cmd) measured {
	b.Helper()
	var m measured
	var walls, cpus [2][]float64
	for range rounds {
		for i, command := range []*exec.Cmd{ours, rival} {
			cmd := exec.Command(command.Args[0], command.Args[1:]...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			began := time.Now()
			if err := cmd.Run(); err != nil {
				b.Fatalf("%v: %v\n%s", cmd.Args, err, &stderr)
			}
			walls[i] = append(walls[i], float64(time.Since(began).Microseconds())/1e3)
			cpus[i] = append(cpus[i], float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/1e3)
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && i == 0 {
				m.mib = max(m.mib, int(usage.Maxrss>>10)) // KiB on Linux
			}
		}
	}
	for i := range walls {
		slices.Sort(walls[i])
		slices.Sort(cpus[i])
		m.wall[i], m.cpu[i] = walls[i][rounds/2], cpus[i][rounds/2]
	}
	return m
}

// bytesOfTrial says how much of the file one trial takes: its typed row, its share of
// settings and all indexes.
func bytesOfTrial(b *testing.B, path string, n int) string {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	of := func(where string) float64 {
		var bytes sql.NullInt64
		if err := db.QueryRowContext(ctx, "SELECT sum(pgsize) FROM dbstat WHERE aggregate = 1 AND "+where).Scan(&bytes); err != nil {
			b.Fatal(err)
		}
		return float64(bytes.Int64) / float64(n)
	}
	row := of("name = 'trial'")
	indexes := of("name IN (SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'trial')")
	share := of("name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN ('config', 'setup', 'workload', 'launch', 'knob', 'knobset', 'knob_name', 'name', 'load_point', 'context', 'verdict', 'derivation'))")
	return fmt.Sprintf("row %.0f, indexes %.0f, share of settings %.0f, together %.0f of at most %d", row, indexes, share, row+indexes+share, 1228)
}
