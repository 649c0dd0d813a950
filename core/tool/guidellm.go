package tool

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// guidellm renders guidellm. Since 0.7 its options are key=value lists; an origin
// whose version is older gets the options of 0.4 to 0.6. It always has answers reach
// their length, unless told otherwise.
func guidellm(w *words, a Ask) error {
	params, shape := sampling(a.Workload)
	switch {
	case a.Workload.Dataset != "random":
		return invalid("only its synthetic prompts have known lengths: want dataset random, not %s", a.Workload.Dataset)
	case len(shape) > 0:
		return onlyShape(shape)
	case len(a.Goodput) > 0:
		return invalid("it works out no goodput: vllm-bench and the ruler do")
	}
	kind, rate, err := guidellmProfile(a.Load)
	if err != nil {
		return err
	}
	w.program(a.Origin, "guidellm")
	if olderThan(a.Origin.Version, 0, 7) {
		return guidellmOptions(w, a, kind, rate, params)
	}
	w.add("run", "--backend", guidellmBackend(a, params))
	w.add("--data", "kind=synthetic_text,prompt_tokens="+a.Workload.InputLen.String()+",output_tokens="+a.Workload.OutputLen.String())
	if a.Checkpoint != "" && a.Checkpoint != a.Model {
		w.add("--tokenizer", "kind=huggingface_auto,model="+a.Checkpoint)
	}
	profile := "kind=" + kind
	if key := map[string]string{"concurrent": "streams", "poisson": "rate", "constant": "rate"}[kind]; key != "" {
		profile += "," + key + "=" + rate.String()
	}
	if kind != "concurrent" && limited(a.Load.Concurrency) {
		profile += ",max_concurrency=" + a.Load.Concurrency.String()
	}
	w.add("--profile", profile)
	if limited(a.Load.NumPrompts) {
		w.add("--constraint", "kind=max_requests,count="+a.Load.NumPrompts.String())
	}
	if limited(a.Load.DurationS) {
		w.add("--constraint", "kind=max_duration,seconds="+a.Load.DurationS.String())
	}
	if limited(a.Load.Seed) {
		w.add("--seed", "kind=static,value="+a.Load.Seed.String())
	}
	w.add("--output", "kind=json,path="+ResultFile, "--disable-console-interactive")
	return nil
}

// guidellmProfile says how requests are sent.
func guidellmProfile(l core.Load) (kind string, rate core.Value, err error) {
	switch {
	case !limited(l.RequestRate) && limited(l.Concurrency):
		return "concurrent", l.Concurrency, nil
	case !limited(l.RequestRate):
		return "throughput", core.Missing(), nil
	case l.Burstiness.IsUnlimited():
		return "constant", l.RequestRate, nil
	case l.Burstiness.IsMissing() || l.Burstiness == core.Number(1):
		return "poisson", l.RequestRate, nil
	}
	return "", core.Missing(), invalid("burstiness: it has 1 (Poisson) and unlimited (constant), not %s", l.Burstiness)
}

// guidellmBackend is a list of pairs, or JSON where something is nested.
func guidellmBackend(a Ask, params core.Knobs) string {
	format := "/v1/chat/completions"
	if isCompletions(a.Workload) {
		format = "/v1/completions"
	}
	body := map[string]any{}
	for name, v := range params {
		body[name] = v
	}
	if !a.Workload.IgnoreEOS.True() {
		body["ignore_eos"] = false
	}
	if len(body) == 0 {
		return "kind=openai_http,target=" + a.BaseURL + ",model=" + a.Model + ",request_format=" + format
	}
	return jsonOf(map[string]any{"kind": "openai_http", "target": a.BaseURL, "model": a.Model, "request_format": format,
		"extras": map[string]any{"body": body}})
}

// guidellmOptions are those of 0.4 to 0.6.
func guidellmOptions(w *words, a Ask, kind string, rate core.Value, params core.Knobs) error {
	switch {
	case !a.Workload.IgnoreEOS.True():
		return invalid("ignore_eos: before 0.7 it always has answers reach their length")
	case len(params) > 0:
		return invalid("%s: before 0.7 it has no option for it", params.Names()[0])
	case kind != "concurrent" && limited(a.Load.Concurrency):
		return invalid("concurrency: before 0.7 it has no limit beside a rate")
	}
	request := "chat_completions"
	if isCompletions(a.Workload) {
		request = "text_completions"
	}
	w.add("benchmark", "run", "--target", a.BaseURL, "--model", a.Model, "--request-type", request)
	if a.Checkpoint != "" && a.Checkpoint != a.Model {
		w.add("--processor", a.Checkpoint)
	}
	w.add("--data", "prompt_tokens="+a.Workload.InputLen.String()+",output_tokens="+a.Workload.OutputLen.String(), "--profile", kind)
	w.number("--rate", rate)
	w.number("--max-requests", a.Load.NumPrompts)
	w.number("--max-seconds", a.Load.DurationS)
	w.number("--random-seed", a.Load.Seed)
	w.add("--output-path", ResultFile, "--disable-console-interactive")
	return nil
}

// olderThan compares the first two numbers of a version; an unknown one is new.
func olderThan(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	x, errX := strconv.Atoi(parts[0])
	y, errY := strconv.Atoi(parts[1])
	return errX == nil && errY == nil && (x < major || x == major && y < minor)
}

// jsonOf renders what json.Marshal always can: texts, numbers, maps of them.
func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(data)
}
