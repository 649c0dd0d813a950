package load

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Prompt is one request's question. Text is asked over chat completions; over
// completions Tokens is asked where there are any, which gives every engine the
// same input length, else Text.
type Prompt struct {
	Text   string
	Tokens []int
	// InputTokens is the wanted or estimated length without a chat template; a
	// sample records what the server counts.
	InputTokens int
	// OutputTokens is the most that is asked for.
	OutputTokens int
}

// Prompts gives the question at any position of a run, from 0. It is pure: a
// position always gives the same prompt, in whatever order they are taken, and
// it may be called from several goroutines.
type Prompts struct {
	At func(i int) Prompt
	// Distinct is how many different prompts there are before they repeat; -1 is
	// no bound. A repeated prompt is answered from a warm prefix cache.
	Distinct int
}

// NewPrompts makes the prompts of a workload under the load's seed. path is the
// data file on this machine, for the data sets that have one ("sharegpt",
// "custom"). Errors name the workload's field, or the file and line.
//
// What makes up a prompt is decided by workload.Dataset: "random" (InputLen and
// OutputLen wanted), "sharegpt", "custom" and "builtin".
func NewPrompts(w core.Workload, load core.Load, path string) (Prompts, error) {
	endpoint, err := endpointOf(w)
	if err != nil {
		return Prompts{}, err
	}
	if err := checkWorkload(w); err != nil {
		return Prompts{}, err
	}
	output, _, err := length("output_len", w.OutputLen)
	if err != nil {
		return Prompts{}, err
	}
	seed := seedOf(load)
	switch w.Dataset {
	case "random":
		return randomPrompts(w, seed, endpoint == completions)
	case "sharegpt":
		found, err := shareGPTFile(path, output)
		if err != nil {
			return Prompts{}, err
		}
		return shuffled(found, seed), nil
	case "builtin":
		found, err := builtinConversations(output)
		if err != nil {
			return Prompts{}, err
		}
		return shuffled(found, seed), nil
	case "custom":
		found, err := customFile(path, output)
		if err != nil {
			return Prompts{}, err
		}
		return inOrder(found), nil
	}
	return Prompts{}, fmt.Errorf("workload: dataset: %w: %q; known: random, sharegpt, custom, builtin", core.ErrInvalid, w.Dataset)
}

// samplingParams are the parameters that go into the request as they are. They
// are the ones that every engine's request model knows, because a server may
// refuse a field that it does not.
var samplingParams = []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"}

// shapeParams are the parameters that shape random prompts.
var shapeParams = []string{"range_ratio", "prefix_len", "vocab_size"}

// checkWorkload refuses what would otherwise be left out in silence: figures
// under a name that promises something else are worse than none.
func checkWorkload(w core.Workload) error {
	if w.Turns.Kind == core.KindNumber && w.Turns.Num != 1 {
		return fmt.Errorf("workload: turns: %w: %s; the ruler measures single requests", core.ErrInvalid, w.Turns)
	}
	for _, name := range w.Params.Names() {
		switch {
		case slices.Contains(samplingParams, name):
			if v := w.Params[name]; v.Kind != core.KindNumber || v.IsUnlimited() {
				return fmt.Errorf("workload: %s: %w: %q is not a number", name, core.ErrInvalid, v)
			}
		case slices.Contains(shapeParams, name) && w.Dataset == "random":
		default:
			return fmt.Errorf("workload: %s: %w: unknown parameter for dataset %s; known: %s", name, core.ErrInvalid, w.Dataset,
				strings.Join(slices.Concat(samplingParams, shapeParams), ", "))
		}
	}
	return nil
}

// endpoint is a path of the HTTP API.
type endpoint string

const (
	chat        endpoint = "/v1/chat/completions"
	completions endpoint = "/v1/completions"
)

func endpointOf(w core.Workload) (endpoint, error) {
	switch strings.TrimPrefix(strings.TrimPrefix(w.Endpoint, "/"), "v1/") {
	case "", "chat", "chat/completions", "openai-chat":
		return chat, nil
	case "completions", "openai":
		return completions, nil
	}
	return "", fmt.Errorf("workload: endpoint: %w: %q; known: chat, completions", core.ErrInvalid, w.Endpoint)
}

// length reads a length in tokens; set is false where none is given.
func length(name string, v core.Value) (n int, set bool, err error) {
	switch {
	case v.IsMissing() || v.Kind == core.KindUnset:
		return 0, false, nil
	case v.Kind != core.KindNumber || v.Num != math.Trunc(v.Num) || v.Num < 1 || v.Num > maxLength:
		return 0, false, fmt.Errorf("workload: %s: %w: %q is not a whole number of tokens from 1 to %d", name, core.ErrInvalid, v, maxLength)
	}
	return int(v.Num), true, nil
}

// maxLength is above every context window of today, and keeps a mistyped length
// from filling the memory.
const maxLength = 1 << 26
