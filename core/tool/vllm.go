package tool

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// vllmBench renders vllm bench serve. Its requests one by one are saved too: they
// become the trial's samples. No warm-up is asked for, since the tool warms up with
// a prompt that it measures.
func vllmBench(w *words, a Ask) error {
	w.program(a.Origin, "vllm")
	w.add("bench", "serve")
	backend, endpoint := "openai-chat", "/v1/chat/completions"
	if isCompletions(a.Workload) {
		backend, endpoint = "openai", "/v1/completions"
	}
	w.add("--backend", backend, "--base-url", a.BaseURL, "--endpoint", endpoint, "--model", a.Model)
	if a.Checkpoint != "" && a.Checkpoint != a.Model {
		w.add("--tokenizer", a.Checkpoint)
	}
	params, shape := sampling(a.Workload)
	switch a.Workload.Dataset {
	case "random":
		w.add("--dataset-name", "random")
		w.number("--random-input-len", a.Workload.InputLen)
		w.number("--random-output-len", a.Workload.OutputLen)
		w.number("--random-range-ratio", shape["range_ratio"])
		w.number("--random-prefix-len", shape["prefix_len"])
		if err := onlyShape(shape, "range_ratio", "prefix_len"); err != nil {
			return err
		}
	case "sharegpt":
		w.add("--dataset-name", "sharegpt", "--dataset-path", a.DataPath)
		w.number("--sharegpt-output-len", a.Workload.OutputLen)
	case "custom":
		// The server lays its own chat template on; the tool would lay one more.
		plain := "--skip-chat-template"
		if olderThan(a.Origin.Version, 0, 12) {
			plain = "--custom-skip-chat-template"
		}
		w.add("--dataset-name", "custom", "--dataset-path", a.DataPath, plain)
		if a.Workload.OutputLen.IsMissing() {
			w.add("--custom-output-len", "-1") // each line gives its own
		}
		w.number("--custom-output-len", a.Workload.OutputLen)
	default:
		return invalid("it has no data set %s: want random, sharegpt or custom", a.Workload.Dataset)
	}
	w.number("--num-prompts", a.Load.NumPrompts)
	w.number("--max-concurrency", a.Load.Concurrency)
	if limited(a.Load.RequestRate) {
		w.number("--request-rate", a.Load.RequestRate)
		if a.Load.Burstiness.IsUnlimited() {
			w.add("--burstiness", "inf")
		}
		w.number("--burstiness", a.Load.Burstiness)
	}
	w.number("--seed", a.Load.Seed)
	if a.Workload.IgnoreEOS.True() {
		w.add("--ignore-eos")
	}
	for _, name := range params.Names() {
		w.number("--"+strings.ReplaceAll(name, "_", "-"), params[name])
	}
	if err := vllmGoodput(w, a.Goodput); err != nil {
		return err
	}
	w.add("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "90,95,99")
	w.add("--save-result", "--save-detailed", "--result-dir", ".", "--result-filename", ResultFile)
	return nil
}

func vllmGoodput(w *words, limits map[string]float64) error {
	if len(limits) == 0 {
		return nil
	}
	w.add("--goodput")
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		switch name {
		case "ttft_ms", "tpot_ms", "e2el_ms":
			w.add(strings.TrimSuffix(name, "_ms") + ":" + strconv.FormatFloat(limits[name], 'f', -1, 64))
		default:
			return invalid("goodput: it knows ttft, tpot and e2el, not %s", strings.TrimSuffix(name, "_ms"))
		}
	}
	return nil
}

// sglangBench renders sglang.bench_serving. Random prompts are of its data set
// random-ids: its "random" is cut out of ShareGPT, which must be downloaded. A range
// ratio of 1 means one length there.
func sglangBench(w *words, a Ask) error {
	w.program(a.Origin, "python3")
	w.add("-m", "sglang.bench_serving")
	backend := "vllm"
	if a.Engine == "sglang" {
		backend = "sglang-oai"
	}
	if !isCompletions(a.Workload) {
		backend += "-chat"
	}
	w.add("--backend", backend, "--base-url", a.BaseURL, "--model", a.Model)
	if a.Checkpoint != "" && a.Checkpoint != a.Model {
		w.add("--tokenizer", a.Checkpoint)
	}
	params, shape := sampling(a.Workload)
	if err := onlyShape(shape); err != nil {
		return err
	}
	switch a.Workload.Dataset {
	case "random":
		w.add("--dataset-name", "random-ids")
		w.number("--random-input-len", a.Workload.InputLen)
		w.number("--random-output-len", a.Workload.OutputLen)
		w.add("--random-range-ratio", "1.0")
	case "sharegpt":
		w.add("--dataset-name", "sharegpt", "--dataset-path", a.DataPath)
		w.number("--sharegpt-output-len", a.Workload.OutputLen)
	default:
		return invalid("it has no data set %s: want random or sharegpt", a.Workload.Dataset)
	}
	w.number("--num-prompts", a.Load.NumPrompts)
	w.number("--max-concurrency", a.Load.Concurrency)
	if limited(a.Load.RequestRate) {
		if b := a.Load.Burstiness; !b.IsMissing() && b != core.Number(1) {
			return invalid("burstiness: its arrivals are Poisson, which is 1; %s is asked for", b)
		}
		w.number("--request-rate", a.Load.RequestRate)
	}
	w.number("--seed", a.Load.Seed)
	if !a.Workload.IgnoreEOS.True() {
		w.add("--disable-ignore-eos")
	}
	if len(params) > 0 {
		w.add("--extra-request-body", jsonOf(params))
	}
	if len(a.Goodput) > 0 {
		return invalid("it works out no goodput: vllm-bench and the ruler do")
	}
	w.add("--warmup-requests", "0", "--output-details", "--output-file", ResultFile)
	return nil
}
