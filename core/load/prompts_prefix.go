package load

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// prefixPrompts makes prompts that begin with one of a few common prefixes, as the
// prefix_repetition data set of vllm bench serve: num_prefixes (10) prefixes of
// prefix_len (256) tokens, each followed by suffix_len (256) tokens of its own;
// 128 output tokens unless OutputLen says other.
//
// Note: vLLM drops the requests that do not divide by the number of prefixes and
// shuffles the others. Here every num_prefixes requests in a row use each prefix
// once, in a new order, so that any number of requests spreads evenly.
func prefixPrompts(w core.Workload, seed uint64, ids bool, counter Counter) (Prompts, error) {
	count, err := param(w.Params, "num_prefixes", 1, 10)
	if err != nil {
		return Prompts{}, err
	}
	prefixLen, err := param(w.Params, "prefix_len", 1, 256)
	if err != nil {
		return Prompts{}, err
	}
	suffixLen, err := param(w.Params, "suffix_len", 1, 256)
	if err != nil {
		return Prompts{}, err
	}
	if n, set, err := length("input_len", w.InputLen); err != nil {
		return Prompts{}, err
	} else if set && n != prefixLen+suffixLen {
		return Prompts{}, fmt.Errorf("workload: input_len: %w: %d is not prefix_len + suffix_len, %d", core.ErrInvalid, n, prefixLen+suffixLen)
	}
	output, set, err := length("output_len", w.OutputLen)
	if err != nil {
		return Prompts{}, err
	}
	if !set {
		output = 128
	}
	d, err := newDrawer(w.Params, ids, counter)
	if err != nil {
		return Prompts{}, err
	}
	return Prompts{Distinct: -1, CountedBy: d.countedBy, At: func(i int) Prompt {
		which := stream(seed, shuffleStream, i/count).Perm(count)[i%count]
		prefix := d.draw(stream(seed, prefixStream, which), prefixLen)
		return d.join(Prompt{OutputTokens: output}, prefix, d.draw(stream(seed, promptStream, i), suffixLen))
	}}, nil
}
