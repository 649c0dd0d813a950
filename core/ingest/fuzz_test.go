package ingest_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core/ingest"
)

// FuzzRead: whatever the bytes, nothing panics, no figure is unbounded, every
// trial is fit to be stored, every header is accounted for, and reading again
// gives the same.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "fixtures", "*"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no fixtures")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("# random 4K input\n" + printedBlock(5, 4000, 20)))
	f.Add([]byte("dataset_name: x\nrequest_rate: inf\n--a={\"b\":1}\n" + printedBlock(5, 1, 1, "Mean Latency(s): 1e308", "P99.9 TTFT (ms): NaN")))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := ingest.Read(context.Background(), "fuzz.log", bytes.NewReader(data), ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range res.Trials {
			if err := tr.Validate(); err != nil {
				t.Error(err)
			}
			for name, v := range tr.Figures {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s is %v", name, v)
				}
			}
			for name, v := range tr.Extra {
				if math.IsNaN(v.Num) || math.IsInf(v.Num, 0) {
					t.Errorf("extra.%s is %v", name, v)
				}
			}
			if tr.Study == "" || len(tr.Sources) != 1 || tr.Sources[0].SHA256 == "" {
				t.Errorf("study %q, sources %v", tr.Study, tr.Sources)
			}
		}
		if len(res.Trials)+len(res.Skipped)+len(res.Errors) == 0 {
			t.Error("nothing imported and nothing said")
		}
		headers := strings.Count(string(data), "\n============ Serving Benchmark Result ============\n")
		if n := len(res.Trials) + len(res.Skipped) + len(res.Errors); n < headers {
			t.Errorf("%d headers, %d records and notes", headers, n)
		}
		again, err := ingest.Read(context.Background(), "fuzz.log", bytes.NewReader(data), ingest.Options{})
		if err != nil || len(again.Trials) != len(res.Trials) {
			t.Fatalf("a second reading gave %d trials instead of %d (%v)", len(again.Trials), len(res.Trials), err)
		}
		for i := range res.Trials {
			if res.Trials[i].ID != again.Trials[i].ID || describe(res.Trials[i], true) != describe(again.Trials[i], true) {
				t.Error("a second reading gave another trial")
			}
		}
	})
}
