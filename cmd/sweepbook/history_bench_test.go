//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestMakeHistory keeps the generator itself in the suite.
func TestMakeHistory(t *testing.T) {
	n := 400
	path := filepath.Join(t.TempDir(), "a.db")
	if p := os.Getenv("BENCH_HISTORY"); p != "" {
		path = p
		n, _ = strconv.Atoi(os.Getenv("BENCH_TRIALS"))
	}
	began := time.Now()
	if err := makeHistory(t.Context(), path, n, func(done int) { t.Log(done, time.Since(began)) }); err != nil {
		t.Fatal(err)
	}
}
