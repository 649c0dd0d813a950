package sim

import (
	"math"
	"time"
)

// What a kernel reaches of the data sheet, and what a step costs beside its
// kernels. Fitted to published runs on one H100: Qwen3-8B decodes one stream at
// 7.3 ms a token in bf16 and 5.6 ms in FP8; Qwen3-32B computes long prompts at
// a little under a third of the peak.
const (
	computeShare16 = 0.29
	computeShare8  = 0.24 // of the doubled peak
	memoryShare16  = 0.80
	memoryShare8   = 0.62 // 8-bit weights come with scales and conversions

	stepOverhead    = 1.15e-3 // s: scheduling, launch, sampling
	perSequence     = 12e-6   // s: sampling and detokenizing one more sequence
	prefillOverhead = 6e-3    // s: a step with prompt tokens runs outside the captured graphs
	draftOverhead   = 0.2e-3  // s: launching one draft step
	tpPerLayer      = 24e-6   // s: two all-reduces of a layer
	tpShare         = 0.92    // of the ideal speed-up that tensor parallelism keeps

	frontendDelay = 12 * time.Millisecond // from arrival to the scheduler: HTTP, template, tokenizer
)

// draftWeight is the size of a draft model as a share of the target's weights.
func draftWeight(method string) float64 {
	switch method {
	case "eagle3":
		return 0.05
	case "mtp":
		return 0.03
	}
	return 0 // ngram looks the draft up in the prompt
}

// batch is the work of one step.
type batch struct {
	prefillTokens int
	decodeTokens  int     // positions computed for decoding sequences, drafts included
	sequences     int     // that take part
	contextTokens float64 // KV entries read
	pairs         float64 // query-key pairs of attention
}

// roofline gives the duration of steps on one machine.
type roofline struct {
	arch          architecture
	weightBytes   float64 // of all GPUs together
	kvBytes       float64 // of one token, of all GPUs together
	flops         float64 // reachable, of all GPUs together
	bandwidth     float64 // reachable, of all GPUs together
	tp            float64
	drafts        int // a decode step verifies; 0 is none
	draftShare    float64
	draftedByStep bool // the draft model runs once per drafted token
}

// step returns how long a step lasts.
func (r roofline) step(b batch) time.Duration {
	tokens := float64(b.prefillTokens + b.decodeTokens)
	compute := (2*r.arch.active*tokens + 4*r.arch.kvLayers*r.arch.heads*r.arch.headDim*b.pairs) / r.flops
	memory := (r.weightBytes*r.touched(tokens) + r.kvBytes*b.contextTokens) / r.bandwidth
	seconds := math.Max(compute, memory) + stepOverhead + perSequence*float64(b.sequences)
	if b.prefillTokens > 0 {
		seconds += prefillOverhead
	}
	if r.tp > 1 {
		seconds += tpPerLayer * r.arch.kvLayers
	}
	if r.drafts > 0 && b.decodeTokens > 0 {
		draftCompute := 2 * r.arch.active * r.draftShare * float64(b.decodeTokens) / r.flops
		draftMemory := 0.0
		seconds += draftOverhead
		if r.draftedByStep {
			draftMemory = float64(r.drafts) * r.weightBytes * r.draftShare / r.bandwidth
			seconds += draftOverhead * float64(r.drafts-1)
		}
		seconds += math.Max(draftCompute, draftMemory)
	}
	return time.Duration(seconds * float64(time.Second))
}

// touched is the share of the weights that a step over so many tokens reads: all
// of a dense model, ever more experts of a sparse one.
func (r roofline) touched(tokens float64) float64 {
	if r.arch.active >= r.arch.params {
		return 1
	}
	return 1 - math.Pow(1-r.arch.active/r.arch.params, tokens)
}
