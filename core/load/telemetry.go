package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// TelemetrySource says what to watch. The zero value is every GPU by nvidia-smi,
// once a second.
type TelemetrySource struct {
	Command string   // "nvidia-smi"
	GPUs    []string // UUIDs or indexes; none is all
}

// Telemetry watches GPUs by one nvidia-smi that prints a line a GPU each second.
// Nothing that it does waits for nvidia-smi: one that hangs only leaves figures
// missing, and is killed by Stop.
type Telemetry struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	start  time.Time
	gpus   map[string]*gpuTrack
	err    error
	clocks float64 // sum of SM clock readings
	n      float64
	memory float64 // highest sum over the GPUs
	heat   float64
	bits   uint64
	asked  bool // some reading told its reasons
	course gpuCourse

	stopped bool // what is read now counts no more
}

// gpuTrack is what is known of one GPU.
type gpuTrack struct {
	power, memory core.Value
	at            time.Time // of power
	joules        float64
	gap           time.Duration // the longest between two readings
}

// StartTelemetry begins to watch. It returns at once; whether there is an
// nvidia-smi shows in Err.
func StartTelemetry(ctx context.Context, source TelemetrySource) *Telemetry {
	ctx, cancel := context.WithCancel(ctx)
	t := &Telemetry{cancel: cancel, done: make(chan struct{}), start: time.Now(), gpus: map[string]*gpuTrack{}}
	if source.Command == "" {
		source.Command = "nvidia-smi"
	}
	// Known before anything is started, so that the shortest trial can tell of it.
	if _, err := exec.LookPath(source.Command); err != nil {
		t.err = err
		close(t.done)
		return t
	}
	go func() {
		defer close(t.done)
		err := t.watch(ctx, source, "clocks_event_reasons.active")
		if err != nil && ctx.Err() == nil && t.readings() == 0 {
			// Drivers before 535 know the reasons by their older name.
			err = t.watch(ctx, source, "clocks_throttle_reasons.active")
		}
		if err != nil && ctx.Err() == nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
		}
	}()
	return t
}

const (
	// stopGrace is how long Stop waits for a killed nvidia-smi; one that hangs in the
	// driver cannot be killed and is left behind.
	stopGrace = 2 * time.Second
	maxGap    = 3 * time.Second // between readings, without which there is no energy
	maxSMI    = 4 << 10         // of a line
)

func (t *Telemetry) watch(ctx context.Context, source TelemetrySource, reasons string) error {
	args := []string{"--query-gpu=index,uuid,power.draw,clocks.sm,memory.used,temperature.gpu," + reasons, "--format=csv", "--loop-ms=1000"}
	if len(source.GPUs) > 0 {
		args = append(args, "--id="+strings.Join(source.GPUs, ","))
	}
	cmd := exec.CommandContext(ctx, source.Command, args...)
	cmd.WaitDelay = stopGrace / 2
	out, in := io.Pipe()
	cmd.Stdout = in
	var said bounded
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", source.Command, err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = in.Close()
		ended <- err
	}()
	readErr := t.read(out)
	_ = out.CloseWithError(errors.New("nothing more is read"))
	err := <-ended
	if err != nil && len(said.data) > 0 {
		err = fmt.Errorf("%w: %s", err, oneLine(string(said.data)))
	}
	return errors.Join(readErr, err)
}

// bounded keeps the beginning of what is written.
type bounded struct{ data []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxErrorText - len(b.data); room > 0 {
		b.data = append(b.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (t *Telemetry) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, maxSMI), maxSMI)
	var columns GPUColumns
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if columns == nil {
			var err error
			if columns, err = ParseGPUColumns(line); err != nil {
				return err
			}
			continue
		}
		r, err := columns.Parse(line)
		if err != nil {
			return err
		}
		t.take(r)
	}
	return lines.Err()
}

// take adds a reading. Power is taken as constant from one reading to the next, so
// that a pause between readings does not lose energy.
func (t *Telemetry) take(r GPUReading) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	now := time.Now()
	id := r.UUID
	if id == "" {
		id = r.Index
	}
	g := t.gpus[id]
	if g == nil {
		g = &gpuTrack{at: t.start}
		t.gpus[id] = g
	}
	t.course.take(id, r, now.Sub(t.start), len(t.gpus))
	if r.PowerW.Kind == core.KindNumber {
		g.advance(now, r.PowerW.Num)
		g.power = r.PowerW
	}
	if r.SMClockMHz.Kind == core.KindNumber {
		t.clocks += r.SMClockMHz.Num
		t.n++
	}
	if r.MemoryUsedMiB.Kind == core.KindNumber {
		g.memory = r.MemoryUsedMiB
		sum := 0.0
		for _, other := range t.gpus {
			sum += other.memory.Num
		}
		t.memory = max(t.memory, sum)
	}
	if r.TemperatureC.Kind == core.KindNumber {
		t.heat = max(t.heat, r.TemperatureC.Num)
	}
	if r.Reasons.Kind == core.KindNumber {
		t.asked = true
		t.bits |= uint64(r.Reasons.Num)
	}
}

// advance adds the energy since the last reading, as the mean of both. Before the
// first reading the power is taken as that reading's.
func (g *gpuTrack) advance(now time.Time, watts float64) {
	d := now.Sub(g.at)
	if d <= 0 {
		return
	}
	mean := watts
	if g.power.Kind == core.KindNumber {
		mean = (g.power.Num + watts) / 2
	}
	g.joules += mean * d.Seconds()
	g.gap = max(g.gap, d)
	g.at = now
}

func (t *Telemetry) readings() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.gpus)
}

// Begin forgets what was seen: the measured window begins now.
func (t *Telemetry) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start = time.Now()
	t.clocks, t.n, t.memory, t.heat, t.bits, t.asked, t.course = 0, 0, 0, 0, 0, false, gpuCourse{}
	for _, g := range t.gpus {
		g.joules, g.gap, g.at = 0, 0, t.start
	}
}

// Stop ends the watch and gives what was seen since Begin, or since the start:
// mean_power_w, energy_j, sm_clock_mhz and peak_memory_mib, power and memory summed
// over the GPUs. It returns within two seconds whatever nvidia-smi does; without a
// reading the figures are empty.
func (t *Telemetry) Stop() core.Figures {
	// What is read after this moment is no longer of the window.
	t.mu.Lock()
	now := time.Now()
	t.stopped = true
	t.mu.Unlock()
	t.cancel()
	select {
	case <-t.done:
	case <-time.After(stopGrace):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := core.Figures{}
	length := now.Sub(t.start)
	joules, known := 0.0, len(t.gpus) > 0
	for _, g := range t.gpus {
		if g.power.Kind != core.KindNumber {
			known = false
			continue
		}
		g.advance(now, g.power.Num)
		// What was not read for a good part of the window is not known of it.
		known = known && g.gap <= max(maxGap, length/5)
		joules += g.joules
	}
	if known && length > 0 {
		f.Set("energy_j", joules)
		f.Set("mean_power_w", joules/length.Seconds())
	}
	if t.n > 0 {
		f.Set("sm_clock_mhz", math.Round(t.clocks/t.n*100)/100)
	}
	if t.memory > 0 {
		f.Set("peak_memory_mib", t.memory)
	}
	return f
}

// Err says why nothing is read: no nvidia-smi, or what it complained of.
func (t *Telemetry) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Throttled reports whether a GPU ran slower than asked, by heat or by the power
// limit, and by which; missing when no reading told.
func (t *Telemetry) Throttled() (throttled core.Value, reasons []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked {
		return core.Missing(), nil
	}
	for _, r := range throttleReasons {
		if t.bits&r.bit != 0 {
			reasons = append(reasons, r.name)
		}
	}
	return core.Bool(len(reasons) > 0), reasons
}

// PeakTemperature is the highest temperature seen, in °C.
func (t *Telemetry) PeakTemperature() core.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heat == 0 {
		return core.Missing()
	}
	return core.Number(t.heat)
}
