//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fakeTool stands in for the benchmark tools of other people: it takes their
// options and no others, really asks the server, prints what they print and writes
// the files that they write. The scripts name it vllm, guidellm or python3.
func fakeTool() int {
	if len(os.Args) < 2 {
		return 2
	}
	name, args := filepath.Base(os.Args[1]), os.Args[2:]
	switch {
	case name == "python3" && len(args) == 2 && args[0] == "-c":
		fmt.Println("sweepbook-version:9.8.7")
		return 0
	case name == "vllm" && len(args) > 2 && args[0] == "bench" && args[1] == "serve":
		return fakeVLLM(args[2:])
	case name == "python3" && len(args) > 2 && args[0] == "-m" && args[1] == "sglang.bench_serving":
		return fakeSGLang(args[2:])
	case name == "guidellm" && len(args) > 1 && args[0] == "run":
		return fakeGuideLLM(args[1:])
	}
	fmt.Fprintf(os.Stderr, "%s: error: unrecognized command\n", name)
	return 2
}

// fakeFlags reads options as argparse does: an unknown one is exit code 2.
func fakeFlags(args []string, known string, switches string) map[string][]string {
	out := map[string][]string{}
	last := ""
	for _, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		switch {
		case isFlag && slices.Contains(strings.Fields(switches), name):
			out[name], last = []string{"true"}, ""
		case isFlag && slices.Contains(strings.Fields(known), name):
			last = name
		case !isFlag && last != "":
			out[last] = append(out[last], arg)
		default:
			fmt.Fprintf(os.Stderr, "error: unrecognized arguments: %s\n", arg)
			os.Exit(2)
		}
	}
	return out
}

func fakeOne(flags map[string][]string, name, otherwise string) string {
	if list := flags[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return otherwise
}

func fakeNumber(flags map[string][]string, name string, otherwise float64) float64 {
	f, err := strconv.ParseFloat(fakeOne(flags, name, ""), 64)
	if err != nil {
		return otherwise
	}
	return f
}

// fakeAnswer is one request as a tool sees it, in seconds.
type fakeAnswer struct {
	start, ttft, latency float64
	gaps                 []float64
	in, out              int
	err                  string
}

// fakeLoad asks n prompts with so many in flight.
func fakeLoad(base, endpoint, model string, n, inFlight, input, output int, seed string, ignoreEOS bool) (answers []fakeAnswer, duration float64) {
	answers = make([]fakeAnswer, n)
	slots := make(chan struct{}, max(1, min(inFlight, n)))
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			time.Sleep(10 * time.Millisecond) // a block prints hundredths of a second
			answers[i] = fakeRequest(base+endpoint, model, fmt.Sprintf("%s/%d %s", seed, i, strings.Repeat("word ", input)), output, ignoreEOS, began)
		})
	}
	all.Wait()
	return answers, time.Since(began).Seconds()
}

func fakeRequest(url, model, prompt string, output int, ignoreEOS bool, began time.Time) (a fakeAnswer) {
	body := map[string]any{"model": model, "max_tokens": output, "stream": true, "ignore_eos": ignoreEOS, "stream_options": map[string]any{"include_usage": true}}
	if strings.Contains(url, "/chat/") {
		body["messages"] = []map[string]string{{"role": "user", "content": prompt}}
	} else {
		body["prompt"] = prompt
	}
	data, _ := json.Marshal(body)
	sent := time.Now()
	a.start = sent.Sub(began).Seconds()
	resp, err := http.Post(url, "application/json", bytes.NewReader(data))
	if err != nil {
		a.err = err.Error()
		return a
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		a.err = resp.Status
		return a
	}
	last := sent
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || text == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []any
			Usage   *struct {
				PromptTokens     int `json:"prompt_tokens"`
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		_ = json.Unmarshal([]byte(text), &chunk)
		now := time.Now()
		if chunk.Usage != nil {
			a.in, a.out = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		if a.ttft == 0 {
			a.ttft = now.Sub(sent).Seconds()
		} else {
			a.gaps = append(a.gaps, now.Sub(last).Seconds())
		}
		last = now
	}
	a.latency = last.Sub(sent).Seconds()
	return a
}

// fakeStats are mean, median and 99th percentile, the latter two by nearest rank.
func fakeStats(values []float64) (mean, median, p99 float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	sorted := slices.Sorted(slices.Values(values))
	for _, v := range sorted {
		mean += v / float64(len(sorted))
	}
	return mean, sorted[len(sorted)/2], sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]
}

func fakeSums(answers []fakeAnswer) (completed, in, out int, ttft, tpot, e2el []float64) {
	for _, a := range answers {
		if a.err != "" {
			continue
		}
		completed, in, out = completed+1, in+a.in, out+a.out
		ttft, e2el = append(ttft, 1000*a.ttft), append(e2el, 1000*a.latency)
		if a.out > 1 {
			tpot = append(tpot, 1000*(a.latency-a.ttft)/float64(a.out-1))
		}
	}
	return completed, in, out, ttft, tpot, e2el
}

func fakeVLLM(args []string) int {
	f := fakeFlags(args, "backend base-url endpoint model tokenizer dataset-name dataset-path random-input-len random-output-len num-prompts max-concurrency request-rate "+
		"burstiness seed goodput percentile-metrics metric-percentiles result-dir result-filename api-key temperature", "save-result save-detailed ignore-eos")
	n, inFlight := int(fakeNumber(f, "num-prompts", 1000)), fakeNumber(f, "max-concurrency", 1e6)
	fmt.Println("Starting initial single prompt test run...")
	fmt.Fprintf(os.Stderr, "\r  0%%|          | 0/%d [00:00<?, ?it/s]", n)
	answers, duration := fakeLoad(fakeOne(f, "base-url", "http://127.0.0.1:8000"), fakeOne(f, "endpoint", "/v1/completions"), fakeOne(f, "model", ""), n, int(inFlight),
		int(fakeNumber(f, "random-input-len", 1024)), int(fakeNumber(f, "random-output-len", 128)), fakeOne(f, "seed", "0"), f["ignore-eos"] != nil)
	fmt.Fprintf(os.Stderr, "\r100%%|##########| %d/%d\n", n, n)
	completed, in, out, ttft, tpot, e2el := fakeSums(answers)
	var concurrency any
	if inFlight < 1e6 {
		concurrency = int(inFlight)
	}
	result := map[string]any{"date": time.Now().UTC().Format("20060102-150405"), "endpoint_type": fakeOne(f, "backend", "openai"), "backend": fakeOne(f, "backend", "openai"),
		"label": nil, "model_id": fakeOne(f, "model", ""), "tokenizer_id": fakeOne(f, "model", ""), "num_prompts": n, "request_rate": "inf", "burstiness": 1.0,
		"max_concurrency": concurrency, "duration": duration, "completed": completed, "failed": n - completed, "total_input_tokens": in, "total_output_tokens": out,
		"request_throughput": float64(completed) / duration, "request_goodput": nil, "output_throughput": float64(out) / duration, "total_token_throughput": float64(in+out) / duration}
	if f["goodput"] != nil {
		result["request_goodput"] = float64(completed) / duration
	}
	fmt.Printf("============ Serving Benchmark Result ============\n")
	row := func(label string, v any) { fmt.Printf("%-40s %-10v\n", label, v) }
	row("Successful requests:", completed)
	row("Failed requests:", n-completed)
	row("Benchmark duration (s):", fmt.Sprintf("%.2f", duration))
	row("Total input tokens:", in)
	row("Total generated tokens:", out)
	row("Request throughput (req/s):", fmt.Sprintf("%.2f", float64(completed)/duration))
	row("Output token throughput (tok/s):", fmt.Sprintf("%.2f", float64(out)/duration))
	row("Total token throughput (tok/s):", fmt.Sprintf("%.2f", float64(in+out)/duration))
	for _, m := range []struct {
		key, rule, label string
		values           []float64
	}{{"ttft", "---------------Time to First Token----------------", "TTFT", ttft}, {"tpot", "-----Time per Output Token (excl. 1st token)------", "TPOT", tpot},
		{"e2el", "----------------End-to-end Latency----------------", "E2EL", e2el}} {
		mean, median, p99 := fakeStats(m.values)
		result["mean_"+m.key+"_ms"], result["median_"+m.key+"_ms"], result["p99_"+m.key+"_ms"] = mean, median, p99
		fmt.Println(m.rule)
		row("Mean "+m.label+" (ms):", fmt.Sprintf("%.2f", mean))
		row("Median "+m.label+" (ms):", fmt.Sprintf("%.2f", median))
		row("P99 "+m.label+" (ms):", fmt.Sprintf("%.2f", p99))
	}
	fmt.Println("==================================================")
	if f["save-result"] == nil {
		return 0
	}
	if f["save-detailed"] != nil {
		var lens, outs, ttfts, itls, errs, starts []any
		for _, a := range answers {
			lens, outs, ttfts, itls, errs, starts = append(lens, a.in), append(outs, a.out), append(ttfts, a.ttft), append(itls, a.gaps), append(errs, a.err), append(starts, 5000+a.start)
		}
		result["input_lens"], result["output_lens"], result["ttfts"], result["itls"], result["errors"], result["start_times"] = lens, outs, ttfts, itls, errs, starts
	}
	return fakeWrite(filepath.Join(fakeOne(f, "result-dir", "."), fakeOne(f, "result-filename", "vllm.json")), result, os.O_TRUNC)
}

func fakeWrite(path string, result any, mode int) int {
	data, err := json.Marshal(result)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o600); err == nil {
			_, err = file.Write(append(data, '\n'))
			_ = file.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func fakeSGLang(args []string) int {
	f := fakeFlags(args, "backend base-url model tokenizer dataset-name random-input-len random-output-len random-range-ratio num-prompts max-concurrency request-rate seed "+
		"extra-request-body warmup-requests output-file", "output-details disable-ignore-eos")
	endpoint := "/v1/completions"
	if strings.HasSuffix(fakeOne(f, "backend", ""), "-chat") {
		endpoint = "/v1/chat/completions"
	}
	n := int(fakeNumber(f, "num-prompts", 1000))
	answers, duration := fakeLoad(fakeOne(f, "base-url", ""), endpoint, fakeOne(f, "model", ""), n, int(fakeNumber(f, "max-concurrency", 1e6)),
		int(fakeNumber(f, "random-input-len", 1024)), int(fakeNumber(f, "random-output-len", 1024)), fakeOne(f, "seed", "42"), f["disable-ignore-eos"] == nil)
	completed, in, out, ttft, tpot, e2el := fakeSums(answers)
	result := map[string]any{"tag": nil, "backend": fakeOne(f, "backend", ""), "dataset_name": fakeOne(f, "dataset-name", ""), "request_rate": "inf",
		"max_concurrency": fakeNumber(f, "max-concurrency", 0), "random_input_len": fakeNumber(f, "random-input-len", 0), "random_output_len": fakeNumber(f, "random-output-len", 0),
		"random_range_ratio": 1.0, "duration": duration, "completed": completed, "total_input_tokens": in, "total_output_tokens": out,
		"total_output_tokens_retokenized": out, "request_throughput": float64(completed) / duration, "input_throughput": float64(in) / duration,
		"output_throughput": float64(out) / duration, "total_throughput": float64(in+out) / duration}
	for key, values := range map[string][]float64{"ttft": ttft, "tpot": tpot, "e2e_latency": e2el} {
		result["mean_"+key+"_ms"], result["median_"+key+"_ms"], result["p99_"+key+"_ms"] = fakeStats(values)
	}
	var errs []string
	for _, a := range answers {
		errs = append(errs, a.err)
	}
	result["errors"] = errs
	return fakeWrite(fakeOne(f, "output-file", "out.jsonl"), result, os.O_APPEND)
}

func fakeGuideLLM(args []string) int {
	f := fakeFlags(args, "backend data tokenizer profile constraint seed output", "disable-console-interactive")
	pairs := map[string]string{}
	for _, list := range f {
		for _, text := range list {
			for _, part := range strings.Split(text, ",") {
				key, value, _ := strings.Cut(part, "=")
				pairs[key] = value
			}
		}
	}
	number := func(key string) int { n, _ := strconv.Atoi(pairs[key]); return n }
	answers, duration := fakeLoad(pairs["target"], pairs["request_format"], pairs["model"], number("count"), number("streams"), number("prompt_tokens"), number("output_tokens"), pairs["value"], true)
	completed, in, out, ttft, tpot, e2el := fakeSums(answers)
	stats := func(values []float64, scale float64) map[string]any {
		mean, median, p99 := fakeStats(values)
		return map[string]any{"successful": map[string]any{"mean": mean / scale, "median": median / scale, "percentiles": map[string]any{"p99": p99 / scale}}}
	}
	rate := func(n int) map[string]any {
		return map[string]any{"successful": map[string]any{"mean": float64(n) / duration, "total_sum": n}}
	}
	report := map[string]any{"metadata": map[string]any{"version": 2, "guidellm_version": "0.7.3"}, "config": map[string]any{}, "benchmarks": []any{map[string]any{
		"type_": "generative_benchmark", "duration": duration,
		"config": map[string]any{"strategy": map[string]any{"type_": "concurrent", "streams": number("streams")}, "constraints": map[string]any{}},
		"metrics": map[string]any{"request_totals": map[string]any{"successful": completed, "errored": len(answers) - completed, "incomplete": 0, "total": len(answers)},
			"requests_per_second": rate(completed), "prompt_token_count": rate(in), "output_token_count": rate(out), "output_tokens_per_second": rate(out), "tokens_per_second": rate(in + out),
			"time_to_first_token_ms": stats(ttft, 1), "inter_token_latency_ms": stats(tpot, 1), "request_latency": stats(e2el, 1000)},
	}}}
	return fakeWrite(pairs["path"], report, os.O_TRUNC)
}
