package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Prompt is one request's question. Text is asked over chat completions; over
// completions Tokens is asked where there are any, which gives every engine the
// same input length, else Text.
type Prompt struct {
	Text   string
	Tokens []int
	// History is what was said before in a conversation, oldest first.
	History []Turn
	// InputTokens is the wanted or counted length without a chat template; a
	// sample records what the server counts. Exact says that it is no estimate.
	InputTokens int
	Exact       bool
	// OutputTokens is the most that is asked for.
	OutputTokens int
}

// Turn is one message of a conversation.
type Turn struct {
	Role string // "system", "user" or "assistant"
	Text string
}

// Prompts gives the question at any position of a run, from 0. It is pure: a
// position always gives the same prompt, in whatever order they are taken, and
// it may be called from several goroutines.
type Prompts struct {
	At func(i int) Prompt
	// Distinct is how many different prompts there are before they repeat; -1 is
	// no bound. A repeated prompt is answered from a warm prefix cache.
	Distinct int
	// Turns is how many consecutive prompts make one conversation, whose turns are
	// asked one after the other; 0 and 1 are single requests.
	Turns int
	// OwnAnswers: the history of a later turn holds what the server answered,
	// rather than what the data set says.
	OwnAnswers bool
	// Think is how long after an answer the next turn is due.
	Think time.Duration
	// Due gives the moment of each prompt, for a trace; nil otherwise.
	Due func(i int) time.Duration
	// CountedBy names what measured the lengths: a CountedBy constant, or "ids"
	// for prompts of token ids.
	CountedBy string
}

// The data sets.
const (
	randomSet   = "random"
	prefixSet   = "prefix_repetition"
	shareGPTSet = "sharegpt"
	builtinSet  = "builtin"
	customSet   = "custom"
	traceSet    = "trace"
)

// Drawn reports whether the prompts of a data set are drawn rather than read. They
// have no natural end: unless answers are made to reach their lengths, the two sides of
// a comparison would generate different amounts.
func Drawn(dataset string) bool {
	return dataset == randomSet || dataset == prefixSet || dataset == traceSet
}

// NewPrompts makes the prompts of a workload under the load's seed, with lengths
// by estimate. path is the data file on this machine, for the data sets that have
// one ("sharegpt", "custom", "trace"). Errors name the workload's field, or the
// file and line.
func NewPrompts(w core.Workload, load core.Load, path string) (Prompts, error) {
	return PromptsCountedBy(Estimate(), w, load, path)
}

// PromptsCountedBy makes the prompts of a workload with lengths by a counter.
//
// What makes up a prompt is decided by workload.Dataset: "random" (InputLen and
// OutputLen wanted), "prefix_repetition", "sharegpt", "custom", "trace" and
// "builtin". With Turns above 1 "sharegpt" and "builtin" give conversations.
func PromptsCountedBy(counter Counter, w core.Workload, load core.Load, path string) (Prompts, error) {
	endpoint, err := endpointOf(w)
	if err != nil {
		return Prompts{}, err
	}
	turns, err := checkWorkload(w, endpoint)
	if err != nil {
		return Prompts{}, err
	}
	output, _, err := length("output_len", w.OutputLen)
	if err != nil {
		return Prompts{}, err
	}
	seed := seedOf(load)
	ids := endpoint == completions
	var p Prompts
	switch w.Dataset {
	case randomSet:
		p, err = randomPrompts(w, seed, ids, counter)
	case prefixSet:
		p, err = prefixPrompts(w, seed, ids, counter)
	case traceSet:
		p, err = tracePrompts(w, path, seed, ids, counter)
	case shareGPTSet:
		if turns > 1 {
			p, err = conversations(w, path, turns, output, seed, counter)
		} else {
			p, err = shareGPTPrompts(path, output, wanted(load), seed, counter)
		}
	case builtinSet:
		if turns > 1 {
			p, err = conversations(w, "", turns, output, seed, counter)
		} else {
			p, err = builtinConversations(output, seed, counter)
		}
	case customSet:
		var found []Prompt
		if found, err = customFile(path, output, counter); err == nil {
			p = inOrder(found)
		}
	default:
		return Prompts{}, fmt.Errorf("workload: dataset: %w: %q; known: random, prefix_repetition, sharegpt, builtin, custom, trace", core.ErrInvalid, w.Dataset)
	}
	if p.CountedBy == "" {
		p.CountedBy = counter.Name
	}
	return p, err
}

// Check tells what is wrong with a workload under a load, as far as that can be told
// without its data file. Errors name the field.
func Check(w core.Workload, l core.Load) error {
	if _, err := (Ruler{}).plan(core.BenchmarkRequest{Workload: w, Load: l}); err != nil {
		return err
	}
	switch w.Dataset {
	case randomSet, prefixSet, builtinSet:
		_, err := NewPrompts(w, l, "")
		return err
	}
	ep, err := endpointOf(w)
	if err != nil {
		return err
	}
	_, err = checkWorkload(w, ep)
	return err
}

// wanted is how many prompts a load can use at most, where that is known.
func wanted(load core.Load) int {
	if n := load.NumPrompts; n.Kind == core.KindNumber && n.Num >= 1 && n.Num <= maxSetting {
		return int(n.Num)
	}
	return -1
}

// samplingParams are the parameters that go into the request as they are. They
// are the ones that every engine's request model knows, because a server may
// refuse a field that it does not.
var samplingParams = []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"}

// IsSampling reports whether a parameter of a workload goes into each request as it is.
func IsSampling(name string) bool { return slices.Contains(samplingParams, name) }

// shapeParams are the parameters of each data set.
func shapeParams(dataset string, turns int) []string {
	switch {
	case dataset == randomSet:
		return []string{"range_ratio", "prefix_len", "vocab_size"}
	case dataset == prefixSet:
		return []string{"num_prefixes", "prefix_len", "suffix_len", "vocab_size"}
	case dataset == traceSet:
		return []string{"vocab_size", "block_size", "time_unit_s", speedParam}
	case turns > 1:
		return []string{"history", "think_s"}
	}
	return nil
}

// ParamNames lists every parameter that a workload of some data set may have.
func ParamNames() []string {
	names := slices.Concat(samplingParams, []string{rampParam, fromParam, openingParam})
	for _, dataset := range []string{randomSet, prefixSet, traceSet} {
		names = append(names, shapeParams(dataset, 1)...)
	}
	names = append(names, shapeParams(builtinSet, 2)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// checkWorkload refuses what would otherwise be left out in silence: figures
// under a name that promises something else are worse than none.
func checkWorkload(w core.Workload, ep endpoint) (turns int, err error) {
	turns = 1
	if n, set, err := length("turns", w.Turns); err != nil {
		return 0, err
	} else if set {
		turns = n
	}
	if turns > 1 {
		if w.Dataset != shareGPTSet && w.Dataset != builtinSet {
			return 0, fmt.Errorf("workload: turns: %w: %d; dataset %q has no conversations, sharegpt and builtin have", core.ErrInvalid, turns, w.Dataset)
		}
		if ep != chat {
			return 0, fmt.Errorf("workload: endpoint: %w: a conversation needs chat", core.ErrInvalid)
		}
	}
	shapes := append(shapeParams(w.Dataset, turns), rampParam, fromParam, openingParam)
	for _, name := range w.Params.Names() {
		switch {
		case IsSampling(name):
			if v := w.Params[name]; v.Kind != core.KindNumber || v.IsUnlimited() {
				return 0, fmt.Errorf("workload: %s: %w: %q is not a number", name, core.ErrInvalid, v)
			}
		case slices.Contains(shapes, name):
		default:
			return 0, fmt.Errorf("workload: %s: %w: unknown parameter for dataset %s; known: %s", name, core.ErrInvalid, w.Dataset,
				strings.Join(slices.Concat(samplingParams, shapes), ", "))
		}
	}
	return turns, nil
}

// param reads a parameter that is a whole number of at least least.
func param(params core.Knobs, name string, least, otherwise int) (int, error) {
	v, ok := params[name]
	switch {
	case !ok:
		return otherwise, nil
	case v.Kind != core.KindNumber || v.Num != math.Trunc(v.Num) || v.Num < float64(least) || v.Num > maxLength:
		return 0, fmt.Errorf("workload: %s: %w: %q is not a whole number from %d to %d", name, core.ErrInvalid, v, least, maxLength)
	}
	return int(v.Num), nil
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
