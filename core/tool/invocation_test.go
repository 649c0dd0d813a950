package tool_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/tool"
)

func TestRecognise(t *testing.T) {
	for _, tc := range []struct {
		command, tool, url string
		results            []tool.Place
	}{
		{"env X=1 vllm bench serve --model m --port 8001 --save-result --result-dir out --result-filename=r.json", tool.VLLMBench, "http://127.0.0.1:8001",
			[]tool.Place{{Path: "/w/out/r.json"}}},
		{"vllm bench serve --base_url http://h:1 --save_result", tool.VLLMBench, "http://h:1", []tool.Place{{Path: "/w", Pattern: "*.json"}}},
		{"vllm bench serve --model m", tool.VLLMBench, "http://127.0.0.1:8000", nil},
		{"python3 benchmarks/benchmark_serving.py --append-result --result-filename /a/r.json", tool.VLLMBench, "http://127.0.0.1:8000", []tool.Place{{Path: "/a/r.json"}}},
		{"python3 -m sglang.bench_serving --host 0.0.0.0 --output-file r.jsonl", tool.SGLangBench, "http://127.0.0.1:30000", []tool.Place{{Path: "/w/r.jsonl"}}},
		{"python -m sglang.bench_serving --backend vllm --host ::1", tool.SGLangBench, "http://[::1]:8000",
			[]tool.Place{{Path: "/w", Pattern: "*_[0-9][0-9][0-9][0-9]_*.jsonl"}}},
		{"guidellm benchmark --target http://h:2 --output-path out/b.json", tool.GuideLLM, "http://h:2", []tool.Place{{Path: "/w/out/b.json"}}},
		{"guidellm run --backend kind=openai_http,target=http://h:3,model=m --output kind=csv,path=b.csv --output kind=json,path=results", tool.GuideLLM, "http://h:3",
			[]tool.Place{{Path: "/w/results", Pattern: "benchmark*.json"}}},
		{"guidellm benchmark run --target http://h:2", tool.GuideLLM, "http://h:2", []tool.Place{{Path: "/w", Pattern: "benchmark*.json"}}},
		{"sh run.sh --save-result", "", "", nil},
		{"vllm serve m", "", "", nil},
	} {
		inv := tool.Recognise(strings.Fields(tc.command), "/w")
		if inv.Tool != tc.tool || inv.BaseURL != tc.url {
			t.Errorf("%s: tool %q at %q", tc.command, inv.Tool, inv.BaseURL)
		}
		if diff := cmp.Diff(tc.results, inv.Results); diff != "" {
			t.Errorf("%s: results (-want +got)\n%s", tc.command, diff)
		}
	}
	inv := tool.Recognise(strings.Fields("timeout 60 vllm bench serve --max-concurrency 4 --num-prompts 9"), "/w")
	if inv.Program != "vllm" || inv.Asked.Load.Concurrency != core.Number(4) || inv.Asked.Load.NumPrompts != core.Number(9) {
		t.Errorf("%+v", inv)
	}
}
