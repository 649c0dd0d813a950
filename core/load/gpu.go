package load

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// GPUReading is one line of nvidia-smi --query-gpu: one GPU at one moment. What
// was not asked, or reads [N/A], is missing.
type GPUReading struct {
	Index, Name, UUID, Driver string

	PowerW         core.Value
	PowerLimitW    core.Value
	SMClockMHz     core.Value
	MemoryClockMHz core.Value
	MemoryUsedMiB  core.Value
	MemoryTotalMiB core.Value
	TemperatureC   core.Value
	UtilPercent    core.Value
	// Reasons is the bit mask of why the clocks are what they are.
	Reasons core.Value
}

// GPUColumns is the header of nvidia-smi's CSV, which says what stands where.
type GPUColumns []string

// gpuNames are the names that nvidia-smi's header gives to what the query calls
// otherwise; older and newer drivers differ too.
func gpuName(header string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(header), " [")
	switch name {
	case "clocks.current.sm", "clocks.current.graphics":
		return "clocks.sm"
	case "clocks.current.memory":
		return "clocks.mem"
	case "clocks_throttle_reasons.active":
		return "clocks_event_reasons.active"
	}
	return name
}

// ParseGPUColumns reads the header line. It is an error when no known column is
// in it, as in an error message.
func ParseGPUColumns(line string) (GPUColumns, error) {
	var columns GPUColumns
	known := false
	for _, header := range strings.Split(line, ",") {
		name := gpuName(header)
		columns = append(columns, name)
		known = known || (&GPUReading{}).column(name) != nil || name == "index" || name == "uuid"
	}
	if !known {
		return nil, fmt.Errorf("read nvidia-smi: %w: %.120q is no header", core.ErrInvalid, line)
	}
	return columns, nil
}

// Parse reads one line under the header.
func (c GPUColumns) Parse(line string) (GPUReading, error) {
	cells := strings.Split(line, ",")
	if len(cells) != len(c) {
		return GPUReading{}, fmt.Errorf("read nvidia-smi: %w: %d cells under %d columns: %.120q", core.ErrInvalid, len(cells), len(c), line)
	}
	var r GPUReading
	for i, name := range c {
		cell := strings.TrimSpace(cells[i])
		switch name {
		case "index":
			r.Index = cell
		case "name":
			r.Name = cell
		case "uuid":
			r.UUID = cell
		case "driver_version":
			r.Driver = cell
		default:
			to := r.column(name)
			if to == nil {
				continue
			}
			v, err := gpuCell(name, cell)
			if err != nil {
				return GPUReading{}, fmt.Errorf("read nvidia-smi: %s: %w: %.40q is no number", name, core.ErrInvalid, cell)
			}
			*to = v
		}
	}
	return r, nil
}

func (r *GPUReading) column(name string) *core.Value {
	switch name {
	case "power.draw":
		return &r.PowerW
	case "power.limit":
		return &r.PowerLimitW
	case "clocks.sm":
		return &r.SMClockMHz
	case "clocks.mem":
		return &r.MemoryClockMHz
	case "memory.used":
		return &r.MemoryUsedMiB
	case "memory.total":
		return &r.MemoryTotalMiB
	case "temperature.gpu":
		return &r.TemperatureC
	case "utilization.gpu":
		return &r.UtilPercent
	case "clocks_event_reasons.active":
		return &r.Reasons
	}
	return nil
}

// gpuCell reads a number with its unit. [N/A], [Not Supported] and the like are
// missing.
func gpuCell(name, cell string) (core.Value, error) {
	if cell == "" || cell[0] == '[' || cell == "N/A" || strings.Contains(cell, "ERR!") {
		return core.Missing(), nil
	}
	if name == "clocks_event_reasons.active" {
		n, err := strconv.ParseUint(strings.TrimPrefix(cell, "0x"), 16, 53)
		return core.Number(float64(n)), err
	}
	number, _, _ := strings.Cut(cell, " ")
	f, err := strconv.ParseFloat(number, 64)
	if err == nil && (f != f || f < 0 || f > maxSetting) {
		err = strconv.ErrRange
	}
	return core.Number(f), err
}

// The bits of the clocks' reasons that mean a GPU ran slower than it was asked to.
// Idleness and an application clock setting are not among them.
var throttleReasons = []struct {
	bit  uint64
	name string
}{
	{0x04, "power limit"},
	{0x08, "hardware slowdown"},
	{0x20, "software thermal slowdown"},
	{0x40, "hardware thermal slowdown"},
	{0x80, "power brake"},
}
