package vllm

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// TestCPULog: the CPU backend of vLLM 0.32 says some things in its own words.
func TestCPULog(t *testing.T) {
	r := &serving.Report{Resolved: core.Knobs{}}
	read("(EngineCore pid=9701) INFO 12-01 02:36:11 [kv_cache_utils.py:2327] CPU KV cache size: 668,800 tokens, Maximum concurrency for 1,024 tokens per request: 653.12x", r)
	if got := r.Resolved["kv_cache_tokens"]; got != core.Number(668800) {
		t.Errorf("KV cache of %v tokens", got)
	}
	for _, line := range []struct{ text, want string }{
		{"(Worker pid=10728) INFO 12-01 02:36:10 [decorators.py:320] [backbone] Directly load AOT compilation from path /home/me/.cache/vllm/torch_compile_cache/x/model", "warm"},
		{"(Worker pid=10728) INFO 12-01 02:36:10 [decorators.py:743] [backbone] saved AOT compiled function to /home/me/.cache/vllm/torch_compile_cache/x/model", "cold"},
	} {
		read(line.text, r)
		if got := r.Resolved["compile_cache"]; got != core.String(line.want) {
			t.Errorf("compile cache %v after %q, want %s", got, line.text, line.want)
		}
	}
}
