package core_test

import (
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// request is a completed one: due at 0, sent after 10 ms, with chunks at the given
// milliseconds.
func request(tokens int, chunks ...int) core.Sample {
	s := core.Sample{Due: 0, Sent: 10 * time.Millisecond, InputTokens: 100, CachedTokens: -1, OutputTokens: tokens, RequestedOutput: 5}
	for _, at := range chunks {
		s.Chunks = append(s.Chunks, time.Duration(at)*time.Millisecond)
	}
	s.First, s.Last = s.Chunks[0], s.Chunks[len(chunks)-1]
	s.End = s.Last + time.Millisecond
	return s
}

func TestRequestFields(t *testing.T) {
	n, none := core.Number, core.Missing()
	whole := request(3, 110, 130, 170)
	failed := whole
	failed.Outcome = core.OutcomeFailed
	inverted := whole
	inverted.First = 5 * time.Millisecond
	backwards := whole
	backwards.Chunks = []time.Duration{110, 90, 170}
	imported := core.Sample{Due: core.NoTime, First: 200 * time.Millisecond, Last: 700 * time.Millisecond, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: 11, RequestedOutput: -1}
	counts := map[string]core.Value{"ttft_ms": none, "tpot_ms": none, "e2el_ms": none, "queue_ms": none, "itl_ms": none, "output_tokens": n(3), "input_tokens": n(100)}
	for _, tt := range []struct {
		name string
		s    core.Sample
		want map[string]core.Value
	}{
		{"a chunk a token", whole, map[string]core.Value{"ttft_ms": n(100), "tpot_ms": n(30), "e2el_ms": n(160), "itl_ms": n(30), "max_itl_ms": n(40),
			"icl_ms": n(30), "max_icl_ms": n(40), "ttft_due_ms": n(110), "e2el_due_ms": n(170), "queue_ms": n(10),
			"input_tokens": n(100), "cached_tokens": none, "output_tokens": n(3), "requested_output_tokens": n(5)}},
		{"several tokens a chunk", request(7, 110, 130, 170), map[string]core.Value{"tpot_ms": n(10), "itl_ms": none, "max_itl_ms": none, "icl_ms": n(30), "max_icl_ms": n(40)}},
		{"one token", request(1, 110), map[string]core.Value{"ttft_ms": n(100), "tpot_ms": none, "itl_ms": none, "icl_ms": none, "e2el_ms": n(100)}},
		{"all in one chunk", request(4, 110), map[string]core.Value{"tpot_ms": none, "icl_ms": none}},
		{"tokens unknown", request(-1, 110, 130), map[string]core.Value{"tpot_ms": none, "output_tokens": none, "icl_ms": n(20)}},
		{"failed", failed, counts},
		{"first token before it was sent", inverted, counts},
		{"chunks out of order", backwards, counts},
		{"imported, without the moment it was due", imported, map[string]core.Value{"ttft_ms": n(200), "tpot_ms": n(50), "e2el_ms": n(700),
			"ttft_due_ms": none, "queue_ms": none, "icl_ms": none, "input_tokens": none, "requested_output_tokens": none}},
	} {
		for name, want := range tt.want {
			f, ok := core.LookupRequestField(name)
			if !ok {
				t.Fatalf("%s is not known", name)
			}
			if got := f.Of(&tt.s); got != want {
				t.Errorf("%s: %s = %v, want %v", tt.name, name, got, want)
			}
		}
	}
	for _, f := range core.RequestFields() {
		if f.Doc == "" || f.Unit == "" {
			t.Errorf("%s: no unit or definition", f.Name)
		}
		if got, ok := core.LookupRequestField(f.Name); !ok || got.Name != f.Name {
			t.Errorf("%s: looked up as %q", f.Name, got.Name)
		}
	}
	if _, ok := core.LookupRequestField("p99_ttft_ms"); ok {
		t.Error("a request has no percentile")
	}
}
