package ingest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// These bounds are too large to be reached through a file in a test.

func TestUnpackedIsBounded(t *testing.T) {
	b := &bounded{r: strings.NewReader("0123456789"), left: 4}
	data, err := io.ReadAll(b)
	if string(data) != "0123" || !errors.Is(err, errTooLong) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	c := &collector{file: "x.jsonl", around: &surroundings{}}
	raw := strings.Repeat("x", maxRaw)
	chunks := core.Sample{Chunks: make([]time.Duration, 1<<20)}
	const n = 10000
	for range n {
		c.begin()
		c.addRecord(record{trial: &core.Trial{}, src: core.Source{Raw: raw}, samples: []core.Sample{chunks}})
	}
	kept := len(c.records)
	if kept == 0 || kept >= n || c.rejected != n-kept {
		t.Fatalf("%d of %d kept, %d rejected", kept, n, c.rejected)
	}
	if len(c.errors) != 1 || !strings.Contains(c.errors[0].Message, "more than 512 MiB of records in one file: split it and import the parts") {
		t.Errorf("errors: %v", c.errors)
	}
	if c.records[0].samples == nil || c.records[kept-1].samples != nil {
		t.Error("requests are to be left out before trials")
	}
}
