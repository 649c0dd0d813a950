package sim

import "strings"

// accelerator is what the roofline needs to know of one GPU.
type accelerator struct {
	product   string // full name, as nvidia-smi gives it
	aliases   []string
	flops     float64 // dense 16-bit FLOP/s
	fp8       bool    // has 8-bit units, which double flops
	bandwidth float64 // HBM bytes/s
	memory    float64 // bytes
}

const mib = 1 << 20

// accelerators is never changed. Figures are those of the data sheets, memory as
// the driver reports it.
var accelerators = []accelerator{
	{"NVIDIA H100 80GB HBM3", []string{"h100"}, 989e12, true, 3.35e12, 81559 * mib},
	{"NVIDIA H200", []string{"h200"}, 989e12, true, 4.8e12, 143771 * mib},
	{"NVIDIA A100-SXM4-80GB", []string{"a100"}, 312e12, false, 2.039e12, 81920 * mib},
}

// findAccelerator accepts the full product name, the name without the maker, or
// a short alias, in any case.
func findAccelerator(name string) (accelerator, bool) {
	want := strings.TrimSpace(strings.TrimPrefix(strings.ToLower(name), "nvidia "))
	for _, a := range accelerators {
		if want == strings.TrimPrefix(strings.ToLower(a.product), "nvidia ") {
			return a, true
		}
		for _, alias := range a.aliases {
			if want == alias {
				return a, true
			}
		}
	}
	return accelerator{}, false
}

func acceleratorNames() []string {
	var names []string
	for _, a := range accelerators {
		names = append(names, a.product)
	}
	return names
}
