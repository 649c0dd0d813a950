//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// holderMain is another program that has a history open and lets nobody in:
//
//	holder DB read|write SECONDS FILE
//
// FILE is made once it holds.
func holderMain() int {
	err := func() error {
		if len(os.Args) != 5 {
			return fmt.Errorf("usage: holder DB read|write TIME FILE")
		}
		d, err := time.ParseDuration(os.Args[3])
		if err != nil {
			return err
		}
		db, err := sql.Open("sqlite", "file:"+os.Args[1]+"?_pragma=busy_timeout(30000)")
		if err != nil {
			return err
		}
		ctx := context.Background()
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		begin := map[string]string{"read": "BEGIN", "write": "BEGIN IMMEDIATE"}[os.Args[2]]
		for _, text := range []string{begin, "SELECT count(*) FROM trial"} {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		if err := os.WriteFile(os.Args[4], nil, 0o600); err != nil {
			return err
		}
		time.Sleep(d)
		_, err = conn.ExecContext(ctx, "ROLLBACK")
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "holder:", err)
		return 1
	}
	return 0
}

// Eight processes start at once where there is nothing yet: one history is made, and
// all of it is in it once. Four bring the same files, four a file each of their own.
func TestEightStarts(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		dir := t.TempDir()
		db := filepath.Join(dir, "new", "history.db")
		var args [][]string
		for i := range 8 {
			if i%2 == 0 {
				args = append(args, []string{"--db", db, "import", "../../examples/imported"})
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("own-%d.json", i))
			record := fmt.Sprintf(`{"date": "20251130-12000%d", "backend": "vllm", "model_id": "m", "num_prompts": 10, "duration": 12.345%d, "completed": 10,
				"total_input_tokens": 1000, "total_output_tokens": 900, "request_throughput": 0.81, "output_throughput": 72.9%d, "total_token_throughput": 153.9,
				"mean_ttft_ms": 31.25%d, "median_ttft_ms": 30.5, "p99_ttft_ms": 44.125, "mean_tpot_ms": 7.0625, "median_tpot_ms": 7, "p99_tpot_ms": 9.5,
				"mean_itl_ms": 7.0625, "median_itl_ms": 7, "p99_itl_ms": 9.5}`, i, i, i, i)
			if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, []string{"--db", db, "import", file})
		}
		var all sync.WaitGroup
		for _, a := range args {
			all.Go(func() {
				out, err := exec.Command("sweepbook", a...).CombinedOutput()
				// On a slow machine the seven others may take longer than one waits.
				for range 10 {
					if err == nil || !strings.Contains(string(out), "history is busy") {
						break
					}
					out, err = exec.Command("sweepbook", a...).CombinedOutput()
				}
				if err != nil {
					t.Errorf("round %d: %q: %v: %s", round, a, err, out)
				}
			})
		}
		all.Wait()
		out, err := exec.Command("sweepbook", "--db", db, "-o", "csv", "query", "show count() as trials").Output()
		if err != nil || strings.TrimSpace(string(out)) != "trials\n62" {
			t.Errorf("round %d: %s %v, want the 58 trials of the files and 4", round, out, err)
		}
		if out, err := exec.Command("sweepbook", "--db", db, "db", "check").CombinedOutput(); err != nil {
			t.Errorf("round %d: %s", round, out)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "new", ".sweepbook-*")); len(left) > 0 {
			t.Errorf("round %d: left: %q", round, left)
		}
	}
}
