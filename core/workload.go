package core

import "fmt"

// Workload is what is asked of a server: data set, lengths, sampling. It holds no
// load, no seed and no request count.
type Workload struct {
	Name      string `json:"name,omitempty"`    // "sharegpt", "random 128/4", …
	Dataset   string `json:"dataset,omitempty"` // "sharegpt", "random", "custom", …
	Path      string `json:"path,omitempty"`    // base name of the data file
	InputLen  Value  `json:"input_len"`         // requested prompt tokens, where fixed
	OutputLen Value  `json:"output_len"`        // requested output tokens, where fixed
	IgnoreEOS Value  `json:"ignore_eos"`        // true, false or missing
	Turns     Value  `json:"turns"`             // conversation turns; 1 for single requests
	Endpoint  string `json:"endpoint,omitempty"`
	// Params are further parameters that change what is asked (range ratio,
	// fixed prefix, temperature), by name.
	Params Knobs `json:"params,omitempty"`
}

// Hash is the short name of the workload; the given Name does not count.
func (w Workload) Hash() string {
	return shortHash(fmt.Sprintf("%q %q %s %s %s %s %q%s",
		w.Dataset, w.Path, w.InputLen, w.OutputLen, w.IgnoreEOS, w.Turns, w.Endpoint, w.Params.canonical()))
}

// Label is what a reader sees: the given name, else one made of the parameters.
func (w Workload) Label() string {
	if w.Name != "" {
		return w.Name
	}
	if w.InputLen.Kind == KindNumber {
		return fmt.Sprintf("%s %s/%s", w.Dataset, w.InputLen, w.OutputLen)
	}
	return w.Dataset
}
