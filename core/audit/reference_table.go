package audit

const (
	billion = 1e9
	gib     = 1 << 30
)

// DefaultReference returns the table that comes with Sweepbook. Only entries whose
// numbers the vendor publishes are in it; a product whose name leaves the variant
// open ("NVIDIA H100") is in none, and rules that need its peak say nothing.
func DefaultReference() Reference {
	return Reference{Models: defaultModels(), GPUs: defaultGPUs()}
}

func defaultModels() []Model {
	dense := func(params, layers, kvHeads, headDim float64, source string, names ...string) Model {
		return Model{Names: names, Params: params * billion, Dtype: "bf16", Layers: layers, KVHeads: kvHeads, HeadDim: headDim, Source: source}
	}
	experts := func(params, active float64, dtype string, layers, kvHeads, headDim float64, source string, names ...string) Model {
		return Model{Names: names, Params: params * billion, ActiveParams: active * billion, Dtype: dtype, Layers: layers, KVHeads: kvHeads, HeadDim: headDim, Source: source}
	}
	const (
		qwen3   = "Qwen3 model cards, config.json"
		qwen35  = "Qwen3.5 model names; hybrid attention, so no KV size"
		qwen25  = "Qwen2.5 model cards, config.json"
		llama   = "Llama 3 model cards, config.json"
		deep    = "DeepSeek-V3 report (arXiv 2412.19437); latent attention, so no KV size"
		oss     = "gpt-oss model card (2025-08)"
		glm     = "GLM-4.5 report (arXiv 2508.06471) and model cards"
		mistral = "Mistral model cards, config.json"
	)
	return []Model{
		dense(0.6, 28, 8, 128, qwen3, "Qwen3-0.6B"),
		dense(1.7, 28, 8, 128, qwen3, "Qwen3-1.7B"),
		dense(4, 36, 8, 128, qwen3, "Qwen3-4B"),
		dense(8, 36, 8, 128, qwen3, "Qwen3-8B"),
		dense(14, 40, 8, 128, qwen3, "Qwen3-14B"),
		dense(32, 64, 8, 128, qwen3, "Qwen3-32B"),
		experts(30, 3, "bf16", 48, 4, 128, qwen3, "Qwen3-30B-A3B", "Qwen3-Coder-30B-A3B"),
		experts(235, 22, "bf16", 94, 4, 128, qwen3, "Qwen3-235B-A22B"),
		experts(480, 35, "bf16", 62, 8, 128, qwen3, "Qwen3-Coder-480B-A35B"),
		dense(9, 0, 0, 0, qwen35, "Qwen3.5-9B"),
		experts(35, 3, "bf16", 0, 0, 0, qwen35, "Qwen3.5-35B-A3B"),
		dense(7, 28, 4, 128, qwen25, "Qwen2.5-7B", "Qwen2.5-Coder-7B"),
		dense(14, 48, 8, 128, qwen25, "Qwen2.5-14B"),
		dense(32, 64, 8, 128, qwen25, "Qwen2.5-32B", "Qwen2.5-Coder-32B", "QwQ-32B"),
		dense(72, 80, 8, 128, qwen25, "Qwen2.5-72B"),
		dense(1, 16, 8, 64, llama, "Llama-3.2-1B"),
		dense(3, 28, 8, 128, llama, "Llama-3.2-3B"),
		dense(8, 32, 8, 128, llama, "Llama-3.1-8B", "Meta-Llama-3.1-8B", "Meta-Llama-3-8B", "DeepSeek-R1-Distill-Llama-8B"),
		dense(70, 80, 8, 128, llama, "Llama-3.1-70B", "Llama-3.3-70B", "Meta-Llama-3.1-70B", "Meta-Llama-3-70B", "DeepSeek-R1-Distill-Llama-70B"),
		dense(405, 126, 8, 128, llama, "Llama-3.1-405B", "Meta-Llama-3.1-405B"),
		dense(7, 32, 8, 128, mistral, "Mistral-7B"),
		experts(46.7, 12.9, "bf16", 32, 8, 128, mistral, "Mixtral-8x7B"),
		experts(671, 37, "fp8", 0, 0, 0, deep, "DeepSeek-V3", "DeepSeek-R1", "DeepSeek-V3.1"),
		experts(117, 5.1, "mxfp4", 36, 8, 64, oss, "gpt-oss-120b"),
		experts(21, 3.6, "mxfp4", 24, 8, 64, oss, "gpt-oss-20b"),
		experts(355, 32, "bf16", 92, 8, 128, glm, "GLM-4.5", "GLM-4.6"),
		experts(106, 12, "bf16", 46, 8, 128, glm, "GLM-4.5-Air"),
	}
}

func defaultGPUs() []GPU {
	flops := func(bf16, fp8, int8, fp4 float64) map[string]float64 {
		m := map[string]float64{}
		for name, tera := range map[string]float64{"bf16": bf16, "fp8": fp8, "int8": int8, "fp4": fp4} {
			if tera > 0 {
				m[name] = tera * 1e12
			}
		}
		return m
	}
	gpu := func(terabytesPerS, memoryGiB float64, peaks map[string]float64, source string, names ...string) GPU {
		return GPU{Names: names, Bandwidth: terabytesPerS * 1e12, Memory: memoryGiB * gib, FLOPS: peaks, Source: source}
	}
	const (
		h100 = "NVIDIA H100 data sheet, dense"
		h200 = "NVIDIA H200 data sheet, dense"
		a100 = "NVIDIA A100 data sheet, dense"
		ada  = "NVIDIA L4, L40S data sheets, dense"
		b200 = "NVIDIA Blackwell architecture brief, dense"
		amd  = "AMD Instinct data sheets, dense"
	)
	hopper := flops(989, 1979, 1979, 0)
	ampere := flops(312, 0, 624, 0)
	return []GPU{
		gpu(3.35, 80, hopper, h100, "H100 80GB HBM3", "H100 SXM", "H100 SXM5"),
		gpu(2.0, 80, flops(756, 1513, 1513, 0), h100, "H100 PCIe"),
		gpu(3.9, 94, flops(835, 1671, 1671, 0), h100, "H100 NVL"),
		gpu(4.8, 141, hopper, h200, "H200"),
		gpu(4.8, 141, flops(835, 1671, 1671, 0), h200, "H200 NVL"),
		gpu(1.555, 40, ampere, a100, "A100 SXM4 40GB", "A100 PCIE 40GB"),
		gpu(2.039, 80, ampere, a100, "A100 SXM4 80GB", "A100 80GB SXM"),
		gpu(1.935, 80, ampere, a100, "A100 80GB PCIe"),
		gpu(0.3, 24, flops(121, 242, 242, 0), ada, "L4"),
		gpu(0.864, 48, flops(362, 733, 733, 0), ada, "L40S"),
		gpu(8.0, 180, flops(2250, 4500, 4500, 9000), b200, "B200"),
		gpu(5.3, 192, flops(1307, 2615, 2615, 0), amd, "MI300X"),
		gpu(6.0, 256, flops(1307, 2615, 2615, 0), amd, "MI325X"),
		gpu(8.0, 288, flops(2500, 5000, 5000, 10000), amd, "MI355X"),
	}
}
