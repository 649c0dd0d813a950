package core

import "fmt"

// Setup is a Config on a machine as measured by a ruler: what must be equal for
// two trials to repeat each other, beside workload and load.
type Setup struct {
	Config        Config  `json:"config"`
	EngineVersion string  `json:"engine_version,omitempty"`
	Image         string  `json:"image,omitempty"` // reference or digest
	GPU           string  `json:"gpu,omitempty"`   // full product name, "NVIDIA H100 80GB HBM3"
	GPUs          float64 `json:"gpus,omitempty"`  // count; 0 is unknown
	Nodes         float64 `json:"nodes,omitempty"` // count; 0 is unknown
	PowerLimitW   float64 `json:"power_limit_w,omitempty"`
	Driver        string  `json:"driver,omitempty"`
	WeightDtype   string  `json:"weight_dtype,omitempty"` // "bf16", "fp8", …
	KVDtype       string  `json:"kv_dtype,omitempty"`
	SpecMethod    string  `json:"spec_method,omitempty"` // "eagle3", "mtp", "none" when known to be off
	Tool          string  `json:"tool,omitempty"`        // the ruler: "vllm-bench", "guidellm", "sweepbook", …
	ToolVersion   string  `json:"tool_version,omitempty"`
	Simulated     bool    `json:"simulated,omitempty"`
}

// Hash is the short name of the setup, the query field setup.
func (s Setup) Hash() string {
	return shortHash(fmt.Sprintf("%s version=%q image=%q gpu=%q gpus=%g nodes=%g power=%g driver=%q weights=%q kv=%q spec=%q tool=%q %q simulated=%t",
		s.Config.canonical(), s.EngineVersion, s.Image, s.GPU, s.GPUs, s.Nodes, s.PowerLimitW, s.Driver,
		s.WeightDtype, s.KVDtype, s.SpecMethod, s.Tool, s.ToolVersion, s.Simulated))
}

// Parallel returns the size of one kind of parallelism ("tp", "pp", "dp", "ep"):
// the passed knob, 1 where the command is known and does not give it, else missing.
func (s Setup) Parallel(kind string) Value {
	switch v := s.Config.Arg(kind); v.Kind {
	case KindNumber:
		return v
	case KindUnset:
		return Number(1)
	}
	return Missing()
}
