package tool_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/tool"
)

func random(name string) tool.Ask {
	n := core.Number
	return tool.Ask{Tool: name, BaseURL: "http://127.0.0.1:21000", Model: "m", Checkpoint: "m", Engine: "vllm",
		Workload: core.Workload{Dataset: "random", InputLen: n(512), OutputLen: n(128), IgnoreEOS: core.Bool(true), Turns: n(1), Endpoint: "chat"},
		Load:     core.Load{Concurrency: n(8), RequestRate: core.Unlimited(), NumPrompts: n(64), Seed: n(960923157000)}}
}

func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tool   string
		change func(*tool.Ask)
		want   string
	}{
		{"vllm closed loop", tool.VLLMBench, nil,
			"vllm bench serve --backend openai-chat --base-url http://127.0.0.1:21000 --endpoint /v1/chat/completions --model m --dataset-name random " +
				"--random-input-len 512 --random-output-len 128 --num-prompts 64 --max-concurrency 8 --seed 960923157000 --ignore-eos " +
				"--percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,95,99 --save-result --save-detailed --result-dir . --result-filename result.json"},
		{"vllm open loop on sharegpt, out of a venv", tool.VLLMBench, func(a *tool.Ask) {
			a.Origin.Venv, a.Checkpoint, a.DataPath = "/opt/vllm", "org/m", "/data/s.json"
			a.Workload = core.Workload{Dataset: "sharegpt", Path: "s.json", Endpoint: "completions", Params: core.Knobs{"temperature": core.Number(0), "top_p": core.Number(0.9)}}
			a.Load = core.Load{Concurrency: core.Unlimited(), RequestRate: core.Number(2.5), Burstiness: core.Unlimited(), NumPrompts: core.Number(10)}
			a.Goodput = map[string]float64{"ttft_ms": 200, "tpot_ms": 50}
		}, "/opt/vllm/bin/vllm bench serve --backend openai --base-url http://127.0.0.1:21000 --endpoint /v1/completions --model m --tokenizer org/m " +
			"--dataset-name sharegpt --dataset-path /data/s.json --num-prompts 10 --request-rate 2.5 --burstiness inf --temperature 0 --top-p 0.9 " +
			"--goodput tpot:50 ttft:200 --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,95,99 --save-result --save-detailed --result-dir . --result-filename result.json"},
		{"sglang on its own engine", tool.SGLangBench, func(a *tool.Ask) {
			a.Engine, a.Load.RequestRate, a.Load.Concurrency = "sglang", core.Number(4), core.Unlimited()
			a.Workload.Params = core.Knobs{"temperature": core.Number(0)}
		}, "python3 -m sglang.bench_serving --backend sglang-oai-chat --base-url http://127.0.0.1:21000 --model m --dataset-name random-ids " +
			`--random-input-len 512 --random-output-len 128 --random-range-ratio 1.0 --num-prompts 64 --request-rate 4 --seed 960923157000 --extra-request-body {"temperature":0} ` +
			"--warmup-requests 0 --output-details --output-file result.json"},
		{"sglang on another engine", tool.SGLangBench, func(a *tool.Ask) { a.Workload.Endpoint, a.Workload.IgnoreEOS = "completions", core.Missing() },
			"python3 -m sglang.bench_serving --backend vllm --base-url http://127.0.0.1:21000 --model m --dataset-name random-ids --random-input-len 512 " +
				"--random-output-len 128 --random-range-ratio 1.0 --num-prompts 64 --max-concurrency 8 --seed 960923157000 --disable-ignore-eos " +
				"--warmup-requests 0 --output-details --output-file result.json"},
		{"guidellm", tool.GuideLLM, nil,
			"guidellm run --backend kind=openai_http,target=http://127.0.0.1:21000,model=m,request_format=/v1/chat/completions " +
				"--data kind=synthetic_text,prompt_tokens=512,output_tokens=128 --profile kind=concurrent,streams=8 --constraint kind=max_requests,count=64 " +
				"--seed kind=static,value=960923157000 --output kind=json,path=result.json --disable-console-interactive"},
		{"guidellm at a rate for a time", tool.GuideLLM, func(a *tool.Ask) {
			a.Load = core.Load{Concurrency: core.Number(32), RequestRate: core.Number(5), Burstiness: core.Unlimited(), DurationS: core.Number(60)}
			a.Workload.IgnoreEOS = core.Bool(false)
		}, `guidellm run --backend {"extras":{"body":{"ignore_eos":false}},"kind":"openai_http","model":"m","request_format":"/v1/chat/completions","target":"http://127.0.0.1:21000"} ` +
			"--data kind=synthetic_text,prompt_tokens=512,output_tokens=128 --profile kind=constant,rate=5,max_concurrency=32 --constraint kind=max_duration,seconds=60 " +
			"--output kind=json,path=result.json --disable-console-interactive"},
		{"guidellm before 0.7", tool.GuideLLM, func(a *tool.Ask) { a.Origin = core.Origin{Version: "0.5.3", Cmd: "uvx guidellm"} },
			"uvx guidellm benchmark run --target http://127.0.0.1:21000 --model m --request-type chat_completions --data prompt_tokens=512,output_tokens=128 " +
				"--profile concurrent --rate 8 --max-requests 64 --random-seed 960923157000 --output-path result.json --disable-console-interactive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := random(tc.tool)
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := tool.Command(a)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("\n got %s\nwant %s", text, tc.want)
			}
		})
	}
}

// TestCommandRefuses: what a tool cannot be asked for is no trial under its name.
func TestCommandRefuses(t *testing.T) {
	for _, tc := range []struct {
		tool, want string
		change     func(*tool.Ask)
	}{
		{"wrk", "known are vllm-bench", func(*tool.Ask) {}},
		{tool.VLLMBench, "give requests", func(a *tool.Ask) { a.Load.NumPrompts = core.Missing() }},
		{tool.VLLMBench, "no duration", func(a *tool.Ask) { a.Load.DurationS = core.Number(60) }},
		{tool.VLLMBench, "conversations", func(a *tool.Ask) { a.Workload.Turns = core.Number(3) }},
		{tool.VLLMBench, "no data set builtin", func(a *tool.Ask) { a.Workload.Dataset = "builtin" }},
		{tool.VLLMBench, "not ttft_due", func(a *tool.Ask) { a.Goodput = map[string]float64{"ttft_due_ms": 1} }},
		{tool.VLLMBench, "no option for vocab_size", func(a *tool.Ask) { a.Workload.Params = core.Knobs{"vocab_size": core.Number(5000)} }},
		{tool.SGLangBench, "no option for range_ratio", func(a *tool.Ask) { a.Workload.Params = core.Knobs{"range_ratio": core.Number(0.5)} }},
		{tool.SGLangBench, "no goodput", func(a *tool.Ask) { a.Goodput = map[string]float64{"ttft_ms": 1} }},
		{tool.SGLangBench, "Poisson", func(a *tool.Ask) { a.Load.RequestRate, a.Load.Burstiness = core.Number(1), core.Number(2) }},
		{tool.GuideLLM, "want dataset random", func(a *tool.Ask) { a.Workload.Dataset = "sharegpt" }},
		{tool.GuideLLM, "not 0.5", func(a *tool.Ask) { a.Load.RequestRate, a.Load.Burstiness = core.Number(1), core.Number(0.5) }},
		{tool.GuideLLM, "before 0.7", func(a *tool.Ask) { a.Origin.Version, a.Workload.IgnoreEOS = "0.6.1", core.Missing() }},
		{tool.VLLMBench, "image", func(a *tool.Ask) { a.Origin.Image = "x" }},
	} {
		a := random(tc.tool)
		tc.change(&a)
		if got, err := tool.Command(a); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v %v, want %q", tc.tool, got, err, tc.want)
		}
	}
}
