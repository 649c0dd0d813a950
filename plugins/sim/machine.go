package sim

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// blockTokens is the size of a KV block.
const blockTokens = 16

// reserveBytes is what activations and captured graphs take of each GPU.
const reserveBytes = 0.7e9

// machine is a model placed on GPUs: what it costs and what fits.
type machine struct {
	roof       roofline
	gpu        accelerator
	blocks     int // of the KV cache
	contextLen int // resolved
	maxSeqs    int
	budget     int // tokens a step
	chunked    bool
	caching    bool
	acceptance float64
	seed       int64
	facts      map[string]core.Value
}

// newMachine places the model. The error is the log line of a real start that
// fails for the same reason; Diagnose knows each by its words.
func newMachine(s settings) (*machine, error) {
	arch, ok := findArchitecture(s.model)
	if !ok {
		return nil, fmt.Errorf("no such checkpoint: %q is in no table and its name states no size such as -8B", s.model)
	}
	gpu, ok := findAccelerator(s.gpu)
	if !ok {
		return nil, fmt.Errorf("no such GPU: %q", s.gpu)
	}
	fp8, kv8 := s.fp8Weights(), s.kvCacheDtype == "fp8"
	if kv8 && !gpu.fp8 {
		return nil, fmt.Errorf("KV cache format fp8 is not supported on %s: it has no 8-bit units", gpu.product)
	}
	if int(arch.kvHeads)%s.tp != 0 && s.tp%int(arch.kvHeads) != 0 {
		return nil, fmt.Errorf("tensor parallel size %d is not supported: it does not divide %d KV heads", s.tp, int(arch.kvHeads))
	}

	tp := float64(s.tp)
	scale := 1.0
	if tp > 1 {
		scale = tp * tpShare
	}
	m := &machine{gpu: gpu, maxSeqs: s.maxNumSeqs, budget: s.maxBatchedTokens, chunked: s.chunkedPrefill,
		caching: s.prefixCaching, acceptance: s.specAcceptance, seed: s.seed}
	m.roof = roofline{arch: arch, tp: tp, weightBytes: 2 * arch.params, kvBytes: 4 * arch.kvLayers * arch.kvHeads * arch.headDim,
		flops: gpu.flops * computeShare16 * scale, bandwidth: gpu.bandwidth * memoryShare16 * scale}
	m.facts = factsOf(s, gpu)
	if fp8 {
		m.roof.weightBytes = arch.params - arch.embedding + 2*arch.embedding
		m.roof.bandwidth = gpu.bandwidth * memoryShare8 * scale
		if gpu.fp8 {
			// Without 8-bit units the weights are widened before they are multiplied.
			m.roof.flops = 2 * gpu.flops * computeShare8 * scale
		}
	}
	if kv8 {
		m.roof.kvBytes /= 2
	}
	draftBytes := 0.0
	if s.specMethod != "none" {
		m.roof.drafts, m.roof.draftShare = s.specTokens, draftWeight(s.specMethod)
		m.roof.draftedByStep = m.roof.draftShare > 0
		draftBytes = m.roof.weightBytes * m.roof.draftShare
	}

	usable := (gpu.memory*s.memoryUtilization - reserveBytes) * tp
	if s.faults.oomAtLoad {
		usable = min(usable, 0.7*m.roof.weightBytes)
	}
	left := usable - m.roof.weightBytes - draftBytes
	if left < 0 {
		return nil, fmt.Errorf("CUDA out of memory (simulated): %s of weights do not go into %s usable on %d x %s",
			gib(m.roof.weightBytes+draftBytes), gib(usable), s.tp, gpu.product)
	}
	m.blocks = int(left / (m.roof.kvBytes * blockTokens))
	fits := m.blocks * blockTokens
	m.contextLen = s.contextLen
	if m.contextLen == 0 {
		m.contextLen = min(arch.contextLen, fits)
	}
	if m.contextLen > fits || fits < blockTokens {
		return nil, fmt.Errorf("KV cache too small: one sequence of %d tokens needs %s, %s are left after the weights; the longest that fits is %d tokens",
			m.contextLen, gib(float64(m.contextLen)*m.roof.kvBytes), gib(left), fits)
	}
	return m, nil
}

func (s settings) fp8Weights() bool { return isFP8Checkpoint(s.model) || s.quantization == "fp8" }

// factsOf gives the fields of a setup that follow from the flags alone, known
// before anything is started.
func factsOf(s settings, gpu accelerator) map[string]core.Value {
	weights, kv := "bf16", "bf16"
	if s.fp8Weights() {
		weights = "fp8"
	}
	if s.kvCacheDtype == "fp8" {
		kv = "fp8"
	}
	return map[string]core.Value{
		"gpu": core.String(gpu.product), "gpus": core.Number(float64(s.tp)), "weight_dtype": core.String(weights),
		"kv_dtype": core.String(kv), "spec_method": core.String(s.specMethod),
	}
}

// resolved gives every knob by its canonical name with the value in force. Fault
// knobs appear only where they were passed.
func (m *machine) resolved(s settings) core.Knobs {
	faults := s.faults
	k := core.Knobs{
		"context_len": core.Number(float64(m.contextLen)), "max_num_seqs": core.Number(float64(s.maxNumSeqs)),
		"max_batched_tokens": core.Number(float64(s.maxBatchedTokens)), "chunked_prefill": core.Bool(s.chunkedPrefill),
		"enable_prefix_caching": core.Bool(s.prefixCaching), "kv_cache_dtype": m.facts["kv_dtype"],
		"gpu_memory_utilization": core.Number(s.memoryUtilization), "speculative_method": core.String(s.specMethod),
		"gpu": core.String(m.gpu.product), "tp": core.Number(float64(s.tp)), "seed": core.Number(float64(s.seed)),
		"time_scale": core.Number(s.timeScale), "kv_cache_blocks": core.Number(float64(m.blocks)),
	}
	if m.facts["weight_dtype"].Text == "fp8" {
		k["quantization"] = core.String("fp8")
	}
	if m.roof.drafts > 0 {
		k["speculative_tokens"] = core.Number(float64(s.specTokens))
		k["speculative_acceptance"] = core.Number(s.specAcceptance)
	}
	for name, n := range map[string]float64{"fault_slow_ready": faults.slowReady, "fault_crash_after": float64(faults.crashAfter),
		"fault_stall_after": float64(faults.stallAfter), "fault_refuse_share": faults.refuseShare, "fault_error_in_200": faults.errorIn200} {
		if n != 0 {
			k[name] = core.Number(n)
		}
	}
	for name, on := range map[string]bool{"fault_ignore_term": faults.ignoreTerm, "fault_setsid_child": faults.setsidChild} {
		if on {
			k[name] = core.Bool(true)
		}
	}
	return k
}

// loadSeconds and captureSeconds are the two phases of a start, simulated.
func (m *machine) loadSeconds() float64    { return 1.5 + m.roof.weightBytes/2.2e9/m.roof.tp }
func (m *machine) captureSeconds() float64 { return 2 + 0.05*m.roof.arch.kvLayers }

func gib(bytes float64) string {
	return plain(math.Round(bytes/(1<<30)*100)/100) + " GiB"
}
