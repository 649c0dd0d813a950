package load

import (
	"sync"
	"time"
)

// moments keeps the chunk moments of finished requests close together: eight bytes
// a chunk and no more. While an answer streams its moments grow in a buffer that
// is used again.
type moments struct {
	buffers sync.Pool

	mu   sync.Mutex
	slab []time.Duration // not used yet
}

// slabMoments is how many moments are made room for at once (64 KiB).
const slabMoments = 8 << 10

// borrow gives an empty buffer.
func (m *moments) borrow() []time.Duration {
	if b, ok := m.buffers.Get().(*[]time.Duration); ok {
		return (*b)[:0]
	}
	return make([]time.Duration, 0, 256)
}

// keep gives a copy that stays, and takes the buffer back.
func (m *moments) keep(buffer []time.Duration) []time.Duration {
	if buffer == nil {
		return nil
	}
	defer m.buffers.Put(&buffer)
	n := len(buffer)
	if n == 0 {
		return nil
	}
	if n > slabMoments/4 {
		return append(make([]time.Duration, 0, n), buffer...)
	}
	m.mu.Lock()
	if len(m.slab) < n {
		m.slab = make([]time.Duration, slabMoments)
	}
	kept := m.slab[:n:n]
	m.slab = m.slab[n:]
	m.mu.Unlock()
	copy(kept, buffer)
	return kept
}
