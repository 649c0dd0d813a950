package ingest

import "github.com/sweepbook/sweepbook/core"

// Asked is what a benchmark's command says of what it asks, which its result may
// leave out: vllm bench serve writes no lengths, sglang.bench_serving no number of
// prompts.
type Asked struct {
	Tool     string // "vllm-bench", "sglang-bench", "guidellm", "trtllm-benchmark-serving"
	Model    string // as the benchmark calls it
	Workload core.Workload
	Load     core.Load
}

// AskedBy reads the words of a benchmark's command, also behind env, timeout, uv
// and the like. It is false for any other command.
func AskedBy(argv []string) (Asked, bool) {
	for i := range argv {
		cmd := command{}
		if !cmd.match(argv[i:]) || cmd.tool == "" {
			continue
		}
		a := newAsk(cmd)
		return Asked{Tool: a.tool, Model: a.model, Workload: a.workload, Load: a.load}, true
	}
	return Asked{}, false
}
