package main

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

func TestAddLimits(t *testing.T) {
	trial := func() *core.Trial {
		tr := &core.Trial{Figures: core.Figures{"mean_tpot_ms": 5, "input_tokens": 1000, "output_tokens": 1000, "duration_s": 1, "completed": 1}}
		tr.Setup.Config = core.Config{Engine: "vllm", Model: "Qwen/Qwen3-8B", Checkpoint: "Qwen/Qwen3-8B", CommandKnown: true}
		tr.Setup.GPU, tr.Setup.GPUs, tr.Setup.WeightDtype, tr.Setup.SpecMethod = "NVIDIA H200", 1, "bf16", "none"
		return tr
	}
	tr := trial() // Derived is nil, as after reading a trial without derivations
	addLimits(tr, audit.DefaultReference())
	for _, name := range []string{"mbu", "mfu"} {
		if v := tr.Figures[name]; v <= 0 || v >= 1 || tr.Derived[name] == "" {
			t.Errorf("%s = %v (%q), want a share and how it is worked out", name, v, tr.Derived[name])
		}
	}
	given := trial()
	given.Figures.Set("mbu", 0.25)
	addLimits(given, audit.DefaultReference())
	if _, derived := given.Derived["mbu"]; given.Figures["mbu"] != 0.25 || derived {
		t.Errorf("a measured mbu became %v, derived %v", given.Figures["mbu"], derived)
	}
	unknown := trial()
	unknown.Setup.GPU = ""
	addLimits(unknown, audit.DefaultReference())
	if v, ok := unknown.Figures["mbu"]; ok {
		t.Errorf("mbu %v without a GPU", v)
	}

	// A reference that has changed replaces what was worked out by the old one.
	again := trial()
	addLimits(again, audit.DefaultReference())
	first := again.Figures["mbu"]
	addLimits(again, audit.DefaultReference().Merge(audit.Reference{GPUs: []audit.GPU{{Names: []string{"NVIDIA H200"}, Bandwidth: 9.6e12,
		FLOPS: map[string]float64{"bf16": 989e12}}}}))
	if second := again.Figures["mbu"]; second >= 0.6*first {
		t.Errorf("mbu %v at 4.8 TB/s, %v at twice that", first, second)
	}
	again.Setup.GPU = ""
	addLimits(again, audit.DefaultReference())
	if _, stays := again.Figures["mbu"]; stays || again.Derived["mbu"] != "" {
		t.Error("mbu stays after the GPU is no longer known")
	}
}
