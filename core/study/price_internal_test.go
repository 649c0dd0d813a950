package study

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// TestPrice: a token costs what the GPUs cost that the trial had, not what those of
// the study's machine do.
func TestPrice(t *testing.T) {
	r := &Runner{File: &File{}}
	r.File.Study.Hardware = core.Hardware{USDPerGPUHour: 3.6, GPUs: 2}
	for gpus, want := range map[float64]float64{1: 10, 4: 40, 0: 20} {
		trial := &core.Trial{Setup: core.Setup{GPUs: gpus}, Figures: core.Figures{"output_tps": 100}}
		r.price(trial)
		if got := trial.Figures["usd_per_mtok_output"]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("on %v GPUs a million tokens cost %v, want %v", gpus, got, want)
		}
	}
}
