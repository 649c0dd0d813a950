package main

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// TestPortableCommands: the commands of a report run elsewhere as they stand, and the
// second finds the server of the first.
func TestPortableCommands(t *testing.T) {
	for argv, want := range map[string]string{
		"vllm serve M --host=127.0.0.1 --port=21970 --max-num-seqs=8":  "vllm serve M --max-num-seqs=8",
		"trtllm-serve M --host 127.0.0.1 --port 21970 --tp_size 2":     "trtllm-serve M --tp_size 2",
		"/proc/self/exe sim-server --port 1 --model M":                 "sweepbook sim-server --model M",
		"vllm serve M --hostile --portable=1 --served-model-name=port": "vllm serve M --hostile --portable=1 --served-model-name=port",
	} {
		if got := strings.Join(portable(strings.Fields(argv)), " "); got != want {
			t.Errorf("%s: %s, want %s", argv, got, want)
		}
	}
	tr := &core.Trial{}
	tr.Setup.Config = core.Config{Engine: "sglang", Checkpoint: "M"}
	tr.Workload = core.Workload{Dataset: "sharegpt", Path: "s.json", IgnoreEOS: core.Bool(true), Params: core.Knobs{"temperature": core.Number(0.7)}}
	tr.Load = core.Load{Concurrency: core.Number(4), DurationS: core.Number(90), Seed: core.Number(7)}
	want := "sweepbook bench http://127.0.0.1:30000 --model M --dataset sharegpt --data s.json --ignore-eos --param temperature=0.7 --duration 1m30s --concurrency 4 --seed 7"
	if got := benchLine(tr); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
