package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// referenceFile may lie beside a history: model sizes and GPU peaks that the
// built-in table lacks, or has otherwise.
const referenceFile = "reference.yaml"

// reference is the built-in table with the user's own entries on top.
func reference(db string) (audit.Reference, error) {
	ref := audit.DefaultReference()
	path := filepath.Join(filepath.Dir(db), referenceFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return ref, fmt.Errorf("reference table: %w", err)
	default:
		own, err := readReference(data)
		if err != nil {
			return ref, fmt.Errorf("reference table %s: %w", path, err)
		}
		ref = ref.Merge(own)
	}
	return ref, nil
}

// addLimits adds the shares of bandwidth and of arithmetic that a trial used, in
// place of those that it added before; measured ones stay.
func addLimits(t *core.Trial, ref audit.Reference) {
	mbu, mfu := audit.Limits(t, ref)
	add := func(name string, v core.Value, how string) {
		if _, derived := t.Derived[name]; derived {
			delete(t.Figures, name)
			delete(t.Derived, name)
		}
		if _, given := t.Figures[name]; given || v.IsMissing() {
			return
		}
		if t.Derived == nil {
			t.Derived = map[string]string{}
		}
		t.Figures.Set(name, v.Num)
		t.Derived[name] = how
	}
	// Without the trial's numbers: a history keeps each text once.
	add("mbu", mbu.Value, "(weights + KV cache read in a step) / (step time × bandwidth of the GPUs that share it)")
	add("mfu", mfu.Value, "2 × active weights × computed tokens / (duration_s × GPUs × dense peak)")
}

// explainLimits says of the shares that were added to a trial which figures went
// into them. Where the reference has changed since, they are those of then, and
// the formula stays without figures.
func explainLimits(t *core.Trial, ref audit.Reference) {
	mbu, mfu := audit.Limits(t, ref)
	for name, share := range map[string]audit.Share{"mbu": mbu, "mfu": mfu} {
		if _, derived := t.Derived[name]; derived && share.Value == t.Figures.Value(name) {
			t.Derived[name] = share.How
		}
	}
}

// readReference reads
//
//	models: [{names: [My-7B], params: 7.2e9, active_params: 7.2e9, dtype: bf16}]
//	gpus: [{names: [My GPU], bandwidth: 3.35e12, memory: 80e9, flops: {bf16: 989e12}}]
func readReference(data []byte) (audit.Reference, error) {
	var file struct {
		Models []struct {
			Names        []string `yaml:"names"`
			Params       float64  `yaml:"params"`
			ActiveParams float64  `yaml:"active_params"`
			Dtype        string   `yaml:"dtype"`
		} `yaml:"models"`
		GPUs []struct {
			Names     []string           `yaml:"names"`
			Bandwidth float64            `yaml:"bandwidth"`
			Memory    float64            `yaml:"memory"`
			FLOPS     map[string]float64 `yaml:"flops"`
		} `yaml:"gpus"`
	}
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		return audit.Reference{}, fmt.Errorf("%w: %w", core.ErrInvalid, err)
	}
	var ref audit.Reference
	for _, m := range file.Models {
		if len(m.Names) == 0 || m.Params <= 0 {
			return ref, fmt.Errorf("%w: a model needs names and params", core.ErrInvalid)
		}
		ref.Models = append(ref.Models, audit.Model{Names: m.Names, Params: m.Params, ActiveParams: m.ActiveParams, Dtype: m.Dtype, Source: referenceFile})
	}
	for _, g := range file.GPUs {
		if len(g.Names) == 0 || g.Bandwidth <= 0 {
			return ref, fmt.Errorf("%w: a gpu needs names and bandwidth", core.ErrInvalid)
		}
		ref.GPUs = append(ref.GPUs, audit.GPU{Names: g.Names, Bandwidth: g.Bandwidth, Memory: g.Memory, FLOPS: g.FLOPS, Source: referenceFile})
	}
	return ref, nil
}
