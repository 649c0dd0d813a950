package ingest

import (
	"bufio"
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

// TestGapsAreBounded: beyond the gaps that are kept a request still has its last
// token, and no figure is worked out of a part of the gaps.
func TestGapsAreBounded(t *testing.T) {
	text := `{"completed":4,"duration":2,"request_throughput":2,"ttfts":[0.1,0.2,0.3,0.4],"output_lens":[3,3,3,3],` +
		`"itls":[[0.01,0.02],[0.03,0.04],[0.05, 0.06],[0.07,null]],"errors":["","","",""]}`
	j := newJSONReader(bufio.NewReader(strings.NewReader(text)), unneeded)
	j.most = 3
	v, _, err := j.next()
	o, ok := v.(*object)
	if err != nil || !ok {
		t.Fatal(v, err)
	}
	d := newDraft("vllm-json", "vllm-bench", 1)
	d.detail(o)
	for i, want := range []struct {
		last   time.Duration
		chunks int
	}{{130 * time.Millisecond, 3}, {270 * time.Millisecond, 3}, {410 * time.Millisecond, 0}, {core.NoTime, 0}} {
		if s := d.samples[i]; s.Last != want.last || len(s.Chunks) != want.chunks {
			t.Errorf("request %d: last %v and %d chunks, want %v and %d", i, s.Last, len(s.Chunks), want.last, want.chunks)
		}
	}
	f := d.t.Figures
	if _, ok := f["mean_itl_ms"]; ok || f["mean_tpot_ms"] < 30 || f["mean_ttft_ms"] != 250 {
		t.Errorf("figures %v", f)
	}
	if len(d.warnings) != 1 || !strings.Contains(d.warnings[0], "of 2 requests the gaps between chunks are kept as their sum only") {
		t.Errorf("warnings %q", d.warnings)
	}
}
