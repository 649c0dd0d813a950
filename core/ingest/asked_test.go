package ingest_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

func TestAskedBy(t *testing.T) {
	a, ok := ingest.AskedBy(strings.Fields("timeout 600 vllm bench serve --model org/m --dataset-name random --random-input-len 512 --random-output-len 128 --num-prompts 64 --max-concurrency 8 --seed 3 --ignore-eos"))
	if !ok || a.Tool != "vllm-bench" || a.Model != "org/m" {
		t.Fatalf("%+v %t", a, ok)
	}
	want := core.Load{Concurrency: core.Number(8), RequestRate: core.Unlimited(), NumPrompts: core.Number(64), Seed: core.Number(3)}
	if a.Load != want || a.Workload.InputLen != core.Number(512) || a.Workload.OutputLen != core.Number(128) || !a.Workload.IgnoreEOS.True() || a.Workload.Dataset != "random" {
		t.Errorf("%+v", a)
	}
	if a, ok := ingest.AskedBy([]string{"python3", "-m", "sglang.bench_serving", "--num-prompts", "10"}); !ok || a.Tool != "sglang-bench" || a.Load.NumPrompts != core.Number(10) {
		t.Errorf("%+v %t", a, ok)
	}
	a, ok = ingest.AskedBy(strings.Fields("guidellm run --backend kind=openai_http,target=http://h:1,model=org/m --data kind=synthetic_text,prompt_tokens=256,output_tokens=128 " +
		"--profile kind=concurrent,streams=4 --constraint kind=max_requests,count=20 --constraint kind=max_error_rate,rate=0.05"))
	if !ok || a.Tool != "guidellm" || a.Model != "org/m" || a.Load.Concurrency != core.Number(4) || a.Load.NumPrompts != core.Number(20) ||
		!a.Load.RequestRate.IsMissing() || a.Workload.InputLen != core.Number(256) || a.Workload.OutputLen != core.Number(128) {
		t.Errorf("%+v %t", a, ok)
	}
	for _, other := range []string{"vllm serve org/m", "sh run.sh", "echo bench", ""} {
		if a, ok := ingest.AskedBy(strings.Fields(other)); ok {
			t.Errorf("%s: %+v", other, a)
		}
	}
}
