package study

import (
	"context"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// harder says for a failure class which way a knob makes the same failure certain:
// +1 a greater value, -1 a smaller one. It is short on purpose. A longer context
// needs a larger KV cache for one sequence, a smaller share of the memory leaves a
// smaller one. Weights that do not fit are not made smaller by either.
var harder = map[core.FailureClass]map[string]int{
	core.OOMKV: {
		"context_len":              +1,
		"gpu_memory_utilization":   -1, // vLLM
		"mem_fraction_static":      -1, // SGLang
		"free_gpu_memory_fraction": -1, // TensorRT-LLM
	},
	core.OOMWeights: {
		"context_len":            +1,
		"gpu_memory_utilization": -1,
	},
}

// impossible returns the trial whose failure proves that a configuration cannot be
// launched either, nil where there is none.
func (r *Runner) impossible(planned core.Setup) *core.Trial {
	var proof *core.Trial
	for _, attempts := range r.known {
		for _, t := range attempts {
			failed := t.Status == core.StatusFailed && t.Launch != nil && t.Launch.Failure == t.Failure
			if failed && alike(t.Setup, planned) && implies(t.Failure, t.Setup.Config, planned.Config) && (proof == nil || t.Number < proof.Number) {
				proof = t
			}
		}
	}
	return proof
}

// implies reports whether a configuration must fail as another one did: it is the
// same but for knobs that both have and that make the failure harder to escape.
func implies(class core.FailureClass, failed, c core.Config) bool {
	ways := harder[class]
	if ways == nil || len(failed.Knobs) != len(c.Knobs) {
		return false
	}
	same, changed := c, false
	same.Knobs = core.Knobs{}
	for name, was := range failed.Knobs {
		is, ok := c.Knobs[name]
		if !ok {
			return false
		}
		same.Knobs[name] = was
		if is == was {
			continue
		}
		way := ways[name]
		numbers := is.Kind == core.KindNumber && was.Kind == core.KindNumber
		if way == 0 || !numbers || (is.Num > was.Num) != (way > 0) {
			return false
		}
		changed = true
	}
	return changed && same.Hash() == failed.Hash()
}

// prune records the trials of a configuration that cannot be launched, and reports
// whether it did.
func (r *Runner) prune(ctx context.Context, c candidate, trials []*core.Trial) (bool, error) {
	proof := r.impossible(trials[0].Setup)
	if proof == nil {
		return false, nil
	}
	why := fmt.Sprintf("not launched: trial %d failed (%s) with the same configuration but %s", proof.Number, proof.Failure, easier(proof.Setup.Config, c.config))
	r.event(Event{Kind: EventDecision, Text: Describe(c.config) + ": " + why})
	for _, t := range trials {
		if err := r.Store.SaveTrial(ctx, t); err != nil {
			return false, fmt.Errorf("record planned trial: %w", err)
		}
		r.remember(t)
	}
	return true, r.stopRest(ctx, trials, proof.Failure, why)
}

// easier lists the knobs of a failed configuration that differ from those of another.
func easier(failed, c core.Config) string {
	differs := core.Knobs{}
	for _, name := range failed.Knobs.Names() {
		if failed.Knobs[name] != c.Knobs[name] {
			differs[name] = failed.Knobs[name]
		}
	}
	return differs.String()
}
