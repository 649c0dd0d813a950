package core

import (
	"slices"
	"strings"
)

// Idea is one knob idea with each engine's own flag for it. The common name is
// the canonical one: equal ideas compare across engines. Memory fractions are
// three different quantities and so have no idea here (engines.md 1.4, traps).
type Idea struct {
	Name string            // common name, "max_num_seqs"
	Doc  string            // one line
	Own  map[string]string // engine -> own flag in snake_case
}

// Ideas lists the knob ideas that engines share. Only the pairs whose meaning is
// the same are mapped; everything else keeps the engine's own name.
func Ideas() []Idea { return slices.Clone(ideas) }

// ideas is never changed.
var ideas = []Idea{
	{"context_len", "longest sequence (prompt and answer) in tokens", own("max_model_len", "context_length", "max_seq_len")},
	{"max_num_seqs", "requests that decode together", own("max_num_seqs", "max_running_requests", "max_batch_size")},
	{"max_batched_tokens", "tokens computed in one step", own("max_num_batched_tokens", "", "max_num_tokens")},
	{"chunked_prefill", "a long prompt is computed in pieces between decode steps", own("enable_chunked_prefill", "", "enable_chunked_prefill")},
	{"kv_cache_dtype", "number format of the KV cache", own("kv_cache_dtype", "kv_cache_dtype", "kv_cache_config.dtype")},
	{"quantization", "weight quantization applied at load", own("quantization", "quantization", "")},
	{"tp", "tensor parallel size", own("tensor_parallel_size", "tp_size", "tp_size")},
	{"pp", "pipeline parallel size", own("pipeline_parallel_size", "pp_size", "pp_size")},
	{"dp", "data parallel size", own("data_parallel_size", "dp_size", "")},
	{"ep", "expert parallel size", own("", "ep_size", "ep_size")},
	{"attention_backend", "attention kernels", own("attention_backend", "attention_backend", "attn_backend")},
	{"seed", "random seed of the server", own("seed", "random_seed", "")},
}

func own(vllm, sglang, trtllm string) map[string]string {
	m := map[string]string{}
	// The simulator speaks vLLM's flags.
	for engine, flag := range map[string]string{"vllm": vllm, "sim": vllm, "sglang": sglang, "trtllm": trtllm} {
		if flag != "" {
			m[engine] = flag
		}
	}
	return m
}

// spelling gives the engine's own spelling of a flag; the tables list the others.
func spelling(engine, flag string) string {
	if own, ok := flagAliases[[2]string{engine, flag}]; ok {
		return own
	}
	return flag
}

// SnakeKnob gives the one spelling of a flag: no leading dashes, underscores for
// dashes, lower case left alone ("--max-num-seqs" -> "max_num_seqs").
func SnakeKnob(flag string) string {
	return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
}

// CanonicalKnob gives the name under which a flag of an engine is stored: the
// common name where the idea is mapped, else the engine's own flag in snake_case.
// The engine may be empty; then only the spelling is made one.
func CanonicalKnob(engine, flag string) string {
	name := spelling(engine, SnakeKnob(flag))
	for _, idea := range ideas {
		if idea.Name == name || (idea.Own[engine] == name && name != "") {
			return idea.Name
		}
	}
	return name
}

// OwnKnob gives the engine's own flag in snake_case for a canonical name; it is
// the inverse of CanonicalKnob.
func OwnKnob(engine, name string) string {
	for _, idea := range ideas {
		if idea.Name == name {
			if flag := idea.Own[engine]; flag != "" {
				return flag
			}
			return name
		}
	}
	return name
}

// KnobAliases returns every name under which a canonical knob of an engine can
// be asked: the canonical one first, then the engine's own flag if it differs.
func KnobAliases(engine, name string) []string {
	names := []string{name}
	if o := OwnKnob(engine, name); o != name {
		names = append(names, o)
	}
	return names
}

// KnownKnob reports whether a name is in the table of ideas, as a common name or
// as some engine's own flag.
func KnownKnob(name string) bool {
	return slices.ContainsFunc(ideas, func(idea Idea) bool {
		if idea.Name == name {
			return true
		}
		for _, flag := range idea.Own {
			if flag == name {
				return true
			}
		}
		return false
	})
}
