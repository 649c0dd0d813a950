package sim

import (
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// architecture is what the roofline needs to know of one model.
type architecture struct {
	params     float64 // all weights
	active     float64 // weights that one token passes through (mixture of experts)
	embedding  float64 // weights of embedding and head, kept at 16 bits by quantized checkpoints
	kvLayers   float64 // layers that keep a KV cache
	heads      float64 // query heads
	kvHeads    float64
	headDim    float64
	contextLen int // longest sequence of the checkpoint
}

// architectures is keyed by the base name of the checkpoint without a
// quantization suffix. It is never changed.
var architectures = map[string]architecture{
	"qwen3-0.6b":      {0.596e9, 0.596e9, 0.156e9, 28, 16, 8, 128, 40960},
	"qwen3-1.7b":      {1.72e9, 1.72e9, 0.311e9, 28, 16, 8, 128, 40960},
	"qwen3-4b":        {4.02e9, 4.02e9, 0.389e9, 36, 32, 8, 128, 40960},
	"qwen3-8b":        {8.19e9, 8.19e9, 1.245e9, 36, 32, 8, 128, 40960},
	"qwen3-14b":       {14.77e9, 14.77e9, 1.556e9, 40, 40, 8, 128, 40960},
	"qwen3-32b":       {32.76e9, 32.76e9, 1.556e9, 64, 64, 8, 128, 40960},
	"qwen3-30b-a3b":   {30.53e9, 3.34e9, 0.622e9, 48, 32, 4, 128, 40960},
	"qwen3-235b-a22b": {235.1e9, 22.2e9, 1.245e9, 94, 64, 4, 128, 40960},
	"qwen3.5-9b":      {9.4e9, 9.4e9, 2.03e9, 8, 16, 4, 256, 262144},
	"qwen3.5-35b-a3b": {35.1e9, 3.3e9, 1.02e9, 10, 16, 2, 256, 262144},
	"llama-3.1-8b":    {8.03e9, 8.03e9, 1.051e9, 32, 32, 8, 128, 131072},
	"llama-3.1-70b":   {70.55e9, 70.55e9, 2.101e9, 80, 64, 8, 128, 131072},
}

var (
	quantSuffix = regexp.MustCompile(`(?i)[-_](fp8(-dynamic)?|w8a8|instruct|base|\d{4})$`)
	fp8Suffix   = regexp.MustCompile(`(?i)[-_]fp8(-dynamic)?$`)
	sizeInName  = regexp.MustCompile(`(?i)[-_](\d+(?:\.\d+)?)b(?:[-_]a(\d+(?:\.\d+)?)b)?(?:[-_.]|$)`)
)

// isFP8Checkpoint reports whether the name says that the weights are 8-bit.
func isFP8Checkpoint(checkpoint string) bool { return fp8Suffix.MatchString(checkpoint) }

// findArchitecture knows a checkpoint by its name, or makes up a transformer of
// the size that the name states ("acme/thing-7B-A1B"). It fails for a name
// without a size, as a registry fails for a name that it does not hold.
func findArchitecture(checkpoint string) (architecture, bool) {
	name := strings.ToLower(path.Base(checkpoint))
	for {
		if a, ok := architectures[name]; ok {
			return a, true
		}
		short := quantSuffix.ReplaceAllString(name, "")
		if short == name {
			break
		}
		name = short
	}
	m := sizeInName.FindStringSubmatch(name)
	if m == nil {
		return architecture{}, false
	}
	params, err := strconv.ParseFloat(m[1], 64)
	if err != nil || params <= 0 || params > 1e5 {
		return architecture{}, false
	}
	active := params
	if m[2] != "" {
		if active, err = strconv.ParseFloat(m[2], 64); err != nil || active <= 0 || active > params {
			return architecture{}, false
		}
	}
	return architecture{
		params: params * 1e9, active: active * 1e9, embedding: 0.3e9 * math.Sqrt(params),
		// Depth and width of dense models grow about with the cube root of the size.
		kvLayers: math.Round(18 * math.Cbrt(params)), heads: 8 * math.Max(1, math.Round(2*math.Cbrt(params))),
		kvHeads: 8, headDim: 128, contextLen: 40960,
	}, true
}
