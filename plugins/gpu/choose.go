package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Choose picks the GPUs that a launch uses: those that are wanted, by index, UUID
// or the unique beginning of one; else those of CUDA_VISIBLE_DEVICES, if that is
// set; else all, because a server that is told nothing may use any.
//
// Indexes are nvidia-smi's, which are CUDA's where CUDA_DEVICE_ORDER is PCI_BUS_ID
// or all GPUs are alike. A part of a GPU (MIG) is wanted by its own UUID; the memory
// of the whole says nothing about it.
func Choose(devices []Device, wanted []string, visible string, visibleSet bool) ([]Device, error) {
	if len(wanted) == 0 {
		if !visibleSet {
			return devices, nil
		}
		var chosen []Device
		for name := range strings.SplitSeq(visible, ",") {
			d, err := find(devices, strings.TrimSpace(name))
			if err != nil {
				break // CUDA itself takes what stands before the first that it does not know
			}
			chosen = add(chosen, d)
		}
		return chosen, nil
	}
	var chosen []Device
	for _, name := range wanted {
		d, err := find(devices, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		chosen = add(chosen, d)
	}
	return chosen, nil
}

func add(chosen []Device, d Device) []Device {
	if slices.ContainsFunc(chosen, func(c Device) bool { return c.UUID == d.UUID }) {
		return chosen
	}
	return append(chosen, d)
}

// find looks up one GPU by what people call it.
func find(devices []Device, name string) (Device, error) {
	if strings.HasPrefix(name, "MIG-") && plainUUID(name) {
		return Device{Index: -1, UUID: name, Name: "part of a GPU"}, nil
	}
	var found []Device
	for _, d := range devices {
		if name == strconv.Itoa(d.Index) || (len(name) > len("GPU-") && strings.HasPrefix(d.UUID, name)) {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Device{}, fmt.Errorf("no GPU %q here: %w; there %s", name, core.ErrNotFound, listed(devices))
	}
	return Device{}, fmt.Errorf("GPU %q: %w: %d begin so; write the UUID in full", name, core.ErrInvalid, len(found))
}

func listed(devices []Device) string {
	var names []string
	for _, d := range devices {
		names = append(names, fmt.Sprintf("%d (%s)", d.Index, d.UUID))
	}
	if len(names) == 0 {
		return "is none"
	}
	return "are " + strings.Join(names, ", ")
}

// String is how people are told of a GPU: "GPU 0 (GPU-…)".
func (d Device) String() string {
	if d.Index < 0 {
		return d.UUID
	}
	return fmt.Sprintf("GPU %d (%s)", d.Index, d.UUID)
}
