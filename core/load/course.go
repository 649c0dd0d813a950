package load

import (
	"math"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// maxCourse bounds the moments that a course keeps: two hours of them. Of a longer
// window every second one is dropped, as often as needed.
const maxCourse = 7200

// gpuCourse gathers the readings of all GPUs into one moment after another. A moment is
// over when a GPU is read again.
type gpuCourse struct {
	rounds []round
	open   map[string]GPUReading
	last   time.Duration
	step   int // how many moments make one that is kept
	passed int
}

type round struct {
	at                            time.Duration
	power, clock, memory          float64
	hasPower, hasClock, hasMemory bool
}

func (c *gpuCourse) take(id string, r GPUReading, at time.Duration, gpus int) {
	if _, again := c.open[id]; again {
		c.close(gpus)
	}
	if c.open == nil {
		c.open = map[string]GPUReading{}
	}
	c.open[id], c.last = r, at
}

// close ends the moment at hand. A sum is known where every GPU told its part.
func (c *gpuCourse) close(gpus int) {
	if len(c.open) == 0 {
		return
	}
	m := round{at: c.last}
	var powers, clocks, memories int
	for _, r := range c.open {
		add := func(v core.Value, sum *float64, n *int) {
			if v.Kind == core.KindNumber {
				*sum += v.Num
				*n++
			}
		}
		add(r.PowerW, &m.power, &powers)
		add(r.SMClockMHz, &m.clock, &clocks)
		add(r.MemoryUsedMiB, &m.memory, &memories)
	}
	m.hasPower, m.hasClock, m.hasMemory = powers == gpus, clocks > 0, memories == gpus
	m.clock /= max(1, float64(clocks))
	clear(c.open)
	if c.passed++; c.passed < max(1, c.step) {
		return
	}
	c.passed = 0
	if c.rounds = append(c.rounds, m); len(c.rounds) < maxCourse {
		return
	}
	for i := range maxCourse / 2 {
		c.rounds[i] = c.rounds[2*i]
	}
	c.rounds, c.step = c.rounds[:maxCourse/2], 2*max(1, c.step)
}

// Course is what the GPUs showed since Begin, nil where nothing was read. It may be
// asked once Stop has returned.
func (t *Telemetry) Course() *core.Course {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.course.close(len(t.gpus))
	rounds := t.course.rounds
	if len(rounds) == 0 {
		return nil
	}
	out := &core.Course{}
	power, clock, memory := true, true, true
	for _, m := range rounds {
		power, clock, memory = power && m.hasPower, clock && m.hasClock, memory && m.hasMemory
	}
	for _, m := range rounds {
		out.AtMS = append(out.AtMS, m.at.Milliseconds())
		if power {
			out.PowerW = append(out.PowerW, math.Round(m.power*100)/100)
		}
		if clock {
			out.SMClockMHz = append(out.SMClockMHz, math.Round(m.clock))
		}
		if memory {
			out.MemoryMiB = append(out.MemoryMiB, m.memory)
		}
	}
	return out
}
