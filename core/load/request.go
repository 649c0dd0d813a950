package load

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// job is one request, ready to be sent: building it takes no time of the
// measured window. Of a conversation it is the first turn, and the later ones are
// built when their turn comes, as they hold the answers before them.
type job struct {
	index  int
	output int // tokens asked for
	body   []byte
	input  int // exact length of the prompt; -1 is only estimated
	first  Prompt
	later  []Prompt
}

// asker builds request bodies of one trial.
type asker struct {
	endpoint endpoint
	fixed    map[string]any // fields that are equal in all requests
	prompts  Prompts
	count    int // requests in all; -1 is no bound
	// lengths: the engine keeps to a length by min_new_tokens (LMDeploy), which
	// others do not know.
	lengths bool
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
	return asker{endpoint: ep, fixed: fixed, prompts: prompts, count: -1, lengths: req.Config.Engine == "lmdeploy"}, nil
}

// job builds the request at a position, or the conversation.
func (a asker) job(i int) job {
	turns := max(1, a.prompts.Turns)
	index := i * turns
	j := job{index: index, first: a.prompts.At(index), input: -1}
	for k := 1; k < turns && (a.count < 0 || index+k < a.count); k++ {
		j.later = append(j.later, a.prompts.At(index+k))
	}
	if j.first.Exact && a.endpoint == completions {
		j.input = j.first.InputTokens
	}
	j.output = j.first.OutputTokens
	j.body = a.body(j.first, j.first.History)
	return j
}

// body builds a request.
//
// The length limit goes as max_tokens on both endpoints, which every engine
// accepts. Note: max_completion_tokens is chat's newer name, but llama.cpp and
// older servers pass over it, and a server that knows both and forbids unknown
// fields (TensorRT-LLM) refuses a request that gives both.
func (a asker) body(p Prompt, history []Turn) []byte {
	fields := map[string]any{"max_tokens": p.OutputTokens}
	for k, v := range a.fixed {
		fields[k] = v
	}
	if a.lengths && a.fixed["ignore_eos"] == true {
		fields["min_new_tokens"] = p.OutputTokens
	}
	switch {
	case a.endpoint == chat:
		messages := make([]map[string]string, 0, len(history)+1)
		for _, turn := range history {
			messages = append(messages, map[string]string{"role": turn.Role, "content": turn.Text})
		}
		fields["messages"] = append(messages, map[string]string{"role": "user", "content": p.Text})
	case len(p.Tokens) > 0:
		fields["prompt"] = p.Tokens
	default:
		fields["prompt"] = p.Text
	}
	body, err := json.Marshal(fields)
	if err != nil {
		// Strings, whole numbers and parameters that were checked to be finite.
		panic(fmt.Sprintf("load: request is not JSON: %v", err))
	}
	return body
}

// address joins the server's base URL, with or without /v1, and the endpoint.
func address(base string, ep endpoint) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + string(ep)
}
