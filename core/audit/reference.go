package audit

import (
	"slices"
	"strings"
	"unicode"
)

// Reference is what is known of models and GPUs beyond a trial: the numbers that
// physical limits are worked out from. A table of a user is laid over the default
// one with Merge.
type Reference struct {
	Models []Model
	GPUs   []GPU
}

// Model is the size of a model. Sizes are nominal, as in the model's name; the true
// count is some percent above, less what a step does not read (the input embedding),
// so that a floor made of the nominal one is a floor.
type Model struct {
	// Names are checkpoint names without owner and without variant ("Qwen3-8B" also
	// stands for "Qwen/Qwen3-8B-FP8" and "Qwen3-8B-Instruct-2507").
	Names  []string
	Params float64 // parameters
	// ActiveParams are those that one token uses: fewer in a mixture of experts,
	// equal to Params (or 0) in a dense model.
	ActiveParams float64
	// Dtype is the number format in which the plain checkpoint is published.
	Dtype string
	// Layers, KVHeads and HeadDim give the size of the KV cache of a token; 0 where
	// the model keeps none of the usual form in every layer.
	Layers, KVHeads, HeadDim float64
	Source                   string
}

// active are the parameters that one token uses.
func (m Model) active() float64 {
	if m.ActiveParams > 0 {
		return m.ActiveParams
	}
	return m.Params
}

// GPU is the peak of one GPU. Figures are those of the vendor for dense matrices.
type GPU struct {
	// Names are words of the product's name, any of which identifies it: "H100 80GB
	// HBM3" is found in "NVIDIA H100 80GB HBM3". The name with most words wins.
	Names     []string
	Bandwidth float64 // of its memory, bytes per second
	Memory    float64 // bytes
	// FLOPS are dense peaks by number format: "bf16", "fp8", "int8", "fp4".
	FLOPS  map[string]float64
	Source string
}

// Merge returns r with the entries of over in front: an entry that shares a name
// with one of r replaces it.
func (r Reference) Merge(over Reference) Reference {
	out := Reference{Models: slices.Clone(over.Models), GPUs: slices.Clone(over.GPUs)}
	for _, m := range r.Models {
		if !slices.ContainsFunc(over.Models, func(o Model) bool { return shareName(o.Names, m.Names) }) {
			out.Models = append(out.Models, m)
		}
	}
	for _, g := range r.GPUs {
		if !slices.ContainsFunc(over.GPUs, func(o GPU) bool { return shareName(o.Names, g.Names) }) {
			out.GPUs = append(out.GPUs, g)
		}
	}
	return out
}

func shareName(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return strings.EqualFold(x, y) })
	})
}

// Model finds a model by the name of a checkpoint, with or without owner, number
// format and variant. plain reports a name without a number format, whose weights
// are in the published one.
func (r Reference) Model(checkpoint string) (m Model, plain, ok bool) {
	name := strings.ToLower(checkpoint[strings.LastIndexByte(checkpoint, '/')+1:])
	plain = true
	for name != "" {
		for _, m := range r.Models {
			if slices.ContainsFunc(m.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
				return m, plain, true
			}
		}
		i := strings.LastIndexAny(name, "-_")
		if i < 0 {
			break
		}
		switch suffix := name[i+1:]; {
		case isFormat(suffix):
			plain = false
		case !isVariant(suffix):
			return Model{}, false, false
		}
		name = name[:i]
	}
	return Model{}, false, false
}

// isFormat: a part of a checkpoint's name that tells another number format.
func isFormat(s string) bool {
	switch s {
	case "fp8", "dynamic", "block", "awq", "gptq", "int4", "int8", "w4a16", "w8a8", "w8a16", "nvfp4", "mxfp4", "fp4", "gguf", "4bit", "8bit":
		return true
	}
	return false
}

// isVariant: a part that tells another training of the same architecture.
func isVariant(s string) bool {
	switch s {
	case "instruct", "thinking", "chat", "base", "it", "hf", "bf16":
		return true
	}
	digits := strings.TrimLeft(s, "v")
	return digits != "" && strings.Trim(digits, "0123456789.") == "" // "2507", "v0.3"
}

// GPU finds a GPU by its full product name.
func (r Reference) GPU(product string) (GPU, bool) {
	words := wordsOf(product)
	best, most := GPU{}, 0
	for _, g := range r.GPUs {
		for _, name := range g.Names {
			parts := wordsOf(name)
			if len(parts) > most && !slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(words, p) }) {
				best, most = g, len(parts)
			}
		}
	}
	return best, most > 0
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
