package audit

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// hardware is what a trial ran on, as far as limits need it. A field that is 0 is
// not known.
type hardware struct {
	model    Model
	gpu      GPU
	bytes    float64 // of one weight
	dtype    string
	peak     float64 // FLOP/s of one GPU for these weights
	peakName string
	shards   float64 // GPUs that read one copy of the weights together
	gpus     float64
}

// step is the least time of one decoding step in seconds: every active weight is
// read once, by all shards together. 0 where an input is missing.
func (h hardware) step() float64 {
	if h.gpu.Bandwidth <= 0 || h.bytes <= 0 || h.shards <= 0 || h.model.active() <= 0 {
		return 0
	}
	return h.model.active() * h.bytes / (h.gpu.Bandwidth * h.shards)
}

// stepFormula says how step is worked out.
func (h hardware) stepFormula() string {
	return fmt.Sprintf("%s billion active weights × %s bytes (%s) / (%s TB/s × %s GPU)", num(h.model.active()/billion), num(h.bytes), h.dtype,
		num(h.gpu.Bandwidth/1e12), num(h.shards))
}

// rate is the most tokens per second that the GPUs can compute, 2 operations a
// weight and token. 0 where an input is missing.
func (h hardware) rate() float64 {
	if h.peak <= 0 || h.gpus <= 0 || h.model.active() <= 0 {
		return 0
	}
	return h.gpus * h.peak / (2 * h.model.active())
}

func (h hardware) rateFormula() string {
	return fmt.Sprintf("%s GPU × %s TFLOP/s (%s) / (2 × %s billion active weights)", num(h.gpus), num(h.peak/1e12), h.peakName, num(h.model.active()/billion))
}

func hardwareOf(t *core.Trial, ref Reference) hardware {
	var h hardware
	cfg := t.Setup.Config
	plain := false
	if m, same, ok := ref.Model(cfg.Checkpoint); ok {
		h.model, plain = m, same
	} else if m, _, ok := ref.Model(cfg.Model); ok {
		h.model = m
	}
	h.dtype = strings.ToLower(t.Setup.WeightDtype)
	_, quantized := cfg.Knobs["quantization"]
	_, cast := cfg.Knobs["dtype"]
	if h.dtype == "" && plain && cfg.CommandKnown && !quantized && !cast {
		h.dtype = h.model.Dtype
	}
	h.bytes = weightBytes(h.dtype)
	if g, ok := ref.GPU(t.Setup.GPU); ok {
		h.gpu = g
		h.peak, h.peakName = g.peakFor(h.dtype)
	}
	h.shards, h.gpus = spread(t.Setup)
	return h
}

// weightBytes is the size of one weight, without the scales of a quantized one; 0
// for a format that is not known.
func weightBytes(dtype string) float64 {
	switch dtype {
	case "fp32", "float32":
		return 4
	case "bf16", "fp16", "bfloat16", "float16":
		return 2
	case "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "w8a8", "w8a8_fp8", "w8a8_int8", "mxfp8":
		return 1
	case "int4", "awq", "awq_marlin", "gptq", "gptq_marlin", "w4a16", "fp4", "nvfp4", "mxfp4", "modelopt_fp4":
		return 0.5
	}
	return 0
}

// peakFor is the peak at which weights of a number format can be computed. Formats
// that the GPU has no units for, and those that only pack weights, run as bf16.
func (g GPU) peakFor(dtype string) (float64, string) {
	unit := ""
	switch dtype {
	case "bf16", "fp16", "bfloat16", "float16", "int4", "awq", "awq_marlin", "gptq", "gptq_marlin", "w4a16":
		unit = "bf16"
	case "fp8", "fp8_e4m3", "fp8_e5m2", "w8a8_fp8", "mxfp8":
		unit = "fp8"
	case "int8", "w8a8", "w8a8_int8":
		unit = "int8"
	case "fp4", "nvfp4", "mxfp4", "modelopt_fp4":
		unit = "fp4"
	default:
		return 0, ""
	}
	if p, ok := g.FLOPS[unit]; ok {
		return p, unit
	}
	return g.FLOPS["bf16"], "bf16"
}

// spread says how many GPUs hold one copy of the weights of a layer, and how many
// there are; 0 for what is not known. Ranks of data parallelism hold copies of their
// own, unless experts are spread over them.
func spread(s core.Setup) (shards, gpus float64) {
	tp, ok := parallel(s, "tp")
	pp, ok2 := parallel(s, "pp")
	dp, ok3 := parallel(s, "dp")
	if !ok || !ok2 || !ok3 {
		return 0, s.GPUs
	}
	switch s.Config.Engine {
	case "sglang":
		if s.Config.Knobs["enable_dp_attention"].True() {
			dp = 1 // the ranks share the tp GPUs
		}
	case "vllm":
		if s.Config.Knobs["enable_expert_parallel"].True() {
			return tp * dp, max(s.GPUs, tp*pp*dp)
		}
	}
	return tp, max(s.GPUs, tp*pp*dp)
}

func parallel(s core.Setup, kind string) (float64, bool) {
	v := s.Parallel(kind)
	if v.Kind != core.KindNumber || v.Num < 1 {
		return 0, false
	}
	if _, stated := s.Config.Knobs[kind]; !stated && !defaultsToOne(s.Config.Engine) {
		return 0, false
	}
	return v.Num, true
}

// defaultsToOne: engines whose parallelism is 1 unless their command says more.
func defaultsToOne(engine string) bool {
	switch engine {
	case "vllm", "sglang", "trtllm", "sim":
		return true
	}
	return false
}

// Share is the part of a limit of the hardware that a trial used, and how it is
// worked out, with the figures put in.
type Share struct {
	Value core.Value
	How   string
}

// Limits gives the share of the memory bandwidth (MBU) and of the arithmetic (MFU)
// that a trial used.
//
//	mbu = (weights + KV cache read in a step) / (step time × bandwidth of the GPUs that share it)
//	mfu = 2 × active weights × computed tokens / (duration × GPUs × dense peak)
//
// Weights are the active ones, so that mbu of a mixture of experts is a lower bound.
// The KV cache counts where the model's layers are known: requests that decode (rate
// × decode time, by Little's law) × the mean context. A step is mean_tpot_ms × the
// accepted tokens of a step. A value is missing when model size, number format,
// parallelism, GPU or a figure is not known.
func Limits(t *core.Trial, ref Reference) (mbu, mfu Share) {
	h := hardwareOf(t, ref)
	f := t.Figures
	if tokens, ok := computedTokens(f); ok && h.rate() > 0 && f["duration_s"] > 0 {
		mfu.Value = core.Number(tokens / f["duration_s"] / h.rate())
		mfu.How = fmt.Sprintf("%s computed tokens / %s s / (%s)", num(tokens), num(f["duration_s"]), h.rateFormula())
	}
	tpot, ok := f["mean_tpot_ms"]
	accepted := 1.0
	switch t.Setup.SpecMethod {
	case "":
		ok = false
	case "none":
	default:
		accepted = f["accept_len"] // 0 where it is not known
	}
	if ok && tpot*accepted > 0 && h.step() > 0 {
		step := tpot * accepted / 1000
		read := h.model.active() * h.bytes
		how := fmt.Sprintf("(%s GB of weights", num(read/1e9))
		if kv := kvBytes(t, h, tpot); kv > 0 {
			read += kv
			how += fmt.Sprintf(" + %s GB of KV cache", num(kv/1e9))
		}
		mbu.Value = core.Number(read / step / (h.gpu.Bandwidth * h.shards))
		mbu.How = fmt.Sprintf("%s) / (%s ms a step × %s TB/s × %s GPU)", how, num(1000*step), num(h.gpu.Bandwidth/1e12), num(h.shards))
	}
	return mbu, mfu
}

// computedTokens are all tokens but those that a prefix cache held.
func computedTokens(f core.Figures) (float64, bool) {
	in, ok := f["input_tokens"]
	out, ok2 := f["output_tokens"]
	return in + out - f["cached_tokens"], ok && ok2
}

// kvBytes is what one step reads of the KV cache on the GPUs that share a copy of
// the weights; 0 where it is not known.
func kvBytes(t *core.Trial, h hardware, tpot float64) float64 {
	perToken := 2 * h.model.Layers * h.model.KVHeads * h.model.HeadDim * kvTypeBytes(t.Setup.KVDtype)
	f := t.Figures
	completed, duration := f["completed"], f["duration_s"]
	if perToken <= 0 || completed <= 0 || duration <= 0 {
		return 0
	}
	in, out := f["input_tokens"]/completed, f["output_tokens"]/completed
	decoding := completed / duration * tpot / 1000 * max(out-1, 0)
	copies := max(1, h.gpus/h.shards)
	return decoding / copies * (in + out/2) * perToken
}

func kvTypeBytes(dtype string) float64 {
	switch {
	case dtype == "", dtype == "auto":
		return 2
	case strings.HasPrefix(dtype, "fp8"), dtype == "int8":
		return 1
	case strings.HasPrefix(dtype, "fp4"), strings.HasPrefix(dtype, "nvfp4"):
		return 0.5
	}
	return 2
}
