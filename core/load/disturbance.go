package load

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Lines by which engines say, in the middle of their work, that something costs
// time which belongs to no request. Each is a part of one line.
var (
	// A kernel is built for a shape that the warm-up did not have: vLLM's jit_monitor
	// (Triton, TileLang), DeepGEMM, FlashInfer, CuTe-DSL, torch.compile.
	jitLines = []string{"JIT compilation during inference", "DeepGEMM JIT code generation", "[Autotuner]: Autotuning process starts",
		"Compiling CuTe-DSL kernel", "Compiling a graph for"}
	// A request lost its KV cache and is computed again: SGLang, vLLM.
	preemptionLines = []string{"KV cache pool is full. Retract requests", "Decode out of memory happened. #retracted_reqs", "is preempted by PreemptionMode"}
)

// Disturbances counts, in a server's log, what disturbs a measured window. Only
// lines that are added after OpenDisturbances count. The log may be bounded by
// cutting out its middle while it is read; what is lost so is said.
type Disturbances struct {
	path string

	mu     sync.Mutex
	offset int64
	anchor []byte // what stands before offset, to find the place again after a cut
	rest   []byte // of a line whose end was not there yet
	missed bool
	jit    int
	first  string // of the lines about kernels
	lost   int

	stop, done chan struct{}
}

const (
	anchorSize = 256
	// logEvery is how often the log is read: often enough that nothing of it is cut
	// out before, and cheap.
	logEvery = time.Second
	// logPiece bounds what one look reads; an engine that writes more in a second
	// drowns every line.
	logPiece = 16 << 20
	maxLine  = 8 << 10 // of what is kept of an unfinished line
)

// OpenDisturbances begins to read the log of a server from its end on.
func OpenDisturbances(path string) *Disturbances {
	d := &Disturbances{path: path, stop: make(chan struct{}), done: make(chan struct{})}
	if f, err := os.Open(path); err == nil {
		if info, err := f.Stat(); err == nil {
			d.offset = info.Size()
			d.anchor = readAt(f, max(0, d.offset-anchorSize), d.offset)
		}
		_ = f.Close() // only read
	}
	go func() {
		defer close(d.done)
		tick := time.NewTicker(logEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.look()
			case <-d.stop:
				d.look()
				return
			}
		}
	}()
	return d
}

func readAt(f *os.File, from, to int64) []byte {
	data, err := io.ReadAll(io.NewSectionReader(f, from, to-from))
	if err != nil {
		return nil
	}
	return data
}

// look reads what was added.
func (d *Disturbances) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.Open(d.path)
	if err != nil {
		d.missed = d.missed || d.offset > 0
		return
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return
	}
	size := info.Size()
	if len(d.anchor) > 0 && !bytes.Equal(readAt(f, d.offset-int64(len(d.anchor)), d.offset), d.anchor) || size < d.offset {
		d.seek(f, size)
	}
	if size-d.offset > logPiece {
		d.missed, d.rest = true, nil
		d.offset = size - logPiece
	}
	added := readAt(f, d.offset, size)
	d.offset += int64(len(added))
	d.anchor = append(bytes.Clone(d.anchor), added...)
	d.anchor = d.anchor[max(0, len(d.anchor)-anchorSize):]
	text := append(d.rest, added...)
	end := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:end]) {
		d.take(string(line))
	}
	d.rest = bytes.Clone(text[end:])
	if len(d.rest) > maxLine {
		d.rest = d.rest[len(d.rest)-maxLine:]
	}
}

// seek finds the place where reading stopped in a file that was cut.
func (d *Disturbances) seek(f *os.File, size int64) {
	from := max(0, size-logPiece)
	if i := bytes.LastIndex(readAt(f, from, size), d.anchor); i >= 0 && len(d.anchor) > 0 {
		d.offset = from + int64(i+len(d.anchor))
		return
	}
	d.missed, d.rest, d.anchor, d.offset = true, nil, nil, size
}

func (d *Disturbances) take(line string) {
	for _, part := range jitLines {
		if strings.Contains(line, part) {
			if d.jit++; d.first == "" {
				d.first = oneLine(line)
			}
			return
		}
	}
	for _, part := range preemptionLines {
		if strings.Contains(line, part) {
			d.lost++
			return
		}
	}
}

// Close ends the reading and says what was seen, as extras of the trial:
// jit_compiles with jit_first (the first such line), preemption_lines, and log_missed
// where a part of the log was cut out unread. What was not seen is absent.
func (d *Disturbances) Close() map[string]core.Value {
	close(d.stop)
	<-d.done
	out := map[string]core.Value{}
	if d.jit > 0 {
		out["jit_compiles"], out["jit_first"] = core.Number(float64(d.jit)), core.String(d.first)
	}
	if d.lost > 0 {
		out["preemption_lines"] = core.Number(float64(d.lost))
	}
	if d.missed {
		out["log_missed"] = core.String(fmt.Sprintf("a part of %s was cut out before it was read", d.path))
	}
	return out
}
