package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// printedBlock is a block of n requests with mean lengths in and out.
func printedBlock(n, in, out int, rows ...string) string {
	return fmt.Sprintf(`============ Serving Benchmark Result ============
Successful requests:                     %d
%sBenchmark duration (s):                  50.00
Total input tokens:                      %d
Total generated tokens:                  %d
Request throughput (req/s):              %.2f
Total Token throughput (tok/s):          %.2f
Mean TTFT (ms):                          31.00
Median TTFT (ms):                        30.00
P99 TTFT (ms):                           60.00
==================================================
`, n, strings.Join(append(rows, ""), "\n"), n*in, n*out, float64(n)/50, float64(n*(in+out))/50)
}

func readText(t *testing.T, text string) ingest.Result {
	t.Helper()
	res, err := ingest.Read(context.Background(), "text.log", strings.NewReader(text), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const (
	longRun  = "vllm bench serve --model demo/m1 --dataset-name random --random-input-len 4000 --random-output-len 200 --num-prompts 50\n"
	shareRun = "vllm bench serve --model demo/m1 --dataset-name sharegpt --dataset-path data/ShareGPT.json --num-prompts 80 --request-rate 2.5\n"
)

// TestWorkloadOfBlock: which command, profile or label a block answers.
func TestWorkloadOfBlock(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"fixed lengths fit", longRun + shareRun + printedBlock(50, 3990, 180), "random 4000/200 c=unlimited r=unlimited n=50"},
		{"sharegpt is what no length claims", shareRun + longRun + printedBlock(80, 220, 200), "sharegpt c=unlimited r=2.5 n=80"},
		{"more requests than asked", longRun + shareRun + printedBlock(81, 220, 200), " c= r= n="},
		{"prompts too long for sharegpt", shareRun + printedBlock(80, 3000, 200), " c= r= n="},
		{"answers too short for the length", longRun + printedBlock(50, 4000, 20), " c= r= n="},
		{"answers longer than the length", longRun + printedBlock(50, 4000, 210), " c= r= n="},
		{"the only command before it", longRun + printedBlock(50, 4000, 200) + shareRun + printedBlock(80, 100, 200), "sharegpt c=unlimited r=2.5 n=80"},
		{"label with no command of its length", longRun + shareRun + "# random 2K input\n" + printedBlock(50, 2000, 100), "random 2000 c= r= n="},
		{"K of the label is 1024", "# random 2K input\n" + printedBlock(50, 2048, 100), "random 2048 c= r= n="},
		{"label with a listed length", "short: 2000 input tokens, 100 output tokens\n" + "# random 2K input\n" + printedBlock(50, 2000, 100), "random 2000/100 c= r= n="},
		{"label changes the load", shareRun + "# ShareGPT batch size 4\n" + printedBlock(20, 220, 200), "sharegpt c=4 r=2.5 n="},
		{"printed limit", shareRun + printedBlock(80, 220, 200, "Maximum request concurrency: 8"), "sharegpt c=8 r=2.5 n=80"},
		{"printed rate", shareRun + printedBlock(80, 220, 200, "Request rate configured (RPS): 3.00"), "sharegpt c=unlimited r=3 n=80"},
		{"a block that prints its peak prints its limits", printedBlock(80, 220, 200, "Peak concurrent requests: 80.00"), " c=unlimited r=unlimited n="},
		{"profile by fit", "dataset_name: Random\ndataset_input_tokens: 1000\ndataset_output_tokens: 200\nrequest_rate: 4\ntotal_requests: 50\n\n" + printedBlock(50, 1009, 200),
			"random 1000/200 c= r=4 n=50"},
		{"profile by name", "T\n\n## Chats\n\ndataset_name: ShareGPT\ntotal_requests: 50\n\n## Mails\n\ndataset_name: ShareGPT\ntotal_requests: 60\n\nProfile: chats\n" + printedBlock(50, 100, 200),
			"sharegpt c= r= n=50"},
		{"profile of a guidellm block without a limit", "dataset_name: Random\ndataset_input_tokens: 1000\ndataset_output_tokens: 200\nrequest_rate: 4\ntotal_requests: 50\n\n" +
			printedBlock(50, 1009, 200, "Mean Latency(s): 2.50", "Maximum request concurrency: 11"), "random 1000/200 c=unlimited r=4 n=50"},
		{"shell variables are not values", "vllm bench serve --model demo/m1 --dataset-name sharegpt --num-prompts ${n}\n" + printedBlock(50, 100, 200), "sharegpt c=unlimited r=unlimited n="},
		{"shortened options", "python3 -m sglang.bench_serving --dataset-name random --random-input 100 --random-output 20 --num-prompt 50 --max-conc 3\n" + printedBlock(50, 100, 20),
			"random 100/20 c=3 r=unlimited n=50"},
		{"guidellm's own command", "guidellm benchmark --target http://x --rate 4 --max-requests 50 --data \"prompt_tokens=1000,output_tokens=200\"\n" + printedBlock(50, 1000, 200),
			"random 1000/200 c=unlimited r=4 n=50"},
	} {
		res := readText(t, tt.text)
		if len(res.Trials) == 0 {
			t.Errorf("%s: no trial", tt.name)
			continue
		}
		tr := res.Trials[len(res.Trials)-1]
		got := fmt.Sprintf("%s c=%s r=%s n=%s", tr.Workload.Name, tr.Load.Concurrency, tr.Load.RequestRate, tr.Load.NumPrompts)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestServerOfBlock: the configuration that a block measured.
func TestServerOfBlock(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"spellings", "vllm serve demo/m1 --max_num_seqs 64 --max-model-len=8k -tp 2 --enforce-eager --no-enable-prefix-caching",
			"vllm demo/m1 known context_len=8000 enable_prefix_caching=false enforce_eager=true max_num_seqs=64 tp=2"},
		{"what is no choice", "vllm serve demo/m1 --host 0.0.0.0 --port 80 --served-model-name x --api-key k --disable-log-requests --ssl-keyfile f --uvicorn-log-level info",
			"vllm demo/m1 known "},
		{"json", `vllm serve demo/m1 --speculative-config '{"num_speculative_tokens": 3, "method":"eagle3"}'`,
			`vllm demo/m1 known speculative_config={"method":"eagle3","num_speculative_tokens":3} spec eagle3`},
		{"json without quotes", `vllm serve demo/m1 --speculative-config={"method":"mtp","num_speculative_tokens":4} --seed 1`,
			`vllm demo/m1 known seed=1 speculative_config={"method":"mtp","num_speculative_tokens":4} spec mtp`},
		{"continued, with environment", "VLLM_ATTENTION_BACKEND=FLASHINFER HF_TOKEN=x CUDA_VISIBLE_DEVICES=0 vllm serve demo/m1 \\\n  --dtype float16 \\\n  --block-size 32",
			"vllm demo/m1 known block_size=32 dtype=float16 env VLLM_ATTENTION_BACKEND=FLASHINFER dtype fp16"},
		{"module", "python3 -m vllm.entrypoints.openai.api_server --model demo/m1-AWQ --quantization awq", "vllm demo/m1-AWQ known quantization=awq dtype awq"},
		{"sglang", "python -u -m sglang.launch_server --model-path demo/m1-FP8 --tp 4 --speculative-algorithm NEXTN --trust-remote-code",
			"sglang demo/m1-FP8 known speculative_algorithm=NEXTN tp=4 trust_remote_code=true dtype fp8 spec mtp"},
		{"trtllm", "trtllm-serve serve demo/m1 --max_num_tokens 8192 --kv_cache_free_gpu_memory_fraction 0.9", "trtllm demo/m1 known free_gpu_memory_fraction=0.9 max_batched_tokens=8192"},
		{"a further file decides", "trtllm-serve demo/m1 --config x.yaml --tp_size 2", "trtllm demo/m1 unknown tp=2"},
		{"table cell", "1\t`vllm serve demo/m1 --max-num-seqs=8`", "vllm demo/m1 known max_num_seqs=8"},
		{"wrapper and redirection", "nohup numactl -N 0 vllm serve demo/m1 --seed=1 > log.txt 2>&1 &", "vllm demo/m1 known seed=1"},
		{"a shell variable", "vllm serve $MODEL --max-num-seqs $N --seed 2", "vllm  unknown seed=2"},
		{"flag list of one engine", "--context-length=4096\n--mem-fraction-static=0.8", "sglang  known context_len=4096 mem_fraction_static=0.8"},
		{"another list replaces it", "--max-num-seqs=8\n\nmore\n\n--max-model-len=4096", "vllm  known context_len=4096"},
		{"label over command", "vllm serve demo/m1 --max-num-seqs 8 --seed 1\n\n# --max-num-seqs 16", "vllm demo/m1 known max_num_seqs=16 seed=1 changed max_num_seqs=16"},
		{"label replaces speculation", "python3 -m sglang.launch_server --model demo/m1 --speculative-algorithm EAGLE3 --speculative-num-steps 4 --tp 2\n\n# --speculative-algorithm EAGLE3",
			"sglang demo/m1 known speculative_algorithm=EAGLE3 tp=2 changed -speculative_num_steps spec eagle3"},
		{"attention backend", "python3 -m sglang.launch_server --model demo/m1 --attention-backend triton\n\n# fa3", "sglang demo/m1 known attention_backend=fa3 changed attention_backend=fa3"},
		{"prose", "vllm serve is the command to use", "  unknown "},
		{"dashes of a text processor", "vllm serve demo/m1 —max-num-seqs 8", "vllm demo/m1 known max_num_seqs=8"},
	} {
		res := readText(t, "Title\n\n"+tt.text+"\n"+printedBlock(5, 100, 20))
		if len(res.Trials) != 1 {
			t.Errorf("%s: %d trials, %v", tt.name, len(res.Trials), res)
			continue
		}
		s := res.Trials[0].Setup
		known := "unknown"
		if s.Config.CommandKnown {
			known = "known"
		}
		got := fmt.Sprintf("%s %s %s %s", s.Config.Engine, s.Config.Checkpoint, known, s.Config.Knobs)
		for name, v := range s.Config.Env {
			got += " env " + name + "=" + v
		}
		if v, ok := res.Trials[0].Extra["label_overrides"]; ok {
			got += " changed " + v.Text
		}
		if s.WeightDtype != "" {
			got += " dtype " + s.WeightDtype
		}
		if s.SpecMethod != "" && s.SpecMethod != "none" {
			got += " spec " + s.SpecMethod
		}
		if got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// TestOutline: stage and option of blocks from headings whose markup is lost.
func TestOutline(t *testing.T) {
	b := printedBlock(5, 100, 20)
	for _, tt := range []struct{ name, text, want string }{
		{"numbered stages", "T\n\n1. Engine\n\nvLLM\n\n" + b + "\nSGLang\n\n" + b + "\n2. Quantization\n\n" + b, "Engine/vLLM Engine/SGLang Quantization/"},
		{"bare stages", "T\n\nExperiment results\n\nEngine\n\nvLLM\n\n" + b + "\nSGLang\n\n" + b + "\nSummary: vLLM > SGLang\n\nCaching\n\n" + b + "\nSpeculation\n\n" + b,
			"Engine/vLLM Engine/SGLang Caching/ Speculation/"},
		{"a table closes a stage", "T\n\n1. Engine\n\nvLLM\n\n" + b + "\nGains\n\nmethod gain\nengine +13%\n\nOther loads\n\n" + b, "Engine/vLLM Other loads/"},
		{"markdown", "T\n\n## Engine\n\n### vLLM\n\n" + b + "\n### SGLang\n\n" + b + "\n## Caching\n\n" + b, "Engine/vLLM Engine/SGLang Caching/"},
		{"lines of a log are no headings", "T\n\n2025-11-20 10:00:00 INFO Application startup complete\n\nstarted\n\n" + b, "/"},
		{"sentences are no headings", "T\n\nStage\n\nWe measured it again.\n\n" + b, "Stage/"},
	} {
		var got []string
		for _, tr := range readText(t, tt.text).Trials {
			got = append(got, tr.Stage+"/"+tr.Option)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRoles(t *testing.T) {
	b := printedBlock(5, 100, 20)
	text := "T\n\nServing command\n\n" + b + "\nBaseline serving command\n\n" + b + "\nOptimized backend parameters:\n\n" + b + "\nNext stage\n\n" + b
	want := []core.Role{"", core.RoleBaseline, core.RoleVerification, ""}
	for i, tr := range readText(t, text).Trials {
		if tr.Role != want[i] {
			t.Errorf("trial %d: role %q, want %q", i, tr.Role, want[i])
		}
	}
}

// TestMaskedText: each secret loses its value, what looks alike keeps it.
func TestMaskedText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"vllm serve demo/m1 --api-key=abc123", "--api-key=***"},
		{"HF_TOKEN=hf_abcdefghijklmnopqrstuv vllm serve demo/m1", "HF_TOKEN=***"},
		{"vllm serve demo/m1 --hf-token 'a b'", "--hf-token ***"},
		{"vllm serve http://me:pw@host/m1", "http://me:***@host/m1"},
		{"vllm serve demo/m1 --max-num-batched-tokens 4096", "--max-num-batched-tokens 4096"},
		{"vllm serve demo/m1 --api_key 'x y' --seed 1", "--api_key *** --seed 1"},
		{"vllm serve demo/m1 --password=\"x\" --seed 1", "--password=*** --seed 1"},
		{`vllm serve demo/m1 --x '{"auth_token": "abc", "max_tokens": 5}'`, `{"auth_token": ***, "max_tokens": 5}`},
		{"vllm serve demo/m1 --x sk-aaaaaaaaaaaaaaaaaaaa", "--x ***"},
		{"vllm serve demo/m1\n# see --header 'Authorization: Bearer abcdefgh'", "Bearer ***"},
		{"dataset_name: Random\ndataset_input_tokens: 100\ndataset_output_tokens: 20\n", "dataset_input_tokens: 100"},
	} {
		res := readText(t, "T\n\n"+tt.in+"\n"+printedBlock(5, 100, 20))
		if raw := res.Trials[0].Sources[0].Raw; !strings.Contains(raw, tt.want) {
			t.Errorf("%s: raw text is\n%s", tt.in, raw)
		}
	}
}

func TestHardware(t *testing.T) {
	for _, tt := range []struct {
		text, gpu string
		gpus      float64
	}{
		{"Hardware\n\nOne NVIDIA H100 SXM GPU.\n", "NVIDIA H100 SXM GPU", 1},
		{"Hardware: NVIDIA H100 80GB HBM3\n", "NVIDIA H100 80GB HBM3", 0},
		{"GPU: 8 x NVIDIA A100-SXM4-80GB\n", "NVIDIA A100-SXM4-80GB", 8},
		{"GPUs: NVIDIA GeForce RTX 4090 x 2\n", "NVIDIA GeForce RTX 4090", 2},
		{"Hardware: 8x AMD Instinct MI300X\n", "AMD Instinct MI300X", 8},
		{"We have NVIDIA H100 cards.\n", "", 0},
	} {
		s := readText(t, "T\n\n"+tt.text+"\n"+printedBlock(5, 100, 20)).Trials[0].Setup
		if s.GPU != tt.gpu || s.GPUs != tt.gpus {
			t.Errorf("%q: %v of %q, want %v of %q", tt.text, s.GPUs, s.GPU, tt.gpus, tt.gpu)
		}
	}
}

// TestProgressBar: the bar before a block is no figure; its total is kept, as it
// may contradict the command.
func TestProgressBar(t *testing.T) {
	bar := "\r  0%|          | 0/100 [00:00<?, ?it/s]\r100%|██████████| 100/100 [00:02<00:00, 34.85it/s]"
	res := readText(t, "$ vllm bench serve --model demo/m1 --dataset-name random --random-input-len 128 --random-output-len 20 --num-prompts 500\n"+
		bar+printedBlock(90, 128, 20))
	if len(res.Trials) != 1 {
		t.Fatalf("%d trials", len(res.Trials))
	}
	tr := res.Trials[0]
	if tr.Extra["progress_total"] != core.Number(100) || tr.Load.NumPrompts != core.Number(500) || tr.Figures["success_rate"] != 0.18 {
		t.Errorf("progress total %s, prompts %s, success rate %v", tr.Extra["progress_total"], tr.Load.NumPrompts, tr.Figures["success_rate"])
	}
	if raw := tr.Sources[0].Raw; strings.Contains(raw, "it/s") {
		t.Errorf("the raw text holds the bar:\n%s", raw)
	}
}

// TestInterleaved: output of others between two rows neither ends a block nor
// becomes part of it; what follows a block without a ruler is read again.
func TestInterleaved(t *testing.T) {
	block := strings.Replace(printedBlock(5, 100, 20), "Mean TTFT", "(APIServer pid=7) INFO 11-20 10:00:00 [x.py:1] done: 3\nsome warning\nMean TTFT", 1)
	tr := readText(t, block).Trials[0]
	if tr.Figures["p99_ttft_ms"] != 60 || len(tr.Extra) != 0 {
		t.Errorf("p99 %v, extra %v", tr.Figures["p99_ttft_ms"], tr.Extra)
	}
	open := strings.TrimSuffix(printedBlock(5, 100, 20), "==================================================\n")
	res := readText(t, open+"vllm serve demo/m2 --seed 3\n"+open)
	if len(res.Trials) != 2 || res.Trials[1].Setup.Config.Checkpoint != "demo/m2" {
		t.Fatalf("%d trials", len(res.Trials))
	}
	if res.Trials[0].Extra["truncated"].True() || !res.Trials[1].Extra["truncated"].True() {
		t.Error("only the last block ends with the text")
	}
}

// TestPrintedErrors: what tools print of failed requests stays with their block.
func TestPrintedErrors(t *testing.T) {
	text := "Failed requests during benchmark run detected (capping to 10):\nError 0: Internal Server Error\nError type: TimeoutError, Count: 3 requests\n" + printedBlock(5, 100, 20) + printedBlock(6, 100, 20)
	res := readText(t, text)
	if len(res.Trials) != 2 || res.Trials[0].Extra["errors"] != core.String("Internal Server Error; TimeoutError ×3") || res.Trials[1].Extra["errors"] != (core.Value{}) {
		t.Errorf("%d trials, extra %v", len(res.Trials), res.Trials[0].Extra)
	}
}

// TestOpenOptions: an option that a shell variable decides is not known, and does
// not mean that there is no limit.
func TestOpenOptions(t *testing.T) {
	tr := readText(t, "vllm bench serve --model demo/m1 --dataset-name random --random-input-len 100 --random-output-len 20 --max-concurrency $c\n"+printedBlock(5, 100, 20)).Trials[0]
	if !tr.Load.Concurrency.IsMissing() || !tr.Load.RequestRate.IsUnlimited() {
		t.Errorf("concurrency %s, rate %s", tr.Load.Concurrency, tr.Load.RequestRate)
	}
}

// TestCommentedCommand: a command behind the prompt of root is a command.
func TestCommentedCommand(t *testing.T) {
	tr := readText(t, "# vllm serve demo/m1 --max-num-seqs 8\n\n"+printedBlock(5, 100, 20)).Trials[0]
	if got := tr.Setup.Config; got.Checkpoint != "demo/m1" || got.Knobs["max_num_seqs"] != core.Number(8) {
		t.Errorf("configuration %+v", got)
	}
}
