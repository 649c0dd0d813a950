package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// ErrHung says that nvidia-smi did not answer in time: the driver is stuck.
var ErrHung = errors.New("nvidia-smi does not answer")

// SMI is nvidia-smi. The zero value asks the one on the path, ten seconds at most.
type SMI struct {
	Command string
	Limit   time.Duration
}

// Device is one GPU of this machine, or a part of one (MIG) that was named by its
// own UUID.
type Device struct {
	Index    int // -1 for a part
	UUID     string
	Name     string // product, "NVIDIA H200"
	Driver   string
	UsedMiB  core.Value // missing where the driver does not tell, as for a part
	TotalMiB core.Value
}

// Holder is a process that has memory of a GPU.
type Holder struct {
	PID     int // as the driver counts, which in a container need not be ours
	Name    string
	UUID    string // of the GPU
	UsedMiB core.Value
}

func (h Holder) String() string {
	text := fmt.Sprintf("pid %d (%s)", h.PID, h.Name)
	if h.UsedMiB.Kind == core.KindNumber {
		text += fmt.Sprintf(" with %s MiB", h.UsedMiB)
	}
	return text
}

// Devices lists the GPUs. The error is exec.ErrNotFound where there is no
// nvidia-smi, ErrHung where it does not answer.
func (s SMI) Devices(ctx context.Context) ([]Device, error) {
	out, err := s.run(ctx, "--query-gpu=index,uuid,name,driver_version,memory.used,memory.total", "--format=csv")
	if err != nil {
		return nil, err
	}
	return parseDevices(out)
}

func parseDevices(out string) ([]Device, error) {
	lines := nonEmpty(out)
	if len(lines) == 0 {
		return nil, fmt.Errorf("read nvidia-smi: %w: it printed nothing", core.ErrInvalid)
	}
	columns, err := load.ParseGPUColumns(lines[0])
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, line := range lines[1:] {
		r, err := columns.Parse(line)
		if err != nil {
			return nil, err
		}
		index, err := strconv.Atoi(r.Index)
		if err != nil || index < 0 || !plainUUID(r.UUID) {
			return nil, fmt.Errorf("read nvidia-smi: %w: %.120q names no GPU", core.ErrInvalid, line)
		}
		devices = append(devices, Device{Index: index, UUID: r.UUID, Name: r.Name, Driver: r.Driver, UsedMiB: r.MemoryUsedMiB, TotalMiB: r.MemoryTotalMiB})
	}
	return devices, nil
}

// plainUUID keeps what becomes a file name to the letters that a UUID has.
func plainUUID(s string) bool {
	return len(s) > 4 && len(s) <= 64 && strings.Trim(s, "-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Holders lists the processes that have memory of a GPU. In a container the list
// may be empty although there are some; Devices tells their memory all the same.
func (s SMI) Holders(ctx context.Context) ([]Holder, error) {
	out, err := s.run(ctx, "--query-compute-apps=pid,gpu_uuid,used_memory,process_name", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	return parseHolders(out)
}

func parseHolders(out string) ([]Holder, error) {
	var holders []Holder
	for _, line := range nonEmpty(out) {
		// The name comes last, because it may hold commas.
		cells := strings.SplitN(line, ",", 4)
		if len(cells) != 4 {
			return nil, fmt.Errorf("read nvidia-smi: %w: %.120q is no process", core.ErrInvalid, line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		pid, err := strconv.Atoi(cells[0])
		if err != nil {
			return nil, fmt.Errorf("read nvidia-smi: %w: %.120q is no process", core.ErrInvalid, line)
		}
		h := Holder{PID: pid, UUID: cells[1], Name: strings.ToValidUTF8(cells[3], "?")}
		if used, err := strconv.ParseFloat(cells[2], 64); err == nil && used >= 0 {
			h.UsedMiB = core.Number(used)
		}
		holders = append(holders, h)
	}
	return holders, nil
}

func nonEmpty(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

const (
	defaultLimit = 10 * time.Second
	// killGrace is how long a killed nvidia-smi may take to end; one that is stuck in
	// the driver never does, and is left behind.
	killGrace  = 500 * time.Millisecond
	outputSize = 1 << 20
)

func (s SMI) run(ctx context.Context, args ...string) (string, error) {
	if s.Command == "" {
		s.Command = "nvidia-smi"
	}
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		cmd := exec.CommandContext(limited, s.Command, args...)
		cmd.WaitDelay = killGrace
		var out bounded
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		done <- result{out.String(), err}
	}()
	hung := fmt.Errorf("%w within %v", ErrHung, s.Limit)
	select {
	case r := <-done:
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case limited.Err() != nil:
			return "", hung
		case errors.Is(r.err, exec.ErrNotFound), errors.Is(r.err, fs.ErrNotExist):
			return "", fmt.Errorf("nvidia-smi: %w", exec.ErrNotFound)
		case r.err != nil:
			return "", fmt.Errorf("nvidia-smi: %w: %s", r.err, firstLine(r.out))
		}
		return r.out, nil
	case <-time.After(s.Limit + 2*killGrace):
		return "", hung
	}
}

func firstLine(text string) string {
	for _, line := range nonEmpty(text) {
		return strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, line[:min(len(line), 200)])
	}
	return "it says nothing"
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := outputSize - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
