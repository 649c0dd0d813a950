package load

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// job is one request, ready to be sent: building it takes no time of the
// measured window.
type job struct {
	index  int
	output int // tokens asked for
	body   []byte
}

// asker builds request bodies of one trial.
type asker struct {
	endpoint endpoint
	fixed    map[string]any // fields that are equal in all requests
	prompts  Prompts
}

func newAsker(req core.BenchmarkRequest, prompts Prompts) (asker, error) {
	ep, err := endpointOf(req.Workload)
	if err != nil {
		return asker{}, err
	}
	fixed := map[string]any{
		"model":          req.Model,
		"stream":         true,
		"stream_options": map[string]bool{"include_usage": true},
	}
	if req.Workload.IgnoreEOS.True() {
		fixed["ignore_eos"] = true
	}
	for _, name := range samplingParams {
		if v, ok := req.Workload.Params[name]; ok {
			fixed[name] = v.Num
		}
	}
	return asker{ep, fixed, prompts}, nil
}

// job builds the request at a position.
//
// The length limit goes as max_tokens on both endpoints, which every engine
// accepts. Note: max_completion_tokens is chat's newer name, but llama.cpp and
// older servers pass over it, and a server that knows both and forbids unknown
// fields (TensorRT-LLM) refuses a request that gives both.
func (a asker) job(i int) job {
	p := a.prompts.At(i)
	fields := map[string]any{"max_tokens": p.OutputTokens}
	for k, v := range a.fixed {
		fields[k] = v
	}
	switch {
	case a.endpoint == chat:
		fields["messages"] = []map[string]string{{"role": "user", "content": p.Text}}
	case len(p.Tokens) > 0:
		fields["prompt"] = p.Tokens
	default:
		fields["prompt"] = p.Text
	}
	body, err := json.Marshal(fields)
	if err != nil {
		// Strings, whole numbers and parameters that were checked to be finite.
		panic(fmt.Sprintf("load: request %d is not JSON: %v", i, err))
	}
	return job{index: i, output: p.OutputTokens, body: body}
}

// address joins the server's base URL, with or without /v1, and the endpoint.
func address(base string, ep endpoint) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + string(ep)
}
