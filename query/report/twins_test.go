package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

func TestDefaultSeqs(t *testing.T) {
	for _, tt := range []struct {
		engine, version, gpu string
		want                 core.Value
	}{
		{"vllm", "0.17.1", "NVIDIA H100 80GB HBM3", core.Number(1024)},
		{"vllm", "v0.9.0rc1", "NVIDIA H200", core.Number(1024)},
		{"vllm", "1.0", "AMD Instinct MI300X", core.Number(1024)},
		{"vllm", "0.11.0", "NVIDIA A100-SXM4-80GB", core.Number(256)},
		{"vllm", "0.11.0", "NVIDIA L4", core.Number(256)},
		{"vllm", "0.8.5", "NVIDIA H100 80GB HBM3", core.Missing()},
		{"vllm", "", "NVIDIA H100 80GB HBM3", core.Missing()},
		{"vllm", "0.11.0", "", core.Missing()},
		{"sglang", "0.5.5", "NVIDIA H100 80GB HBM3", core.Missing()},
	} {
		if got := defaultSeqs(tt.engine, tt.version, tt.gpu); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestTwins: which rows ought to give one figure.
func TestTwins(t *testing.T) {
	fields := []string{"setup", "args.max_num_seqs", "peak_concurrency", "engine", "engine_version", "gpu", "concurrency", "num_prompts", "passed.tp"}
	columns := append([]string{"number"}, fields...)
	a := &rows{&query.Answer{}}
	for _, c := range columns {
		a.Columns = append(a.Columns, query.Column{Name: c})
	}
	add := func(setup string, seqs core.Value, peak, concurrency core.Value, tp float64) {
		a.Rows = append(a.Rows, []core.Value{core.Number(float64(len(a.Rows))), core.String(setup), seqs, peak, core.String("vllm"), core.String("0.11.0"),
			core.String("NVIDIA H100 80GB HBM3"), concurrency, core.Number(1000), core.Number(tp)})
	}
	n, none := core.Number, core.Missing()
	add("a", n(512), n(512), none, 1)       // 0: at the observed peak
	add("b", n(2048), n(512), none, 1)      // 1: above it
	add("c", core.Unset(), n(512), none, 1) // 2: the default is 1024
	add("d", n(256), n(512), none, 1)       // 3: acts
	add("d", n(256), n(512), none, 1)       // 4: acts, but repeats 3
	add("e", n(512), n(512), none, 2)       // 5: differs in another knob
	add("f", n(64), n(80), n(64), 1)        // 6: at the set limit, which the count by seconds exceeds
	add("g", n(128), n(80), n(64), 1)       // 7: above it
	add("h", n(128), none, none, 4)         // 8: up to 1000 may have been in flight
	add("i", n(2000), none, none, 4)        // 9: more than there were requests
	add("j", n(2000), none, none, 4)        // 10: another setup at the same limit: something hidden differs
	want := [][]int{{0, 1, 2}, {3, 4}, {6, 7}}
	if diff := cmp.Diff(want, twins(a, fields)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSpellsSeqs(t *testing.T) {
	for knob, want := range map[string]bool{"max_num_seqs": true, "max_running_requests": true, "max_batch_size": true, "max_batched_tokens": false} {
		if spellsSeqs(knob) != want {
			t.Errorf("%s: %t", knob, !want)
		}
	}
}

func TestChoices(t *testing.T) {
	a := attributes{"passed.tp": core.Number(2), "checkpoint": core.String("m-FP8")}
	c := attributes{"passed.tp": core.Number(2), "checkpoint": core.String("m-FP8"), "passed.seed": core.Number(1)}
	d := attributes{"passed.tp": core.Number(4)}
	if !a.nested(c) || c.nested(a) || a.nested(a) || d.nested(c) || !(attributes{}).nested(d) {
		t.Error("nested")
	}
	if s, n := a.to(c); s != "seed=1" || n != 1 {
		t.Errorf("%q, %d", s, n)
	}
	if s, n := a.to(d); s != "tp=4 without checkpoint" || n != 2 {
		t.Errorf("%q, %d", s, n)
	}
}
