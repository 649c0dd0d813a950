package load

import (
	"fmt"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

const (
	// A batch stays far below the message limit of a plugin's wire: chunk moments
	// are the bulk of a sample.
	batchSamples = 256
	batchChunks  = 50_000
	batchEvery   = 200 * time.Millisecond
	// What may wait for a sink before the measurement is given up: about 400 MB.
	maxWaiting = 50_000_000
)

// outbox hands samples to a sink in batches, from one goroutine. Putting one in
// never waits, so that a slow sink cannot hold back the load; a sink that takes
// nothing ends it.
type outbox struct {
	sink  core.Sink
	total int // samples expected; 0 is unknown

	mu      sync.Mutex
	waiting []core.Sample
	weight  int // moments in waiting
	closed  bool
	wake    chan struct{} // capacity 1
}

func newOutbox(sink core.Sink, total int) *outbox {
	return &outbox{sink: sink, total: total, wake: make(chan struct{}, 1)}
}

func (o *outbox) put(s core.Sample) error {
	o.mu.Lock()
	o.waiting = append(o.waiting, s)
	o.weight += len(s.Chunks) + 16
	full, over := len(o.waiting) >= batchSamples, o.weight > maxWaiting
	o.mu.Unlock()
	if full {
		o.nudge()
	}
	if over {
		return fmt.Errorf("hand on samples: the sink takes none, and %d moments wait", maxWaiting)
	}
	return nil
}

// close says that nothing more comes.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.nudge()
}

func (o *outbox) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// deliver hands on samples until the outbox is closed and empty, or the sink
// fails; after that it must not be called again.
func (o *outbox) deliver() error {
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	done := 0
	for {
		select {
		case <-tick.C:
		case <-o.wake:
		}
		o.mu.Lock()
		batch, closed := o.waiting, o.closed
		o.waiting, o.weight = nil, 0
		o.mu.Unlock()
		for len(batch) > 0 {
			n := batchSize(batch)
			if err := o.sink.Samples(batch[:n]); err != nil {
				return fmt.Errorf("hand on samples: %w", err)
			}
			batch = batch[n:]
			done += n
			o.sink.Progress(core.Progress{Phase: "measure", Done: done, Total: o.total})
		}
		if closed {
			return nil
		}
	}
}

// batchSize is how many samples from the front go together.
func batchSize(samples []core.Sample) int {
	chunks := 0
	for i, s := range samples {
		chunks += len(s.Chunks)
		if i > 0 && (i == batchSamples || chunks > batchChunks) {
			return i
		}
	}
	return len(samples)
}
